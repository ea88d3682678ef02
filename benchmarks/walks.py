"""How far a reader has to walk: files and functions of closeknit that four public calls go through.

Run ``python benchmarks/walks.py`` (any installed version: the script only counts).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

import closeknit as ck

HOME = str(Path(ck.__file__).parent)


def walk(call: Callable[[], Any]) -> tuple[int, int]:
    """Return how many files and functions of the package `call` goes through on its second run."""
    call()  # imports and caches are no part of the walk
    seen: set[CodeType] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        named = not code.co_name.startswith("<")  # comprehensions and lambdas are read in place
        if event == "call" and named and code.co_filename.startswith(HOME):
            seen.add(code)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len({code.co_filename for code in seen}), len(seen)


def main() -> None:
    X = np.random.default_rng(0).normal(size=(300, 20))
    image = np.random.default_rng(0).random((24, 24, 3))
    calls = {
        "entropic_affinities": lambda: ck.entropic_affinities(X, 10),
        "TSNE.fit": lambda: ck.TSNE(perplexity=10, max_iter=60, random_state=0).fit(X),
        "ElasticEmbedding.fit": lambda: ck.ElasticEmbedding(
            perplexity=10, max_iter=60, random_state=0
        ).fit(X),
        "segment_image": lambda: ck.segment_image(image, 3, random_state=0),
    }
    print("| call | files | functions |\n| --- | --- | --- |")
    for name, call in calls.items():
        print("| {} | {} | {} |".format(name, *walk(call)))


if __name__ == "__main__":
    main()

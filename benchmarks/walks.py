"""How far a reader has to walk: files and functions of closeknit that four public calls go through.

Run ``python benchmarks/walks.py`` (any installed version: the script only counts), and
``python benchmarks/walks.py lines [FOLDER]`` for the lines of code per station, in the installed
version or in another checkout's ``src/closeknit``.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
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


def code_lines(source: str) -> int:
    """Count the lines that hold code: neither blank, nor comments, nor docstrings."""
    layout = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in layout | {tokenize.ENDMARKER}:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        if documented and ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            lines.difference_update(range(text.lineno, (text.end_lineno or 0) + 1))
    return len(lines)


def print_lines(home: Path) -> None:
    stations: Counter[str] = Counter()
    for path in home.rglob("*.py"):
        stations[path.relative_to(home).parts[0]] += code_lines(path.read_text("utf-8"))
    print("| station | lines of code |\n| --- | --- |")
    for station, lines in stations.most_common():
        print(f"| {station} | {lines} |")
    print(f"| all | {stations.total()} |")


def print_walks() -> None:
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
    if sys.argv[1:2] == ["lines"]:
        print_lines(Path(sys.argv[2] if len(sys.argv) > 2 else HOME))
    else:
        print_walks()

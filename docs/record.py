"""Write ``terminal.md``: what the command line prints, recorded by running it.

Run it from anywhere, with closeknit installed: ``python docs/record.py``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).with_name("terminal.md")

#: A table with a gap in line 3.
SCORES = "name,maths,music\nAda,9.5,7\nBob,,8\nCleo,6,9.5\n"

#: What to show: a heading, and the arguments.
SCENES = [
    ("The demo", ["demo"]),
    ("A file that is not there", ["embed", "flowers.csv"]),
    ("A table with a gap", ["embed", "scores.csv"]),
    ("A map that would replace its data", ["embed", "scores.csv", "-o", "scores.csv"]),
]


def run(arguments: list[str], folder: Path) -> str:
    """What a command prints in `folder`, and its exit code."""
    done = subprocess.run(
        [sys.executable, "-c", "from closeknit.cli import main; main()", *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": "90", "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    printed = "\n".join(line.rstrip() for line in done.stdout.splitlines())
    shown = f"$ closeknit {' '.join(arguments)}\n{printed}\n"
    return shown + (f"$ echo $?\n{done.returncode}\n" if done.returncode else "")


def main() -> None:
    """Record all scenes in a folder that is thrown away."""
    parts = ["# The command line, recorded\n", "Made by `python docs/record.py`.\n"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "scores.csv").write_text(SCORES)
        for heading, arguments in SCENES:
            parts.append(f"## {heading}\n\n```console\n{run(arguments, folder)}```\n")
        parts.append(f"After all this the table is what it was:\n\n```text\n{SCORES}```\n")
        assert (folder / "scores.csv").read_text() == SCORES
    PAGE.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()

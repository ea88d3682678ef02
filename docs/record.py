"""Write ``terminal.md``: what the command line prints, recorded by running it.

Run it from anywhere, with closeknit installed: ``python docs/record.py``.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from sklearn.datasets import load_iris

PAGE = Path(__file__).with_name("terminal.md")

INTRODUCTION = (
    "Made by `python docs/record.py`. Seconds include the start of Python, and depend on what\n"
    "else the machine is doing.\n"
    "\n"
    "Commands end with 0 when they have done what was asked for, 1 when that was not\n"
    "possible, 2 when they were called wrongly, 130 after Ctrl-C and 143 after SIGTERM; all\n"
    "but 0 with one line on stderr. `explore` ends with 0 after Ctrl-C once its page is\n"
    "there, and `embed` and `demo` write the map so far before they end with 130.\n"
)

#: A table with a gap in line 3.
SCORES = "name,maths,music\nAda,9.5,7\nBob,,8\nCleo,6,9.5\n"

#: What to show: a heading, what to say of it, and the command.
SCENES = [
    ("The demo", "", "demo"),
    (
        "From a file to a map",
        "The summary says what was used: `plant_id` names the rows, the species is a label.",
        "embed flowers.csv --plot map.png",
    ),
    (
        "A class among the features",
        "Here the species is a number, and numbers are features. That may be meant, so it is a "
        "warning.",
        "embed numbered.csv --json",
    ),
    (
        "Semicolons and decimal commas",
        "Found in the file; `--sep` and `--decimal` say otherwise.",
        "cluster europe.csv --clusters 3 -o clusters.csv",
    ),
    ("A name with a typing error", "", "embed flowers.csv --color specis"),
    ("A file that is not there", "", "embed flower.csv"),
    ("A table with a gap", "", "embed scores.csv"),
    ("A map that would replace its data", "", "embed scores.csv -o scores.csv"),
]


def write_tables(folder: Path) -> None:
    """Write the files that the commands read: the irises in three forms, and the scores."""
    iris = load_iris()
    names = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    flowers, numbered = [",".join(["plant_id", *names, "species"])], [",".join([*names, "species"])]
    europe = [";".join([*names, "species"])]
    for number, (row, kind) in enumerate(zip(iris.data, iris.target, strict=True), 1):
        cells, species = list(map(str, row)), str(iris.target_names[kind])
        flowers.append(",".join([f"{number:03}", *cells, species]))
        numbered.append(",".join([*cells, str(kind)]))
        europe.append(";".join([*(cell.replace(".", ",") for cell in cells), species]))
    tables = {"flowers": flowers, "numbered": numbered, "europe": europe}
    for name, lines in tables.items():
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    (folder / "scores.csv").write_text(SCORES)


def run(command: str, folder: Path) -> str:
    """What a command prints in `folder`, and its exit code."""
    done = subprocess.run(
        [sys.executable, "-c", "from closeknit.cli import main; main()", *shlex.split(command)],
        cwd=folder,
        env={**os.environ, "COLUMNS": "90", "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    printed = "\n".join(line.rstrip() for line in done.stdout.splitlines())
    shown = f"$ closeknit {command}\n{printed}\n"
    return shown + (f"$ echo $?\n{done.returncode}\n" if done.returncode else "")


def main() -> None:
    """Record all scenes in a folder that is thrown away."""
    parts = ["# The command line, recorded\n", INTRODUCTION]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder)
        for heading, words, command in SCENES:
            parts.append(f"## {heading}\n")
            parts += [f"{words}\n"] * bool(words)
            parts.append(f"```console\n{run(command, folder)}```\n")
        parts.append(f"After all this the table is what it was:\n\n```text\n{SCORES}```\n")
        assert (folder / "scores.csv").read_text() == SCORES
    PAGE.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Directive ``console``: commands that run when the page is built, with what they print.

::

    ```{console}
    closeknit embed flowers.csv --plot map.png
    ```

The commands of a page share a folder that is thrown away. Only ``closeknit`` is run; a command that
fails is an error, unless the option ``fails`` is given.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

MAIN = "from closeknit.cli import main; main()"


def folder_of(env: Any) -> Path:
    """Return the folder in which a page's commands run; its code knows it as ``FOLDER``."""
    if "folder" not in env.temp_data:
        env.temp_data["folder"] = tempfile.TemporaryDirectory()
    return Path(env.temp_data["folder"].name)


class Console(SphinxDirective):
    """Run commands, and show them with their output."""

    has_content = True
    option_spec = {"fails": directives.flag}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        """Return a session."""
        text = "\n".join(map(self._command, filter(None, self.content)))
        return [nodes.literal_block(text, text, language="console")]

    def _command(self, line: str) -> str:
        program, *arguments = shlex.split(line)
        if program != "closeknit":
            raise self.error(f"only closeknit can be run here, not {program}")
        done = subprocess.run(
            [sys.executable, "-c", MAIN, *arguments],
            cwd=folder_of(self.env),
            env={**os.environ, "COLUMNS": "90", "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        if (done.returncode != 0) != ("fails" in self.options):
            raise self.error(f"{line} ended with {done.returncode}: {done.stdout}")
        shown = "\n".join(row.rstrip() for row in done.stdout.rstrip().splitlines())
        return f"$ {line}\n{shown}"


def setup(app: Any) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("console", Console)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Directive ``printed``: a part of a stored printout, so that no number is typed again.

::

    ```{printed} neighbors.md
    ```
    ```{printed} finished.md
    :table: 1
    :rows: ^mnist
    :columns: set, points, seconds
    ```

The file is in ``benchmarks/results``. Without options its blocks of literal text are shown; with
``table`` the n-th table, counted from 1, or the one below the first heading that contains the
given words. ``rows`` is a regular expression that a row must match. What is not found is an error.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def cells(line: str) -> list[str]:
    """Split a row of a Markdown table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def find_table(text: str, which: str) -> list[list[str]]:
    """Return the header and the rows of a table, by number or by heading."""
    if not which.isdecimal():
        headings = [m for m in re.finditer(r"^#+ (.*)$", text, re.M) if which in m[1]]
        if not headings:
            raise LookupError(f"no heading contains {which!r}")
        text, which = text[headings[0].end() :], "1"
    tables = re.findall(r"(?:^\|.*\n)+", text + "\n", re.M)
    if not 1 <= int(which) <= len(tables):
        raise LookupError(f"there are {len(tables)} tables, not {which}")
    lines = tables[int(which) - 1].splitlines()
    return [cells(line) for line in (lines[0], *lines[2:])]


class Printed(SphinxDirective):
    """Show a part of a printout."""

    required_arguments = 1
    option_spec = {  # noqa: RUF012
        "table": directives.unchanged_required,
        "rows": directives.unchanged_required,
        "columns": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        """Return a table, or blocks of text."""
        path = RESULTS / self.arguments[0]
        self.env.note_dependency(str(path))
        text = path.read_text(encoding="utf-8")
        try:
            lines = self._table(text) if "table" in self.options else self._blocks(text)
        except LookupError as error:
            raise self.error(f"{path.name}: {error}") from error
        node = nodes.container(classes=["printed"])
        self.state.nested_parse(StringList(lines, str(path)), self.content_offset, node)
        return [node]

    def _blocks(self, text: str) -> list[str]:
        blocks = re.findall(r"^```.*?^```$", text, re.M | re.S)
        if not blocks:
            raise LookupError("there is no block of literal text")
        return "\n\n".join(blocks).replace("```\n", "```text\n", 1).splitlines()

    def _table(self, text: str) -> list[str]:
        header, *rows = find_table(text, self.options["table"])
        pattern = self.options.get("rows", "")
        rows = [row for row in rows if re.search(pattern, " | ".join(row))]
        if not rows:
            raise LookupError(f"no row matches {pattern!r}")
        wanted = self.options.get("columns")
        names = [name.strip() for name in wanted.split(",")] if wanted else header
        if missing := set(names) - set(header):
            raise LookupError(f"there is no column {min(missing)!r} in {header}")
        places = [header.index(name) for name in names]
        picked = [[row[place] for place in places] for row in rows]
        return [f"| {' | '.join(row)} |" for row in (names, ["---"] * len(names), *picked)]


def setup(app: Any) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("printed", Printed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Directives ``run`` and ``slider``: code on a page that runs when the page is built.

The blocks of a page share their names, as the cells of a notebook do. What a block prints stands
below it, and so do the figures it leaves open. A figure without ``:alt:`` is an error.

::

    ```{run}
    :alt: What a reader who cannot see the figure should know.
    :caption: Optional.
    :code: shown, folded or hidden
    ```

``slider`` shows one of several figures at a time, under a slider that is labelled by the figures'
own labels, ``plt.figure(label="perplexity 30")``; without scripts all of them are shown.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")

from console import folder_of
from docutils import nodes
from docutils.parsers.rst import directives
from matplotlib import pyplot as plt
from sphinx.util.docutils import SphinxDirective

from closeknit.exceptions import CloseknitWarning

#: Pixels per inch on the page; files have twice as many.
DPI = 96


class Run(SphinxDirective):
    """Run the code, and show it with what it prints and draws."""

    has_content = True
    option_spec = {  # noqa: RUF012
        "alt": directives.unchanged,
        "caption": directives.unchanged,
        "code": lambda x: directives.choice(x, ("shown", "folded", "hidden")),
    }

    def run(self) -> list[nodes.Node]:
        """Return the nodes for code, text and figures."""
        code = "\n".join(self.content)
        printed = self._execute(code)
        out = self._code(code)
        if printed:
            text = nodes.literal_block(printed, printed, language="text", classes=["printed"])
            out.append(text)
        return out + self._figures()

    def _execute(self, code: str) -> str:
        names = self.env.temp_data.setdefault(
            "run", {"__name__": "__main__", "FOLDER": folder_of(self.env)}
        )
        source, line = self.get_source_info()
        stdout = io.StringIO()
        plt.close("all")
        try:
            # Line numbers in a traceback are those of the page.
            program = compile("\n" * line + code, source, "exec")
            with contextlib.redirect_stdout(stdout), warnings.catch_warnings():
                warnings.simplefilter("error", CloseknitWarning)
                exec(program, names)
        except Exception as error:
            raise self.error(f"{type(error).__name__} in the code: {error}") from error
        return stdout.getvalue().rstrip()

    def _code(self, code: str) -> list[nodes.Node]:
        how = self.options.get("code", "shown")
        if how == "hidden":
            return []
        block = nodes.literal_block(code, code, language="python")
        if how == "shown":
            return [block]
        before = '<details class="code"><summary>Show the code</summary>'
        return [
            nodes.raw("", before, format="html"),
            block,
            nodes.raw("", "</details>", format="html"),
        ]

    def _figures(self) -> list[nodes.Node]:
        numbers = plt.get_fignums()
        if numbers and "alt" not in self.options:
            raise self.error("this code draws a figure, which needs :alt:")
        return [self._figure(number) for number in numbers]

    def _figure(self, number: int, label: str = "") -> nodes.Node:
        figure = plt.figure(number)
        count = self.env.temp_data["runs"] = self.env.temp_data.get("runs", 0) + 1
        name = f"_run/{self.env.docname.replace('/', '-')}-{count}.png"
        path = Path(self.env.srcdir) / name
        path.parent.mkdir(exist_ok=True)
        figure.savefig(path, dpi=2 * DPI)
        width = f"{figure.get_figwidth() * DPI:.0f}px"
        alt = ": ".join(filter(None, [label, self.options["alt"]]))
        image = nodes.image(uri=f"/{name}", alt=alt, width=width)
        if "caption" not in self.options or label:
            return image
        inline, messages = self.state.inline_text(self.options["caption"], self.lineno)
        return nodes.figure("", image, nodes.caption("", "", *inline, *messages))


class Slider(Run):
    """Show one of the figures at a time."""

    def _figures(self) -> list[nodes.Node]:
        slider = nodes.container(classes=["slider"])
        for number in plt.get_fignums():
            label = str(plt.figure(number).get_label())
            slider += self._figure(number, label)
        return [slider]


def setup(app: Any) -> dict[str, Any]:
    """Add the directives."""
    app.add_directive("run", Run)
    app.add_directive("slider", Slider)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

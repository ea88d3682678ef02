"""A page that grows figure by figure, so that Ctrl-C leaves all that is finished."""

from __future__ import annotations

import io
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from closeknit.exceptions import OutputError
from closeknit.io.extras import require
from closeknit.io.files import replacing
from closeknit.progress import log

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Report", "claim", "legend_below", "new_figure", "plain_log_ticks", "table"]

DPI = 100
#: What a quick run's page says of itself.
QUICK = (
    "**This was a quick run**, on small data that are at hand and with few iterations: what it "
    "finds says little about the paper's own sizes."
)
LARGEST = 150_000  # bytes of a picture in all its colours


class Report:
    """A Markdown page with its pictures, written anew after each section.

    Parameters
    ----------
    out : Path
        Folder; made if it does not exist.
    name : str
        Of the page, and the first part of its pictures' names.
    title, introduction : str
    quick : bool, default=False
        Whether to warn the reader that this was a quick run.

    Examples
    --------
    >>> import tempfile
    >>> from closeknit.experiments.report import Report
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = Report(Path(folder), "trial", "A trial", "Of nothing.")
    ...     report.add("Figure 1: none", "There is nothing to see.")
    ...     report.path.read_text(encoding="utf-8").splitlines()[::4]
    ['# A trial', '## Figure 1: none']
    """

    def __init__(
        self,
        out: Path,
        name: str,
        title: str,
        introduction: str,
        *,
        quick: bool = False,
    ) -> None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(
                f"cannot make the folder {out}: {error.strerror}; choose another"
            ) from error
        self.path = out / f"{name}.md"
        self._name = name
        self._parts = [f"# {title}", introduction, *([QUICK] if quick else [])]
        self._started = time.perf_counter()

    def log(self, what: str) -> None:
        """Log what comes next."""
        log(f"{self._name}: {what} ({time.perf_counter() - self._started:.0f} s so far)")

    def add(self, heading: str, text: str, figure: Figure | None = None, picture: str = "") -> None:
        """Append a section, with a figure saved under the page's name and `picture`."""
        self._parts.append(f"## {heading}")
        if figure is not None:
            file = self.path.with_name(f"{self._name}-{picture}.png")
            with replacing(file) as stream:
                _save_small(figure, stream)
            self._parts.append(f"![{heading}]({file.name})")
        self._parts.append(text.strip())
        with replacing(self.path) as stream:
            stream.write(("\n\n".join(self._parts) + "\n").encode())


def _save_small(figure: Figure, stream: BinaryIO) -> None:
    """Save, with 256 colours if it would be large: a third of the bytes, hardly a difference."""
    from PIL import Image

    full = io.BytesIO()
    figure.savefig(full, dpi=DPI, format="png")
    if full.tell() <= LARGEST:
        stream.write(full.getvalue())
    else:
        Image.open(full).convert("RGB").quantize(256).save(stream, format="PNG", optimize=True)


def new_figure(rows: int, columns: int, *, width: float = 3.6, height: float = 3.2) -> Any:
    """Return a figure and its axes, as an array of `rows` by `columns`."""
    module = require("matplotlib.figure", "plot", "the figures need Matplotlib")
    figure = module.Figure(figsize=(width * columns, height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def legend_below(figure: Any, handles: Sequence[Any]) -> None:
    """Put one legend for all axes below them."""
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)


def plain_log_ticks(axis: Any) -> None:
    """Label a logarithmic axis 0.1, 0.2, 0.5, 1 and so on."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def table(header: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """Return a Markdown table.

    Examples
    --------
    >>> print(table(["K", "σ"], [[30, 0.5]]))
    | K | σ |
    | --- | --- |
    | 30 | 0.5 |
    """
    header = list(header)
    lines = [_row(header), "| --- " * len(header) + "|", *map(_row, rows)]
    return "\n".join(lines)


def _row(cells: Iterable[object]) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def claim(says: str, holds: bool | Sequence[bool], numbers: str) -> str:
    """Return a claim of the paper as an item of a list, with our verdict and our numbers.

    Parameters
    ----------
    says : str
        What the paper says.
    holds : bool or sequence of bool
        Whether it is so here, or for each of several data sets or models.
    numbers : str
        What that was judged by.

    Examples
    --------
    >>> print(claim("Newton needs more iterations.", [True, False], "3 and 2 against 2 and 2"))
    - *Newton needs more iterations.* **Agrees in 1 of 2 cases**: 3 and 2 against 2 and 2.
    """
    cases = [bool(one) for one in (holds if isinstance(holds, Sequence) else [holds])]
    verdict = "Agrees" if all(cases) else "Disagrees"
    if any(cases) and not all(cases):
        verdict = f"Agrees in {sum(cases)} of {len(cases)} cases"
    return f"- *{says}* **{verdict}**: {numbers}."

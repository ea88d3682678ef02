"""A page that grows figure by figure, so that Ctrl-C leaves all that is finished."""

from __future__ import annotations

import io
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from closeknit.exceptions import OutputError
from closeknit.io.files import replacing
from closeknit.progress import log

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 100
NOTHING = "**Nothing here is comparable with the paper: this was {}.**"
LARGEST = 150_000  # bytes of a picture in all its colours
NOT_COMPARABLE = "Not comparable"
_VERDICT = re.compile(r"(?<=\* \*\*)(Agrees in|Agrees|Disagrees|Not comparable)(.*?)(?=\*\*)")
_SECONDS = re.compile(r"^\*Run in (\d+) processor seconds\.\*$", re.MULTILINE)


@dataclass(frozen=True)
class Section:
    """What an experiment found: text, the paper's claims, and a figure.

    Attributes
    ----------
    parts : sequence of str
        Paragraphs, tables and claims.
    figure : Figure or None
    """

    parts: Sequence[str]
    figure: Figure | None = None


class Report:
    """A Markdown page with its pictures, written anew after each section.

    Its first lines count the verdicts of all sections, and the processor time that they took.

    Parameters
    ----------
    out : Path
        Folder; made if it does not exist.
    name : str
        Of the page, and the first part of its pictures' names.
    title, introduction : str
    because : str, default=""
        Why nothing on the page is comparable: a quick run, or data that stand in for the paper's.
    kept : iterable of str, default=()
        Headings in their order; what a page that is there already says under them stays until it is
        run again.

    Examples
    --------
    >>> import tempfile
    >>> from closeknit.experiments.report import Report, Section
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = Report(Path(folder), "trial", "A trial", "Of nothing.")
    ...     report.add("Figure 1: none", lambda: Section(["There is nothing to see."]))
    ...     report.path.read_text(encoding="utf-8").splitlines()[::6]
    ['# A trial', '## Figure 1: none']
    """

    def __init__(
        self,
        out: Path,
        name: str,
        title: str,
        introduction: str,
        *,
        because: str = "",
        kept: Iterable[str] = (),
    ) -> None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(
                f"cannot make the folder {out}: {error.strerror}; choose another"
            ) from error
        self.path = out / f"{name}.md"
        self._name = name
        self._title, self._because = title, because
        self._introduction = [introduction, *([NOTHING.format(because)] if because else [])]
        old = _sections(self.path)
        self._sections = {heading: old.get(heading, "") for heading in kept}
        self._started = time.perf_counter()

    def add(self, heading: str, make: Callable[[], Section]) -> None:
        """Run an experiment, and append what it found under a heading such as "Figure 1: …"."""
        began = time.process_time()
        log(f"{self._name}: {heading} ({time.perf_counter() - self._started:.0f} s so far)")
        section = make()
        parts = [f"## {heading}"]
        if section.figure is not None:
            file = self.path.with_name(f"{self._name}-{key(heading)}.png")
            with replacing(file) as stream:
                _save_small(section.figure, stream)
            parts.append(f"![{heading}]({file.name})")
        # Processor time, because other programs on the machine do not change it.
        seconds = time.process_time() - began
        parts += [*section.parts, f"*Run in {seconds:.0f} processor seconds.*"]
        text = "\n\n".join(map(str.strip, parts))
        self._sections[heading] = _VERDICT.sub(NOT_COMPARABLE, text) if self._because else text
        text = "\n\n".join(filter(None, self._sections.values()))
        page = [f"# {self._title}", _summary(text), *self._introduction, text]
        with replacing(self.path) as stream:
            stream.write(("\n\n".join(page) + "\n").encode())


def key(heading: str) -> str:
    """Return the short name of a section, such as ``figure-1``."""
    return heading.split(":")[0].lower().replace(" ", "-")


def _sections(path: Path) -> dict[str, str]:
    """Headings and sections of a page."""
    if not path.is_file():
        return {}
    parts = path.read_text(encoding="utf-8").strip().split("\n\n## ")[1:]
    return {part.split("\n")[0]: f"## {part}" for part in parts}


def _summary(text: str) -> str:
    """Count the verdicts, and the seconds."""
    counts = Counter(verdict for verdict, _ in _VERDICT.findall(text))
    seconds = sum(map(int, _SECONDS.findall(text)))
    return (
        f"**Claims of the paper: {counts.total()}. Agree with what we measured: "
        f"{counts['Agrees']}; agree in some cases: {counts['Agrees in']}; disagree: "
        f"{counts['Disagrees']}; not comparable: {counts[NOT_COMPARABLE]}.** "
        f"The run took {seconds:,} processor seconds on {os.cpu_count()} cores "
        f"(closeknit {version('closeknit')}, NumPy {np.__version__})."
    )


def _save_small(figure: Figure, stream: BinaryIO) -> None:
    """Save, with 256 colours if it would be large: a third of the bytes, hardly a difference."""
    from PIL import Image

    full = io.BytesIO()
    figure.savefig(full, dpi=DPI, format="png")
    if full.tell() <= LARGEST:
        stream.write(full.getvalue())
    else:
        Image.open(full).convert("RGB").quantize(256).save(stream, format="PNG", optimize=True)


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


def listed(values: Mapping[str, Any], pattern: str = "{}") -> str:
    """Return names with their values.

    Examples
    --------
    >>> listed({"EE": 0.25, "s-SNE": (1, 2)}, "{}")
    'EE 0.25; s-SNE (1, 2)'
    """
    return "; ".join(f"{name} {pattern.format(value)}" for name, value in values.items())


def settled(cases: Iterable[bool]) -> bool | None:
    """Whether a claim holds under all conditions that the paper leaves open; None if it depends."""
    found = set(cases)
    return found.pop() if len(found) == 1 else None


def claim(
    says: str, holds: bool | Iterable[bool | None] | None, numbers: str, because: str = ""
) -> str:
    """Return a claim of the paper as an item of a list, with our verdict and our numbers.

    Parameters
    ----------
    says : str
        What the paper says.
    holds : bool, None or iterable of them
        Whether it is so here, or for each of several data sets or models. None if what was run is
        not the paper's experiment, or if the paper gives no measure.
    numbers : str
        What that was judged by.
    because : str, default=""
        Why it is not comparable.

    Examples
    --------
    >>> print(claim("Newton needs more iterations.", [True, False], "3 and 2 against 2 and 2"))
    - *Newton needs more iterations.* **Agrees in 1 of 2 cases**: 3 and 2 against 2 and 2.
    >>> print(claim("Lena has edges.", None, "0.8", "another picture"))
    - *Lena has edges.* **Not comparable** (another picture): 0.8.
    """
    cases = list(holds) if isinstance(holds, Iterable) else [holds]
    judged = [bool(one) for one in cases if one is not None]
    if not judged:
        verdict = NOT_COMPARABLE
    elif any(judged) and not all(judged):
        verdict = f"Agrees in {sum(judged)} of {len(judged)} cases"
    else:
        verdict = "Agrees" if judged[0] else "Disagrees"
    reason = f" ({because})" if because else ""
    return f"- *{says}* **{verdict}**{reason}: {numbers}."

"""The papers' experiments: ``reproduce(name, out)`` runs one and writes a page about it.

``EXPERIMENTS`` maps names to modules, which are imported only when they are run. Each has a
``TITLE``, an ``INTRODUCTION``, ``NEEDS_DATA`` (whether the paper's data come from a folder) and a
function ``sections(quick, data)``, which gives for each heading a function that makes the
``closeknit.experiments.report.Section``.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection
from importlib import import_module
from pathlib import Path

__all__ = ["EXPERIMENTS", "reproduce"]

#: Name on the command line → module.
EXPERIMENTS: dict[str, str] = {
    "affinities": "closeknit.experiments.affinities",
    "embeddings": "closeknit.experiments.embeddings",
    "sparsification": "closeknit.experiments.sparsification",
}


def reproduce(
    name: str,
    out: str | Path,
    *,
    quick: bool = False,
    data: Path | None = None,
    only: Collection[str] = (),
    verbose: bool = False,
) -> Path:
    """Draw the figures of a paper, and write a page with our numbers beside its claims.

    The page and its figures are written one after the other; Ctrl-C leaves what is finished.

    Parameters
    ----------
    name : {"affinities", "embeddings", "sparsification"}
    out : str or path
        Folder for the PNG files and the page, ``NAME.md``; made if it does not exist.
    quick : bool, default=False
        On few, bundled data; below two minutes.
    data : Path or None, default=None
        Folder with the paper's data sets; see the function ``sections`` of the experiment. Without
        it, and in a quick run, bundled data take their place.
    only : collection of str, default=()
        Sections to run, such as ``"figure-2"``; the others stay as they are on the page in `out`.
        None means all.
    verbose : bool, default=False
        Whether to say on standard error what is being done.

    Returns
    -------
    Path
        Of the page.

    Examples
    --------
    >>> import tempfile
    >>> from closeknit.experiments import reproduce
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     reproduce("chemistry", folder)
    Traceback (most recent call last):
    ValueError: there is no experiment 'chemistry'; choose one of affinities, embeddings, ...
    """
    from closeknit.exceptions import NoBandwidthWarning
    from closeknit.experiments.report import Report, key
    from closeknit.progress import listening, shown

    if name not in EXPERIMENTS:
        known = ", ".join(EXPERIMENTS)
        raise ValueError(f"there is no experiment {name!r}; choose one of {known}")
    experiment = import_module(EXPERIMENTS[name])
    sections = experiment.sections(quick, None if quick else data)
    unknown = set(only) - set(map(key, sections))
    if unknown:
        known = ", ".join(map(key, sections))
        raise ValueError(f"{name} has no section {min(unknown)!r}; choose from {known}")
    kept = sections if only else ()
    texts = (experiment.TITLE, experiment.INTRODUCTION)
    because = "a quick run" if quick else ""
    if data is None and experiment.NEEDS_DATA and not quick:
        because = "a run on data that stand in for the paper's"
    report = Report(Path(out), name, *texts, because=because, kept=kept)
    # Bars of the many small fits would only distract from the text, as would pixels that have many
    # equals, again and again.
    with shown(verbose), listening(None), warnings.catch_warnings():
        warnings.simplefilter("ignore", NoBandwidthWarning)
        for heading, make in sections.items():
            if not only or key(heading) in only:
                report.add(heading, make)
    return report.path

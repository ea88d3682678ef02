"""Options that several commands have, each said once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from closeknit.cli.errors import USAGE, CommandError

__all__ = [
    "GRAPH_FILE",
    "TABLE_FILE",
    "AffinityOptions",
    "Approximation",
    "DataOptions",
    "InputKind",
    "Kind",
    "OnMissing",
    "PerplexityOptions",
    "SaveModel",
    "TalkOptions",
    "number_of",
    "option",
    "output",
]

_DATA = "Data"
_TEXT = "Text files"
_AFFINITIES = "Affinities"


class Approximation(StrEnum):
    """How neighbours are found."""

    auto = "auto"
    exact = "exact"
    approximate = "approximate"


class OnMissing(StrEnum):
    """What to do with rows that lack values."""

    error = "error"
    drop = "drop"


class InputKind(StrEnum):
    """What the rows of the input are."""

    auto = "auto"
    data = "data"
    affinities = "affinities"


def option(
    flags: str, what: str, panel: str | None = None, *, shown: bool | str = False, **settings: Any
) -> Any:
    """An option of a command.

    Parameters
    ----------
    flags : str
        Such as ``"--output -o"``.
    what : str
        What its help says.
    panel : str or None, default=None
        Under which heading.
    shown : bool or str, default=False
        The default that the help shows; True for the real one.
    **settings
        As Typer takes them.
    """
    return typer.Option(
        *flags.split(), help=what, rich_help_panel=panel, show_default=shown, **settings
    )


def output(what: str, default: str) -> Any:
    """The option ``--output``, with what is written and what the file is called by default."""
    return option("--output -o", what, shown=f"{default} here")


def number_of(flag: str, what: str) -> Any:
    """The option `flag` that says how many clusters to look for; `what` is their name."""
    words = f"Number of {what}; meanshift finds it out by itself."
    return option(f"{flag} -k", words, min=1, metavar="INTEGER")


#: What the help says of the two kinds of files that several commands write.
TABLE_FILE = "The table to write: .csv, .tsv, .parquet, .npy or .npz."
GRAPH_FILE = "The sparse matrix to write: .npz (SciPy) or .mtx."

_KIND = "What INPUT holds; auto takes a square sparse matrix for affinities."
Kind = Annotated[InputKind, option("--input", _KIND, _DATA, shown=True)]
_SAVE = "Keep the fitted model, for closeknit.io.load."
SaveModel = Annotated[Path | None, option("--save-model", _SAVE, metavar="FILE")]


@dataclass(frozen=True)
class TalkOptions:
    """How a command talks to its user."""

    quiet: Annotated[bool, option("--quiet -q", "Print nothing but errors.")] = False
    json: Annotated[bool, option("--json", "Print the summary as one JSON object on stdout.")] = (
        False
    )


@dataclass(frozen=True)
class DataOptions:
    """Where the data are, how they are written, and which columns are what."""

    path: Annotated[
        Path,
        typer.Argument(
            metavar="INPUT",
            help="CSV, TSV, Parquet, NPY, NPZ, Matrix Market, H5AD or a picture.",
            show_default=False,
        ),
    ]
    label: Annotated[
        list[str] | None,
        option(
            "--label",
            "A column that is no feature, such as a class. May be repeated.",
            _DATA,
            metavar="COLUMN",
        ),
    ] = None
    ids: Annotated[
        str | None, option("--id", "The column that names the rows.", _DATA, metavar="COLUMN")
    ] = None
    key: Annotated[
        str | None, option("--key", "The array to take from an NPZ or H5AD file.", _DATA)
    ] = None
    missing: Annotated[
        OnMissing, option("--missing", "What to do with rows that lack values.", _DATA, shown=True)
    ] = OnMissing.error
    sep: Annotated[
        str | None,
        option(
            "--sep",
            "Between the cells: ';', '|', tab, space, …",
            _TEXT,
            shown="detected",
            metavar="CHARACTER",
        ),
    ] = None
    decimal: Annotated[
        str | None,
        option(
            "--decimal", "The decimal mark: '.' or ','.", _TEXT, shown="detected", metavar="MARK"
        ),
    ] = None
    encoding: Annotated[
        str | None, option("--encoding", "Such as latin-1 or utf-16.", _TEXT, shown="utf-8")
    ] = None
    header: Annotated[
        bool | None,
        option(
            "--header/--no-header",
            "Whether the first row holds the names of the columns.",
            _TEXT,
            shown="detected",
        ),
    ] = None

    @property
    def reading(self) -> dict[str, Any]:
        """How to read, as `read_table` takes it, but for the roles of columns."""
        sep = {"tab": "\t", r"\t": "\t", "space": " "}.get(self.sep or "", self.sep)
        return {
            "key": self.key,
            "missing": self.missing.value,
            "sep": sep,
            "decimal": self.decimal,
            "encoding": self.encoding,
            "header": self.header,
        }


@dataclass(frozen=True)
class PerplexityOptions:
    """The perplexity, and what the bits of a result do and do not depend on.

    Examples
    --------
    >>> PerplexityOptions(["10,40"]).perplexities, PerplexityOptions().n_jobs
    ([10.0, 40.0], -1)
    """

    perplexity: Annotated[
        list[str] | None,
        option(
            "--perplexity -p",
            "Effective number of neighbours per point; several, as in 10,40, are averaged.",
            _AFFINITIES,
            shown="30",
            metavar="NUMBER",
        ),
    ] = None
    seed: Annotated[
        int, option("--seed", "The same seed gives the same result to the bit.", shown=True, min=0)
    ] = 0
    threads: Annotated[
        int | None,
        option(
            "--threads",
            "Threads to use; the result does not depend on it.",
            shown="all cores",
            min=1,
            metavar="INTEGER",
        ),
    ] = None

    @property
    def perplexities(self) -> float | list[float]:
        """The perplexity, or several, as estimators take them."""
        values = []
        for word in (part for one in self.perplexity or ["30"] for part in one.split(",")):
            try:
                values.append(float(word))
            except ValueError:
                raise CommandError(
                    f"--perplexity {word} is not a number; use one such as 30, or several such as "
                    "10,40",
                    exit_code=USAGE,
                ) from None
        return values[0] if len(values) == 1 else values

    def single(self, what: str) -> float:
        """The only perplexity; several are refused, since `what` has one."""
        value = self.perplexities
        if isinstance(value, list):
            raise CommandError(
                f"{what} has one perplexity, not {', '.join(f'{v:g}' for v in value)}; leave all "
                "but one out",
                exit_code=USAGE,
            )
        return value

    @property
    def n_jobs(self) -> int:
        """Threads, as estimators take them."""
        return self.threads or -1


@dataclass(frozen=True)
class AffinityOptions(PerplexityOptions):
    """How affinities are computed.

    Examples
    --------
    >>> AffinityOptions(["10,40"], metric="cosine").count(n_samples=1000)
    120
    """

    n_neighbors: Annotated[
        int | None,
        option(
            "--n-neighbors",
            "Neighbours each point is compared with.",
            _AFFINITIES,
            shown="3 × perplexity",
            min=1,
            metavar="INTEGER",
        ),
    ] = None
    metric: Annotated[
        str,
        option(
            "--metric",
            "euclidean, cosine, or any other of scikit-learn's; precomputed for distances.",
            _AFFINITIES,
            shown=True,
        ),
    ] = "euclidean"
    neighbors: Annotated[
        Approximation,
        option(
            "--neighbors",
            "How to find neighbours; auto is exact up to 20,000 points.",
            _AFFINITIES,
            shown=True,
        ),
    ] = Approximation.auto

    @property
    def keywords(self) -> dict[str, Any]:
        """The parameters of estimators that look for neighbours."""
        return {
            "n_neighbors": self.n_neighbors or "auto",
            "metric": self.metric,
            "neighbors": self.neighbors.value,
            "n_jobs": self.n_jobs,
            "random_state": self.seed,
        }

    def count(self, n_samples: int) -> int:
        """Neighbours of each of so many points."""
        perplexities = self.perplexities
        largest = max(perplexities) if isinstance(perplexities, list) else perplexities
        # In this order NaN becomes 1; to complain is left to the estimator.
        wanted = self.n_neighbors or 3.0 * max(1.0, largest)
        return max(1, math.ceil(min(n_samples - 1, wanted)))

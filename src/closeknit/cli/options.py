"""Options that several commands have, each said once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = [
    "GRAPH_FILE",
    "TABLE_FILE",
    "AffinityOptions",
    "Approximation",
    "DataOptions",
    "Id",
    "Input",
    "InputKind",
    "Json",
    "Key",
    "Kind",
    "Label",
    "Metric",
    "Missing",
    "NNeighbors",
    "Neighbors",
    "OnMissing",
    "Perplexity",
    "Quiet",
    "SaveModel",
    "Seed",
    "Threads",
    "how_many",
    "output",
]

_DATA = "Data"
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


def output(what: str, default: str) -> Any:
    """The option ``--output`` of a command.

    Parameters
    ----------
    what : str
        What is written, and as which kinds of files.
    default : str
        What the file is called if the option is not given.
    """
    return typer.Option("--output", "-o", help=what, show_default=f"{default} here")


def how_many(flag: str, what: str) -> Any:
    """The option that says how many clusters to look for.

    Parameters
    ----------
    flag : str
    what : str
        What they are called.
    """
    return typer.Option(
        flag,
        "-k",
        min=1,
        metavar="INTEGER",
        help=f"How many {what}; meanshift finds out by itself.",
        show_default=False,
    )


#: What the help says of the two kinds of files that several commands write.
TABLE_FILE = "The table to write: .csv, .tsv, .parquet, .npy or .npz."
GRAPH_FILE = "The sparse matrix to write: .npz (SciPy) or .mtx."

Input = Annotated[
    Path,
    typer.Argument(
        metavar="INPUT",
        help="CSV, TSV, Parquet, NPY, NPZ, Matrix Market, H5AD or a picture.",
        show_default=False,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Json = Annotated[
    bool, typer.Option("--json", help="Print the summary as one JSON object on stdout.")
]
Kind = Annotated[
    InputKind,
    typer.Option(
        "--input",
        help="What INPUT holds; auto takes a square sparse matrix for affinities.",
        rich_help_panel=_DATA,
    ),
]
Label = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        metavar="COLUMN",
        help="A numeric column that is no data, such as a class. May be repeated.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
Id = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help="The column that names the rows.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
Key = Annotated[
    str | None,
    typer.Option(
        "--key",
        help="The array to take from an NPZ or H5AD file.",
        rich_help_panel=_DATA,
        show_default=False,
    ),
]
Missing = Annotated[
    OnMissing,
    typer.Option("--missing", help="What to do with rows that lack values.", rich_help_panel=_DATA),
]
Perplexity = Annotated[
    float,
    typer.Option(
        "--perplexity",
        "-p",
        help="Effective number of neighbours of each point.",
        rich_help_panel=_AFFINITIES,
    ),
]
NNeighbors = Annotated[
    int | None,
    typer.Option(
        "--n-neighbors",
        min=1,
        metavar="INTEGER",
        help="Neighbours each point is compared with.",
        show_default="3 × perplexity",
        rich_help_panel=_AFFINITIES,
    ),
]
Metric = Annotated[
    str,
    typer.Option(
        "--metric",
        help="euclidean, cosine, or any other of scikit-learn's; precomputed for distances.",
        rich_help_panel=_AFFINITIES,
    ),
]
Neighbors = Annotated[
    Approximation,
    typer.Option(
        "--neighbors",
        help="How to find neighbours; auto is exact up to 20,000 points.",
        rich_help_panel=_AFFINITIES,
    ),
]
SaveModel = Annotated[
    Path | None,
    typer.Option(
        "--save-model",
        metavar="FILE",
        help="Keep the fitted model, for closeknit.io.load.",
        show_default=False,
    ),
]
Seed = Annotated[
    int, typer.Option("--seed", min=0, help="The same seed gives the same result to the bit.")
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        metavar="INTEGER",
        help="Threads to use; the result does not depend on it.",
        show_default="all cores",
    ),
]


@dataclass(frozen=True)
class DataOptions:
    """Where the data are, and which columns are what.

    Parameters
    ----------
    path : Path
    labels : list of str or None
    ids, key : str or None
    missing : OnMissing
    """

    path: Path
    labels: list[str] | None
    ids: str | None
    key: str | None
    missing: OnMissing


@dataclass(frozen=True)
class AffinityOptions:
    """How affinities are computed.

    Parameters
    ----------
    perplexity : float
    n_neighbors : int or None
    metric : str
    neighbors : Approximation
    seed : int
    threads : int or None

    Examples
    --------
    >>> options = AffinityOptions(30.0, None, "cosine", Approximation.exact, 0, None)
    >>> options.keywords["n_jobs"], options.count(n_samples=1000)
    (-1, 90)
    """

    perplexity: float
    n_neighbors: int | None
    metric: str
    neighbors: Approximation
    seed: int
    threads: int | None

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

    @property
    def n_jobs(self) -> int:
        """Threads, as estimators take them."""
        return self.threads or -1

    def count(self, n_samples: int) -> int:
        """Neighbours of each of so many points."""
        # In this order NaN becomes 1; to complain is left to the estimator.
        wanted = self.n_neighbors or 3.0 * max(1.0, self.perplexity)
        return max(1, math.ceil(min(n_samples - 1, wanted)))

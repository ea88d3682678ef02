"""Options that several commands have, each said once, in groups.

A command takes a group as one parameter, and `spelled_out` makes options of its fields::

    @spelled_out
    def cluster(clusters: int, *, data: DataOptions, talk: TalkOptions) -> None: ...
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import StrEnum
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

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
    "output",
    "spelled_out",
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


def spelled_out(command: Callable[..., None]) -> Callable[..., None]:
    """Make the fields of a command's groups of options parameters of its own, as Typer wants them.

    Parameters
    ----------
    command : callable
        Parameters whose types are dataclasses are groups.

    Returns
    -------
    callable

    Examples
    --------
    >>> @spelled_out
    ... def greet(name: str, *, talk: TalkOptions) -> None:
    ...     print(name, talk.quiet)
    >>> list(signature(greet).parameters)
    ['name', 'quiet', 'json']
    >>> greet(name="Ada", quiet=True, json=False)
    Ada True
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: group for name, group in hints.items() if is_dataclass(group)}
    parameters: list[Parameter] = []
    for parameter in signature(command).parameters.values():
        group = groups.get(parameter.name)
        if group is None:
            parameters.append(parameter.replace(annotation=hints[parameter.name]))
            continue
        types = get_type_hints(group, include_extras=True)
        parameters += [
            Parameter(
                field.name,
                Parameter.KEYWORD_ONLY,
                default=Parameter.empty if field.default is MISSING else field.default,
                annotation=types[field.name],
            )
            for field in fields(group)
        ]
    parameters = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in parameters]

    @wraps(command)
    def run(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    run.__signature__ = signature(command).replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


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


def number_of(flag: str, what: str) -> Any:
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
        help=f"Number of {what}; meanshift finds it out by itself.",
        show_default=False,
    )


#: What the help says of the two kinds of files that several commands write.
TABLE_FILE = "The table to write: .csv, .tsv, .parquet, .npy or .npz."
GRAPH_FILE = "The sparse matrix to write: .npz (SciPy) or .mtx."

Kind = Annotated[
    InputKind,
    typer.Option(
        "--input",
        help="What INPUT holds; auto takes a square sparse matrix for affinities.",
        rich_help_panel=_DATA,
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


@dataclass(frozen=True)
class TalkOptions:
    """How a command talks to its user."""

    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False
    json: Annotated[
        bool, typer.Option("--json", help="Print the summary as one JSON object on stdout.")
    ] = False


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
        typer.Option(
            "--label",
            metavar="COLUMN",
            help="A column that is no feature, such as a class. May be repeated.",
            rich_help_panel=_DATA,
            show_default=False,
        ),
    ] = None
    ids: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="COLUMN",
            help="The column that names the rows.",
            rich_help_panel=_DATA,
            show_default=False,
        ),
    ] = None
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            help="The array to take from an NPZ or H5AD file.",
            rich_help_panel=_DATA,
            show_default=False,
        ),
    ] = None
    missing: Annotated[
        OnMissing,
        typer.Option(
            "--missing", help="What to do with rows that lack values.", rich_help_panel=_DATA
        ),
    ] = OnMissing.error
    sep: Annotated[
        str | None,
        typer.Option(
            "--sep",
            metavar="CHARACTER",
            help="Between the cells of a text file: ';', '|', tab, space, …",
            rich_help_panel=_TEXT,
            show_default="detected",
        ),
    ] = None
    decimal: Annotated[
        str | None,
        typer.Option(
            "--decimal",
            metavar="MARK",
            help="The decimal mark: '.' or ','.",
            rich_help_panel=_TEXT,
            show_default="detected",
        ),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(
            "--encoding",
            help="Such as latin-1 or utf-16.",
            rich_help_panel=_TEXT,
            show_default="utf-8",
        ),
    ] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first row holds the names of the columns.",
            rich_help_panel=_TEXT,
            show_default="detected",
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
        typer.Option(
            "--perplexity",
            "-p",
            metavar="NUMBER",
            help="Effective number of neighbours per point; several, as in 10,40, are averaged.",
            show_default="30",
            rich_help_panel=_AFFINITIES,
        ),
    ] = None
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="The same seed gives the same result to the bit.")
    ] = 0
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads",
            min=1,
            metavar="INTEGER",
            help="Threads to use; the result does not depend on it.",
            show_default="all cores",
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
        typer.Option(
            "--n-neighbors",
            min=1,
            metavar="INTEGER",
            help="Neighbours each point is compared with.",
            show_default="3 × perplexity",
            rich_help_panel=_AFFINITIES,
        ),
    ] = None
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            help="euclidean, cosine, or any other of scikit-learn's; precomputed for distances.",
            rich_help_panel=_AFFINITIES,
        ),
    ] = "euclidean"
    neighbors: Annotated[
        Approximation,
        typer.Option(
            "--neighbors",
            help="How to find neighbours; auto is exact up to 20,000 points.",
            rich_help_panel=_AFFINITIES,
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

"""``closeknit demo``: the entropic affinities of scikit-learn's digits, as a table and a figure."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from closeknit.cli.errors import CommandError
from closeknit.io.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from closeknit import EntropicAffinities

__all__ = ["Summary", "report", "run"]

_LABEL = {"boxstyle": "circle,pad=0.2", "facecolor": "white", "edgecolor": "0.4", "alpha": 0.85}


@dataclass(frozen=True)
class Summary:
    """What ``closeknit demo`` reports.

    Attributes
    ----------
    n_samples, n_features : int
        Shape of the data.
    perplexity : float
        The perplexity asked for, K.
    n_neighbors : int
        Neighbours each point's affinities spread over.
    passes_per_point : float
        Mean number of evaluations of a point's affinities until its bandwidth was found.
    largest_perplexity_error : float or None
        Largest ``|perplexity - K|`` over the points with a bandwidth, None if there are none.
    rows_without_bandwidth : int
        Points for which no bandwidth gives the perplexity.
    seconds : float
        Time for neighbours and affinities.
    output : str
        The figure written.
    """

    n_samples: int
    n_features: int
    perplexity: float
    n_neighbors: int
    passes_per_point: float
    largest_perplexity_error: float | None
    rows_without_bandwidth: int
    seconds: float
    output: str


def run(output: Path, perplexity: float) -> Summary:
    """Compute the affinities of the digits, draw them to `output` and sum up."""
    from sklearn.datasets import load_digits

    figure = _new_figure(output)
    X, digits = load_digits(return_X_y=True)
    _check_perplexity(perplexity, n_others=len(X) - 1)
    with replacing(output) as file:
        affinities, seconds = _fit(X, perplexity)
        _draw(figure, X, digits, affinities.sigmas_, perplexity)
        figure.savefig(file, format=_format(output), dpi=200, bbox_inches="tight", pad_inches=0.15)
    return _sum_up(affinities, X.shape, perplexity, seconds, output)


def report(summary: Summary, *, as_json: bool) -> None:
    """Print `summary` as a table or as one JSON object."""
    if as_json:
        print(json.dumps(asdict(summary)))
        return
    error = summary.largest_perplexity_error
    table = Table(title="Entropic affinities of scikit-learn's digits", show_header=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_row("points", f"{summary.n_samples}")
    table.add_row("dimension", f"{summary.n_features}")
    table.add_row("perplexity K", f"{summary.perplexity:g}")
    table.add_row("neighbours per point", f"{summary.n_neighbors}")
    table.add_row("passes per point (mean)", f"{summary.passes_per_point:.2f}")
    table.add_row("largest perplexity error", "none" if error is None else f"{error:.1e}")
    table.add_row("rows without a bandwidth", f"{summary.rows_without_bandwidth}")
    table.add_row("seconds, neighbours and affinities", f"{summary.seconds:.3f}")
    console = Console()
    console.print(table)
    console.print(f"Figure: {summary.output}", soft_wrap=True, markup=False, highlight=False)


def _check_perplexity(perplexity: float, n_others: int) -> None:
    if not 1 < perplexity < n_others:
        raise CommandError(
            f"--perplexity {perplexity:g} is out of range: every digit has {n_others} others, "
            f"so choose a number above 1 and below {n_others}",
            exit_code=2,
        )


def _fit(X: NDArray[Any], perplexity: float) -> tuple[EntropicAffinities, float]:
    from closeknit import EntropicAffinities
    from closeknit.exceptions import NoBandwidthWarning

    estimator = EntropicAffinities(perplexity=perplexity)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoBandwidthWarning)  # the table counts these rows
        start = perf_counter()
        estimator.fit_transform(X)
        return estimator, perf_counter() - start


def _sum_up(
    affinities: EntropicAffinities,
    shape: tuple[int, int],
    perplexity: float,
    seconds: float,
    output: Path,
) -> Summary:
    converged = affinities.converged_
    errors = np.abs(affinities.perplexities_ - perplexity)[converged]
    return Summary(
        n_samples=shape[0],
        n_features=shape[1],
        perplexity=perplexity,
        n_neighbors=int(np.diff(affinities.affinities_.indptr).max()),
        passes_per_point=float(np.mean(affinities.evaluations_)),
        largest_perplexity_error=float(errors.max()) if errors.size else None,
        rows_without_bandwidth=int(np.count_nonzero(~converged)),
        seconds=seconds,
        output=str(output),
    )


def _new_figure(output: Path) -> Figure:
    try:
        # A figure without pyplot draws in memory and needs neither a display nor a backend.
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise CommandError(
            "the demo draws with matplotlib, which is not installed; "
            'run: pip install "closeknit[plot]"',
            exit_code=2,
        ) from error
    figure = Figure(figsize=(11, 5), layout="constrained")
    formats = figure.canvas.get_supported_filetypes()
    if _format(output) not in formats:
        raise CommandError(
            f"--output {output} has an unknown ending; use one of {', '.join(sorted(formats))}",
            exit_code=2,
        )
    return figure


def _format(output: Path) -> str:
    return output.suffix.lstrip(".").lower() or "png"


def _draw(
    figure: Figure,
    X: NDArray[Any],
    digits: NDArray[Any],
    sigmas: NDArray[Any],
    perplexity: float,
) -> None:
    from sklearn.decomposition import PCA

    from closeknit.plotting import plot_sigmas, plot_sigmas_by_class

    plane = PCA(2, svd_solver="full").fit_transform(X)
    left, right = figure.subplots(1, 2)
    plot_sigmas(plane, sigmas, ax=left)
    for digit in np.unique(digits):
        x, y = np.median(plane[digits == digit], axis=0)
        left.text(x, y, str(digit), ha="center", va="center", bbox=_LABEL)
    left.set(xlabel="first principal component", ylabel="second principal component")
    left.set_title("point by point")
    plot_sigmas_by_class(sigmas, digits, ax=right)
    right.set(xlabel="digit", title="digit by digit, bar at the median")
    figure.suptitle(f"Bandwidths σ of scikit-learn's digits at perplexity K = {perplexity:g}")

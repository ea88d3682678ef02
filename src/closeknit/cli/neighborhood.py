"""The options about neighbours and affinities, and what a summary says about them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from closeknit.cli.command import Command, Fact, option
from closeknit.cli.errors import UsageError

_AFFINITIES = "Affinities"

Approximation = StrEnum("Approximation", ["auto", "exact", "approximate"])


def perplexity_option(*, several: bool = True) -> Any:
    """The option ``--perplexity``, for commands that take several or only one."""
    text = "Effective number of neighbours per point"
    if several:
        text += (
            "; several, as in 10,40, are averaged; auto is 30, or a third of the neighbours where "
            "they are fewer than 90"
        )
    return option(f"{text}.", _AFFINITIES, flags="--perplexity -p", shown="30", metavar="NUMBER")


@dataclass(frozen=True, kw_only=True)
class PerplexityCommand(Command):
    """A command that has a perplexity, and bits that depend on a seed but not on threads.

    Examples
    --------
    >>> PerplexityCommand(perplexity=["10,40"]).perplexities, PerplexityCommand().n_jobs
    ([10.0, 40.0], -1)
    >>> PerplexityCommand(perplexity=["10,40"]).count(n_samples=1000)
    120
    """

    perplexity: list[str] | None = perplexity_option()
    seed: int = option("The same seed gives the same result to the bit.", default=0, min=0)
    threads: int | None = option(
        "Threads to use; the result does not depend on it.",
        shown="all cores",
        min=1,
        metavar="INTEGER",
    )

    @property
    def perplexities(self) -> float | list[float] | str:
        """The perplexity, or several, or "auto", as estimators take them."""
        if self.perplexity == ["auto"]:
            return "auto"
        values = []
        for word in (part for one in self.perplexity or ["30"] for part in one.split(",")):
            try:
                values.append(float(word))
            except ValueError:
                raise UsageError(
                    f"--perplexity {word} is not a number; use one such as 30, several such as "
                    "10,40, or auto"
                ) from None
        return values[0] if len(values) == 1 else values

    def single_perplexity(self, subject: str) -> float:
        """The only perplexity; several are refused, since `subject` has one."""
        value = self.perplexities
        if isinstance(value, str):
            raise UsageError(f"{subject} needs a number for --perplexity, such as 30")
        if isinstance(value, list):
            raise UsageError(
                f"{subject} has one perplexity, not {', '.join(f'{v:g}' for v in value)}; leave "
                "all but one out"
            )
        return value

    @property
    def n_jobs(self) -> int:
        """Threads, as estimators take them."""
        return self.threads or -1

    def count(self, n_samples: int) -> int:
        """Neighbours of each of this many points."""
        perplexities = 30.0 if isinstance(self.perplexities, str) else self.perplexities
        largest = max(perplexities) if isinstance(perplexities, list) else perplexities
        # In this order NaN becomes 1; the estimator raises the error.
        wanted = getattr(self, "n_neighbors", None) or 3.0 * max(1.0, largest)
        return max(1, math.ceil(min(n_samples - 1, wanted)))


@dataclass(frozen=True, kw_only=True)
class AffinityCommand(PerplexityCommand):
    """A command that searches for neighbours."""

    n_neighbors: int | None = option(
        "Neighbours each point is compared with.",
        _AFFINITIES,
        shown="3 × perplexity",
        min=1,
        metavar="INTEGER",
    )
    metric: str = option(
        "euclidean, cosine, or any other of scikit-learn's; precomputed for distances.",
        _AFFINITIES,
        default="euclidean",
    )
    neighbors: Approximation = option(
        "How to find neighbours; auto is exact up to 20,000 points, or more with few features.",
        _AFFINITIES,
        default=Approximation.auto,
    )

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


def neighbor_facts(affinities: Any) -> list[Fact]:
    """How the neighbours were found, and for which perplexity.

    Parameters
    ----------
    affinities : fitted estimator of affinities or None
        None if the affinities were given.

    Returns
    -------
    list of Fact

    Examples
    --------
    >>> import closeknit as ck, numpy as np
    >>> affinities = ck.EntropicAffinities(3.0).fit(np.arange(12.0)[:, None])
    >>> [fact.shown for fact in neighbor_facts(affinities)]
    ['3', '9', 'exact', 'None', 'euclidean']
    """
    declared = getattr(affinities, "perplexity", None)
    perplexity = getattr(affinities, "perplexity_", declared)
    several = perplexity if isinstance(perplexity, list) else [perplexity or 0.0]
    neighbors = getattr(affinities, "neighbors_", None)
    count = None if neighbors is None else int(neighbors.indices.shape[1])
    return [
        Fact("perplexity", "perplexity", perplexity, words=", ".join(f"{K:g}" for K in several)),
        Fact("n_neighbors", "neighbours per point", count),
        Fact("neighbor_search", "neighbour search", _search_of(affinities)),
        Fact("recall", "", getattr(getattr(affinities, "index_", None), "recall_", None)),
        Fact("metric", "metric", getattr(affinities, "metric", None)),
    ]


def bandwidth_facts(affinities: Any) -> list[Fact]:
    """How well the bandwidths give the perplexity, and how many points have none.

    Parameters
    ----------
    affinities : fitted estimator of affinities

    Returns
    -------
    list of Fact

    Examples
    --------
    >>> import closeknit as ck, numpy as np
    >>> affinities = ck.EntropicAffinities(3.0).fit(np.arange(12.0)[:, None])
    >>> bandwidth_facts(affinities)[1].value
    0
    """
    import numpy as np

    converged = affinities.converged_
    errors = np.abs(affinities.perplexities_ - affinities.perplexity_)[converged]
    error = float(errors.max()) if errors.size else None
    missing = int(np.count_nonzero(~converged.reshape(len(converged), -1).all(axis=1)))
    return [
        Fact("largest_perplexity_error", "largest error of a perplexity", error, "{:.1e}"),
        Fact("rows_without_bandwidth", "points without a bandwidth", missing),
    ]


def _search_of(affinities: Any) -> str | None:
    index = getattr(affinities, "index_", None)
    if index is None:
        return None
    kind = type(index).__name__
    if kind == "ApproximateIndex":
        known = "" if index.recall_ is None else f", measured {index.recall_:.3f}"
        return f"approximate, for a recall of {index.target_recall:g}{known}"
    if kind == "ShardedIndex":
        return f"in cells, measured recall {index.recall_:.3f}"
    return "given distances" if kind == "PrecomputedIndex" else "exact"

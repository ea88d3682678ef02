"""Graph sparsification for kernel methods (Dupré and Lam): figures 1 to 7 and the dip experiment.

::

    problems.py    the data sets, and their graphs
    graphs.py      figures 1, 2  what the graphs look like
    parameters.py  figures 3–5   bandwidths and sparsity by perplexity, neighbours and votes
    curves.py      figures 6, 7  D₁, D₂ and clustering by sparsity
    dips.py        section 6     the dip test and the number of modes
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from closeknit.experiments.report import Section
from closeknit.experiments.sparsification.curves import figure_6, figure_7
from closeknit.experiments.sparsification.dips import section_6
from closeknit.experiments.sparsification.graphs import figure_1, figure_2
from closeknit.experiments.sparsification.parameters import figure_3, figure_4, figure_5
from closeknit.experiments.sparsification.problems import (
    N_SAMPLES,
    N_VIEWERS,
    PERPLEXITIES,
    VIEW_PERPLEXITY,
    toy_problems,
)

__all__ = ["INTRODUCTION", "NEEDS_DATA", "TITLE", "Scale", "sections"]

NEEDS_DATA = False
TITLE = "Graph sparsification for kernel methods"
INTRODUCTION = (
    "Figures 1 to 7 of Dupré and Lam, run by `closeknit.experiments.sparsification` with the data, "
    "kernels and parameters of the notebook in the repository that it cites: scikit-learn's "
    f"moons, blobs and circles of {N_SAMPLES} points drawn in this order from seed 0, standardised "
    "(the report speaks of 500 in one place); affinities exp(−d²/σ²) over all pairs. The report "
    "shows circles and says that the other sets are alike. Entropic affinities are computed by the "
    "report's equations and, where that differs, as its program computes them. The notebook has no "
    f"viewers; ours are {N_VIEWERS} under the entropic bandwidth of perplexity "
    f"{VIEW_PERPLEXITY:g}, so that nothing about them is comparable. All seeds are 0. What the "
    "report claims is in italics, our verdict in bold."
)


@dataclass(frozen=True)
class Scale:
    """How much of the experiment to run.

    Attributes
    ----------
    perplexities : tuple of int
        In figures 3 and 4; the first eleven are those of figures 6 and 7.
    repetitions : int
        Of the dip experiment.
    """

    perplexities: tuple[int, ...] = PERPLEXITIES
    repetitions: int = 1_000


FULL = Scale()
QUICK = Scale(PERPLEXITIES[::4], 100)


def sections(quick: bool, data: Path | None) -> dict[str, Callable[[], Section]]:
    """Figures 1 to 7, and the dip experiment.

    Parameters
    ----------
    quick : bool
        Fewer points on the curves, fewer repetitions.
    data : Path or None
        Not used: the report's data are generated.
    """
    scale = QUICK if quick else FULL
    problems = toy_problems()
    some, all_of_them = scale.perplexities[:11], scale.perplexities
    return {
        "Figure 1: nearest neighbours and entropic affinities": lambda: figure_1(problems),
        "Figure 2: viewers (orange)": lambda: figure_2(problems),
        "Figure 3: bandwidths": lambda: figure_3(problems, all_of_them),
        "Figure 4: sparsity by neighbours and by entropy": lambda: figure_4(problems, all_of_them),
        "Figure 5: sparsity by votes": lambda: figure_5(problems),
        "Figure 6: D₁ and D₂": lambda: figure_6(problems, some),
        "Figure 7: clustering": lambda: figure_7(problems, some),
        "Section 6: the dip test": lambda: section_6(scale.repetitions),
    }

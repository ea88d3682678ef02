"""Entropic affinities (Vladymyrov and Carreira-Perpiñán, 2013): figures 1 to 6.

::

    algorithm.py  Algorithm 1, step by step
    rules.py      figure 1      embeddings under three rules for the bandwidth
    steps.py      figures 2, 3  one point's entropy, the root finders' steps, the bounds
    orders.py     figure 4      β and the orders that follow it
    pixels.py     figure 5      β of a photograph
    methods.py    figure 6      root finders × orders; claims.py judges what the paper says
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from closeknit.affinities import Bandwidths, solve_bandwidths
from closeknit.experiments import data as sets
from closeknit.experiments.affinities import claims, methods
from closeknit.experiments.affinities.methods import N_NEIGHBORS, PERPLEXITY
from closeknit.experiments.affinities.orders import figure_4
from closeknit.experiments.affinities.pixels import figure_5
from closeknit.experiments.affinities.rules import figure_1
from closeknit.experiments.affinities.steps import figure_2, figure_3
from closeknit.experiments.data import Points
from closeknit.experiments.report import Section, listed
from closeknit.neighbors import Neighbors, find_neighbors

__all__ = ["INTRODUCTION", "NEEDS_DATA", "TITLE", "Scale", "sections"]

NEEDS_DATA = True
TITLE = "Entropic affinities: properties and efficient numerical computation"
INTRODUCTION = (
    "Figures 1 to 6 of Vladymyrov and Carreira-Perpiñán (2013), run by "
    "`closeknit.experiments.affinities`. What the paper claims is in italics, our verdict in bold. "
    "Of its three data sets only MNIST is to be had: scikit-image's astronaut stands in for Lena "
    "and 20 Newsgroups for Grolier's encyclopedia, so that claims about those are not comparable. "
    "Iterations are those of Algorithm 1 within the bounds of Theorem 1.1, until the entropy and "
    "log β are within 1e-10; seconds the processor time of one thread of the library, the less of "
    f"{methods.REPEATS} repetitions after a first run. Seeds are 0."
)


@dataclass(frozen=True)
class Scale:
    """How much of the experiment to run.

    Attributes
    ----------
    image_size : int or None
        Side of the square of the photograph; None for all of it.
    n_embedded : int
        Digits in figure 1, if there is no COIL-20.
    n_lams, max_iter : int
        Of its homotopy.
    n_full : int
        Rows over all other points.
    every, every_digit : int
        Pixels and digits of which one is counted in figure 6.
    """

    image_size: int | None = None
    n_embedded: int = 720
    n_lams: int = 50
    max_iter: int = 1000
    n_full: int = 1000
    every: int = 16
    every_digit: int = 4


FULL = Scale()
QUICK = Scale(
    image_size=80, n_embedded=200, n_lams=6, max_iter=60, n_full=100, every=1, every_digit=1
)


def sections(quick: bool, data: Path | None) -> dict[str, Callable[[], Section]]:
    """Figures 1 to 6.

    Parameters
    ----------
    quick : bool
        A small part of the photograph and few digits.
    data : Path or None
        Folder with ``coil20.npz``, ``mnist70k.npz`` and ``newsgroups20_counts.npz``; scikit-learn's
        digits stand in for the first two.
    """
    scale = QUICK if quick else FULL

    @cache
    def photograph() -> tuple[Points, Neighbors, Bandwidths]:
        points = sets.photograph(scale.image_size)
        near = _neighbors(points)
        return points, near, solve_bandwidths(near.sq_distances, PERPLEXITY)

    def three_rules() -> Section:
        points = sets.digits(scale.n_embedded) if data is None else sets.coil(data)
        return figure_1(points, scale.n_lams, scale.max_iter)

    def pixels() -> Section:
        points, _, solution = photograph()
        return figure_5(points, solution, PERPLEXITY)

    return {
        "Figure 1: three rules": three_rules,
        "Figure 2: one root": lambda: figure_2(*photograph()[1:], PERPLEXITY),
        "Figure 3: bounds": lambda: figure_3(*photograph()[1:], PERPLEXITY),
        "Figure 4: orders": figure_4,
        "Figure 5: a photograph": pixels,
        "Figure 6: methods and orders": lambda: _figure_6(*photograph()[:2], data, scale),
    }


def _neighbors(points: Points) -> Neighbors:
    return find_neighbors(points.X, N_NEIGHBORS, metric=points.metric, neighbors="exact")


def _figure_6(points: Points, near: Neighbors, data: Path | None, scale: Scale) -> Section:
    assert points.image is not None
    digits = sets.digits() if data is None else sets.mnist(data, 60_000)
    near_digits = _neighbors(digits)
    shape = points.image.shape[:2]
    tries = [
        partial(methods.try_methods, points.name, near, shape=shape, every=scale.every),
        partial(methods.try_methods, digits.name, near_digits, every=scale.every_digit),
    ]
    if data is not None:
        text = sets.newsgroups(data)
        tries.append(partial(methods.try_methods, text.name, _neighbors(text)))
    # Seconds on pixels take longest, and hardly depend on the point itself.
    timed = [data is None, *(True for _ in tries[1:])]
    readings = [
        (attempt(own=True), attempt(own=False, timed=also))
        for attempt, also in zip(tries, timed, strict=True)
    ]
    parts = [
        f"K = {PERPLEXITY:g}, {N_NEIGHBORS} neighbours, tolerance 1e-10, as in the paper. Its "
        "equation (1) counts a point among its own neighbours, at distance 0, and its text allows "
        "for leaving it out; it does not say which was run, and much depends on it. So both were: "
        "*with itself* and 249 others, and *without* and 250 others. A claim agrees or disagrees "
        "only if it does in both. Mean iterations of Algorithm 1 / share of points with bisections "
        "/ seconds with the order's own cost. D_K sorts by d_K², *gap* by d_K² − d_1² (the same "
        "with itself); *regression* guesses log β from a few distances. Iterations are those of "
        f"every {scale.every}th pixel and every {scale.every_digit}th digit, at their starts among "
        "all; seconds on pixels were measured with itself only.",
    ]
    for both in readings:
        parts.append(f"### {both[0].name}: n = {both[0].n_samples:,}")
        for trial in both:
            parts += ["With itself:" if trial.own else "Without:", methods.orders_table(trial)]
            free = {f: f"{n:.2f} / {trial.seconds[f, '']:.2f}" for f, n in trial.passes.items()}
            if len(free) > 1:
                line = f"Without an order, passes / seconds: {listed(free)}, the library's choice."
                parts.append(line)
    trees, verdict = claims.tree_table(near_digits, scale.every_digit)
    wide = sets.digits() if data is None else sets.mnist(data, 20_000)
    lines = [*claims.figure_6_claims(readings), verdict, claims.cost_of_derivatives(near_digits)]
    lines.append(claims.full_rows(wide, scale.n_full, 50.0))
    parts += ["### The tree by κ, on MNIST", trees, "### The paper's claims", "\n".join(lines)]
    return Section(parts, methods.draw([with_itself for with_itself, _ in readings]))

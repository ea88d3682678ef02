"""The paper's claims about figure 6, judged on MNIST, the only data set of it at hand."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import product

import numpy as np

from closeknit.affinities import Density, MinimumSpanningTree, RowProblem, solve_bandwidths
from closeknit.experiments.affinities.algorithm import METHODS, Counts, algorithm_1, starts_in_order
from closeknit.experiments.affinities.methods import PERPLEXITY, Trial, seconds_to_solve
from closeknit.experiments.data import Points
from closeknit.experiments.report import claim, listed, settled, table
from closeknit.neighbors import Neighbors

KAPPAS = (1, 2, 3, 5, 10, 20, 50)
STANDS_IN = "20 Newsgroups stand in for Grolier's encyclopedia, which is not to be had"
PROGRAMS = "a ratio of programs, of which the paper's are not to be had"


def figure_6_claims(readings: Sequence[tuple[Trial, Trial]]) -> list[str]:
    """Return one item for each claim about orders and methods.

    Parameters
    ----------
    readings : sequence of (Trial, Trial)
        For the pixels, the digits and possibly the text: with each point among its own neighbours,
        and without.
    """
    pixels, digits, *text = readings
    return [
        *_about_finders(digits),
        *_about_orders(readings),
        *map(_claim_on_text, text),
        claim(
            "On pixels the raster order does almost as well as MST.",
            None,
            f"Euler: {_both(pixels, _iterations_of_euler)}",
            "the picture is not the paper's, Lena",
        ),
    ]


def _both(pair: tuple[Trial, Trial], numbers: Callable[[Trial], dict[str, str]]) -> str:
    """Numbers of both readings."""
    return "; ".join(
        f"{'with itself' if trial.own else 'without'}: {listed(numbers(trial)).replace(';', ',')}"
        for trial in pair
    )


def _verdict(
    says: str,
    holds: Iterable[bool],
    numbers: str,
    depends: str = "it depends on whether a point is its own neighbour",
) -> str:
    """Judge by all readings, or give the reason why they cannot decide."""
    verdict = settled(holds)
    return claim(says, verdict, numbers, depends if verdict is None else "")


def _iterations_of_euler(trial: Trial) -> dict[str, str]:
    return {order: f"{trial.iterations('euler', order):.2f}" for order in trial.orders}


def _iterations(order: str) -> Callable[[Trial], dict[str, str]]:
    return lambda trial: {f: f"{trial.iterations(f, order):.2f}" for f in METHODS}


def _shares(
    finders: Iterable[str], orders: Iterable[str], share: Callable[[Counts], float]
) -> Callable[[Trial], dict[str, float]]:
    cells = list(product(finders, orders))
    return lambda trial: {f"{f} {order}": share(trial.counts[f, order]) for f, order in cells}


def _percent(shares: Callable[[Trial], dict[str, float]]) -> Callable[[Trial], dict[str, str]]:
    return lambda trial: {name: f"{share:.1%}" for name, share in shares(trial).items()}


def _about_finders(pair: tuple[Trial, Trial]) -> list[str]:
    few = _shares(("euler", "halley"), ("D_K", "MST"), lambda counts: counts.within(2))
    trial = pair[0]
    slower = {
        f: seconds / trial.seconds["newton", "D_K"]
        for (f, order), seconds in trial.seconds.items()
        if order in ("", "D_K")
    }
    return [
        _verdict(
            "Halley's and Euler's methods require only two iterations for most points.",
            [share > 0.5 for trial in pair for share in few(trial).values()],
            f"share of the digits with at most two: {_both(pair, _percent(few))}",
            "it depends on the order, and on whether a point is its own neighbour",
        ),
        _verdict(
            "From the bounds Halley needs more iterations than Euler on MNIST.",
            [t.iterations("halley", "bounds") > t.iterations("euler", "bounds") for t in pair],
            _both(pair, _iterations("bounds")),
        ),
        _verdict(
            "Newton's method needs more iterations than both.",
            [
                t.iterations("newton", order) > t.iterations(other, order)
                for t, order, other in product(pair, ("D_K", "MST"), ("halley", "euler"))
            ],
            f"D_K order, {_both(pair, _iterations('D_K'))}",
        ),
        claim(
            "But its runtime is lower.",
            None,
            f"seconds over those of Newton, with itself: {listed(slower, '{:.2f}')}; here a pass "
            "computes all moments at once",
            PROGRAMS,
        ),
        claim(
            "Of the methods without derivatives Ridders' is fastest, about twice as slow as "
            "Newton's.",
            None,
            f"the same numbers; passes {listed(trial.passes, '{:.2f}')}",
            PROGRAMS,
        ),
        claim(
            "Brent's method is about 5 times as slow as Newton's, bisection 10–20 times.",
            None,
            "the same numbers",
            PROGRAMS,
        ),
    ]


def _about_orders(readings: Sequence[tuple[Trial, Trial]]) -> list[str]:
    pair, sets = readings[1], [trial for both in readings for trial in both]
    worst = ("bounds", "random")
    extra = {
        trial.own: {
            f"{f} {order}": trial.iterations(f, order) - trial.iterations(f, "D_K")
            for f, order in product(METHODS, worst)
        }
        for trial in pair
    }
    twice = {
        f"{trial.name}{' with itself' if trial.own else ''}": 1.0
        - trial.counts["euler", "oracle"].within(1)
        for trial in sets
    }
    bisected = _percent(_shares(METHODS, worst, lambda counts: counts.bisected))
    return [
        _verdict(
            "On Lena and MNIST D_K is slightly better than MST (for Euler 2.09 iterations against "
            "2.22 on Lena).",
            [t.iterations("euler", "D_K") < t.iterations("euler", "MST") for t in pair],
            f"Euler: {'; '.join(f'{p[0].name}, {_both(p, _two_orders)}' for p in readings)}; "
            "judged on MNIST",
        ),
        _verdict(
            "Bounds and random orders need 1–2 iterations more than the others.",
            [1.0 <= more <= 2.0 for values in extra.values() for more in values.values()],
            "more than D_K: "
            + _both(pair, lambda t: {n: f"{more:.2f}" for n, more in extra[t.own].items()}),
            "it depends on the method, and on whether a point is its own neighbour",
        ),
        claim(
            "For 50 % of the points the extra iterations are bisections.",
            None,
            "share of points with bisections: "
            + "; ".join(f"{p[0].name}, {_both(p, bisected)}" for p in readings),
            "the paper does not say for which data set, method and order",
        ),
        _verdict(
            "The oracle order achieves nearly 1 iteration for Euler's and Halley's methods.",
            [round(t.iterations(f, "oracle")) == 1 for t in pair for f in ("euler", "halley")],
            _both(pair, _iterations("oracle")),
        ),
        claim(
            "With it only 0.1 % of the points need a second iteration of Euler's method.",
            None,
            listed(twice, "{:.2%}"),
            "the paper does not say on which data set",
        ),
        claim(
            "MST and D_K are only twice as slow as the oracle order.",
            None,
            f"seconds over those of the oracle: {_both(pair, _beside_the_oracle)}",
            PROGRAMS,
        ),
        _verdict(
            "A Newton-based iteration in a tree or density order takes just above one iteration "
            "per point.",
            [round(mean) == 1 for t in pair for mean in _in_both_orders(t).values()],
            f"{_both(pair, lambda t: {n: f'{m:.2f}' for n, m in _in_both_orders(t).items()})}; the "
            "paper's own means, for Euler's method, are above two",
        ),
    ]


def _two_orders(trial: Trial) -> dict[str, str]:
    return {order: f"{trial.iterations('euler', order):.2f}" for order in ("D_K", "MST")}


def _in_both_orders(trial: Trial) -> dict[str, float]:
    """Iterations of every method that may be meant by "Newton-based"."""
    return {f"{f} {o}": trial.iterations(f, o) for f, o in product(METHODS, ("D_K", "MST"))}


def _beside_the_oracle(trial: Trial) -> dict[str, str]:
    return {
        f"{f} {order}": f"{trial.seconds[f, order] / trial.seconds[f, 'oracle']:.2f}"
        for f, order in product(METHODS, ("D_K", "MST"))
    }


def _claim_on_text(pair: tuple[Trial, Trial]) -> str:
    return claim(
        "On text MST does almost as badly as the random order, but D_K does not: it is only 22 % "
        "slower than the oracle.",
        None,
        f"Euler: {_both(pair, _iterations_of_euler)}; seconds over those of the oracle: "
        f"{_both(pair, _beside_the_oracle)}",
        STANDS_IN,
    )


def tree_table(found: Neighbors, every: int = 1) -> tuple[str, str]:
    """Tabulate trees, iterations of Euler (on every so many points) and seconds by κ; judge."""
    betas = solve_bandwidths(found.sq_distances, PERPLEXITY).betas
    problem = RowProblem(found.sq_distances, np.array([PERPLEXITY]), found.indices)
    trees, iterations, seconds = [], [], []
    for kappa in KAPPAS:
        order = MinimumSpanningTree(kappa)
        begin = time.process_time()
        plan = order.plan(problem)
        seconds.append(time.process_time() - begin)
        trees.append(int((plan.parent < 0).sum()))
        starts = starts_in_order(order, problem, betas)[::every]
        counts = algorithm_1(found.sq_distances[::every], PERPLEXITY, "euler", starts)
        iterations.append(counts.iterations.mean())
    ten = KAPPAS.index(10)
    verdicts = [
        claim(
            "The tree is faster to compute with a small κ, but too small a κ loses connectivity.",
            seconds[0] < seconds[ten] < seconds[-1] and trees[0] > trees[ten],
            "see the table",
        ),
        claim(
            "κ = 10 is a good trade-off.",
            None,
            f"here κ = {KAPPAS[trees.index(min(trees))]} is the least with as few trees as any",
            "the paper gives no measure",
        ),
    ]
    columns = zip(KAPPAS, trees, iterations, seconds, strict=True)
    rows = [[kappa, n, f"{mean:.3f}", f"{taken:.2f}"] for kappa, n, mean, taken in columns]
    header = ["κ", "trees", "iterations of Euler", "seconds of the order"]
    return table(header, rows), "\n".join(verdicts)


def cost_of_derivatives(found: Neighbors, n_rows: int = 20_000, repeats: int = 5) -> str:
    """Time F, that is Z and m₁, and one more moment, in an array language as the paper's."""
    d = np.asarray(found.sq_distances[:n_rows], dtype=np.float64)
    beta = 1.0 / d.mean(axis=1, keepdims=True)
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        weights = np.exp(-beta * d)
        weighted = weights * d
        weights.sum(axis=1), weighted.sum(axis=1)
        middle = time.process_time()
        (weighted * d).sum(axis=1)
        times.append((middle - begin, time.process_time() - middle))
    function, moment = np.min(times, axis=0)
    return claim(
        "An evaluation of F takes about three times as long as one of a derivative.",
        None,
        f"{function / moment:.1f} times in NumPy, one thread",
        PROGRAMS,
    )


def full_rows(points: Points, n_rows: int, perplexity: float) -> str:
    """Compare bisection with Newton's method on the first points, each over all others."""
    from sklearn.metrics import pairwise_distances

    X = np.asarray(points.X, dtype=np.float64)
    d = np.sort(pairwise_distances(X[:n_rows], X, metric="sqeuclidean"), axis=1)[:, 1:]
    slow = seconds_to_solve(d, "bisection", "bounds", perplexity)[1]
    fast = seconds_to_solve(d, "newton", Density(), perplexity)[1]
    return claim(
        "For 20,000 digits bisection takes over 20 minutes, the new algorithm 55 seconds (a "
        "twenty-second part).",
        None,
        f"{slow / fast:.1f} times as long: {slow:.2f} against {fast:.2f} seconds for {len(d):,} "
        f"rows of {d.shape[1]:,} distances, perplexity {perplexity:g}",
        PROGRAMS,
    )

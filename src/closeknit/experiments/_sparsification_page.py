"""The page of :mod:`closeknit.experiments.sparsification`: the paper's claims and our numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from closeknit.graphs import connected_components

if TYPE_CHECKING:
    from closeknit.experiments.sparsification import Curve, DipCount, Problem

__all__ = ["real_tables", "write"]


def write(
    problems: Sequence[Problem],
    *,
    figure_3: tuple[NDArray[Any], Mapping[str, NDArray[Any]]],
    figure_4: tuple[NDArray[Any], Mapping[str, Sequence[float]], Mapping[str, Sequence[float]]],
    figure_5: Mapping[str, Sequence[float]],
    curves: Mapping[str, Sequence[Curve]],
    dips: Sequence[DipCount],
    real: Mapping[str, Sequence[Curve]],
) -> str:
    """Put the page together; every number in it is taken from the arguments."""
    perplexities = figure_3[0]
    parts = [
        "# Graph sparsification for kernel methods\n",
        "Circles, moons and blobs of 500 points (scikit-learn's, seed 0). The original graph holds "
        "symmetric entropic affinities over all pairs at perplexity 30; all sparsifiers keep edges "
        "of it, resistance sampling with new weights. Viewers: 100, under the entropic bandwidth "
        "of perplexity 5. The paper does not say which graph its D₁ and D₂ start from, nor how "
        "many viewers it has.\n",
        "## Figures 1 and 2: graphs\n",
        "![nearest neighbours and entropic affinities](figure-1.png)\n",
        "![viewers](figure-2.png)\n",
        _graphs(problems),
        "## Figure 3: bandwidths\n",
        "![bandwidths by perplexity](figure-3.png)\n",
        _sigmas(*figure_3),
        "## Figures 4 and 5: sparsity by parameter\n",
        "![sparsity by neighbours and entropy](figure-4.png)\n",
        "![sparsity by votes](figure-5.png)\n",
        _linearity(figure_4[0], figure_4[1], np.log2(perplexities), figure_4[2]),
        _votes(figure_5),
        "## Figure 6: D₁ and D₂\n",
        "![distances](figure-6.png)\n",
        _distances(curves),
        "## Figure 7: clustering\n",
        "![accuracies](figure-7.png)\n",
        _accuracies(curves),
        "## The dip test\n",
        _dips(dips),
    ]
    if real:
        parts += ["## Real data\n", *real_tables(real)]
    return "\n".join(parts)


def _claim(claim: str, holds: bool | Sequence[bool], numbers: str) -> str:
    """A claim of the paper, whether it holds here, and the numbers."""
    held = [holds] if isinstance(holds, bool | np.bool_) else list(holds)
    verdict = "holds here" if all(held) else "does not hold here"
    if any(held) and not all(held):
        verdict = f"holds on {sum(map(bool, held))} of {len(held)} data sets"
    return f"- *{claim}* **{verdict[0].upper()}{verdict[1:]}**: {numbers}.\n"


def _graphs(problems: Sequence[Problem]) -> str:
    from closeknit.experiments.sparsification import sparsify

    connected, lengths, numbers = [], [], []
    for problem in problems:
        graphs = {method: sparsify(problem, method, 0.93) for method in ("KNN", "entropic")}
        graphs["viewers"] = problem.with_fewer_votes(problem.votes_for(0.93))
        counts = {name: int(connected_components(g).max()) + 1 for name, g in graphs.items()}
        mean = {name: _mean_length(problem.X, g) for name, g in graphs.items()}
        connected.append(counts["KNN"] == 1 and counts["entropic"] == 1)
        lengths.append(mean["viewers"] > max(mean["KNN"], mean["entropic"]))
        numbers.append((problem.name, counts, mean))
    parts = "; ".join(
        f"{name} {counts['KNN']} and {counts['entropic']}" for name, counts, _ in numbers
    )
    means = "; ".join(
        f"{name} {m['KNN']:.3f}, {m['entropic']:.3f} and {m['viewers']:.3f}"
        for name, _, m in numbers
    )
    return _claim(
        "At 93 % KNN and entropic affinities give a connected graph.",
        connected,
        f"components of KNN and entropic: {parts}",
    ) + _claim(
        "At 93 % the links of viewers are gathered less densely along the shapes.",
        lengths,
        f"mean length of an edge for KNN, entropic and viewers: {means}",
    )


def _mean_length(X: NDArray[Any], graph: Any) -> float:
    rows, columns = graph.nonzero()
    return float(np.linalg.norm(X[rows] - X[columns], axis=1).mean())


def _sigmas(perplexities: NDArray[Any], sigmas: Mapping[str, NDArray[Any]]) -> str:
    means = [bool((np.diff(values[:, 0]) > 0.0).all()) for values in sigmas.values()]
    spreads = [bool(values[-1, 1] > values[0, 1]) for values in sigmas.values()]
    always = [bool((np.diff(values[:, 1]) > 0.0).all()) for values in sigmas.values()]
    span = f"from K = {perplexities[0]:.0f} to {perplexities[-1]:.0f}"
    numbers = "; ".join(
        f"{name} {v[0, 0]:.3f} to {v[-1, 0]:.3f} (deviation {v[0, 1]:.3f} to {v[-1, 1]:.3f})"
        for name, v in sigmas.items()
    )
    return (
        _claim("The mean of the bandwidths grows with the perplexity.", means, f"{span}, {numbers}")
        + _claim("So does their standard deviation.", spreads, f"compared at both ends, {span}")
        + f"  At every step it grows on {sum(always)} of {len(always)}.\n"
    )


def _linearity(
    counts: NDArray[Any],
    by_neighbors: Mapping[str, Sequence[float]],
    entropies: NDArray[Any],
    by_entropy: Mapping[str, Sequence[float]],
) -> str:
    fits = {name: _r_squared(counts, values) for name, values in by_neighbors.items()}
    quasi = {name: _r_squared(entropies, values) for name, values in by_entropy.items()}
    return _claim(
        "Sparsity falls linearly with k.",
        [value > 0.99 for value in fits.values()],
        "R² of a straight line " + ", ".join(f"{name} {v:.4f}" for name, v in fits.items()),
    ) + _claim(
        "It falls quasi-linearly with the entropy (taken here as R² above 0.95).",
        [value > 0.95 for value in quasi.values()],
        "R² " + ", ".join(f"{name} {v:.4f}" for name, v in quasi.items()),
    )


def _r_squared(x: NDArray[Any], y: Sequence[float]) -> float:
    return float(np.corrcoef(x, y)[0, 1] ** 2)


def _votes(by_votes: Mapping[str, Sequence[float]]) -> str:
    """The curve has a turning point if it is less than half as steep at both ends."""
    steepest, turning = {}, []
    for name, values in by_votes.items():
        slope = np.convolve(-np.diff(values), np.ones(5) / 5.0, mode="valid")
        steepest[name] = int(slope.argmax()) + 3
        turning.append(bool(max(slope[0], slope[-1]) < 0.5 * slope.max()))
    places = (f"{steepest[name]} of {len(v)} votes on {name}" for name, v in by_votes.items())
    return _claim(
        "With the votes sparsity falls slowly at first, faster up to a turning point, then slowly.",
        turning,
        "steepest at " + ", ".join(places),
    )


def _distances(curves: Mapping[str, Sequence[Curve]]) -> str:
    text = ""
    for quantity, label in (("d1", "D₁"), ("d2", "D₂")):
        rising = [
            all(
                getattr(curve, quantity)[-1] > getattr(curve, quantity)[0]
                for curve in found
                if curve.method != "viewers by votes"
            )
            for found in curves.values()
        ]
        numbers = "; ".join(
            f"{name} " + ", ".join(_ends(curve, quantity) for curve in found)
            for name, found in curves.items()
        )
        text += _claim(f"{label} grows with the sparsity.", rising, f"first to last, {numbers}")
    falling = [
        _by_method(found)["viewers by votes"].d1[-1] < max(_by_method(found)["viewers by votes"].d1)
        for found in curves.values()
    ]
    text += _claim(
        "D₁ of viewers falls when the sparsity gets close to 1.",
        falling,
        "its last value is compared with its largest",
    )
    for quantity, label in (("d1", "D₁"), ("d2", "D₂")):
        best = {name: _closest(found, quantity) for name, found in curves.items()}
        text += _claim(
            f"KNN has the smallest {label} (of the paper's three, near 93 %).",
            [method == "KNN" for method in best.values()],
            "smallest: " + ", ".join(f"{method} on {name}" for name, method in best.items()),
        )
    return text


def _ends(curve: Curve, quantity: str) -> str:
    values = getattr(curve, quantity)
    return f"{curve.method} {values[0]:.3g} to {values[-1]:.3g}"


def _by_method(found: Sequence[Curve]) -> dict[str, Curve]:
    return {curve.method: curve for curve in found}


def _closest(found: Sequence[Curve], quantity: str) -> str:
    """The paper's sparsifier of the smallest distance at the sparsity nearest to 93 %."""
    at = {}
    for curve in found:
        nearest = int(np.abs(np.array(curve.sparsities) - 0.93).argmin())
        if curve.method != "resistance":
            at[curve.method] = getattr(curve, quantity)[nearest]
    return min(at, key=lambda method: at[method])


def _accuracies(curves: Mapping[str, Sequence[Curve]]) -> str:
    means = {
        name: {curve.method: float(np.mean(curve.accuracies)) for curve in found}
        for name, found in curves.items()
    }
    best = [
        values["KNN"] >= max(values["entropic"], values["viewers by votes"]) - 1e-12
        for values in means.values()
    ]
    listed = "; ".join(
        f"{name} " + ", ".join(f"{method} {value:.3f}" for method, value in values.items())
        for name, values in means.items()
    )
    peak = [max(_by_method(found)["entropic"].accuracies) > 0.95 for found in curves.values()]
    width = {
        name: {curve.method: _window(curve) for curve in found} for name, found in curves.items()
    }
    narrow = [
        values["viewers by votes"] < min(values["KNN"], values["entropic"])
        for values in width.values()
    ]
    windows = "; ".join(
        f"{name} " + ", ".join(f"{method} {value:.0%}" for method, value in values.items())
        for name, values in width.items()
    )
    return (
        _claim("KNN clusters best.", best, f"mean accuracy over the sparsities, {listed}")
        + _claim(
            "Entropic affinities cluster very well at a suitable sparsity (above 0.95).",
            peak,
            "best "
            + ", ".join(
                f"{max(_by_method(found)['entropic'].accuracies):.3f} on {name}"
                for name, found in curves.items()
            ),
        )
        + _claim(
            "Viewers have a really narrow window of good sparsities.",
            narrow,
            f"share of the sparsities tried with an accuracy within 0.02 of the best, {windows}",
        )
    )


def _window(curve: Curve) -> float:
    values = np.array(curve.accuracies)
    return float(np.mean(values >= values.max() - 0.02))


def _dips(dips: Sequence[DipCount]) -> str:
    text = (
        "Three clusters of 100 points with unit variance, seen from a point of one of them: the "
        "other two 10 away both, or one of them at another distance, which the paper does not "
        "give. It found that with equal distances the dip was always larger and the p-value "
        "always lower.\n\n"
    )
    for count in dips:
        n = count.repetitions
        text += _claim(
            f"Equally far clusters always have the larger dip ({count.distances[0]:g} and "
            f"{count.distances[0]:g} against {count.distances[0]:g} and {count.distances[1]:g}).",
            count.larger_dip == n,
            f"{count.larger_dip} of {n} times; the p-value was lower {count.lower_p} times and "
            f"equal {count.equal_p} times (of 200 uniform samples, often none has a dip as large)",
        )
    return text + (
        "\nEither way the dip does not count modes: two and three of them have dips of the same "
        "size, so the paper's conclusion stands even where its numbers depend on the distances.\n"
    )


def real_tables(real: Mapping[str, Sequence[Curve]]) -> list[str]:
    """One Markdown table per data set."""
    tables = []
    for name, found in real.items():
        lines = [
            f"### {name}\n",
            "| sparsifier | sparsity | accuracy | D₁ | D₂ |",
            "| --- | --- | --- | --- | --- |",
        ]
        for curve in found:
            rows = zip(curve.sparsities, curve.accuracies, curve.d1, curve.d2, strict=True)
            lines += [
                f"| {curve.method} | {s:.4f} | {a:.3f} | {d1:.1f} | {d2:.3g} |"
                for s, a, d1, d2 in rows
            ]
        tables.append("\n".join(lines) + "\n")
    return tables

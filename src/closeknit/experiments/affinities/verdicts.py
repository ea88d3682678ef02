"""The paper's claims about figure 6, each judged on our passes and seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from closeknit.experiments.affinities.methods import Trial
from closeknit.experiments.report import claim

__all__ = ["verdicts"]


def verdicts(trials: Sequence[Trial]) -> str:
    """Return one item for each claim; numbers are for the data sets in their order."""
    names = ", ".join(trial.name for trial in trials)
    pixels, _, text = trials

    def each(number: Callable[[Trial], float], pattern: str = "{:.2f}") -> str:
        return ", ".join(pattern.format(number(trial)) for trial in trials)

    def steps(trial: Trial, finder: str, order: str) -> float:
        """The paper's iterations: passes without the one at the start."""
        return trial.passes[finder, order] - 1.0

    def times_newton(finder: str) -> Callable[[Trial], float]:
        return lambda t: t.seconds[finder, "density"] / t.seconds["newton", "density"]

    lines = [
        claim(
            "Halley's and Euler's methods perform very similarly; most points need two "
            "iterations (D_K order).",
            [
                abs(steps(t, "halley", "density") - steps(t, "euler", "density")) < 0.2
                and 1.5 < steps(t, "euler", "density") < 2.5
                for t in trials
            ],
            f"iterations of Halley {each(lambda t: steps(t, 'halley', 'density'))}, of Euler "
            f"{each(lambda t: steps(t, 'euler', 'density'))}",
        ),
        claim(
            "Newton's method needs slightly more iterations but less time than both.",
            [
                steps(t, "newton", "density") > steps(t, "halley", "density")
                and t.seconds["newton", "density"]
                < min(t.seconds["halley", "density"], t.seconds["euler", "density"])
                for t in trials
            ],
            f"iterations {each(lambda t: steps(t, 'newton', 'density'))}; seconds relative to "
            f"Newton's, of Halley {each(times_newton('halley'))}, of Euler "
            f"{each(times_newton('euler'))}",
        ),
        claim(
            "Of the methods without derivatives Ridders' is fastest, about twice as slow as "
            "Newton's.",
            [
                t.seconds["ridders", "density"]
                < min(t.seconds["brent", "density"], t.seconds["bisection", "density"])
                for t in trials
            ],
            f"seconds relative to Newton's, of Ridders {each(times_newton('ridders'))}, of Brent "
            f"{each(times_newton('brent'))}; Brent's passes "
            f"{each(lambda t: t.passes['brent', 'density'])} are fewer than Ridders' "
            f"{each(lambda t: t.passes['ridders', 'density'])}",
        ),
        claim(
            "Brent's method is about 5 times as slow as Newton's (taken here as 3 to 8).",
            [3.0 <= times_newton("brent")(t) <= 8.0 for t in trials],
            f"seconds {each(times_newton('brent'))} times Newton's",
        ),
        claim(
            "Bisection is 10–20 times as slow as Newton's method.",
            [10.0 <= times_newton("bisection")(t) <= 20.0 for t in trials],
            f"seconds {each(times_newton('bisection'), '{:.1f}')} times Newton's, passes "
            f"{each(lambda t: t.passes['bisection', 'mst'] / t.passes['newton', 'mst'], '{:.1f}')} "
            "times",
        ),
        claim(
            "MST and D_K are very similar on pixels and digits, D_K slightly better (for Euler "
            "2.09 iterations against 2.22 on Lena).",
            [
                abs(steps(t, "euler", "mst") - steps(t, "euler", "density")) < 0.2
                for t in trials[:2]
            ],
            f"iterations of Euler, D_K {each(lambda t: steps(t, 'euler', 'density'))}, MST "
            f"{each(lambda t: steps(t, 'euler', 'mst'))}",
        ),
        claim(
            "On text the MST order does almost as badly as the random one.",
            steps(text, "euler", "random") - steps(text, "euler", "mst")
            < 0.5 * (steps(text, "euler", "random") - steps(text, "euler", "density")),
            f"iterations of Euler on {text.name}: MST {steps(text, 'euler', 'mst'):.2f}, random "
            f"{steps(text, 'euler', 'random'):.2f}, D_K {steps(text, 'euler', 'density'):.2f}",
        ),
        claim(
            "Starts from the bounds and in random order are alike, 1–2 iterations more than the "
            "others.",
            [
                abs(steps(t, "euler", "bounds") - steps(t, "euler", "random")) < 0.5
                and 0.5 < steps(t, "euler", "bounds") - steps(t, "euler", "density") < 2.5
                for t in trials
            ],
            f"iterations of Euler, bounds {each(lambda t: steps(t, 'euler', 'bounds'))}, random "
            f"{each(lambda t: steps(t, 'euler', 'random'))}",
        ),
        claim(
            "The oracle order needs nearly one iteration a point.",
            [steps(t, "euler", "oracle") < 1.2 for t in trials],
            f"iterations of Euler {each(lambda t: steps(t, 'euler', 'oracle'))}",
        ),
    ]
    if ("euler", "raster") in pixels.passes:
        lines.append(
            claim(
                "On pixels the raster order does almost as well as the MST order.",
                steps(pixels, "euler", "raster") - steps(pixels, "euler", "mst") < 0.5,
                f"iterations of Euler {steps(pixels, 'euler', 'raster'):.2f} against "
                f"{steps(pixels, 'euler', 'mst'):.2f}",
            )
        )
    intro = (
        f"Numbers are for {names}, in this order. The paper's iterations are taken as our passes "
        "less the one at the start."
    )
    return intro + "\n\n" + "\n".join(lines)

"""Search directions on COIL-20: figures 1 to 3 of the partial-Hessian paper.

    python benchmarks/directions.py same --data FOLDER      figure 1: one start, one minimum
    python benchmarks/directions.py random --data FOLDER    figure 2: random starts, a fixed time
    python benchmarks/directions.py homotopy --data FOLDER  figure 3: λ from small to large

720 images of ten objects, entropic affinities over all points at perplexity 20, two dimensions;
elastic embedding at λ = 100 and s-SNE. Tables go to standard output and, with the learning curves,
to --output.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from closeknit.experiments.data import coil
from closeknit.experiments.embeddings import paths, random_starts, same_start
from closeknit.experiments.embeddings.problems import MODELS, Model, models_of

N_JOBS = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["same", "random", "homotopy"])
    parser.add_argument("--data", type=Path, required=True, help="folder with coil20.npz")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--starts", type=int, default=50, help="random starts")
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each random start")
    parser.add_argument("--iterations", type=int, default=3000, help="most iterations of a run")
    parser.add_argument(
        "--limit", type=float, default=60.0, help="seconds for a run of figures 1 and 3"
    )
    parser.add_argument(
        "--start", type=float, help="figure 1: λ of the start, as a share (EE 0.7, s-SNE 0.9)"
    )
    parser.add_argument("--model", choices=list(MODELS), help="one model only")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    run = {"same": same, "random": random, "homotopy": follow}[arguments.what]
    for model in models_of(coil(arguments.data), N_JOBS):
        if arguments.model in (None, model.name):
            print(f"\n### {model.name}, λ = {model.lam:g}\n")
            print(run(model, arguments), flush=True)


def same(model: Model, arguments: argparse.Namespace) -> str:
    """One start, one minimum: evaluations and seconds until E is within a share of the way."""
    outcome = same_start.same_start(
        model,
        max_iter=arguments.iterations,
        time_limit=arguments.limit,
        start_share=arguments.start,
    )
    figure = same_start.draw([outcome])
    figure.savefig(arguments.output / f"directions-same-{model.name}.png", dpi=110)
    title = "Evaluations / seconds until the remaining share of the decrease is\n\n"
    return title + same_start.runs_table(outcome)


def random(model: Model, arguments: argparse.Namespace) -> str:
    """Random starts for a fixed time: objective and iterations at the end."""
    outcome = random_starts.random_starts(
        model, arguments.starts, max_iter=100_000, time_limit=arguments.seconds
    )
    title = f"{arguments.starts} random starts, {arguments.seconds:g} s each:\n\n"
    return title + random_starts.runs_table(outcome)


def follow(model: Model, arguments: argparse.Namespace) -> str:
    """Homotopy over 50 values of λ: total evaluations and seconds, and the final objective."""
    return paths.runs_table(paths.follow_paths(model, 50, max_iter=200, time_limit=arguments.limit))


if __name__ == "__main__":
    main()

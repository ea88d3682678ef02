"""The phases in which a map was made: iterations at one setting of the parameters each."""

from __future__ import annotations

from dataclasses import dataclass, replace

from closeknit.embeddings import Training
from closeknit.explore.parameters import Parameters
from closeknit.minimize import Convergence, Momentum, Schedule, Stage

__all__ = ["Phase", "training_of", "without_factor"]

#: Iterations of a minimisation that the user, not convergence, will end.
_ENDLESS = 1_000_000
#: Iterations of plain momentum with which a map of many points follows new parameters.
_PLAIN_ITERATIONS = 10


@dataclass(frozen=True)
class Phase:
    """A number of iterations with the same parameters.

    Attributes
    ----------
    parameters : Parameters
    lam : float
        The λ of the last iteration, which the elastic embedding has found.
    stages : tuple of (float, int)
        λ and iterations of every stage.
    scale : float
        What the map was multiplied by at the beginning.
    restarted : bool
        Whether it began at the start, not at the map before.
    plain_momentum : bool
        Whether its direction was momentum along the gradient, which needs no factor.
    """

    parameters: Parameters
    lam: float
    stages: tuple[tuple[float, int], ...]
    scale: float
    restarted: bool
    plain_momentum: bool = False


def training_of(training: Training, factor: float, restarted: bool, endless: bool) -> Training:
    """Make what a phase minimises.

    Parameters
    ----------
    training : Training
        Of the model, with all its stages.
    factor : float
        Multiplies a λ that is found from the map.
    restarted : bool
        Whether it begins at the start, with all stages, or continues with the last stage only.
    endless : bool
        Whether it goes on until the user ends it.

    Returns
    -------
    Training
    """
    stages = training.schedule.stages[0 if restarted else -1 :]
    stages = tuple(_with_factor(stage, factor) for stage in stages)
    if not endless:
        return replace(training, schedule=Schedule(stages))
    stages = (*stages[:-1], replace(stages[-1], max_iter=_ENDLESS))
    return replace(training, schedule=Schedule(stages), stop=Convergence(0.0))


def without_factor(training: Training, n_jobs: int | None) -> Training:
    """Make a phase of a few iterations that start immediately.

    There is no factor of the graph, and points keep their numbers: both would pay off only after
    more iterations than a user wants to wait for.
    """
    stages = (replace(training.schedule.stages[-1], max_iter=_PLAIN_ITERATIONS, prepare=None),)
    return Training(training.objective, Momentum(n_jobs=n_jobs), Schedule(stages), Convergence(0.0))


def _with_factor(stage: Stage, factor: float) -> Stage:
    """The stage with its λ multiplied, where λ is found from the map."""
    find = stage.lam
    return replace(stage, lam=lambda X: factor * find(X)) if callable(find) else stage

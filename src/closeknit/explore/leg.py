"""How a map comes about, part by part: one setting of the parameters after the other."""

from __future__ import annotations

from dataclasses import dataclass, replace

from closeknit.embeddings import Training
from closeknit.explore.parameters import Parameters
from closeknit.minimize import Convergence, Momentum, Schedule, Stage

__all__ = ["Leg", "training_of", "without_factor"]

#: Iterations of a minimisation that the user, not convergence, will end.
_ENDLESS = 1_000_000
#: Iterations of plain momentum with which a map of many points goes on.
_AT_ONCE = 10


@dataclass(frozen=True)
class Leg:
    """A part of the way to the current map: so many iterations with these parameters.

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
    at_once : bool
        Whether it went by plain momentum.
    """

    parameters: Parameters
    lam: float
    stages: tuple[tuple[float, int], ...]
    scale: float
    restarted: bool
    at_once: bool = False


def training_of(training: Training, factor: float, restarted: bool, endless: bool) -> Training:
    """What one leg minimises.

    Parameters
    ----------
    training : Training
        Of the model, with all its stages.
    factor : float
        Multiplies a λ that is found from the map.
    restarted : bool
        Whether it begins at the start, with all stages, or goes on with the last.
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
    """A few iterations of a leg at once: no factor of the graph, and points in any order.

    Both would pay only after more iterations than a user wants to wait for.
    """
    stages = (replace(training.schedule.stages[-1], max_iter=_AT_ONCE, prepare=None),)
    return Training(training.objective, Momentum(n_jobs=n_jobs), Schedule(stages), Convergence(0.0))


def _with_factor(stage: Stage, factor: float) -> Stage:
    """The stage with its λ multiplied, where λ is found from the map."""
    find = stage.lam
    return replace(stage, lam=lambda X: factor * find(X)) if callable(find) else stage

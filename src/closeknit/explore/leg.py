"""How a map came about, part by part."""

from __future__ import annotations

from dataclasses import dataclass

from closeknit.explore.parameters import Parameters

__all__ = ["Leg"]


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

"""Every search direction and step, and the one place where their names are resolved."""

from __future__ import annotations

from typing import Any

from closeknit.minimize.conjugate_gradient import ConjugateGradient
from closeknit.minimize.descent import Descent, Direction
from closeknit.minimize.diagonal_hessian import DiagonalHessian
from closeknit.minimize.fixed_point import FixedPoint
from closeknit.minimize.gradient import Gradient
from closeknit.minimize.lbfgs import LBFGS, SpectralLBFGS
from closeknit.minimize.momentum import Momentum
from closeknit.minimize.spectral import SpectralDirection
from closeknit.minimize.spectral_minus import SpectralMinus
from closeknit.minimize.spectral_momentum import SpectralMomentum
from closeknit.minimize.steps import Backtracking, FixedStep, Step
from closeknit.minimize.wolfe import StrongWolfe

__all__ = [
    "DIRECTIONS",
    "LBFGS",
    "ConjugateGradient",
    "Descent",
    "DiagonalHessian",
    "Direction",
    "FixedPoint",
    "Gradient",
    "Momentum",
    "SpectralDirection",
    "SpectralLBFGS",
    "SpectralMinus",
    "SpectralMomentum",
    "resolve_direction",
    "resolve_step",
]

DIRECTIONS: dict[str, type[Direction[Any]]] = {
    "gradient": Gradient,
    "fixed-point": FixedPoint,
    "diagonal-hessian": DiagonalHessian,
    "cg": ConjugateGradient,
    "lbfgs": LBFGS,
    "spectral": SpectralDirection,
    "spectral-minus": SpectralMinus,
    "spectral-lbfgs": SpectralLBFGS,
    "momentum": Momentum,
    "spectral-momentum": SpectralMomentum,
}

STEPS: dict[str, type[Step]] = {
    "backtracking": Backtracking,
    "wolfe": StrongWolfe,
    "fixed": FixedStep,
}


def resolve_direction(direction: str | Direction[Any]) -> Direction[Any]:
    """Turn a name into a direction.

    Examples
    --------
    >>> from closeknit.minimize.directions import resolve_direction
    >>> resolve_direction("spectral")
    SpectralDirection(n_neighbors=None, solver='auto', refresh=None, random_state=0, n_jobs=-1)
    """
    if isinstance(direction, Direction):
        return direction
    if direction in DIRECTIONS:
        return DIRECTIONS[direction]()
    raise ValueError(
        f"unknown direction {direction!r}; use {', '.join(map(repr, DIRECTIONS))} "
        "or an object such as closeknit.minimize.SpectralDirection(n_neighbors=7)"
    )


def resolve_step(step: str | Step, preferred: Step) -> Step:
    """Turn a name into a step; ``"auto"`` is the one that the direction prefers.

    Examples
    --------
    >>> from closeknit.minimize import Backtracking, resolve_step
    >>> resolve_step("fixed", preferred=Backtracking())
    FixedStep(step=1.0)
    """
    if isinstance(step, Step):
        return step
    if step == "auto":
        return preferred
    if step in STEPS:
        return STEPS[step]()
    raise ValueError(
        f"unknown step {step!r}; use 'auto', {', '.join(map(repr, STEPS))} "
        "or an object such as closeknit.minimize.Backtracking()"
    )

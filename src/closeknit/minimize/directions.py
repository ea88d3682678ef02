"""Every search direction, and the one place where their names are resolved."""

from __future__ import annotations

from typing import Any

from closeknit.minimize.conjugate_gradient import ConjugateGradient
from closeknit.minimize.descent import Descent, Direction
from closeknit.minimize.diagonal_hessian import DiagonalHessian
from closeknit.minimize.fixed_point import FixedPoint
from closeknit.minimize.gradient import Gradient
from closeknit.minimize.lbfgs import LBFGS, SpectralLBFGS
from closeknit.minimize.momentum import Momentum, SpectralMomentum
from closeknit.minimize.spectral import SpectralDirection
from closeknit.minimize.spectral_minus import SpectralMinus

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

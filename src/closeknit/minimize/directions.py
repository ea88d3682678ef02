"""Every search direction, also known as ``closeknit.directions``."""

from closeknit.minimize.descent import DIRECTIONS, Descent, Direction, resolve_direction
from closeknit.minimize.gradient import (
    ConjugateGradient,
    DiagonalHessian,
    Gradient,
    SpectralGradient,
)
from closeknit.minimize.lbfgs import LBFGS, SpectralLBFGS
from closeknit.minimize.momentum import Momentum, SpectralMomentum
from closeknit.minimize.spectral import FixedPoint, SpectralDirection
from closeknit.minimize.spectral_minus import SpectralDiagonal, SpectralMinus

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
    "SpectralDiagonal",
    "SpectralDirection",
    "SpectralGradient",
    "SpectralLBFGS",
    "SpectralMinus",
    "SpectralMomentum",
    "resolve_direction",
]

"""Root finders for the equation H(β) = log K, as small objects or by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class RootFinder:
    """A way to solve for one bandwidth; use one of the classes derived from it.

    Attributes
    ----------
    code : int
        Its number in the compiled core.

    Examples
    --------
    >>> from closeknit.affinities import Newton, RootFinder
    >>> isinstance(Newton(), RootFinder)
    True
    """

    code: ClassVar[int]


@dataclass(frozen=True)
class Bisection(RootFinder):
    """Halve the bracket given by the bounds until the tolerance is met.

    Examples
    --------
    >>> import closeknit as ck
    >>> from closeknit.affinities import Bisection
    >>> ck.solve_bandwidths([[1.0, 2.0, 4.0]], 2.0, method=Bisection()).sigmas.round(3)
    array([0.691])
    """

    code: ClassVar[int] = 0


@dataclass(frozen=True)
class Brent(RootFinder):
    """Brent's method (1973) on the bracket given by the bounds.

    Examples
    --------
    >>> import closeknit as ck
    >>> from closeknit.affinities import Brent
    >>> ck.solve_bandwidths([[1.0, 2.0, 4.0]], 2.0, method=Brent()).sigmas.round(3)
    array([0.691])
    """

    code: ClassVar[int] = 1


@dataclass(frozen=True)
class Ridders(RootFinder):
    """Ridders' method (1979) on the bracket given by the bounds.

    Examples
    --------
    >>> import closeknit as ck
    >>> from closeknit.affinities import Ridders
    >>> ck.solve_bandwidths([[1.0, 2.0, 4.0]], 2.0, method=Ridders()).sigmas.round(3)
    array([0.691])
    """

    code: ClassVar[int] = 2


@dataclass(frozen=True)
class _DerivativeBased(RootFinder):
    max_inner: int = 50

    def __post_init__(self) -> None:
        if self.max_inner < 1:
            raise ValueError(f"max_inner={self.max_inner} must be at least 1")


@dataclass(frozen=True)
class Newton(_DerivativeBased):
    """Newton's method inside Algorithm 1 of the paper.

    Parameters
    ----------
    max_inner : int, default=50
        Derivative steps before a bisection is forced (the paper's ``maxit``). A step that leaves
        the bracket is replaced by a bisection at once.

    Examples
    --------
    >>> import closeknit as ck
    >>> from closeknit.affinities import Newton
    >>> ck.solve_bandwidths([[1.0, 2.0, 4.0]], 2.0, method=Newton()).sigmas.round(3)
    array([0.691])
    """

    code: ClassVar[int] = 3


@dataclass(frozen=True)
class Halley(_DerivativeBased):
    """Halley's third-order method inside Algorithm 1; `max_inner` as for :class:`Newton`.

    Examples
    --------
    >>> import closeknit as ck
    >>> from closeknit.affinities import Halley
    >>> ck.solve_bandwidths([[1.0, 2.0, 4.0]], 2.0, method=Halley()).sigmas.round(3)
    array([0.691])
    """

    code: ClassVar[int] = 4


@dataclass(frozen=True)
class Euler(_DerivativeBased):
    """Euler's third-order method inside Algorithm 1; `max_inner` as for :class:`Newton`.

    Examples
    --------
    >>> import closeknit as ck
    >>> from closeknit.affinities import Euler
    >>> ck.solve_bandwidths([[1.0, 2.0, 4.0]], 2.0, method=Euler()).sigmas.round(3)
    array([0.691])
    """

    code: ClassVar[int] = 5


ROOT_FINDERS: dict[str, type[RootFinder]] = {
    "bisection": Bisection,
    "brent": Brent,
    "ridders": Ridders,
    "newton": Newton,
    "halley": Halley,
    "euler": Euler,
}

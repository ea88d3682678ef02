"""Checks that all embedding estimators make."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np

__all__ = ["check_integer", "check_lam", "check_n_components", "check_number"]


def check_integer(name: str, value: Any, least: int) -> None:
    """Complain about what is no integer, or too small a one."""
    integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not integer or value < least:
        raise ValueError(f"{name}={value!r} must be an integer of at least {least}")


def check_number(name: str, value: Any, *words: str | None) -> None:
    """Complain about what is neither a number of at least 0 nor one of the words."""
    if isinstance(value, str | None) and value in words:
        return
    if not _is_number(value) or not value >= 0.0:
        allowed = "".join(f"{word!r} or " for word in words)
        raise ValueError(f"{name}={value!r} must be {allowed}a number of at least 0")


def check_lam(lam: Any, words: tuple[str, ...]) -> None:
    """Complain about a λ that is no finite number, no list of numbers and none of the words."""
    if isinstance(lam, str) and lam in words:
        return
    listed = np.ndim(lam) == 1 and all(map(_is_number, lam))
    if not listed and not (_is_number(lam) and 0.0 <= lam < math.inf):
        names = "".join(f"{word!r}, " for word in words)
        raise ValueError(
            f"lam={lam!r} must be {names}a finite number of at least 0 or an increasing list of "
            "numbers"
        )


def check_n_components(n_components: Any, n_samples: int | None = None) -> None:
    """Complain about a number of dimensions that is none, or too large for the points."""
    check_integer("n_components", n_components, 1)
    if n_samples is not None and n_components >= n_samples:
        raise ValueError(
            f"n_components={n_components} must be less than the number of points, "
            f"got n_samples = {n_samples}"
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)

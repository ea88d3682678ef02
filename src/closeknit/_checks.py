"""Checks of the numbers that users give as parameters."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any


def check_number(
    name: str, value: Any, *words: str | None, integer: bool = False, least: int = 0
) -> None:
    """Refuse what is neither a number of at least `least` nor one of the words."""
    if isinstance(value, str | None) and value in words:
        return
    number = isinstance(value, Integral if integer else Real) and not isinstance(value, bool)
    if not number or not value >= least:
        allowed = "".join(f"{word!r} or " for word in words)
        noun = "an integer" if integer else "a number"
        raise ValueError(f"{name}={value!r} must be {allowed}{noun} of at least {least}")


def check_count(name: str, value: Any) -> None:
    """Refuse what is not an integer of at least 1."""
    check_number(name, value, integer=True, least=1)


def check_share(name: str, value: Any) -> None:
    """Refuse what does not lie between 0 and 1."""
    if not 0.0 < value < 1.0:
        raise ValueError(f"{name}={value!r} must lie between 0 and 1")

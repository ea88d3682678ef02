"""What a saved model may consist of.

A file can name only the classes found here: those of the stations that declare what is saved of
them, and their public frozen dataclasses. A class declares::

    saved_state: ClassVar[tuple[str, ...]]   attributes that are saved besides the parameters
    restore_state(self) -> None              optional: rebuilds what is derived, after loading
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from importlib import import_module
from inspect import isabstract, signature
from types import MappingProxyType
from typing import Any

from sklearn.base import BaseEstimator

_STATIONS = ("neighbors", "affinities", "graphs", "repulsion", "minimize", "embeddings", "apps")


@cache
def saveable() -> Mapping[str, type]:
    """The classes that a file may name, by station and name.

    Examples
    --------
    >>> saveable()["minimize.SpectralDirection"](n_neighbors=7)
    SpectralDirection(n_neighbors=7, solver='auto', refresh=None, random_state=0, n_jobs=-1)
    >>> "io.save" in saveable()
    False
    """
    found: dict[str, type] = {}
    for station in _STATIONS:
        package = import_module(f"closeknit.{station}")
        inside = f"{package.__name__}."
        # Copies, because other threads may be importing.
        modules = [each for name, each in sys.modules.copy().items() if name.startswith(inside)]
        for value in (value for module in modules for value in vars(module).copy().values()):
            if not isinstance(value, type) or not value.__module__.startswith(inside):
                continue
            public = value.__name__ in package.__all__
            if hasattr(value, "saved_state") or (public and _is_frozen(value)):
                known = found.setdefault(f"{station}.{value.__name__}", value)
                assert known is value, (known, value)
    return MappingProxyType(found)


def estimators() -> list[str]:
    """The names of the estimators that can be saved.

    Examples
    --------
    >>> "TSNE" in estimators()
    True
    """
    return [
        cls.__name__
        for path, cls in saveable().items()
        if issubclass(cls, BaseEstimator)
        and not isabstract(cls)
        and cls.__name__ in import_module(f"closeknit.{path.partition('.')[0]}").__all__
    ]


def path_of(cls: type) -> str | None:
    """What a file calls a class; None if it must not be saved.

    Examples
    --------
    >>> import closeknit as ck
    >>> path_of(ck.TSNE), path_of(int)
    ('embeddings.TSNE', None)
    """
    parts = cls.__module__.split(".")
    path = ".".join([*parts[1:2], cls.__name__])
    return path if saveable().get(path) is cls else None


def parameters_of(cls: type) -> list[str]:
    """The names that a constructor takes.

    Examples
    --------
    >>> from closeknit.neighbors import ExactIndex
    >>> parameters_of(ExactIndex)[0]
    'metric'
    """
    init: Any = cls.__init__  # type: ignore[misc]
    return [] if init is object.__init__ else list(signature(cls).parameters)


def _is_frozen(cls: type) -> bool:
    return is_dataclass(cls) and bool(cls.__dataclass_params__.frozen)  # type: ignore[attr-defined]

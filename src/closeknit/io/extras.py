"""Packages that only some users need."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from closeknit.exceptions import MissingDependencyError


def require(module: str, extra: str, purpose: str) -> Any:
    """Import a module, or say how to install it.

    Parameters
    ----------
    module : str
    extra : str
        The extra of closeknit that brings it.
    purpose : str
        What needs it, as the start of the message.

    Returns
    -------
    module

    Examples
    --------
    >>> require("json", "none", "this needs json").loads("1")
    1
    >>> require("no_such_module", "frames", "frames need no_such_module")
    Traceback (most recent call last):
    closeknit.exceptions.MissingDependencyError: frames need no_such_module, which is not
    installed; run: pip install "closeknit[frames]"
    """
    try:
        return import_module(module)
    except ImportError as error:
        if error.name is not None and error.name.partition(".")[0] != module.partition(".")[0]:
            raise  # it is there, but something it needs is not
        raise MissingDependencyError(
            f'{purpose}, which is not installed; run: pip install "closeknit[{extra}]"'
        ) from error

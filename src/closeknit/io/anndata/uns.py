"""What both kinds of results need: an AnnData to write to, and parameters that a file can hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from closeknit.neighbors import Neighbors

__all__ = ["refuse_both", "storable", "target"]


def target(adata: Any, copy: bool) -> Any:
    """Where to write: the AnnData itself, or a copy of it."""
    if not all(hasattr(adata, name) for name in ("obs", "obsm", "obsp", "uns")):
        raise TypeError(f"expected an AnnData, got {type(adata).__name__}")
    return adata.copy() if copy else adata


def refuse_both(use_rep: str | None, n_pcs: int | None) -> None:
    """Complain about data beside neighbours that were found already."""
    if use_rep is not None or n_pcs is not None:
        raise ValueError("use_rep and n_pcs have no meaning with neighbors_key; give one of them")


def storable(options: dict[str, Any]) -> dict[str, Any]:
    """Options that an H5AD file can hold; None is the absence of a key, and objects are words."""
    out = {}
    for name, value in options.items():
        if isinstance(value, bool | int | float | str | np.ndarray | np.generic):
            out[name] = value
        elif value is not None and not isinstance(value, Neighbors) and not callable(value):
            out[name] = repr(value)
    return out

"""What data hold that is no number, and where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp


def check_no_times(X: Any) -> None:
    """Refuse dates and times, which NumPy would count in units of their own.

    Parameters
    ----------
    X : object
        Arrays and frames are looked at.

    Examples
    --------
    >>> check_no_times(np.array([["2024-01-01"]], dtype="datetime64[s]"))
    Traceback (most recent call last):
        ...
    ValueError: X holds dates or times (datetime64[s]); make numbers of them, such as seconds since
      the first
    """
    dtype = getattr(X, "dtype", None)
    if _is_time(dtype):
        raise ValueError(
            f"X holds dates or times ({dtype}); make numbers of them, such as seconds since the "
            "first"
        )
    dtypes = getattr(X, "dtypes", None)
    if dtypes is None or not hasattr(X, "columns"):
        return
    for name, kind in zip(X.columns, dtypes, strict=True):
        if _is_time(kind):
            raise ValueError(
                f"column {name!r} holds dates or times ({kind}): leave it out, or make numbers of "
                "it, such as seconds since the first"
            )


def explained(message: str, X: Any) -> str | None:
    """Say where data hold what scikit-learn refuses; None for what it explains well enough.

    Parameters
    ----------
    message : str
        Of scikit-learn or NumPy.
    X : array-like, DataFrame or sparse matrix

    Returns
    -------
    str or None

    Examples
    --------
    >>> explained("Input X contains NaN.", np.array([[1.0, np.nan]]))
    'X contains NaN, first in row 0, column 1; fill such values in, or leave out their rows or
      columns'
    """
    if message.startswith("could not convert string to float"):
        for name, text in _first_cells(X, str):
            return (
                f"{message}; column {name!r} holds text such as {text!r}: leave it out, for "
                "example by X.select_dtypes('number'), or encode it as numbers"
            )
        return f"{message}; all data must be numbers: leave text out, or encode it as numbers"
    if message.startswith("setting an array element with a sequence"):
        where = "; rows must have one number per column: make a matrix of vectors by np.vstack"
        for name, _ in _first_cells(X, (list, tuple, np.ndarray)):
            where = f"; column {name!r} holds vectors: pass the matrix np.vstack(X[{name!r}])"
        return message.rstrip(".") + where
    if message.endswith("not 'NAType'"):
        return "X lacks values; fill them in, or leave out their rows or columns"
    kind = next((kind for kind in ("NaN", "infinity") if f" contains {kind}" in message), None)
    if kind is None:
        return None
    where = ""
    if not sp.issparse(X):
        frame = hasattr(X, "isna")  # of pandas, whose NA is no number to NumPy
        values = X.to_numpy(np.float64, na_value=np.nan) if frame else np.asarray(X, np.float64)
        row, column = np.argwhere(np.isnan(values) if kind == "NaN" else np.isinf(values))[0]
        names = getattr(X, "column_names", getattr(X, "columns", range(values.shape[1])))
        name = names[int(column)]
        where = f", first in row {row}, column {name!r}"
    return f"X contains {kind}{where}; fill such values in, or leave out their rows or columns"


def _is_time(dtype: Any) -> bool:
    """Whether a type of NumPy, pandas or Polars is one of dates, times or durations."""
    kind = getattr(dtype, "kind", None)
    return kind in ("m", "M") or str(dtype).startswith(("Date", "Duration", "Time"))


def _first_cells(X: Any, kinds: Any) -> Iterator[tuple[Any, Any]]:
    """The first cell of such a type in each column of a pandas frame, with the column's name."""
    for name, column in X.items() if hasattr(X, "columns") and hasattr(X, "items") else ():
        cell = next((value for value in np.atleast_1d(column) if isinstance(value, kinds)), None)
        if cell is not None:
            yield name, cell

"""What happened during a minimisation, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["History"]


@dataclass(frozen=True)
class History:
    """One entry for the start and one for every iteration.

    Attributes
    ----------
    iteration : ndarray of int
    evaluations : ndarray of int
        Evaluations of objective and gradient so far, line searches included.
    seconds : ndarray
        Since the start, factorisations included.
    objective : ndarray
    gradient_norm : ndarray
        Frobenius norm.
    step : ndarray
        Accepted step length; NaN at the start.

    Examples
    --------
    >>> from closeknit.minimize import Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> history = minimize(springs, [[5.0], [5.0]], direction="lbfgs").history
    >>> bool((history.objective[1:] < history.objective[:-1]).all())
    True
    >>> list(history.to_frame().columns)
    ['iteration', 'evaluations', 'seconds', 'objective', 'gradient_norm', 'step']
    """

    iteration: NDArray[np.int64]
    evaluations: NDArray[np.int64]
    seconds: NDArray[np.float64]
    objective: NDArray[np.float64]
    gradient_norm: NDArray[np.float64]
    step: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.iteration)

    @classmethod
    def from_records(
        cls, records: Sequence[tuple[int, int, float, float, float, float]]
    ) -> History:
        """Make the columns of a list of rows."""
        table = np.array(records, dtype=np.float64).reshape(len(records), 6).T
        return cls(table[0].astype(np.int64), table[1].astype(np.int64), *table[2:])

    @classmethod
    def concatenate(cls, parts: Sequence[History]) -> History:
        """Put histories one after the other, as they are."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))

    def shifted(self, iterations: int, evaluations: int, seconds: float) -> History:
        """Return this history as it looks when so much has gone before."""
        return History(
            self.iteration + iterations,
            self.evaluations + evaluations,
            self.seconds + seconds,
            self.objective,
            self.gradient_norm,
            self.step,
        )

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one column per array."""
        try:
            import pandas as pd  # type: ignore[import-untyped]
        except ImportError as error:
            raise ImportError("History.to_frame needs pandas: pip install pandas") from error
        return pd.DataFrame({f.name: getattr(self, f.name) for f in fields(self)})

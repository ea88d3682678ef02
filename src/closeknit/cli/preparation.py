"""What ``--standardize`` and ``--pca`` make of features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from closeknit.cli.command import Fact
from closeknit.cli.errors import UsageError

if TYPE_CHECKING:
    from closeknit.io import Table


@dataclass(frozen=True)
class Preparation:
    """Features standardised, or replaced by their principal components.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.io import Table
    >>> table = Table(np.array([[0.0, 5.0], [2.0, 7.0]]), ("a", "b"))
    >>> Preparation.learned(table, True, 1, seed=0)(table).X.round(2)
    array([[-1.41],
           [ 1.41]])
    """

    steps: tuple[Any, ...]
    facts: list[Fact]

    @classmethod
    def learned(cls, table: Table, standardize: bool, pca: int | None, seed: int) -> Preparation:
        """Learn means, deviations and directions from the features of a table."""
        from scipy import sparse
        from sklearn.decomposition import PCA
        from sklearn.preprocessing import StandardScaler

        from closeknit._threads import single_threaded_blas

        X, steps, words = table.X, [], []
        if pca is not None and pca > min(X.shape):
            raise UsageError(
                f"--pca {pca} needs as many rows and features, but there are {X.shape[0]} rows and "
                f"{X.shape[1]} features; choose fewer"
            )
        with single_threaded_blas():  # whose rounding depends on their number
            if standardize:
                steps.append(StandardScaler(with_mean=not sparse.issparse(X)).fit(X))
                X = steps[-1].transform(X)
                words.append("standardised")
            if pca is not None:
                solver = "arpack" if sparse.issparse(X) and pca < min(X.shape) else "auto"
                steps.append(PCA(pca, svd_solver=solver, random_state=seed).fit(X))
                share = steps[-1].explained_variance_ratio_.sum()
                words.append(f"{pca} principal components of {X.shape[1]} features, {share:.1%}")
        text = ", ".join(words) + (" of the variance" if pca is not None else "")
        return cls(tuple(steps), [Fact("prepared", "features are", text)] if steps else [])

    @property
    def code(self) -> list[str]:
        """The statements of Python that do the same."""
        lines = []
        for step in self.steps:
            name = type(step).__name__
            home = "decomposition" if name == "PCA" else "preprocessing"
            lines += [
                f"from sklearn.{home} import {name}",
                f"X = {' '.join(repr(step).split())}.fit_transform(X)",
            ]
        return lines

    def __call__(self, table: Table) -> Table:
        """Prepare the features of a table in the same way."""
        import numpy as np

        from closeknit._threads import single_threaded_blas

        X = table.X
        with single_threaded_blas():
            for step in self.steps:
                X = step.transform(X)
        same = X.shape[1] == table.n_features
        names = table.feature_names if same else tuple(f"pc{i + 1}" for i in range(X.shape[1]))
        if self.steps and not hasattr(X, "indptr"):
            X = np.ascontiguousarray(X)
        return replace(table, X=X, feature_names=names)

"""Maps as files: tables, pictures and models, and new points in the columns of old ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from closeknit.cli.files import new_figure, read, save_figure
from closeknit.cli.methods import TITLES, short_name
from closeknit.cli.options import DataOptions
from closeknit.cli.session import Session

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from closeknit.io import Table

__all__ = ["colors_of", "draw_map", "read_like", "save_model", "title_of", "write_map"]


def read_like(names: tuple[str, ...], data: DataOptions, path: Path) -> Table:
    """Read a file whose columns must be those of the fitted data, in any order."""
    from closeknit.io import kind_of, read_table
    from closeknit.io.table import default_names

    named = kind_of(path) in ("text", "parquet", "h5ad")
    if named and names and names != default_names(len(names)):
        return read_table(path, features=names, key=data.key, missing=data.missing.value)
    return read(replace(data, path=path), least=1)


def colors_of(current: Session, table: Table, color: str | None) -> dict[str, Any]:
    """What to colour by, as `plot_embedding` takes it."""
    if color is None:
        return {}
    column = table.column(color)
    if color in table.labels:
        numeric = column.dtype.kind == "f"
        return {"values" if numeric else "labels": column}
    current.warn(
        f"--color {color} is one of the columns that are embedded; if it is a class, keep it out "
        f"with --label {color}"
    )
    return {"values": column}


def write_map(path: Path, Y: NDArray[np.float64], model: Any, table: Table) -> None:
    """Write positions, with the names and labels of the rows beside them."""
    from closeknit.io import write_table

    columns = [f"{short_name(model)}{i}" for i in range(Y.shape[1])]
    write_table(path, Y, columns=columns, ids=table.ids, labels=table.labels)


def draw_map(
    path: Path, Y: NDArray[np.float64], colors: dict[str, Any], color: str | None, model: Any
) -> None:
    """Draw positions in the `colors` of the column `color`."""
    from closeknit.plotting import plot_embedding

    figure = new_figure((8.0, 7.0))
    axes = figure.add_subplot(projection="3d" if Y.shape[1] == 3 else None)
    plot_embedding(Y, ax=axes, **colors)
    axes.set_title(title_of(model) + (f", by {color}" if color else ""))
    save_figure(figure, path)


def title_of(model: Any) -> str:
    """What the start of a heading calls the model.

    Examples
    --------
    >>> import closeknit as ck
    >>> title_of(ck.ElasticEmbedding()), title_of(ck.TSNE())
    ('Elastic embedding', 't-SNE')
    """
    name = TITLES[type(model).__name__]
    return name[0].upper() + name[1:] if name != "t-SNE" else name


def save_model(estimator: Any, table: Table, path: Path) -> None:
    """Save a model together with the names of the columns it was fitted to, if they have any."""
    import numpy as np

    from closeknit.io import save
    from closeknit.io.table import default_names

    if table.feature_names != default_names(table.n_features):
        estimator.feature_names_in_ = np.array(table.feature_names, dtype=object)
    try:
        save(estimator, path)
    finally:
        vars(estimator).pop("feature_names_in_", None)  # here the new points are arrays

"""The map of ``closeknit embed`` as a picture, or as an interactive page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from closeknit.cli import outputs as out

if TYPE_CHECKING:
    from closeknit.io import Table

#: Different values up to which a label is worth a colour each.
_COLORS = 100


@dataclass(frozen=True)
class Picture:
    """The colours and labels that a map is drawn with.

    Parameters
    ----------
    path : Path or None
        Where it goes; None only checks the rest.
    table : Table
        What is known about the points.
    color : str or None
        The column of the colours.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.io import Table
    >>> labels = {"name": np.array(["p", "q", "r"]), "kind": np.array(["a", "b", "a"])}
    >>> Picture.of(Table(np.eye(3), ("x", "y", "z"), labels), None, None).color
    'kind'
    """

    path: Path | None
    table: Table
    color: str | None

    @classmethod
    def of(cls, table: Table, path: Path | None, color: str | None) -> Picture:
        """Choose the colours: those asked for, or the first label that has few values."""
        if color is not None:
            table.column(color)  # raises an error if there is none
            return cls(path, table, color)
        counts = {name: _count_values(column) for name, column in table.labels.items()}
        most = min(_COLORS, table.n_samples - 1)
        few = [name for name, count in counts.items() if 1 < count <= most]
        return cls(path, table, few[0] if few else None)

    def draw(
        self, Y: Any, title: str, placed: Sequence[Any] = (), new: Sequence[Table] = ()
    ) -> None:
        """Draw the map, and new points over it as rings.

        Parameters
        ----------
        Y : ndarray of shape (n_samples, n_components)
        title : str
        placed : sequence of ndarray, default=()
            Positions of new points.
        new : sequence of Table, default=()
            What is known about them.
        """
        assert self.path is not None
        title += f", by {self.color}" if self.color else ""
        if self.path.suffix.lower() == ".html":
            self._write_page(Y, title, placed, new)
            return
        from closeknit.plotting import families_for, plot_blocks, plot_embedding

        figure = out.new_figure((8.0, 7.0))
        axes: Any = figure.add_subplot(projection="3d" if Y.shape[1] == 3 else None)
        in_blocks = hasattr(Y, "dask") and Y.shape[1] == 2
        plot: Any = plot_blocks if in_blocks else plot_embedding
        plot(Y, ax=axes, **self._colors())
        for Z in placed if Y.shape[1] > 1 else ():
            style = {"s": 26.0, "facecolors": "white", "edgecolors": "black", "linewidths": 1.1}
            axes.scatter(*Z.T, zorder=6, **style)
        rings = "; rings are new points" if len(placed) and Y.shape[1] > 1 else ""
        axes.set_title(title + rings, fontfamily=families_for([title]))
        out.save_figure(figure, self.path)

    def _colors(self) -> dict[str, Any]:
        if self.color is None:
            return {}
        column = self.table.column(self.color)
        is_label = self.color in self.table.labels and column.dtype.kind != "f"
        return {"labels" if is_label else "values": column, "color_title": self.color}

    def _write_page(self, Y: Any, title: str, placed: Sequence[Any], new: Sequence[Table]) -> None:
        import numpy as np

        from closeknit.io.files import replacing
        from closeknit.plotting import embedding_html

        tables = [self.table, *new[: len(placed)]]
        Y = np.asarray(Y)
        names = {} if self.table.ids is None else {self.table.id_name or "id": None}
        names |= dict.fromkeys(self.table.labels)
        if self.color is not None:
            names[self.color] = None
        columns = {
            name: np.concatenate([np.asarray(_known(one, name)) for one in tables])
            for name in names
        }
        page = embedding_html(
            np.concatenate([Y, *placed]),
            columns,
            color=self.color,
            n_over=sum(map(len, placed)),
            title=title,
        )
        with replacing(self.path) as file:  # type: ignore[arg-type]
            file.write(page.encode())


def _count_values(column: Any) -> int:
    """Number of different values, of many only that they are many."""
    if not hasattr(column, "dask"):
        return len(set(column.tolist()))
    found: set[Any] = set()
    for block in column.blocks:
        found |= set(block.compute().tolist())
        if len(found) > _COLORS:
            break
    return len(found)


def _known(table: Table, name: str) -> Any:
    """A column of a table, or nothing where it has none of that name."""
    import numpy as np

    if table.ids is not None and name == (table.id_name or "id"):
        return table.ids
    if name in table.labels or name in table.feature_names:
        return table.column(name)
    return np.full(table.n_samples, None, dtype=object)

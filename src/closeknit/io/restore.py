"""Objects from JSON values and arrays: what `load` does.

A file may say anything. It can name classes of the registry only, and every number on which
compiled code relies is checked: array types and shapes, indices of sparse matrices, neighbours.
What only a class can know about itself is checked by its ``restore_state``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from closeknit.exceptions import ModelError
from closeknit.io.describe import OF_SKLEARN
from closeknit.io.registry import parameters_of, saveable
from closeknit.kernels import KERNELS
from closeknit.linalg import check_structure
from closeknit.neighbors import Neighbors

_GENERATORS = {
    name: getattr(np.random, name) for name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
}
#: Shapes of fitted attributes, wherever they occur, in symbols: equal symbols are equal numbers,
#: and a symbol alone is that number itself. Further axes are free.
_SHAPES: Mapping[str, tuple[str, ...] | str] = {
    "n_features_in_": "f",
    "affinity_estimator_": ("n", "n"),
    "affinities_": ("n", "n"),
    "graph_": ("n", "n"),
    "probabilities_": ("n", "n"),
    "votes_": ("n", "n"),
    "index_": ("n", "f"),
    "neighbors_": ("n",),
    "sigmas_": ("n",),
    "betas_": ("n",),
    "evaluations_": ("n",),
    "converged_": ("n",),
    "embedding_": ("n", "d"),
    "eigenvalues_": ("d",),
    "labels_": ("n",),
    "transduction_": ("n",),
    "classes_": ("c",),
    "label_distributions_": ("n", "c"),
    "cluster_centers_": ("m", "f"),
}
#: What `transform` gives new rows of, and hence what ``_n_features_out`` counts the columns of.
_OUTPUTS = ("embedding_", "affinities_")


def restore(
    objects: list[dict[str, Any]], read_array: Callable[[dict[str, Any]], NDArray[Any]]
) -> list[Any]:
    """Make the objects that are described, each from those before it.

    Parameters
    ----------
    objects : list of dict
        As in `Description`.
    read_array : callable
        Gives the array that an entry of kind "array" stands for.

    Returns
    -------
    list
        One object for each entry.

    Examples
    --------
    >>> restore([{"kind": "tuple", "items": [1, None]}], read_array=None)
    [(1, None)]
    """
    made: list[Any] = []

    def value(described: Any) -> Any:
        if described is None or isinstance(described, bool | int | float | str):
            return described
        (number,) = described.values()
        if not 0 <= number < len(made):
            raise ModelError(f"it refers to object {number} before that is described")
        return made[number]

    def named(described: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value(item) for name, item in described.items()}

    for entry in objects:
        kind = entry["kind"]
        if kind == "array":
            made.append(read_array(entry))
        elif kind in ("list", "tuple"):
            items = [value(item) for item in entry["items"]]
            made.append(items if kind == "list" else tuple(items))
        elif kind in _MAKERS:
            made.append(_MAKERS[kind](entry, value, named))
        else:
            raise ModelError(f"it holds an object of the unknown kind {kind!r}; upgrade closeknit")
    return made


def _strings(entry: Any, value: Any, named: Any) -> Any:
    items = np.empty(len(entry["items"]), dtype=object)
    items[:] = list(map(str, entry["items"]))
    return items.reshape(entry["shape"])


def _sparse(entry: Any, value: Any, named: Any) -> Any:
    matrix = (sparse.csr_array if entry["array"] else sparse.csr_matrix)(tuple(entry["shape"]))
    # One by one, because the constructor would shorten indices of 64 bits.
    for name in ("data", "indices", "indptr"):
        setattr(matrix, name, value(entry[name]))
    check_structure(matrix)
    return matrix


def _random_state(entry: Any, value: Any, named: Any) -> Any:
    state = np.random.RandomState()
    state.set_state(value(entry["state"]))
    return state


def _generator(entry: Any, value: Any, named: Any) -> Any:
    state = value(entry["state"])
    bits = _known(_GENERATORS, state["bit_generator"], "random generator")()
    bits.state = state
    return np.random.Generator(bits)


def _kernel(entry: Any, value: Any, named: Any) -> Any:
    family, scale, power = (value(entry[name]) for name in ("family", "scale", "power"))
    known = next((kernel for kernel in KERNELS.values() if kernel.family == family), None)
    if known is None or not (0.0 < scale < np.inf and 0.0 < power < np.inf):
        raise ModelError(f"it names the unknown kernel {(family, scale, power)}; upgrade closeknit")
    return replace(known, name=str(entry["name"]), scale=scale, power=power)


def _object(entry: Any, value: Any, named: Any) -> Any:
    cls = _known(saveable(), entry["class"], "class")
    name = cls.__name__
    parameters = named(entry["parameters"])
    unknown = parameters.keys() - parameters_of(cls)
    if unknown:
        raise ModelError(
            f"its {name} has the parameter {min(unknown)!r}, which this version does not know; "
            "upgrade closeknit"
        )
    made = cls(**parameters)
    if isinstance(made, Neighbors) and not _in_range(made.indices, made.n_targets):
        raise ModelError("it holds neighbours that are none of the points")
    if entry["state"] is not None:
        state = named(entry["state"])
        _check_state(cls, state)
        vars(made).update(state)
        if hasattr(made, "restore_state"):
            made.restore_state()
    return made


def _in_range(indices: NDArray[Any], n: int) -> bool:
    return not indices.size or (int(indices.min()) >= -1 and int(indices.max()) < n)


def _check_state(cls: type, state: Mapping[str, Any]) -> None:
    """Refuse attributes that are missing, unknown, or do not fit each other."""
    declared = {*getattr(cls, "saved_state", ())}
    missing = declared - state.keys()
    optional = OF_SKLEARN if issubclass(cls, BaseEstimator) else ()
    unknown = state.keys() - {*declared, *optional}
    if missing or unknown:
        raise ModelError(
            f"its {cls.__name__} {'lacks' if missing else 'has'} the attribute "
            f"{min(missing or unknown)!r}, unlike one of this version; fit the model again"
        )
    sizes: dict[str, int] = {}
    found = {name: state[name] for name in _SHAPES if state.get(name) is not None}
    for name, held in found.items():
        symbols = _SHAPES[name]
        shape = (held,) if isinstance(symbols, str) else _shape(held)
        known = [sizes.setdefault(s, size) for s, size in zip(symbols, shape, strict=False)]
        if len(shape) < len(symbols) or known != [*shape[: len(symbols)]]:
            raise _unfit(cls, name, shape)
    count = state.get("_n_features_out")
    output = next((_shape(state[name]) for name in _OUTPUTS if name in state), None)
    if count is not None and output is not None and count != output[1]:
        raise _unfit(cls, "_n_features_out", count)


def _unfit(cls: type, name: str, shape: Any) -> ModelError:
    return ModelError(f"its {cls.__name__}.{name} has shape {shape}, which does not fit the rest")


def _shape(value: Any) -> tuple[int, ...]:
    """The shape of an array, or of what an estimator, an index or neighbours hold."""
    names = ("affinities_", "points_", "distances_", "indices", "X")
    holder = value if isinstance(value, np.ndarray) or sparse.issparse(value) else None
    if holder is None:
        holder = next((getattr(value, name) for name in names if hasattr(value, name)), value)
    return tuple(holder.shape)


def _known(registry: Mapping[str, Any], name: Any, kind: str) -> Any:
    if name not in registry:
        raise ModelError(f"it names the unknown {kind} {name!r}; upgrade closeknit")
    return registry[name]


_MAKERS: Mapping[str, Callable[[Any, Any, Any], Any]] = {
    "float": lambda entry, value, named: float(entry["value"]),
    "scalar": lambda entry, value, named: value(entry["value"])[()],
    "dict": lambda entry, value, named: named(entry["items"]),
    "strings": _strings,
    "sparse": _sparse,
    "random state": _random_state,
    "generator": _generator,
    "kernel": _kernel,
    "object": _object,
}

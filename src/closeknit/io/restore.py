"""Plain words and arrays as objects again: what `load` does.

A file may say anything. It can name classes of the registry only, and every number on which
compiled code relies is checked: array types and shapes, indices of sparse matrices, neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from closeknit.apps.density import SamplePointDensity as Density
from closeknit.exceptions import ModelError
from closeknit.io.registry import ESTIMATORS, INDICES, PARTS, Shapes, dataclasses
from closeknit.kernels import KERNELS, Kernel
from closeknit.neighbors import Neighbors

__all__ = ["restore"]

_GENERATORS = {
    name: getattr(np.random, name) for name in ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
}
_INDICES = {cls.__name__: cls for cls in INDICES}
_PARTS = {cls.__name__: cls for cls in PARTS}


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
    matrix.check_format(full_check=True)
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
    return _known(KERNELS, entry["name"], "kernel")


def _index(entry: Any, value: Any, named: Any) -> Any:
    cls = _known(_INDICES, entry["class"], "class")
    index = cls(**named(entry["parameters"]))
    if entry["state"] is not None:
        state = named(entry["state"])
        for name in INDICES[cls]:
            setattr(index, name, state[name])
        if hasattr(index, "restore_state"):
            index.restore_state()
    return index


def _parts(entry: Any, value: Any, named: Any) -> Any:
    cls = _known(_PARTS, entry["class"], "class")
    parts = named(entry["parts"])
    shape = _shape(parts["index"])
    # Neighbours are looked up in the points, among which compiled code trusts them to be.
    if cls is Density and (parts["X"].shape != shape or parts["sigmas"].shape != shape[:1]):
        raise ModelError("it holds a density whose points, widths and index do not fit each other")
    if cls is not Density and parts["owners"].shape != shape[:1]:
        raise ModelError("it holds paths whose places and owners do not fit each other")
    return cls(**parts)


def _dataclass(entry: Any, value: Any, named: Any) -> Any:
    made = _known(dataclasses(), entry["class"], "class")(**named(entry["fields"]))
    if isinstance(made, Neighbors) and not _in_range(made.indices, made.n_targets):
        raise ModelError("it holds neighbours that are none of the points")
    if isinstance(made, Kernel) and not _is_kernel(made):
        raise ModelError(f"it names the unknown kernel {made.code!r}; upgrade closeknit")
    return made


def _is_kernel(kernel: Kernel) -> bool:
    """Whether the compiled sums have the kernel, and its class stands for the same one."""
    families: dict[type, int] = {type(known): known.family for known in KERNELS.values()}
    family, scale, power = kernel.code
    shaped = 0.0 < scale < np.inf and 0.0 < power < np.inf
    return shaped and families.get(type(kernel)) == family


def _in_range(indices: NDArray[Any], n: int) -> bool:
    return not indices.size or (int(indices.min()) >= -1 and int(indices.max()) < n)


def _estimator(entry: Any, value: Any, named: Any) -> Any:
    name = entry["class"]
    declared = _known(ESTIMATORS, name, "class")
    parameters = named(entry["parameters"])
    unknown = parameters.keys() - declared.cls._get_param_names()
    if unknown:
        raise ModelError(
            f"its {name} has the parameter {min(unknown)!r}, which this version does not know; "
            "upgrade closeknit"
        )
    estimator = declared.cls(**parameters)
    if entry["attributes"] is None:
        return estimator
    attributes = named(entry["attributes"])
    missing = declared.required.keys() - attributes.keys()
    unknown = attributes.keys() - {*declared.required, *declared.optional}
    if missing or unknown:
        raise ModelError(
            f"its {name} {'lacks' if missing else 'has'} the attribute "
            f"{min(missing or unknown)!r}, unlike one of this version; fit the model again"
        )
    _check_shapes(name, attributes, declared.required)
    vars(estimator).update(attributes)
    return estimator


def _check_shapes(name: str, attributes: Mapping[str, Any], declared: Shapes) -> None:
    """Equal symbols must be equal numbers."""
    sizes: dict[str, int] = {}
    for attribute, symbols in declared.items():
        found = attributes[attribute]
        if symbols is None or found is None:
            continue
        shape = (found,) if isinstance(symbols, str) else _shape(found)
        wanted = (symbols,) if isinstance(symbols, str) else symbols
        if len(shape) != len(wanted) or any(
            sizes.setdefault(symbol, size) != size
            for symbol, size in zip(wanted, shape, strict=True)
        ):
            known = {symbol: sizes[symbol] for symbol in wanted if symbol in sizes}
            raise ModelError(
                f"its {name}.{attribute} has shape {shape}, which does not fit the rest ({known})"
            )


def _shape(value: Any) -> tuple[int, ...]:
    """The shape of an array, of an index's data, or of an estimator's affinities."""
    names = ("affinities_", "points_", "distances_", "_X", "X")
    holder = next((getattr(value, name) for name in names if hasattr(value, name)), value)
    return tuple(holder.shape)


def _known(registry: Mapping[str, Any], name: Any, what: str) -> Any:
    if name not in registry:
        raise ModelError(f"it names the unknown {what} {name!r}; upgrade closeknit")
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
    "index": _index,
    "parts": _parts,
    "dataclass": _dataclass,
    "estimator": _estimator,
}

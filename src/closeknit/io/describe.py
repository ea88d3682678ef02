"""Objects as JSON values and arrays: what `save` writes.

Numbers, strings, truth values and None stand for themselves. Everything else is an entry in a list
of objects, each described by its kind and by references to entries before it, so that an array
which is used twice is stored once, and is one array again when it is read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from closeknit.exceptions import ModelError
from closeknit.io.registry import parameters_of, path_of
from closeknit.kernels import KERNELS, Kernel

#: What scikit-learn keeps in fitted estimators on its own account.
OF_SKLEARN = ("feature_names_in_", "_n_features_out", "_sklearn_output_config")

#: Types of arrays: truth values, numbers, strings, times.
PLAIN = "biufcSUmM"


class Description:
    """Collects the objects that something consists of.

    Attributes
    ----------
    objects : list of dict
        What JSON will hold.
    arrays : list of ndarray
        What it refers to by number.

    Examples
    --------
    >>> description = Description()
    >>> description.add((1, None), "pair")
    {'ref': 0}
    >>> description.objects
    [{'kind': 'tuple', 'items': [1, None]}]
    """

    def __init__(self) -> None:
        self.objects: list[dict[str, Any]] = []
        self.arrays: list[NDArray[Any]] = []
        # The values are kept, too: the id of one that is gone may be given to another.
        self._known: dict[int, tuple[Any, int]] = {}

    def add(self, value: Any, where: str) -> Any:
        """Describe a value.

        Parameters
        ----------
        value : object
        where : str
            What users call it, for messages.

        Returns
        -------
        None, bool, int, float, str or {"ref": number}
        """
        if value is None or type(value) in (bool, int, str):
            return value
        if isinstance(value, StrEnum):
            return value.value
        if type(value) is float and math.isfinite(value):
            return value
        if id(value) not in self._known:
            described = self._describe(value, where)
            self._known[id(value)] = (value, len(self.objects))
            self.objects.append(described)
        return {"ref": self._known[id(value)][1]}

    def _describe(self, value: Any, where: str) -> dict[str, Any]:
        cls = type(value)
        if cls is float:
            return {"kind": "float", "value": repr(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, np.generic):
            return {"kind": "scalar", "value": self.add(np.asarray(value), where)}
        if sparse.issparse(value):
            return self._sparse(value, where)
        if cls in (list, tuple):
            items = [self.add(item, f"{where}[{i}]") for i, item in enumerate(value)]
            return {"kind": cls.__name__, "items": items}
        if cls is dict and all(type(key) is str for key in value):
            return {"kind": "dict", "items": self._named(value.items(), where)}
        if isinstance(value, np.random.RandomState | np.random.Generator):
            return self._random(value, where)
        if isinstance(value, Kernel) and _is_known(value):
            family, scale, power = value.code
            code = {"family": family, "scale": scale, "power": power}
            return {"kind": "kernel", "name": value.name, **self._named(code.items(), where)}
        path = path_of(cls)
        if path is not None:
            return self._object(value, path, where)
        raise ModelError(
            f"cannot save {where}: {_short(value)} is not one of closeknit's own objects, and "
            "others could be restored only by running code from the file; replace it by "
            "set_params, for example with None or a name"
        )

    def _named(self, items: Iterable[tuple[str, Any]], where: str) -> dict[str, Any]:
        return {name: self.add(value, f"{where}.{name}") for name, value in items}

    def _array(self, value: NDArray[Any], where: str) -> dict[str, Any]:
        array = np.asarray(value)
        if array.dtype == object and all(type(item) is str for item in array.flat):
            return {"kind": "strings", "shape": list(array.shape), "items": array.ravel().tolist()}
        if array.dtype.kind not in PLAIN or np.ma.isMaskedArray(value):
            raise ModelError(
                f"cannot save {where}: it is an array of {array.dtype}; convert it to numbers or "
                "strings"
            )
        self.arrays.append(array)
        return {
            "kind": "array",
            "number": len(self.arrays) - 1,
            "dtype": array.dtype.str,
            "shape": list(array.shape),
        }

    def _sparse(self, value: Any, where: str) -> dict[str, Any]:
        if value.format != "csr":
            raise ModelError(
                f"cannot save {where}: it is a sparse matrix in {value.format.upper()} format; "
                "convert it with tocsr()"
            )
        parts = ((name, getattr(value, name)) for name in ("data", "indices", "indptr"))
        return {
            "kind": "sparse",
            "array": isinstance(value, sparse.sparray),
            "shape": list(map(int, value.shape)),
            **self._named(parts, where),
        }

    def _random(self, value: Any, where: str) -> dict[str, Any]:
        if isinstance(value, np.random.RandomState):
            state = value.get_state(legacy=False)
            return {"kind": "random state", "state": self.add(dict(state), where)}
        return {"kind": "generator", "state": self.add(value.bit_generator.state, where)}

    def _object(self, value: Any, path: str, where: str) -> dict[str, Any]:
        parameters = [(name, getattr(value, name)) for name in parameters_of(type(value))]
        state = _state_of(value, where)
        return {
            "kind": "object",
            "class": path,
            "parameters": self._named(parameters, where),
            "state": None if state is None else self._named(state.items(), where),
        }


def _state_of(value: Any, where: str) -> dict[str, Any] | None:
    """What is saved of an object besides its parameters; None if it is not fitted."""
    cls, held = type(value), vars(value)
    declared = getattr(cls, "saved_state", ())
    if not any(name in held for name in declared):
        return None
    own = OF_SKLEARN if isinstance(value, BaseEstimator) else ()
    missing = [name for name in declared if name not in held]
    known = {*declared, *own, *parameters_of(cls)}
    added = [name for name in held if not name.startswith("_") and name not in known]
    if missing or (own and added):
        raise ModelError(
            f"cannot save {where}: it {'lacks' if missing else 'has'} the attribute "
            f"{(missing or added)[0]!r}, unlike a fitted {cls.__name__}; fit it again, and do not "
            "add attributes to it"
        )
    optional = [name for name in own if name in held and name not in declared]
    return {name: held[name] for name in (*declared, *optional)}


def _is_known(kernel: Kernel) -> bool:
    """Whether a kernel is one of ours, with other numbers perhaps."""
    return any(
        kernel == replace(known, name=kernel.name, scale=kernel.scale, power=kernel.power)
        for known in KERNELS.values()
    )


def _short(value: Any) -> str:
    words = " ".join(repr(value).split())
    return words if len(words) <= 60 else words[:60] + "…"

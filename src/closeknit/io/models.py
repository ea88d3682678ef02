"""Save and load fitted models: one file, arrays and words, no code.

The file is a ZIP archive of ``model.json``, which describes the model (see `describe.py`), and
of its arrays in NumPy's format, ``arrays/0.npy`` and so on. NumPy and any ZIP tool can open it.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import closeknit
from closeknit.exceptions import ModelError
from closeknit.io.arrays import load_array
from closeknit.io.describe import PLAIN, Description
from closeknit.io.files import reading, replacing
from closeknit.io.registry import estimators, path_of
from closeknit.io.restore import restore

__all__ = ["FORMAT_VERSION", "load", "save"]

#: Raised when files change in a way that older versions would misread.
FORMAT_VERSION = 2
_FORMAT = "closeknit model"
_DESCRIPTION = "model.json"


def save(model: Any, path: str | Path) -> None:
    """Save a fitted estimator of closeknit.

    The file appears when it is complete; until then, and if anything goes wrong, what was there
    stays. It holds the data that `transform` or `predict` need, hence about as much as the model
    in memory.

    Parameters
    ----------
    model : estimator
        Any fitted one: affinities, an embedding such as :class:`~closeknit.TSNE`, a sparsifier of
        :mod:`closeknit.graphs`, a clustering or a classifier.
    path : str or path
        By custom ``.closeknit``.

    Raises
    ------
    ModelError
        If a parameter is an object that is not closeknit's own, such as a callback.
    OutputError
        Saying why the file cannot be written.

    See Also
    --------
    load

    Examples
    --------
    >>> import tempfile
    >>> import closeknit as ck
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> tsne = ck.TSNE(random_state=0).fit(X[:140])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ck.io.save(tsne, f"{folder}/iris.closeknit")
    ...     same = ck.io.load(f"{folder}/iris.closeknit")
    >>> bool((same.transform(X[140:]) == tsne.transform(X[140:])).all())
    True
    """
    name = type(model).__name__
    if path_of(type(model)) is None or name not in estimators():
        raise ModelError(
            f"cannot save an object of type {name}; save one of {', '.join(estimators())}"
        )
    description = Description()
    reference = description.add(model, name)
    if description.objects[reference["ref"]]["state"] is None:
        raise ModelError(f"this {name} is not fitted; call fit before saving it")
    content = {
        "format": _FORMAT,
        "version": FORMAT_VERSION,
        "closeknit": closeknit.__version__,
        "model": reference,
        "objects": description.objects,
    }
    with replacing(path) as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr(_member(_DESCRIPTION), json.dumps(content, indent=1, allow_nan=False))
        for number, array in enumerate(description.arrays):
            with archive.open(_member(_array_name(number)), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)


def load(path: str | Path) -> Any:
    """Load a model that `save` has written.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    estimator
        Fitted, with the same parameters and attributes to the bit.

    Raises
    ------
    ModelError
        If the file is damaged, of another version, or anything but a model. Nothing in it is
        executed, whoever wrote it.

    See Also
    --------
    save

    Examples
    --------
    >>> import tempfile
    >>> import closeknit as ck
    >>> from sklearn.datasets import load_iris
    >>> affinities = ck.EntropicAffinities(20).fit(load_iris().data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ck.io.save(affinities, f"{folder}/iris.closeknit")
    ...     ck.io.load(f"{folder}/iris.closeknit")
    EntropicAffinities(perplexity=20)
    """
    with reading(path, ModelError), zipfile.ZipFile(path) as archive:
        return _read_model(archive)


def _member(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name)  # with a fixed time: the same model gives the same bytes


def _array_name(number: int) -> str:
    return f"arrays/{number}.npy"


def _read_model(archive: zipfile.ZipFile) -> Any:
    if _DESCRIPTION not in archive.namelist():
        raise ModelError(f"it has no {_DESCRIPTION}, so it is not a model that closeknit saved")
    content = json.loads(archive.read(_stored(archive, _DESCRIPTION)))
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise ModelError("it is not a model that closeknit saved")
    version = content.get("version")
    if version != FORMAT_VERSION:
        raise ModelError(
            f"its format is version {version!r}, written by closeknit "
            f"{content.get('closeknit')}; this is closeknit {closeknit.__version__}, which reads "
            f"version {FORMAT_VERSION}; fit the model again, or install the version that wrote it"
        )
    objects = restore(content["objects"], lambda entry: _read_array(archive, entry))
    model = objects[content["model"]["ref"]]
    if type(model).__name__ not in estimators() or not hasattr(model, "n_features_in_"):
        raise ModelError("what it describes is not a fitted model")
    return model


def _stored(archive: zipfile.ZipFile, name: str) -> zipfile.ZipInfo:
    """A member that is no larger than it seems: compressed ones could be of any size."""
    info = archive.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED:
        raise ModelError(f"its part {name} is compressed, which closeknit does not do")
    return info


def _read_array(archive: zipfile.ZipFile, entry: dict[str, Any]) -> NDArray[Any]:
    name = _array_name(int(entry["number"]))
    if name not in archive.namelist():
        raise ModelError(f"its part {name} is missing; write or download it again")
    info = _stored(archive, name)
    with archive.open(info) as member:
        array = load_array(member, info.file_size)
    if [array.dtype.str, [*array.shape]] != [entry["dtype"], entry["shape"]]:
        raise ModelError(
            f"its part {name} has shape {array.shape} and type {array.dtype}, "
            f"not {tuple(entry['shape'])} and {entry['dtype']} as its description says"
        )
    if array.dtype.kind not in PLAIN:
        raise ModelError(f"its part {name} has type {array.dtype}, which closeknit does not save")
    return array

"""Files that hold objects without code: a ZIP archive of JSON and of arrays in NumPy's format.

``model.json`` describes the objects (see `describe.py`); their arrays are ``arrays/0.npy`` and so
on. NumPy and any ZIP tool can open it.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import closeknit
from closeknit.exceptions import ModelError
from closeknit.io.arrays import load_array
from closeknit.io.describe import PLAIN, Description
from closeknit.io.files import reading, replacing
from closeknit.io.restore import restore

_DESCRIPTION = "model.json"


class Kind(NamedTuple):
    """What a file holds.

    Attributes
    ----------
    format : str
        Such as "closeknit model"; the last word is what messages call it.
    version : int
        Raised when files change in a way that older versions would misread.

    Examples
    --------
    >>> from closeknit.io import Kind
    >>> Kind("closeknit pair", 1).format
    'closeknit pair'
    """

    format: str
    version: int


def write_archive(path: str | Path, kind: Kind, description: Description, reference: Any) -> None:
    """Write what was described; the file appears when it is complete.

    Parameters
    ----------
    path : str or path
    kind : Kind
    description : Description
    reference : object
        What ``description.add`` returned for the whole.

    Examples
    --------
    >>> import tempfile
    >>> description, kind = Description(), Kind("closeknit pair", 1)
    >>> pair = description.add((1, "two"), "pair")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_archive(f"{folder}/pair", kind, description, pair)
    ...     archive_format(f"{folder}/pair"), read_archive(f"{folder}/pair", kind)
    ('closeknit pair', (1, 'two'))
    """
    content = {
        "format": kind.format,
        "version": kind.version,
        "closeknit": closeknit.__version__,
        "model": reference,
        "objects": description.objects,
    }
    with replacing(path) as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr(_member(_DESCRIPTION), json.dumps(content, indent=1, allow_nan=False))
        for number, array in enumerate(description.arrays):
            with archive.open(_member(_array_name(number)), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)


def read_archive(path: str | Path, kind: Kind) -> Any:
    """Read what `write_archive` has written; nothing in the file is executed.

    Raises
    ------
    ModelError
        If the file is damaged, of another version or kind.

    Examples
    --------
    >>> import tempfile
    >>> from closeknit.io import Description, Kind, read_archive, write_archive
    >>> description, kind = Description(), Kind("closeknit list", 1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_archive(f"{folder}/list", kind, description, description.add([1, 2], "list"))
    ...     read_archive(f"{folder}/list", kind)
    [1, 2]
    """
    with reading(path, ModelError), zipfile.ZipFile(path) as archive:
        content, what = _content(archive), kind.format.split()[-1]
        if not isinstance(content, dict) or content.get("format") != kind.format:
            raise ModelError(f"it is not a {what} that closeknit saved")
        version = content.get("version")
        if version != kind.version:
            again = "fit the model" if what == "model" else f"make the {what}"
            raise ModelError(
                f"its format is version {version!r}, written by closeknit "
                f"{content.get('closeknit')}; this is closeknit {closeknit.__version__}, which "
                f"reads version {kind.version}; {again} again, or install the version that wrote it"
            )
        objects = restore(content["objects"], lambda entry: _read_array(archive, entry))
        return objects[content["model"]["ref"]]


def archive_format(path: str | Path) -> str:
    """What kind of file it is, as its writer called it; "" if it is none of ours.

    Examples
    --------
    >>> import tempfile
    >>> import closeknit as ck
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ck.io.save(ck.EntropicAffinities().fit(X), f"{folder}/iris.closeknit")
    ...     ck.io.archive_format(f"{folder}/iris.closeknit")
    'closeknit model'
    """
    with reading(path, ModelError), zipfile.ZipFile(path) as archive:
        content = _content(archive)
        return str(content.get("format", "")) if isinstance(content, dict) else ""


def _content(archive: zipfile.ZipFile) -> Any:
    if _DESCRIPTION not in archive.namelist():
        raise ModelError(f"it has no {_DESCRIPTION}, so it is not a model that closeknit saved")
    return json.loads(archive.read(_stored(archive, _DESCRIPTION)))


def _member(name: str) -> zipfile.ZipInfo:
    return zipfile.ZipInfo(name)  # with a fixed time: the same model gives the same bytes


def _array_name(number: int) -> str:
    return f"arrays/{number}.npy"


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

"""Save and load fitted models: one file of JSON and arrays, no code (see `archive.py`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from closeknit.exceptions import ModelError
from closeknit.io.archive import Kind, read_archive, write_archive
from closeknit.io.describe import Description
from closeknit.io.registry import estimators, path_of

#: Raised when files change in a way that older versions would misread.
FORMAT_VERSION = 2
MODEL = Kind("closeknit model", FORMAT_VERSION)


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
    write_archive(path, MODEL, description, reference)


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
    model = read_archive(path, MODEL)
    if type(model).__name__ not in estimators() or not hasattr(model, "n_features_in_"):
        raise ModelError(f"cannot read {path}: what it describes is not a fitted model")
    return model

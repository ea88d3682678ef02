"""Errors and warnings that closeknit raises, so that users can catch and filter them by class.

Wrong parameters and arrays raise plain `ValueError` and `TypeError`, as scikit-learn's do. The
errors here concern files, clusters, and packages that may not be installed.
"""

__all__ = [
    "CloseknitError",
    "CloseknitWarning",
    "ClusterError",
    "DataError",
    "DisconnectedWarning",
    "MissingDependencyError",
    "ModelError",
    "NoBandwidthWarning",
    "NoViewerWarning",
    "NotConvergedWarning",
    "OutputError",
]


class CloseknitError(Exception):
    """Base class of errors whose message says in one line what to do.

    Examples
    --------
    >>> import closeknit as ck
    >>> try:
    ...     ck.io.read_table("missing.csv")
    ... except ck.exceptions.CloseknitError as error:
    ...     print(error)
    cannot read missing.csv: there is no such file; check the path
    """


class DataError(CloseknitError, ValueError):
    """A file or frame does not hold the data that were asked for.

    Examples
    --------
    >>> import closeknit as ck
    >>> try:
    ...     ck.io.read_table("missing.csv")
    ... except ck.exceptions.DataError as error:
    ...     print(error)
    cannot read missing.csv: there is no such file; check the path
    """


class ModelError(CloseknitError, ValueError):
    """A model cannot be saved, or a file does not hold a model that can be loaded.

    Examples
    --------
    >>> import closeknit as ck
    >>> try:
    ...     ck.io.load("missing.closeknit")
    ... except ck.exceptions.ModelError as error:
    ...     print(error)
    cannot read missing.closeknit: there is no such file; check the path
    """


class OutputError(CloseknitError, OSError):
    """A file cannot be written; what was there before is untouched.

    Examples
    --------
    >>> import closeknit as ck
    >>> try:
    ...     ck.io.write_table("missing/map.csv", [[0.0, 1.0]])
    ... except ck.exceptions.OutputError as error:
    ...     print(error)
    cannot write missing/map.csv: No such file or directory; create the folder first, or choose ...
    """


class ClusterError(CloseknitError, RuntimeError):
    """A Dask cluster cannot do what was asked, or was lost.

    Examples
    --------
    >>> from closeknit.exceptions import CloseknitError, ClusterError
    >>> issubclass(ClusterError, CloseknitError), issubclass(ClusterError, RuntimeError)
    (True, True)
    """


class MissingDependencyError(CloseknitError, ImportError):
    """A package that is not installed is needed; the message says how to install it.

    Examples
    --------
    >>> from closeknit.exceptions import CloseknitError, MissingDependencyError
    >>> issubclass(MissingDependencyError, CloseknitError)
    True
    >>> issubclass(MissingDependencyError, ImportError)
    True
    """


class CloseknitWarning(UserWarning):
    """Base class of every warning of this library.

    Examples
    --------
    >>> import warnings
    >>> import closeknit as ck
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", ck.exceptions.CloseknitWarning)
    ...     ck.solve_bandwidths([[1.0, 1.0, 1.0]], 2.0).converged
    array([False])
    """


class NoBandwidthWarning(CloseknitWarning):
    """Some points have no bandwidth of the wanted perplexity, for example because of ties.

    Examples
    --------
    >>> import warnings
    >>> import closeknit as ck
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ck.exceptions.NoBandwidthWarning)
    ...     ck.solve_bandwidths([[1.0, 1.0, 1.0]], 2.0)
    Traceback (most recent call last):
        ...
    closeknit.exceptions.NoBandwidthWarning: 1 of 1 points have no bandwidth of the wanted ...
    """


class NoViewerWarning(CloseknitWarning):
    """No point sees enough modes among its distances to separate others.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import closeknit as ck
    >>> line = np.arange(20.0)[:, None]
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ck.exceptions.NoViewerWarning)
    ...     ck.graphs.ViewerSparsifier(perplexity=5).fit(line)
    Traceback (most recent call last):
        ...
    closeknit.exceptions.NoViewerWarning: none of 20 candidates sees 2 modes in its distances ...
    """


class DisconnectedWarning(CloseknitWarning):
    """A graph has components for which it cannot answer what was asked.

    Examples
    --------
    >>> import warnings
    >>> import closeknit as ck
    >>> two_pairs = [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ck.exceptions.DisconnectedWarning)
    ...     ck.LabelPropagation(affinity="precomputed").fit(two_pairs, [0, -1, -1, -1])
    Traceback (most recent call last):
        ...
    closeknit.exceptions.DisconnectedWarning: 2 of 4 points are in components of the graph ...
    """


class NotConvergedWarning(CloseknitWarning):
    """An iteration ended before its tolerance was reached; what it found so far is used.

    Examples
    --------
    >>> import warnings
    >>> import closeknit as ck
    >>> from sklearn.datasets import load_iris
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ck.exceptions.NotConvergedWarning)
    ...     ck.MeanShift(max_iter=1).fit(load_iris().data)
    Traceback (most recent call last):
        ...
    closeknit.exceptions.NotConvergedWarning: 150 of 150 points still moved after max_iter=1 ...
    """

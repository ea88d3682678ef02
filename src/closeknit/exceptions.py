"""Errors and warnings that closeknit raises, so that users can catch and filter them by class.

Wrong parameters and arrays raise plain `ValueError` and `TypeError`, as scikit-learn's do. The
errors here concern the world around the library: files, and packages that may not be installed.
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
    """A file or frame does not hold the data that were asked for."""


class ModelError(CloseknitError, ValueError):
    """A model cannot be saved, or a file does not hold a model that can be loaded."""


class OutputError(CloseknitError, OSError):
    """A file cannot be written; what was there before is untouched."""


class ClusterError(CloseknitError, RuntimeError):
    """A Dask cluster cannot do what was asked, or was lost."""


class MissingDependencyError(CloseknitError, ImportError):
    """A package that is not installed is needed; the message says how to install it."""


class CloseknitWarning(UserWarning):
    """Base class of every warning of this library."""


class NoBandwidthWarning(CloseknitWarning):
    """Some points have no bandwidth of the wanted perplexity, for example because of ties."""


class NoViewerWarning(CloseknitWarning):
    """No point sees enough modes among its distances to separate others."""


class DisconnectedWarning(CloseknitWarning):
    """A graph has components for which it cannot answer what was asked."""


class NotConvergedWarning(CloseknitWarning):
    """An iteration ended before its tolerance was reached; what it found so far is used."""

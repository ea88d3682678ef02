"""Warnings that closeknit raises, so that users can filter them by class."""

__all__ = ["CloseknitWarning", "NoBandwidthWarning", "NoViewerWarning"]


class CloseknitWarning(UserWarning):
    """Base class of every warning of this library."""


class NoBandwidthWarning(CloseknitWarning):
    """Some points have no bandwidth of the wanted perplexity, for example because of ties."""


class NoViewerWarning(CloseknitWarning):
    """No point sees enough modes among its distances to tell others apart."""

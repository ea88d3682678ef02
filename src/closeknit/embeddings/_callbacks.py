"""scikit-learn's callbacks, such as progress bars, where the installed version has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's."""

    def with_callbacks(method: Any) -> Any:
        """Return the method as it is."""
        return method


__all__ = ["CallbackSupportMixin", "each_iteration", "with_callbacks"]


def each_iteration(
    estimator: Any, callback: Callable[[Any], Any] | None
) -> Callable[[Any], Any] | None:
    """Join the user's `callback` with those set by scikit-learn's ``set_callbacks``, if any."""
    if not getattr(estimator, "_skl_callbacks", None):
        return callback
    # How many iterations there will be is not known: they end by convergence.
    context = estimator._init_callback_context(max_subtasks=None)
    context.call_on_fit_task_begin(estimator=estimator)

    def call_both(state: Any) -> bool:
        task = context.subcontext(task_name="iteration")
        task.call_on_fit_task_begin(estimator=estimator)
        metadata = {"objective": state.value, "gradient_norm": state.gradient_norm}
        stop = task.call_on_fit_task_end(estimator=estimator, metadata=metadata)
        return bool(callback is not None and callback(state)) or bool(stop)

    return call_both

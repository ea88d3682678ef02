"""Names that other programs have for the parameters of t-SNE."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

C = TypeVar("C", bound=type)

_REPULSION = {"exact": "exact", "barnes_hut": "auto", "bh": "auto", "fft": "auto", "auto": "auto"}
_RATE = (
    "steps find their own length here; for a fixed rate pass direction=Momentum(rate=…) from "
    "closeknit.minimize, where 0.25 is the usual n / exaggeration"
)
_ACCURACY = (
    "there is no tree here; pass repulsion='exact', or repulsion=GridRepulsion(accuracy=…) from "
    "closeknit.repulsion"
)
_TOL = "pass tol=, the relative decrease per iteration at which a map counts as finished"
_CALLBACK = "pass callback=, which is called with a State after every iteration"

#: For each parameter of scikit-learn's, openTSNE's and other t-SNEs our name, and our words for its
#: values where they differ; or a sentence that says what takes its place.
ALIASES: dict[str, str | tuple[str, Mapping[Any, Any]]] = {
    "early_exaggeration": ("exaggeration", {}),
    "k_neighbors": ("n_neighbors", {}),
    "initialization": ("init", {"spectral": "eigenmaps"}),
    "method": ("repulsion", _REPULSION),
    "n_epochs": ("max_iter", {}),
    "n_iter": ("max_iter", {}),
    "negative_gradient_method": ("repulsion", _REPULSION),
    "angle": _ACCURACY,
    "callbacks": _CALLBACK,
    "callbacks_every_iters": _CALLBACK,
    "early_exaggeration_iter": "pass exaggeration=((12, 250),), factors with their iterations",
    "learning_rate": _RATE,
    "min_dist": "there is no such distance in t-SNE; dof= and lam= change how tight clusters are",
    "min_grad_norm": _TOL,
    "momentum": "pass direction=Momentum(momentum=…) from closeknit.minimize",
    "n_iter_without_progress": _TOL,
    "theta": _ACCURACY,
}


def accepts(aliases: Mapping[str, str | tuple[str, Mapping[Any, Any]]]) -> Callable[[C], C]:
    """Let a class take parameters by names of other programs, which it does not declare.

    Parameters
    ----------
    aliases : mapping
        As `ALIASES`.

    Returns
    -------
    callable
        A decorator of classes; signatures and scikit-learn's ``get_params`` stay as they were.

    Examples
    --------
    >>> import closeknit as ck
    >>> ck.TSNE(n_iter=500, early_exaggeration=4)
    TSNE(exaggeration=4, max_iter=500)
    >>> ck.TSNE(angle=0.5)
    Traceback (most recent call last):
        ...
    TypeError: TSNE has no angle: there is no tree here; pass repulsion='exact', or ...
    """

    def decorate(cls: C) -> C:
        declared: Any = cls.__init__  # type: ignore[misc]

        @wraps(declared)
        def init(self: Any, *arguments: Any, **parameters: Any) -> None:
            if parameters.get("learning_rate") == "auto":
                del parameters["learning_rate"]  # ours is
            for name in [name for name in parameters if name in aliases]:
                ours, value = _translate(cls, name, parameters.pop(name), aliases[name])
                if ours in parameters:
                    raise TypeError(f"{name} is {ours} here; give one of them")
                parameters[ours] = value
            declared(self, *arguments, **parameters)

        cls.__init__ = init  # type: ignore[misc]
        return cls

    return decorate


def _translate(cls: type, name: str, value: Any, meaning: Any) -> tuple[str, Any]:
    if isinstance(meaning, str):
        raise TypeError(f"{cls.__name__} has no {name}: {meaning}")
    ours, values = meaning
    return ours, values.get(value, value) if isinstance(value, str) else value

"""The Python code that makes the current map again, to the bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from closeknit.explore.building import neighbors_for
from closeknit.explore.parameters import MODELS, Parameters
from closeknit.explore.phase import Phase

if TYPE_CHECKING:
    from closeknit.explore.engine import Engine

__all__ = ["code_of"]


def code_of(reading: str, engine: Engine, rows: str | None = None) -> str:
    """Write the code that makes an engine's map.

    Parameters
    ----------
    reading : str
        Statements that make ``X``.
    engine : Engine
    rows : str or None, default=None
        The rows of ``X`` that are on the map, as an expression; None is all.

    Returns
    -------
    str

    Examples
    --------
    >>> from closeknit.explore import Engine, Parameters
    >>> from sklearn.datasets import load_iris
    >>> engine = Engine(load_iris().data, Parameters(), max_perplexity=40)
    >>> print(code_of("X = load_iris().data", engine))
    import closeknit as ck
    <BLANKLINE>
    X = load_iris().data
    neighbors = ck.neighbors.find_neighbors(X, 120, random_state=0)
    settings = {"neighbors": neighbors, "random_state": 0}
    Y = ck.TSNE(perplexity=30.0, n_neighbors=90, **settings).fit_transform(X)
    """
    given = "" if engine.builder.metric == "euclidean" else f", metric={engine.builder.metric!r}"
    seed = f"random_state={engine.builder.random_state}"
    settings = f'"neighbors": neighbors, "random_state": {engine.builder.random_state}'
    if given:
        settings += f', "metric": {engine.builder.metric!r}'
    lines = ["import closeknit as ck", "", *reading.splitlines()]
    if rows is not None:
        lines.append(f"X = X[{rows}]")
    k = engine.builder.n_neighbors if engine.neighbors is None else engine.neighbors.n_neighbors
    lines += [
        f"neighbors = ck.neighbors.find_neighbors(X, {k}{given}, {seed})",
        f"settings = {{{settings}}}",
    ]
    for phase in engine.phases:
        lines += _statements(phase, k)
    if not engine.phases:
        lines.append(_fit(engine.parameters, k, {}))
    return "\n".join(lines) + "\n"


def _statements(phase: Phase, k: int) -> list[str]:
    """The statements of a phase: a number of iterations from where the last one ended."""
    parameters, lines = phase.parameters, []
    total = sum(count for _, count in phase.stages)
    options: dict[str, Any] = {}
    if phase.scale != 1.0:
        lines.append(f"Y = {phase.scale!r} * Y")
    if not phase.restarted:
        options["init"] = "Y"
        if parameters.model == "tsne":
            options["exaggeration"] = "()"
        if phase.plain_momentum:
            options |= {"direction": '"momentum"', "max_iter": repr(total)}
    elif parameters.model == "ee":
        # λ is found at the minimum of s-SNE, which has the same kernel.
        twin, first = Parameters("ssne", parameters.perplexity), phase.stages[0][1]
        lines.append(_fit(twin, k, {"callback": _stop_at(first)}))
        if len(phase.stages) == 1:
            return lines
        total -= first
        options["init"] = "Y"
    if parameters.model == "ee":
        options["lam"] = repr(phase.lam)
    options |= {"callback": _stop_at(total), "tol": "0"}
    options.setdefault("max_iter", repr(max(total, 1000)))  # a short run would be trained otherwise
    lines.append(_fit(parameters, k, options))
    return lines


def _stop_at(iterations: int) -> str:
    return f"lambda state: state.iteration == {iterations}"


def _fit(parameters: Parameters, k: int, options: dict[str, Any]) -> str:
    name = MODELS[parameters.model][0]
    defaults = Parameters()
    words = [
        f"{key}={value!r}"
        for key, value in parameters.keywords().items()
        if key == "perplexity" or value != getattr(defaults, key)
    ]
    words.append(f"n_neighbors={neighbors_for(parameters.perplexity, k)}")
    words += [f"{key}={value}" for key, value in options.items()]
    return f"Y = ck.{name}({', '.join(words)}, **settings).fit_transform(X)"

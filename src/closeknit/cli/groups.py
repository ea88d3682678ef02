"""Options in groups: a command takes a group as one parameter, and Typer sees its fields.

::

    @spelled_out
    def cluster(clusters: int, *, data: DataOptions, talk: TalkOptions) -> None: ...
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Any, get_type_hints

__all__ = ["spelled_out"]


def spelled_out(command: Callable[..., None]) -> Callable[..., None]:
    """Make the fields of a command's groups of options parameters of its own, as Typer wants them.

    Parameters
    ----------
    command : callable
        Parameters whose types are dataclasses are groups.

    Returns
    -------
    callable

    Examples
    --------
    >>> from closeknit.cli.options import TalkOptions
    >>> @spelled_out
    ... def greet(name: str, *, talk: TalkOptions) -> None:
    ...     print(name, talk.quiet)
    >>> list(signature(greet).parameters)
    ['name', 'quiet', 'json']
    >>> greet(name="Ada", quiet=True, json=False)
    Ada True
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: group for name, group in hints.items() if is_dataclass(group)}
    parameters: list[Parameter] = []
    for parameter in signature(command).parameters.values():
        group = groups.get(parameter.name)
        if group is None:
            parameters.append(parameter.replace(annotation=hints[parameter.name]))
            continue
        types = get_type_hints(group, include_extras=True)
        parameters += [
            Parameter(
                field.name,
                Parameter.KEYWORD_ONLY,
                default=Parameter.empty if field.default is MISSING else field.default,
                annotation=types[field.name],
            )
            for field in fields(group)
        ]
    parameters = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in parameters]

    @wraps(command)
    def run(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    run.__signature__ = signature(command).replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run

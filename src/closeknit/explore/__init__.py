"""The explorer: parameters are sliders, and the map follows them.

::

    explore(X, labels)          a page in a script, a widget in a notebook
      └─ Session                points, selection, labels, undo (session.py, columns.py)
           └─ Engine            parameters in, frames out, in a thread (engine.py, phase.py)
                └─ Builder      from parameters to what is minimised (building.py)
      └─ Channel                one viewer: requests and frames (requests.py, frames.py)
           ├─ serve(session)    … over a websocket of this machine (server.py, security.py)
           └─ widget(session)   … over a notebook's own connection (notebook.py)

What comes in and goes out is in opening.py, saving.py, exports.py and code.py.
``pip install "closeknit[explore]"`` brings what the page and the widget need.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from closeknit.explore.channel import Channel
from closeknit.explore.engine import Engine
from closeknit.explore.frames import Frame, MessageError
from closeknit.explore.opening import open_data, open_file
from closeknit.explore.parameters import Parameters
from closeknit.explore.saving import load_session, save_session
from closeknit.explore.session import Session

__all__ = [
    "Channel",
    "Engine",
    "Frame",
    "MessageError",
    "Parameters",
    "Session",
    "explore",
    "load_session",
    "open_data",
    "open_file",
    "save_session",
    "serve",
    "widget",
]


def explore(X: Any, labels: Any = None, *, show: str = "auto", **options: Any) -> Any:
    """Explore a map of the data while its parameters change; also ``closeknit.explore(X)``.

    Parameters
    ----------
    X : array, sparse matrix, data frame, AnnData, or path
        Points × features; a path is that of a table, a saved model or a saved session.
    labels : array of shape (n_samples,), or dict of such, optional
        To colour by.
    show : {"auto", "page", "widget"}, default="auto"
        A page in the browser, which is served until Ctrl-C, or a widget; ``"auto"`` is the latter
        in notebooks.
    **options
        Of :class:`Session`, such as ``images=`` with a thumbnail per point, ``max_perplexity=`` or
        ``metric=``; of :func:`serve` for a page.

    Returns
    -------
    Session or widget
        The session when the page is closed by Ctrl-C, with the labels that were given in
        ``session.labels``; or the widget, whose ``session`` it is.

    Examples
    --------
    >>> import closeknit as ck
    >>> from sklearn.datasets import load_digits
    >>> digits = load_digits()
    >>> ck.explore(digits.data, digits.target, images=digits.images)  # doctest: +SKIP
    """
    if show not in ("auto", "page", "widget"):
        raise ValueError(f"show={show!r} must be 'auto', 'page' or 'widget'")
    serving = {name: options.pop(name) for name in ("host", "port", "browse") if name in options}
    session = open_data(X, labels, **options)
    if show == "widget" or (show == "auto" and _in_notebook()):
        return widget(session)
    serve(session, **serving)
    return session


def serve(session: Session, **options: Any) -> None:
    """Serve a session as a page until Ctrl-C; see ``closeknit.explore.server.serve``.

    Examples
    --------
    >>> from closeknit.explore import open_file, serve
    >>> serve(open_file("cells.csv"), port=0)  # doctest: +SKIP
    """
    from closeknit.explore.server import serve

    serve(session, **options)


def widget(session: Session) -> Any:
    """Make a notebook widget of a session; see ``closeknit.explore.notebook``.

    Examples
    --------
    >>> from closeknit.explore import open_file, widget
    >>> widget(open_file("cells.csv"))  # doctest: +SKIP
    """
    from closeknit.explore.notebook import make_widget

    return make_widget(session)


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


class _CallableModule(ModuleType):
    """Lets ``closeknit.explore(X)`` be the function although it is the package as well."""

    __call__ = staticmethod(explore)


sys.modules[__name__].__class__ = _CallableModule

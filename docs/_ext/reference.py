"""The reference shows what is ours: no members from elsewhere, and every name resolves."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import closeknit

INDEX = Path(__file__).parents[1] / "api" / "index.md"

#: The stations, upstream first.
STATIONS = (
    *("neighbors", "affinities", "graphs", "repulsion", "objectives", "minimize", "embeddings"),
    *("apps", "quality", "plotting", "datasets", "io", "io.anndata", "explore", "distributed"),
    *("experiments", "linalg", "kernels", "progress", "exceptions"),
)


def write_index(app: Any, config: Any) -> None:
    """List the stations that this version has; one that is not known here is an error."""
    if unknown := set(closeknit.__all__) - {"cli", *closeknit._HOME, *STATIONS}:
        raise ValueError(f"{INDEX.name} should list {unknown}; add them to STATIONS")
    there = [name for name in STATIONS if find_spec(f"closeknit.{name}")]
    listed = "\n   ".join(there)
    text = f"""# Reference

Every public name, station by station, upstream first. The most used ones are also names of the
package itself: `closeknit.TSNE` is `closeknit.embeddings.TSNE`, and so on; their pages say so.

```{{eval-rst}}
.. currentmodule:: closeknit

.. autosummary::
   :toctree: generated
   :nosignatures:

   {listed}
```

The command line is described in [its own recording](../terminal.md) and by
`closeknit COMMAND --help`.
"""
    INDEX.parent.mkdir(exist_ok=True)
    if not INDEX.exists() or INDEX.read_text(encoding="utf-8") != text:
        INDEX.write_text(text, encoding="utf-8")


def skip(app: Any, what: str, name: str, member: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn's classes bring along."""
    module = getattr(member, "__module__", None) or ""
    return True if module.startswith("sklearn") else None


def resolve(app: Any, env: Any, node: Any, contents: Any) -> Any:
    """Look ``closeknit.TSNE`` and the like up in the station that is their home."""
    package, _, path = node.get("reftarget", "").partition(".")
    home = closeknit._HOME.get(path.partition(".")[0])
    if node.get("refdomain") != "py" or package != "closeknit" or home is None:
        return None
    target = f"closeknit.{home}.{path}"
    domain = env.get_domain("py")
    return domain.resolve_xref(
        env, node["refdoc"], app.builder, node["reftype"], target, node, contents
    )


def setup(app: Any) -> dict[str, Any]:
    """Write the index before autosummary reads it; listen to autodoc and to references."""
    app.connect("config-inited", write_index)
    app.connect("autodoc-skip-member", skip)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

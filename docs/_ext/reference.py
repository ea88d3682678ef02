"""The reference shows what is ours: no members from elsewhere, and every name resolves."""

from __future__ import annotations

from typing import Any

import closeknit


def skip(app: Any, what: str, name: str, member: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn's classes bring along."""
    module = getattr(member, "__module__", None) or ""
    return True if module.startswith("sklearn") else None


def resolve(app: Any, env: Any, node: Any, contents: Any) -> Any:
    """Look ``closeknit.TSNE`` and the like up in the station that is their home."""
    package, _, name = node.get("reftarget", "").rpartition(".")
    if node.get("refdomain") != "py" or package != "closeknit" or name not in closeknit._HOME:
        return None
    target = f"closeknit.{closeknit._HOME[name]}.{name}"
    domain = env.get_domain("py")
    return domain.resolve_xref(
        env, node["refdoc"], app.builder, node["reftype"], target, node, contents
    )


def setup(app: Any) -> dict[str, Any]:
    """Listen to autodoc and to references that Sphinx cannot resolve."""
    app.connect("autodoc-skip-member", skip)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

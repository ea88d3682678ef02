"""Pages that are kept elsewhere in the repository: printouts, and what lies at its root.

They are copied into ``docs/benchmarks`` and ``docs/project`` when the site is built, their links
turned into links of the site.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
PROJECT = ("CHANGELOG", "CONTRIBUTING", "GOVERNANCE", "CODE_OF_CONDUCT", "SECURITY")


def relink(text: str, source: Path) -> str:
    """Turn links that are relative to `source` into links from a folder in docs."""

    def moved(match: re.Match[str]) -> str:
        path, hash_, place = match[1].partition("#")
        target = (source.parent / path).resolve()
        if not path or "://" in path or not target.exists():
            return match[0]
        if target.parent == ROOT / "benchmarks" / "results" and target.suffix == ".md":
            target = DOCS / "benchmarks" / target.name
        elif target.parent == ROOT and target.stem in PROJECT:
            target = DOCS / "project" / target.name
        up = Path("..") / target.relative_to(DOCS) if target.is_relative_to(DOCS) else None
        return f"]({up or Path('../..') / target.relative_to(ROOT)}{hash_}{place})"

    return re.sub(r"\]\(([^)\s]+)\)", moved, text)


def copy(app: Any, config: Any) -> None:
    """Write the copies that have changed."""
    printouts = sorted((ROOT / "benchmarks" / "results").glob("*.md"))
    pages = [ROOT / f"{name}.md" for name in PROJECT]
    for folder, sources in (("benchmarks", printouts), ("project", filter(Path.exists, pages))):
        (DOCS / folder).mkdir(exist_ok=True)
        for source in sources:
            text = relink(source.read_text(encoding="utf-8"), source)
            copied = DOCS / folder / source.name
            if not copied.exists() or copied.read_text(encoding="utf-8") != text:
                copied.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, Any]:
    """Copy before Sphinx looks for pages."""
    app.connect("config-inited", copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

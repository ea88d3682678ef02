"""Check a built site without a network: ``python docs/check_site.py OUT``.

Every link within the site leads to a file and, if it names one, to a place in it; every picture
has a text for those who cannot see it; no page fetches anything from elsewhere.
"""

from __future__ import annotations

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links, places and faults of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.faults: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note what a tag refers to, and what can be referred to."""
        values = {name: value or "" for name, value in attributes}
        self.places.update(values[name] for name in ("id", "name") if name in values)
        self.links += [values[name] for name in ("href", "src") if name in values]
        # A thumbnail stands beside its title, and has an empty text on purpose.
        described = values.get("alt", "").strip() or "_thumb." in values.get("src", "")
        if tag == "img" and not described:
            self.faults.append(f"{values.get('src')} has no alternative text")
        fetched = values.get("src") or (tag == "link" and values.get("href")) or ""
        if urlsplit(fetched).netloc and values.get("rel") != "canonical":
            self.faults.append(f"{fetched} is fetched from elsewhere")


@cache
def page_at(path: Path) -> Page:
    """Read a page once."""
    return Page(path)


def fault_of(link: str, path: Path) -> str | None:
    """Say what is wrong with a link on the page at `path`."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file():
        return f"{link} leads nowhere"
    place = unquote(parts.fragment)
    if place and target.suffix == ".html" and place not in page_at(target).places:
        return f"{link} names a place that is not there"
    return None


def main() -> None:
    """Print all faults; fail if there is one."""
    root = Path(sys.argv[1]).resolve()
    pages = [path for path in sorted(root.rglob("*.html")) if root / "_static" not in path.parents]
    n_links, faults = 0, []
    for path in pages:
        page = page_at(path)
        n_links += len(page.links)
        found = [*page.faults, *filter(None, (fault_of(link, path) for link in page.links))]
        faults += [f"{path.relative_to(root)}: {fault}" for fault in found]
    print("\n".join([*faults, f"{len(pages)} pages, {n_links} links, {len(faults)} faults"]))
    sys.exit(bool(faults) or not pages)


if __name__ == "__main__":
    main()

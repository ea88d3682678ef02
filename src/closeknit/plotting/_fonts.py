"""Fonts for names in scripts that Matplotlib's own font cannot write."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from functools import lru_cache

from closeknit.exceptions import CloseknitWarning


def families_for(texts: Iterable[str]) -> list[str]:
    """Return font families that can write some texts, Chinese, Japanese and Korean ones included.

    Parameters
    ----------
    texts : iterable of str

    Returns
    -------
    list of str
        Matplotlib's current families, and an installed one for the characters that they lack.

    Warns
    -----
    CloseknitWarning
        If no installed font has all characters.

    Examples
    --------
    >>> from closeknit.plotting import families_for
    >>> families_for(["cells", "Größe"])
    ['sans-serif']
    """
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties, findfont

    families = list(rcParams["font.family"])
    wanted = {c for text in texts for c in text if c.isprintable() and not c.isspace()}
    for family in families:
        wanted -= _characters(findfont(FontProperties(family=[family])))
    if not wanted:
        return families
    family, lacking = _best_font(frozenset(wanted))
    if lacking:
        warnings.warn(
            "boxes are drawn for characters that no installed font has; install a font that has "
            "them, such as Noto Sans CJK, or draw to a page (.html)",
            CloseknitWarning,
            stacklevel=3,
        )
    return [*families, family] if family else families


@lru_cache(maxsize=64)
def _best_font(wanted: frozenset[str]) -> tuple[str, frozenset[str]]:
    """The installed family that has most of the characters, and those that it lacks."""
    from matplotlib.font_manager import fontManager

    best, lacking = "", wanted
    for font in fontManager.ttflist:
        plain = font.style == "normal" and str(font.weight) in ("400", "normal", "regular")
        plain = plain and "Last Resort" not in font.name  # has a box for every character
        rest = wanted - _characters(font.fname) if plain else wanted
        if len(rest) < len(lacking):
            best, lacking = font.name, rest
    return best, lacking


@lru_cache(maxsize=256)
def _characters(path: str) -> frozenset[str]:
    from matplotlib.font_manager import get_font

    try:
        return frozenset(map(chr, get_font(path).get_charmap()))
    except (OSError, RuntimeError):  # a font that is gone or damaged
        return frozenset()

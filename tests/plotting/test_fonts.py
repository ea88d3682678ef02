"""Names in any script are written where a font has it; else there is one hint."""

import numpy as np
import pytest
from matplotlib import font_manager
from matplotlib.figure import Figure

from closeknit.exceptions import CloseknitWarning
from closeknit.plotting import families_for, plot_embedding
from closeknit.plotting._fonts import _best_font

LETTER = "漢"


@pytest.fixture(autouse=True)
def few_fonts(monkeypatch):
    """As if no fonts were installed but Matplotlib's own."""
    fonts = font_manager.fontManager.ttflist
    monkeypatch.setattr(
        font_manager.fontManager, "ttflist", [font for font in fonts if "DejaVu" in font.name]
    )
    _best_font.cache_clear()
    yield
    _best_font.cache_clear()


@pytest.fixture
def font(tmp_path, few_fonts):
    """A font that has one letter, installed while the test runs."""
    from fontTools.fontBuilder import FontBuilder
    from fontTools.pens.ttGlyphPen import TTGlyphPen

    pen = TTGlyphPen(None)
    for step, place in enumerate([(100, 0), (100, 700), (600, 700), (600, 0)]):
        (pen.lineTo if step else pen.moveTo)(place)
    pen.closePath()
    empty = TTGlyphPen(None).glyph()
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef", "letter"])
    builder.setupCharacterMap({ord(LETTER): "letter"})
    builder.setupGlyf({".notdef": empty, "letter": pen.glyph()})
    builder.setupHorizontalMetrics({".notdef": (500, 0), "letter": (700, 100)})
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "One Letter", "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.save(tmp_path / "letter.ttf")
    font_manager.fontManager.addfont(tmp_path / "letter.ttf")
    return "One Letter"


def draw(names):
    figure = Figure()
    labels = [LETTER, LETTER, "b", "b"]
    axes = plot_embedding(np.eye(4)[:, :2], labels, figure.subplots(), names=names)
    figure.canvas.draw()
    return axes


@pytest.mark.filterwarnings("error:Glyph")
@pytest.mark.parametrize("names", ["legend", "medians"])
def test_an_installed_font_is_used_for_what_the_usual_one_lacks(font, names):
    assert families_for([LETTER]) == [*families_for([]), font]
    axes = draw(names)
    if names == "legend":
        assert font in axes.get_legend().get_texts()[0].get_fontfamily()


@pytest.mark.filterwarnings("ignore:Glyph")
def test_without_one_there_is_a_hint():
    with pytest.warns(CloseknitWarning, match="install a font that has them"):
        draw("legend")


def test_names_that_are_not_written_need_no_font():
    draw("none")

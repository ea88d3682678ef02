"""Pictures from histograms of blocks: those of one machine, pixel by pixel."""

import numpy as np
import pytest

da = pytest.importorskip("dask.array")
figure = pytest.importorskip("matplotlib.figure")

from closeknit.plotting import plot_blocks, plot_embedding  # noqa: E402

RNG = np.random.default_rng(0)
Y = RNG.normal(size=(900, 2)) * [2.0, 1.0]
KINDS = np.array(["c2", "c10", None], dtype=object)[RNG.integers(0, 3, 900)]


def images(ax):
    return [np.asarray(image.get_array()) for image in ax.get_images()]


@pytest.mark.parametrize("colors", ["none", "labels", "values"])
def test_blocks_give_the_picture_of_the_whole(colors):
    given = {"none": {}, "labels": {"labels": KINDS}, "values": {"values": Y[:, 0].copy()}}[colors]
    if colors == "values":
        given["values"][5] = np.nan
    axes = [figure.Figure(layout="constrained").subplots() for _ in range(2)]
    whole = plot_embedding(Y, ax=axes[0], shade=True, **given)
    blocks = {name: da.from_array(column, chunks=130) for name, column in given.items()}
    parts = plot_blocks(da.from_array(Y, chunks=(200, 1)), ax=axes[1], **blocks)
    assert parts.get_xlim() == whole.get_xlim()
    drawn = [sorted(images(ax), key=lambda image: -image[..., 3].sum()) for ax in (whole, parts)]
    for one, other in zip(*drawn, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    if colors == "labels":
        legends = [[t.get_text() for t in ax.get_legend().get_texts()] for ax in (whole, parts)]
        assert legends[0] == legends[1] == ["c2", "c10", "no label"]


def test_what_cannot_be_drawn_is_said():
    ax = figure.Figure().subplots()
    with pytest.raises(ValueError, match=r"shape \(n_samples, 2\)"):
        plot_blocks(da.zeros((5, 3)), ax=ax)
    with pytest.raises(ValueError, match="labels and values both"):
        plot_blocks(da.zeros((5, 2)), da.zeros(5), values=da.zeros(5), ax=ax)
    with pytest.raises(ValueError, match="different labels; choose a column of fewer"):
        plot_blocks(da.zeros((2000, 2)), da.arange(2000), ax=ax)
    with pytest.raises(ValueError, match="NaN or infinite positions"):
        plot_blocks(da.full((5, 2), np.nan), ax=ax)

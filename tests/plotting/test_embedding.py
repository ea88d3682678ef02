"""The picture of an embedding: every point, in its colour, and names that can be read."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from matplotlib import colormaps
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from closeknit.plotting import plot_embedding
from closeknit.plotting._categories import MISSING, PALETTE
from closeknit.plotting._names import Names
from closeknit.plotting._points import Canvas, _disc

pytestmark = pytest.mark.filterwarnings("error")


def clusters(n_samples, n_clusters=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_clusters, n_samples)
    angle = 2 * np.pi * y / n_clusters
    centers = 3.0 * n_clusters * np.c_[np.cos(angle), np.sin(angle)]
    return centers + rng.normal(size=(n_samples, 2)), y


def drawn(ax):
    """Positions and colours of the dots, in the order of drawing."""
    (dots,) = ax.collections
    return np.asarray(dots.get_offsets()), dots.get_facecolors()[:, :3]


def color_at(ax, Y):
    """The colour each point was drawn in."""
    offsets, colors = drawn(ax)
    where = {tuple(xy): color for xy, color in zip(offsets.tolist(), colors, strict=True)}
    return np.array([where[tuple(xy)] for xy in Y.tolist()])


def test_long_names_leave_room_for_the_map():
    """They go on several lines; before, two of them left half of the picture for the points."""
    names = np.array(["scan A (hospital, building 4, a very long name)", "scan B"])
    figure = Figure(figsize=(8.0, 7.0), layout="constrained")
    axes = plot_embedding(
        np.random.default_rng(0).normal(size=(40, 2)), names[np.arange(40) % 2], figure.subplots()
    )
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert " ".join(texts[0].split("\n")) == names[0]
    assert max(map(len, texts[0].split("\n"))) <= 26
    assert texts[1] == "scan B"
    figure.draw_without_rendering()
    assert axes.get_position(original=False).width > 0.6


def legend_of(ax):
    legend = ax.get_legend()
    names = [text.get_text() for text in legend.get_texts()]
    return dict(zip(names, [to_rgb(h.get_color()) for h in legend.legend_handles], strict=True))


@pytest.mark.parametrize("n_samples", [1, 100, 2000])
def test_every_point_has_the_colour_of_its_label(ax, n_samples):
    Y, y = clusters(n_samples)
    assert plot_embedding(Y, y, ax=ax) is ax
    expected = np.array([to_rgb(PALETTE[code]) for code in np.unique(y, return_inverse=True)[1]])
    np.testing.assert_allclose(color_at(ax, Y), expected)
    assert len(drawn(ax)[0]) == n_samples


def test_no_class_is_drawn_after_all_others(ax):
    """Mixed in a random order, the same every time, even if the rows are sorted by class."""
    Y, y = clusters(1000)
    Y, y = Y[np.argsort(y)], np.sort(y)
    plot_embedding(Y, y, ax=ax)
    again = plot_embedding(Y, y, ax=Figure().subplots())
    np.testing.assert_array_equal(drawn(ax)[0], drawn(again)[0])
    last = drawn(ax)[1][-100:]
    assert len(np.unique(last, axis=0)) == 4


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ([2, 0, 2, 1], ["0", "1", "2"]),
        (np.array([2.0, 0.0, 2.0, 1.0]), ["0", "1", "2"]),
        (["b10", "b9", "b10", "a"], ["a", "b9", "b10"]),
        (np.array(["x", "y", "x", "y"], dtype=object), ["x", "y"]),
        ([True, False, True, True], ["False", "True"]),
        (pd.Categorical(["m", "f", "m", "m"], ["m", "unused", "f"]), ["m", "f"]),
        (pd.Series(["m", "f", "m", "m"], dtype="category"), ["f", "m"]),
        (pd.Series([3, 1, 3, 2], dtype="Int64"), ["1", "2", "3"]),
        (pd.Series(["m", "f", "m", "m"], dtype="string"), ["f", "m"]),
    ],
)
def test_labels_of_any_kind_have_their_names_in_the_legend(ax, labels, names):
    plot_embedding(np.eye(4)[:, :2] + np.arange(8.0).reshape(4, 2), labels, ax=ax)
    assert list(legend_of(ax)) == names


@pytest.mark.parametrize(
    "labels",
    [
        [0, -1, 1, -1],
        [0.0, np.nan, 1.0, -1.0],
        ["0", None, "1", np.nan],
        pd.Categorical(["0", None, "1", None]),
        pd.Categorical([0, -1, 1, -1]),
        pd.Series([0, None, 1, -1], dtype="Int64"),
        pd.Series(["0", None, "1", None], dtype="string"),
    ],
)
def test_points_without_a_label_are_grey_and_below(ax, labels):
    Y = np.arange(8.0).reshape(4, 2)
    plot_embedding(Y, labels, ax=ax)
    np.testing.assert_allclose(
        color_at(ax, Y), [to_rgb(c) for c in (PALETTE[0], MISSING, PALETTE[1], MISSING)]
    )
    assert {tuple(xy) for xy in drawn(ax)[0][:2].tolist()} == {(2.0, 3.0), (6.0, 7.0)}
    assert list(legend_of(ax)) == ["0", "1", "no label"]


def test_without_any_label_all_is_grey(ax, render):
    plot_embedding(np.eye(2), [None, None], ax=ax, names="both")
    np.testing.assert_allclose(drawn(ax)[1], [to_rgb(MISSING)] * 2)
    assert list(legend_of(ax)) == ["no label"]
    render(ax)


def test_unused_categories_keep_their_colours(ax):
    plot_embedding(np.eye(2), pd.Categorical(["a", "c"], ["a", "b", "c"]), ax=ax)
    assert legend_of(ax) == {"a": to_rgb(PALETTE[0]), "c": to_rgb(PALETTE[2])}


def test_own_colours(ax):
    palette = {"a": "red", "b": "blue", "c": "lime"}
    plot_embedding(np.eye(2), ["b", "a"], ax=ax, palette=palette)
    assert legend_of(ax) == {"a": to_rgb("red"), "b": to_rgb("blue")}
    with pytest.raises(ValueError, match="no colour for c"):
        plot_embedding(np.eye(2), ["b", "c"], ax=ax, palette={"b": "red"})
    with pytest.raises(ValueError, match="for each of the 2 labels"):
        plot_embedding(np.eye(2), ["b", "c"], ax=ax, palette=["red"])


@pytest.mark.parametrize("n_clusters", [2, 8, 20, 57])
@pytest.mark.parametrize("layout", [None, "constrained"])
def test_the_legend_covers_no_point_and_stays_on_the_page(n_clusters, layout, render):
    Y, y = clusters(500, n_clusters)
    figure = Figure(figsize=(9, 5), layout=layout)
    ax = plot_embedding(Y, [f"class {label}" for label in y], figure.subplots(), names="legend")
    render(ax)
    entries = legend_of(ax)
    assert len(entries) == len(set(entries.values())) == n_clusters
    box = ax.get_legend().get_window_extent()
    dots = ax.transData.transform(Y)
    assert (dots[:, 0] < box.x0).all()
    assert box.x1 <= figure.bbox.x1 + 0.5
    assert box.y0 >= 0
    assert box.y1 <= figure.bbox.y1


def test_the_legend_is_named_after_the_column(ax):
    plot_embedding(np.eye(2), pd.Series(["a", "b"], name="species"), ax=ax)
    assert ax.get_legend().get_title().get_text() == "species"


def names_on(ax):
    (names,) = [artist for artist in ax.get_children() if isinstance(artist, Names)]
    return names


def assert_apart(boxes):
    assert not any(a.overlaps(b) for a, b in combinations(boxes.values(), 2))


@pytest.mark.parametrize("dpi", [60, 250])
def test_names_stand_at_the_medians_and_apart(dpi, render):
    Y, y = clusters(3000, 30)
    ax = plot_embedding(Y, [f"class {label}" for label in y], Figure(dpi=dpi).subplots())
    assert ax.get_legend() is None  # more names than colours that can be told apart
    render(ax)
    boxes = names_on(ax).boxes
    assert len(boxes) == 30
    assert_apart(boxes)
    for label in range(30):
        box = boxes[f"class {label}"]
        median = ax.transData.transform(np.median(Y[y == label], axis=0))
        center = np.array([(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2])
        assert np.linalg.norm(center - median) < 8 * box.height


def test_names_of_classes_in_one_place_are_moved_apart(ax, render):
    rng = np.random.default_rng(0)
    labels = np.repeat(list("abcde"), [500, 100, 100, 100, 100])
    plot_embedding(rng.normal(size=(900, 2)), labels, ax=ax, names="medians")
    render(ax)
    boxes = names_on(ax).boxes
    assert set(boxes) == set("abcde")
    assert_apart(boxes)


def test_names_without_room_are_left_out_the_largest_class_never(render):
    rng = np.random.default_rng(0)
    labels = np.r_[np.zeros(500), np.arange(1, 400)].astype(int)
    ax = Figure(figsize=(2, 2)).subplots()
    plot_embedding(rng.normal(size=(899, 2)), [f"name {label}" for label in labels], ax)
    render(ax)
    boxes = names_on(ax).boxes
    assert 10 < len(boxes) < 400
    assert "name 0" in boxes
    assert_apart(boxes)


@pytest.mark.parametrize(
    ("names", "legend", "medians"),
    [
        ("auto", True, False),
        ("legend", True, False),
        ("medians", False, True),
        ("both", True, True),
        ("none", False, False),
    ],
)
def test_names_go_where_they_are_wanted(ax, names, legend, medians):
    plot_embedding(*clusters(50), ax=ax, names=names)
    assert (ax.get_legend() is not None) == legend
    assert any(isinstance(artist, Names) for artist in ax.get_children()) == medians


@pytest.mark.parametrize("n_samples", [100, 40_000])
def test_all_points_are_inside_and_scales_are_equal(ax, n_samples, render):
    Y, y = clusters(n_samples)
    Y = Y * [1.0, 3.0] + [100.0, -7.0]
    plot_embedding(Y, y, ax=ax)
    render(ax)
    for column, (low, high) in zip(Y.T, (ax.get_xlim(), ax.get_ylim()), strict=True):
        assert low < column.min()
        assert column.max() < high
    origin, right, up = ax.transData.transform([[0, 0], [1, 0], [0, 1]])
    assert (right - origin)[0] == pytest.approx((up - origin)[1], rel=1e-6)
    assert len(ax.get_xticks()) == len(ax.get_yticks()) == 0


def test_dots_shrink_as_points_grow_in_number():
    sizes = []
    for n_samples in (30, 300, 3000, 30_000):
        ax = plot_embedding(clusters(n_samples)[0], ax=Figure().subplots())
        sizes.append(float(ax.collections[0].get_sizes()[0]))
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 10 * sizes[-1]


@pytest.mark.parametrize("n_samples", [40_000, 1_000_000])
def test_many_points_are_shaded(ax, n_samples, render):
    """Each cluster's middle has about its colour, and the empty middle of the ring is white."""
    Y, y = clusters(n_samples)
    plot_embedding(Y, y, ax=ax)
    assert not ax.collections
    assert len(ax.images) == 1
    pixels = render(ax)

    def pixel(xy):
        x, height = ax.transData.transform(xy).round().astype(int)
        return pixels[len(pixels) - 1 - height, x]

    np.testing.assert_array_equal(pixel(Y.mean(axis=0)), 1.0)
    for label in range(4):
        near = pixel(np.median(Y[y == label], axis=0))
        distances = [np.linalg.norm(near - to_rgb(color)) for color in PALETTE[:4]]
        assert np.argmin(distances) == label
        assert distances[label] < 0.35


def test_shading_can_be_asked_for_and_declined(ax):
    Y, y = clusters(200)
    plot_embedding(Y, y, ax=ax, shade=True)
    assert len(ax.images) == 1
    other = plot_embedding(*clusters(31_000), ax=Figure().subplots(), shade=False)
    assert not other.images
    assert len(drawn(other)[0]) == 31_000
    assert other.collections[0].get_rasterized()  # so that a PDF of it can be opened


def test_an_isolated_point_is_visible_among_many(ax, render):
    Y, y = clusters(50_000)
    Y[0] = [0.0, 0.0]
    plot_embedding(Y, y, ax=ax)
    pixels = render(ax)
    x, height = ax.transData.transform([0.0, 0.0]).round().astype(int)
    row = len(pixels) - 1 - height
    assert pixels[row - 2 : row + 3, x - 2 : x + 3].min() < 0.9


def test_shaded_points_without_a_label_lie_below(ax, render):
    Y, y = clusters(40_000, 2)
    plot_embedding(Y, np.where(y == 0, -1, y), ax=ax)
    below, above = sorted(ax.images, key=lambda image: image.get_zorder())
    colored = below.get_array()[:, :, 3] > 0
    np.testing.assert_allclose(
        below.get_array()[colored][:, :3], np.tile(to_rgb(MISSING), (colored.sum(), 1)), atol=1e-9
    )
    assert (above.get_array()[:, :, 3] > 0).any()
    render(ax)


def test_pixels_count_points_and_average_their_colours():
    """Against a loop over the points."""
    rng = np.random.default_rng(0)
    Y, colors = rng.uniform(0, 1, (500, 2)), rng.uniform(0, 1, (500, 3))
    canvas = Canvas((0.0, 1.0, 0.0, 2.0), (6, 4), 0.0)
    counts, mean = canvas.mean_colors(canvas.count(Y, colors))
    for row in range(6):
        for column in range(4):
            here = (np.floor(Y[:, 0] * 4) == column) & (np.floor(Y[:, 1] / 2 * 6) == row)
            assert counts[row, column] == here.sum()
            if here.any():
                expected = np.sqrt((colors[here] ** 2).mean(axis=0))
                np.testing.assert_allclose(mean[row, column], expected)
    assert counts.sum() == 500


@pytest.mark.parametrize("radius", [0.0, 0.4, 1.5, 4.0])
def test_dots_cover_their_area(radius):
    dot = _disc(radius)
    assert dot[len(dot) // 2, len(dot) // 2] == 1.0
    assert dot.sum() == pytest.approx(max(1.0, np.pi * radius**2), rel=0.25, abs=0.25)


def test_values_are_coloured_by_the_map_and_explained_by_a_bar(ax):
    Y, _ = clusters(100)
    values = pd.Series(np.linspace(-1.0, 3.0, 100), name="age")
    plot_embedding(Y, values=values, ax=ax, colormap="magma")
    expected = colormaps["magma"](np.linspace(0.0, 1.0, 100))[:, :3]
    np.testing.assert_allclose(color_at(ax, Y), expected, atol=0.01)
    _, bar = ax.figure.axes
    assert bar.get_ylabel() == "age"
    assert bar.get_ylim() == (-1.0, 3.0)


def test_values_that_are_missing_are_grey(ax):
    Y, _ = clusters(5)
    plot_embedding(Y, values=[1.0, np.nan, 10.0, np.inf, 0.0], ax=ax, norm="log")
    colors = color_at(ax, Y)
    np.testing.assert_allclose(colors[[1, 3, 4]], [to_rgb(MISSING)] * 3)
    np.testing.assert_allclose(colors[[0, 2]], colormaps["viridis"]([0.0, 1.0])[:, :3])


@pytest.mark.parametrize("values", [np.ones(3), np.full(3, np.nan), [True, False, True]])
def test_values_without_a_range(ax, values, render):
    plot_embedding(np.eye(3)[:, :2], values=values, ax=ax)
    render(ax)
    assert len(drawn(ax)[0]) == 3


def test_one_column_lies_along_a_line(ax, render):
    x = 1e-3 * np.random.default_rng(0).normal(size=(300, 1))
    plot_embedding(x, x[:, 0] > 0, ax=ax)
    offsets, _ = drawn(ax)
    np.testing.assert_array_equal(np.sort(offsets[:, 0]), np.sort(x[:, 0]))
    assert np.diff(ax.get_xlim())[0] < 1.1 * np.ptp(x)
    assert offsets[:, 1].min() >= ax.get_ylim()[0]
    assert offsets[:, 1].max() <= ax.get_ylim()[1]
    render(ax)


def test_three_columns_are_drawn_in_space(render):
    Y = np.random.default_rng(0).normal(size=(50, 3))
    ax = Figure().add_subplot(projection="3d")
    plot_embedding(Y, np.arange(50) % 30, ax=ax)
    render(ax)
    assert len(legend_of(ax)) == 30
    for axis, column in zip("xyz", Y.T, strict=True):
        low, high = getattr(ax, f"get_{axis}lim")()
        assert low <= column.min()
        assert column.max() <= high


@pytest.mark.parametrize("points", [np.zeros((5, 2)), np.zeros((1, 2)), np.full((40_000, 2), 7.0)])
def test_points_in_one_place(ax, points, render):
    plot_embedding(points, ax=ax)
    assert render(ax).min() < 1.0


@pytest.mark.parametrize(
    ("embedding", "options", "message"),
    [
        (np.zeros((5, 4)), {}, r"got \(5, 4\); choose the columns"),
        (np.zeros(5), {}, r"got \(5,\)"),
        (np.zeros((0, 2)), {}, "has no points"),
        ([[0.0, 1.0], [np.nan, 0.0]], {}, "in 1 rows, first in row 1; leave these rows out"),
        ([["a", "b"]], {}, "must hold numbers"),
        (np.zeros((3, 2)), {"labels": [1, 2]}, r"shape \(2,\) for 3 points; pass one label"),
        (np.zeros((3, 2)), {"labels": pd.Categorical(["a"])}, r"shape \(1,\) for 3 points"),
        (np.zeros((2, 2)), {"labels": [0.5, 1.0]}, "pass values= instead of labels="),
        (np.zeros((2, 2)), {"values": [1.0]}, "one number for each of 2 points"),
        (np.zeros((2, 2)), {"values": ["a", "b"]}, "one number for each of 2 points"),
        (np.zeros((2, 2)), {"values": [1, 2], "labels": [1, 2]}, "pass one of them"),
        (np.zeros((2, 2)), {"names": "below"}, "names='below' is unknown"),
        (np.zeros((2, 2)), {"shade": "yes"}, "shade='yes' is unknown"),
        (np.zeros((2, 3)), {}, 'projection="3d"'),
    ],
)
def test_what_cannot_be_drawn_is_named(ax, embedding, options, message):
    with pytest.raises(ValueError, match=message):
        plot_embedding(embedding, ax=ax, **options)


def test_bad_labels_leave_no_figure_behind():
    """Neither do bad values; that pyplot is left alone is checked after every test."""
    with pytest.raises(ValueError, match="pass one label"):
        plot_embedding(np.eye(2), ["a"])
    with pytest.raises(ValueError, match="one number for each"):
        plot_embedding(np.eye(2), values=["a"])


def test_names_are_not_written_in_space():
    ax = Figure().add_subplot(projection="3d")
    with pytest.raises(ValueError, match="choose names='legend'"):
        plot_embedding(np.zeros((2, 3)), [0, 1], ax=ax, names="medians")


def test_inputs_are_left_alone(ax):
    Y, y = clusters(50)
    for part in (Y, y):
        part.setflags(write=False)
    codes = pd.Categorical([0, -1, 1] * 16 + [0, 1])
    before = codes.codes.copy()
    plot_embedding(Y, y, ax=ax, shade=True)
    plot_embedding(Y, codes, ax=ax)
    np.testing.assert_array_equal(codes.codes, before)

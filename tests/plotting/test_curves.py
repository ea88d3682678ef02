"""Curves: entropy, learning, homotopy and sparsity hold the numbers they were given."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import closeknit as ck
from closeknit.minimize import History, Springs, homotopy, minimize
from closeknit.plotting import curve_styles, plot_entropy, plot_history, plot_path, plot_sparsity

pytestmark = pytest.mark.filterwarnings("error")

DISTANCES = np.sort(np.random.default_rng(0).uniform(1.0, 30.0, 60))
WEIGHTS, TARGETS = [[0, 1], [1, 0]], [[0.0, 1.0], [3.0, 0.0]]


def curve(ax, label):
    (line,) = [line for line in ax.lines if line.get_label() == label]
    return np.array(line.get_xdata()), np.array(line.get_ydata())


def perplexity(beta, d):
    p = np.exp(-beta * (d - d[0]))
    p /= p.sum()
    return np.exp(-(p[p > 0] * np.log(p[p > 0])).sum())


def test_entropy_is_that_of_the_distribution(ax, render):
    plot_entropy(DISTANCES, ax=ax, bounds=None)
    betas, heights = curve(ax, "perplexity at β")
    np.testing.assert_allclose(heights, [perplexity(beta, DISTANCES) for beta in betas])
    assert heights[0] > 0.99 * 60  # from nearly all neighbours
    assert heights[-1] < 1.01  # to hardly more than one
    render(ax)


@pytest.mark.parametrize("kind", ["sharp", "paper"])
def test_bounds_lie_on_both_sides_of_the_curve(ax, kind, render):
    plot_entropy(DISTANCES, 20.0, ax=ax, bounds=kind)
    for label, side in (("lower bound", 1), ("upper bound", -1)):
        betas, heights = curve(ax, label)
        at_bound = np.array([perplexity(beta, DISTANCES) for beta in betas])
        assert (side * (at_bound - heights) >= -1e-6 * heights).all()
    beta, height = (part[0] for part in curve(ax, "root, K = 20"))
    assert height == 20.0
    assert perplexity(beta, DISTANCES) == pytest.approx(20.0, rel=1e-8)
    render(ax)


def test_entropy_of_tied_neighbours(ax, render):
    """Three neighbours tie at the smallest distance: no perplexity is below 3."""
    plot_entropy([1.0, 1.0, 1.0, 2.0, 5.0, 7.0, np.inf], 4.0, ax=ax)
    assert curve(ax, "perplexity at β")[1].min() >= 3.0 - 1e-9
    render(ax)


@pytest.mark.parametrize(
    ("d", "options", "message"),
    [
        (np.ones((2, 3)), {}, "pass one row"),
        ([1.0, 2.0], {}, "at least three"),
        ([1.0, 1.0, 1.0], {}, "not all equal"),
        ([-1.0, 1.0, 2.0], {}, "none negative"),
        ([1.0, 2.0, 3.0], {"bounds": "loose"}, "bounds='loose' is unknown"),
        ([1.0, 2.0, 3.0], {"perplexity": 5.0}, "perplexity=5 needs more than 5 neighbours"),
    ],
)
def test_entropy_that_cannot_be_drawn(ax, d, options, message):
    with pytest.raises(ValueError, match=message):
        plot_entropy(d, ax=ax, **options)


@pytest.fixture(scope="module")
def result():
    return minimize(Springs(WEIGHTS, TARGETS), [[5.0, 1.0], [5.0, 2.0]], direction="gradient")


@pytest.fixture(scope="module")
def path():
    start = [[0.0, 0.1], [0.1, 0.0]]
    return homotopy(lambda lam: Springs(WEIGHTS, TARGETS, lam), [0.1, 1, 10, 100], start)


def history(objective, seconds=None):
    n = len(objective)
    steps = np.arange(n)
    times = steps + 0.5 if seconds is None else np.asarray(seconds)
    values = np.asarray(objective, dtype=float)
    ones, unknown = np.ones(n), np.full(n, np.nan)
    zeros = np.zeros(n, dtype=int)
    return History(steps, zeros, unknown, 2 * steps, times, values, unknown, unknown, ones, ones)


@pytest.mark.parametrize("x", ["iteration", "evaluations", "seconds"])
@pytest.mark.parametrize("y", ["objective", "gradient_norm"])
def test_learning_curves_hold_the_history(ax, result, x, y, render):
    assert plot_history(result, ax, x=x, y=y) is ax
    (line,) = ax.lines
    np.testing.assert_array_equal(line.get_xdata(), getattr(result.history, x))
    np.testing.assert_array_equal(line.get_ydata(), getattr(result.history, y))
    assert ax.get_xlabel() == x
    assert ax.get_legend() is None
    render(ax)


def test_several_learning_curves_differ_in_style(result, path, render):
    estimator = SimpleNamespace(history_=result.history)
    ax = Figure(layout="constrained").subplots()
    given = {"a": result, "b": result.history, "c": path, "d": estimator}
    plot_history(given, ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list("abcd")
    assert len({to_rgb(line.get_color()) for line in ax.lines}) == 4
    render(ax)
    assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1
    other = plot_history(list(given.values()), Figure().subplots())
    assert len(other.lines) == 4


def test_fitted_estimators_have_learning_curves(ax):
    fitted = ck.SymmetricSNE(max_iter=3, perplexity=5.0).fit(
        np.random.default_rng(0).normal(size=(30, 3))
    )
    plot_history(fitted, ax)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), fitted.history_.objective)


@pytest.fixture(scope="module")
def staged():
    data = np.random.default_rng(0).normal(size=(40, 3))
    return ck.TSNE(perplexity=5.0, max_iter=20, random_state=0).fit(data)


def test_stages_are_drawn_at_one_lambda_and_marked(ax, staged, render):
    """KL(P‖Q) plus a constant throughout, whatever λ was minimised."""
    plot_history(staged, ax)
    (line,) = ax.lines
    np.testing.assert_array_equal(line.get_ydata(), staged.history_.objective_at(1.0))
    assert line.get_ydata()[-1] == staged.objective_
    assert ax.get_ylabel() == "objective at λ = 1"
    assert [text.get_text() for text in ax.texts] == [f"λ = {lam:.3g}" for lam in staged.path_.lams]
    render(ax)


def test_stages_that_cannot_be_compared_are_separate(ax, path, staged, render):
    """Springs do not tell their parts, and gradients belong to their λ."""
    for given, y in ((path, "objective"), (staged, "gradient_norm")):
        drawn = plot_history(given, Figure().subplots(), y=y).lines[0]
        history = getattr(given, "history_", getattr(given, "history", None))
        gaps = np.isnan(drawn.get_ydata())
        assert gaps.sum() == history.stage[-1]
        np.testing.assert_array_equal(drawn.get_ydata()[~gaps], getattr(history, y))
    render(plot_history(path, ax))


def test_many_stages_are_not_labelled(ax):
    lams = np.geomspace(0.1, 10.0, 12)
    path = homotopy(lambda lam: Springs(WEIGHTS, TARGETS, lam), lams, [[0.0, 0.1], [0.1, 0.0]])
    plot_history(path, ax)
    assert len(ax.texts) == 0
    assert len(ax.collections[0].get_segments()) == 11


def test_wide_ranges_are_logarithmic(ax, render):
    plot_history(history(np.geomspace(1e6, 1.0, 2000)), ax)
    assert ax.get_yscale() == "log"
    assert ax.get_xscale() == "symlog"  # so that the start, at 0, is seen
    assert ax.get_xlim()[0] == 0
    render(ax)
    narrow = plot_history(history([3.0, 2.0, 1.5]), Figure().subplots())
    assert (narrow.get_xscale(), narrow.get_yscale()) == ("linear", "linear")
    negative = plot_history(history([1e6, 1.0, -5.0]), Figure().subplots())
    assert negative.get_yscale() == "linear"
    timed = plot_history(history([3, 2], [0.1, 9]), Figure().subplots(), x="seconds", x_scale="log")
    assert timed.get_xscale() == "log"


def test_curves_above_the_lowest_value(ax):
    plot_history(history([-10.0, -19.0, -19.99]), ax, above=-20.0)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [10.0, 1.0, 0.01])
    assert ax.get_yscale() == "log"
    assert ax.get_ylabel() == "objective above -20"


@pytest.mark.parametrize(
    ("given", "options", "error", "message"),
    [
        ({}, {}, ValueError, "no histories"),
        ([], {}, ValueError, "no histories"),
        (ck.TSNE(), {}, TypeError, "TSNE has no history; pass History objects"),
        ({"mine": 3}, {}, TypeError, "mine has no history"),
        (history([1.0]), {"x": "hours"}, ValueError, "x='hours' must be one of iteration"),
        (history([-1.0, -2.0]), {"y_scale": "log"}, ValueError, "the least is -2.0"),
        (history([1.0]), {"x_scale": "cubic"}, ValueError, "x_scale='cubic' is unknown"),
    ],
)
def test_histories_that_cannot_be_drawn(ax, given, options, error, message):
    with pytest.raises(error, match=message):
        plot_history(given, ax, **options)


@pytest.mark.parametrize("layout", [None, "constrained"])
@pytest.mark.parametrize(
    ("n_maps", "shown"), [(0, []), (2, [0, 3]), (4, [0, 1, 2, 3]), (9, [0, 1, 2, 3])]
)
def test_a_path_shows_the_objective_and_maps(path, layout, n_maps, shown, render):
    figure = Figure(layout=layout)
    ax = figure.subplots()
    assert plot_path(path, ["a", "b"], ax, n_maps=n_maps) is ax
    line = ax.lines[0]
    np.testing.assert_array_equal(line.get_xdata(), [0.1, 1.0, 10.0, 100.0])
    np.testing.assert_array_equal(line.get_ydata(), [result.value for result in path.results])
    render(ax)
    maps = figure.axes[1].child_axes if shown else []
    assert [child.get_xlabel() for child in maps] == [f"λ = {path.lams[i]:g}" for i in shown]
    for child, i in zip(maps, shown, strict=True):
        offsets = {tuple(xy) for xy in child.collections[0].get_offsets().tolist()}
        assert offsets == {tuple(xy) for xy in path.results[i].X.tolist()}
        box = child.get_window_extent()
        assert box.y0 > ax.get_window_extent().y1  # above the curve
        assert box.y1 <= figure.bbox.y1  # and on the page


def test_a_path_needs_several_lambdas(ax, path):
    data = np.random.default_rng(0).normal(size=(20, 3))
    models = (ck.SymmetricSNE, ck.ElasticEmbedding)
    one, auto = (model(perplexity=3.0, max_iter=1).fit(data) for model in models)
    for without in (one, auto, 3):
        with pytest.raises(TypeError, match="fitted with several values of lam"):
            plot_path(without, ax=ax)
    with pytest.raises(ValueError, match="n_maps=-1"):
        plot_path(path, ax=ax, n_maps=-1)
    with pytest.raises(ValueError, match="y_scale='up' is unknown"):
        plot_path(path, ax=ax, y_scale="up")


def test_sparsity_curves_are_sorted_and_named(render):
    ax = Figure(layout="constrained").subplots()
    curves = {"kNN": ([0.9, 0.5, 0.7], [4.0, 1.0, np.nan]), "viewers": ([0.6, 0.8], [2.0, 3.0])}
    assert plot_sparsity(curves, ax, measure="D1") is ax
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [50.0, 70.0, 90.0])
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [1.0, np.nan, 4.0])
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), [2.0, 3.0])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["kNN", "viewers"]
    assert ax.get_ylabel() == "D1"
    assert ax.lines[0].get_marker() != ax.lines[1].get_marker()
    assert ax.lines[0].get_color() != ax.lines[1].get_color()
    render(ax)


@pytest.mark.parametrize(
    ("curves", "message"),
    [
        ({}, "must map the name of each method"),
        ([1, 2], "must map the name of each method"),
        ({"kNN": [1.0]}, "curve of kNN must be"),
        ({"kNN": ([0.5], [1.0, 2.0])}, "as many values as sparsities"),
        ({"kNN": ([], [])}, "as many values as sparsities"),
        ({"kNN": ([50.0], [1.0])}, "divide percentages by 100"),
    ],
)
def test_sparsities_that_cannot_be_drawn(ax, curves, message):
    with pytest.raises(ValueError, match=message):
        plot_sparsity(curves, ax)


def test_a_direction_has_one_style_in_all_pictures():
    few = dict(zip(["lbfgs", "spectral"], curve_styles(["lbfgs", "spectral"]), strict=True))
    names = ["mine", "spectral", "gradient", "yours", "lbfgs"]
    many = dict(zip(names, curve_styles(names), strict=True))
    assert few == {name: many[name] for name in few}
    assert len({str(style) for style in many.values()}) == len(names)

"""Axes that need no display, and what every picture must leave as it was."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture
def render():
    """A function that draws the figure of some axes and returns its pixels, top row first."""

    def pixels(ax):
        canvas = FigureCanvasAgg(ax.figure)
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[:, :, :3] / 255.0

    return pixels


@pytest.fixture(autouse=True)
def _settings_are_left_alone():
    settings, figures = dict(matplotlib.rcParams), pyplot.get_fignums()
    yield
    assert dict(matplotlib.rcParams) == settings
    assert pyplot.get_fignums() == figures

"""Matplotlib is optional, imported late, and needs no display."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from closeknit import plotting

CALLS = {
    "plot_affinities": (np.eye(3),),
    "plot_embedding": (np.eye(3),),
    "plot_entropy": ([1.0, 2.0, 4.0],),
    "plot_sigmas": (np.eye(2), [1.0, 2.0]),
    "plot_sparsity": ({"kNN": ([0.5], [1.0])},),
}
#: Need a minimisation or a cluster first; they make axes the same way.
LATER = {"plot_history", "plot_path", "plot_blocks"}


def test_every_picture_is_called_here():
    assert CALLS.keys() | LATER == {name for name in plotting.__all__ if name.startswith("plot_")}


@pytest.mark.parametrize("name", CALLS)
def test_without_matplotlib_the_extra_is_named(monkeypatch, name):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install "closeknit\[plot\]"'):
        getattr(plotting, name)(*CALLS[name])


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("error")
def test_new_axes_are_made_if_none_are_given(name):
    from matplotlib import pyplot

    ax = getattr(plotting, name)(*CALLS[name])
    assert pyplot.get_fignums() == [ax.figure.number]
    ax.figure.draw_without_rendering()
    pyplot.close(ax.figure)


def test_no_display_is_needed_and_matplotlib_comes_late(tmp_path):
    program = """
import sys
from closeknit.plotting import plot_embedding
assert "matplotlib" not in sys.modules
plot_embedding([[0.0, 1.0], [1.0, 0.0]], ["a", "b"], names="both").figure.savefig(sys.argv[1])
"""
    hidden = {"DISPLAY", "WAYLAND_DISPLAY", "MPLBACKEND"}
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    output = tmp_path / "map.png"
    subprocess.run([sys.executable, "-c", program, str(output)], check=True, env=environment)
    assert output.read_bytes().startswith(b"\x89PNG")

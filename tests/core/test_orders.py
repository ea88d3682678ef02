"""Orders that users write themselves: a wrong one is an error, and nothing else."""

import numpy as np
import pytest

import closeknit as ck
from closeknit.affinities import Traversal

N = 40
GOOD = {
    "sequence": np.arange(N),
    "parent": np.arange(-1, N - 1),
    "runs": np.array([0, N]),
    "waves": np.array([0, 1]),
    "starts": None,
}


class Mine:
    """An order that was written by hand."""

    def __init__(self, **changes):
        self.parts = {**GOOD, **changes}

    def plan(self, problem):
        return Traversal(**self.parts)


def solve(**changes):
    d = np.sort(np.random.default_rng(0).random((N, 12)), axis=1)
    return ck.solve_bandwidths(d, perplexity=5.0, order=Mine(**changes))


def test_a_right_one_works():
    assert solve().converged.all()
    backwards = np.arange(N)[::-1].copy()
    assert solve(sequence=backwards, parent=np.full(N, -1)).converged.all()


@pytest.mark.parametrize(
    "changes",
    [
        {"sequence": np.arange(N - 1)},
        {"sequence": np.arange(10 * N)},
        {"sequence": np.zeros(N, dtype=np.int64)},
        {"sequence": np.arange(1, N + 1)},
        {"sequence": np.empty(0, dtype=np.int64)},
        {"parent": np.full(N, N)},
        {"parent": np.full(N, -2)},
        {"parent": np.arange(N)},
        {"parent": np.arange(1, N + 1) % N},
        {"parent": np.full(3, -1)},
        {"runs": np.array([0])},
        {"runs": np.array([0, N - 1])},
        {"runs": np.array([0, 10 * N])},
        {"runs": np.array([0, 2 * N, N])},
        {"runs": np.empty(0, dtype=np.int64)},
        {"waves": np.array([0])},
        {"waves": np.array([0, 2])},
        {"waves": np.array([1, 1])},
        {"waves": np.empty(0, dtype=np.int64)},
        {"runs": np.array([0, 20, N]), "waves": np.array([0, 2])},
        {"starts": np.ones(N - 1)},
        {"starts": np.ones(10 * N)},
        {"sequence": np.arange(N).astype(str)},
        {"sequence": np.arange(N).reshape(2, -1)},
        {"sequence": None},
    ],
)
def test_wrong_ones_are_refused(changes):
    with pytest.raises((ValueError, TypeError)):
        solve(**changes)

"""Viewers: votes against a plain double loop, how candidates are drawn, and what is kept."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics import pairwise_distances

import closeknit as ck
from closeknit.exceptions import NoViewerWarning
from closeknit.graphs import ViewerSparsifier, dip_modes, find_modes
from closeknit.graphs.viewer_distances import ViewerDistances
from closeknit.graphs.viewers import choose_viewers, look
from closeknit.progress import listening

X, Y = make_blobs(90, centers=3, cluster_std=0.7, random_state=2)
D = pairwise_distances(X)


def votes_by_loops(viewers, bandwidths):
    """Section 3: one vote against each pair with at least two modes between its distances."""
    votes = np.zeros(D.shape, dtype=int)
    for viewer, h in zip(viewers, bandwidths, strict=True):
        modes = find_modes(np.delete(D[viewer], viewer), h)
        for i in range(len(D)):
            for j in range(len(D)):
                near, far = sorted([D[viewer, i], D[viewer, j]])
                votes[i, j] += sum(near < mode <= far for mode in modes) >= 2
    return votes


@pytest.mark.parametrize("bandwidth", ["auto", "silverman", 0.4])
def test_votes_against_loops(bandwidth):
    viewers = [3, 40, 77]
    options = {"n_neighbors": None, "perplexity": 12.0, "bandwidth": bandwidth}
    fitted = ViewerSparsifier(viewer_selection=viewers, votes=2, **options).fit(X)
    expected = votes_by_loops(viewers, [view.bandwidth for view in fitted.candidates_])
    np.testing.assert_array_equal(fitted.votes_.toarray(), expected)
    full = ViewerSparsifier(viewer_selection=viewers, votes=99, **options).fit_transform(X)
    np.testing.assert_array_equal(
        fitted.graph_.toarray(), np.where(expected < 2, full.toarray(), 0.0)
    )
    for view in fitted.candidates_:
        alone = votes_by_loops([view.viewer], [view.bandwidth])
        assert view.n_votes == np.triu(alone, 1).sum()
        assert view.is_good() == (view.n_votes > 0)


def test_bandwidth_is_the_entropic_one():
    fitted = ViewerSparsifier(viewer_selection=[5], perplexity=12.0).fit(X)
    sigma = ck.EntropicAffinities(12.0, n_neighbors=None).fit(X).sigmas_[5]
    assert fitted.candidates_[0].bandwidth == pytest.approx(sigma, rel=1e-8)
    other = ViewerSparsifier(viewer_selection=[5], perplexity=12.0, view_perplexity=4.0).fit(X)
    sigma = ck.EntropicAffinities(4.0, n_neighbors=None).fit(X).sigmas_[5]
    assert other.candidates_[0].bandwidth == pytest.approx(sigma, rel=1e-8)


def test_sparsity_drops_the_most_votes_first():
    """No edge is kept with more votes than one dropped; among equals the heaviest stay."""
    fitted = ViewerSparsifier(30, sparsity=0.8, n_neighbors=None, random_state=0).fit(X)
    votes = fitted.votes_.toarray()
    weights = ViewerSparsifier(30, votes=99, n_neighbors=None, random_state=0).fit_transform(X)
    weights = weights.toarray()
    others = ~np.eye(90, dtype=bool)
    kept = (fitted.graph_.toarray() > 0.0) & others
    dropped = ~kept & others
    assert votes[kept].max() <= votes[dropped].min()
    level = votes[kept].max()
    assert weights[kept & (votes == level)].min() > weights[dropped & (votes == level)].max()


def test_clusters_are_separated():
    fitted = ViewerSparsifier(20, votes=1, view_perplexity=5, n_neighbors=None, random_state=0)
    fitted.fit(X)
    rows, columns = fitted.graph_.nonzero()
    before = np.mean(Y[:, None] == Y[None])
    assert np.mean(Y[rows] == Y[columns]) > before + 0.3


def test_sparse_rows_do_not_see_all_points():
    """A viewer has no vote on pairs with a point that its row does not store."""
    near = np.where(np.median(D) > D, D, 0.0)
    fitted = ViewerSparsifier(
        viewer_selection=[0], perplexity=5.0, input="distances", bandwidth=0.1
    ).fit(sparse.csr_matrix(near))
    unseen = near[0] == 0.0
    unseen[0] = False
    rows, columns = fitted.votes_.nonzero()
    assert len(rows)
    assert not (unseen[rows] | unseen[columns]).any()


def test_affinities_are_seen_as_gaussian_distances():
    """With one bandwidth for all, W = exp(−d²/2) gives the votes of d, on the scale 1/√2."""
    W = np.exp(-0.5 * D**2)
    np.fill_diagonal(W, 0.0)
    scale = np.sqrt(-np.log(W.max()))
    source = ViewerDistances(sparse.csr_matrix(W), "affinities", "euclidean", 1)
    seen = source.distances(7)
    expected = np.sqrt(np.maximum(0.5 * D[7] ** 2 - scale**2, 0.0))
    np.testing.assert_allclose(np.delete(seen, 7), np.delete(expected, 7), atol=1e-6)
    assert seen[7] == 0.0


def remoteness_of(input, matrix, tails):
    source = ViewerDistances(matrix, input, "euclidean", 1)
    return source.remoteness(source.distances(0), 0.5, tails)


def test_remoteness_follows_the_tails_of_the_kernel():
    """−log w, 1/w or out of range, as section 3 says."""
    u = D[0] / 0.5
    np.testing.assert_allclose(
        remoteness_of("data", X, "exponential"), -np.log(np.exp(-(u**2) / 2))
    )
    np.testing.assert_allclose(remoteness_of("data", X, "slow"), 1.0 / (1.0 / (1.0 + u**2)))
    np.testing.assert_array_equal(remoteness_of("data", X, "flat"), D[0] > 0.5)
    W = np.exp(-D)
    np.fill_diagonal(W, 0.0)
    graph = sparse.csr_matrix(np.where(D < 5.0, W, 0.0))
    largest = graph.data.max()
    seen = (D[0] < 5.0) & (D[0] > 0.0)
    exponential = remoteness_of("affinities", graph, "exponential")
    np.testing.assert_allclose(exponential[seen], -np.log(W[0, seen] / largest), atol=1e-9)
    assert (exponential[~seen][1:] == exponential.max()).all()
    slow = remoteness_of("affinities", graph, "slow")
    np.testing.assert_allclose(slow[seen], largest / W[0, seen], rtol=1e-9)
    assert remoteness_of("affinities", graph, "flat")[1:].tolist() == (~seen)[1:].tolist()


def test_candidates_are_drawn_far_from_those_before():
    """The next candidate is drawn in proportion to the summed remoteness from all before it."""
    remoteness = np.array([[0.0, 1.0, 9.0, 2.0], [1.0, 0.0, 4.0, 2.0]])
    remoteness = np.vstack([remoteness, np.ones((2, 4))])
    blind = look(np.zeros(4), 0, 1.0, 2.0, "mean-shift")
    thirds = []
    for seed in range(3000):
        drawn = []

        def look_from(viewer, drawn=drawn):
            drawn.append(viewer)
            return blind, remoteness[viewer]

        random = np.random.RandomState(seed)
        candidates = choose_viewers(4, 1, look_from, spread=True, random=random)
        assert len(candidates) == 4  # none is good, so all are looked from
        assert sorted(drawn) == [0, 1, 2, 3]
        if drawn[:2] == [0, 1]:
            thirds.append(drawn[2])
    # After 0 and 1, point 2 has the weight 9 + 4 and point 3 the weight 2 + 2.
    assert len(thirds) > 40
    assert abs(np.mean(np.array(thirds) == 2) - 13 / 17) < 4 * np.sqrt(13 * 4 / 17**2 / len(thirds))


def test_flat_kernels_are_out_of_candidates_when_all_points_are_in_range():
    with pytest.warns(NoViewerWarning, match="none of 1 candidates sees 2 modes"):
        fitted = ViewerSparsifier(10, bandwidth=100.0, tails="flat", random_state=0).fit(X)
    assert len(fitted.candidates_) == 1
    assert fitted.graph_.nnz == fitted.votes_.nnz


@pytest.mark.parametrize("tails", ["exponential", "slow", "flat"])
@pytest.mark.parametrize("selection", ["kmeans++", "uniform"])
def test_selections(selection, tails):
    fitted = ViewerSparsifier(
        8, viewer_selection=selection, tails=tails, bandwidth=0.3, random_state=1
    ).fit(X)
    drawn = [view.viewer for view in fitted.candidates_]
    assert len(set(drawn)) == len(drawn)
    assert len(fitted.viewers_) <= 8
    assert all(view.is_good() and len(view.modes) >= 2 for view in fitted.viewers_)


def test_bad_candidates_do_not_vote():
    """A viewer that sees one mode is no good, and is not among the viewers."""
    fitted = ViewerSparsifier(40, n_neighbors=None, perplexity=30.0, random_state=0).fit(X)
    good = [view for view in fitted.candidates_ if view.is_good()]
    assert list(fitted.viewers_) == good
    assert len(fitted.candidates_) <= 160


def test_good_viewers_by_modes_and_votes():
    """Both measures of the report: modes seen, and pairs that the viewer would separate."""
    options = {"n_neighbors": None, "viewer_selection": list(range(0, len(X), 3)), "bandwidth": 0.2}
    every = ViewerSparsifier(**options).fit(X).candidates_
    fewest = int(np.median([view.n_votes for view in every if len(view.modes) >= 3]))
    fitted = ViewerSparsifier(min_modes=3, min_votes=fewest, **options).fit(X)
    expected = [v.viewer for v in every if len(v.modes) >= 3 and v.n_votes >= fewest]
    assert 0 < len(expected) < len([view for view in every if view.is_good()])
    assert [view.viewer for view in fitted.viewers_] == expected
    drawn = ViewerSparsifier(5, min_modes=3, bandwidth=0.2, random_state=0).fit(X)
    assert sum(len(view.modes) >= 3 for view in drawn.candidates_) == len(drawn.viewers_) == 5


@pytest.mark.parametrize("kernel", ["epanechnikov", "student"])
@pytest.mark.parametrize("bandwidth", ["entropic", 0.15])
def test_modes_under_other_kernels(kernel, bandwidth):
    """Each view has that kernel's modes, at that kernel's own entropic bandwidth."""
    options = {"perplexity": 30.0, "bandwidth": bandwidth, "kernel": kernel}
    fitted = ViewerSparsifier(viewer_selection=[0, 20, 50], n_neighbors=None, **options).fit(X)
    for view in fitted.candidates_:
        sample = np.delete(D[view.viewer], view.viewer)
        if bandwidth == "entropic" and kernel == "epanechnikov":
            w = np.maximum(0.0, 1.0 - sample**2 / (2.0 * view.bandwidth**2))
            p = w[w > 0.0] / w.sum()
            assert np.exp(-(p * np.log(p)).sum()) == pytest.approx(30.0)
        expected = find_modes(sample, view.bandwidth, kernel=kernel)
        np.testing.assert_allclose(view.modes, expected, rtol=1e-9)


def test_thresholds_of_the_dip_test():
    """α₁ decides which parts are split, α₂ which of the others are uniform."""
    options = {"modes": "dip", "n_neighbors": None, "viewer_selection": [0, 9, 30]}
    plain = ViewerSparsifier(**options).fit(X).candidates_
    fitted = ViewerSparsifier(alpha1=0.4, alpha2=0.9, **options).fit(X)
    for view in fitted.candidates_:
        sample = np.delete(D[view.viewer], view.viewer)
        expected = dip_modes(sample, alpha1=0.4, alpha2=0.9)
        np.testing.assert_allclose(view.modes, expected, rtol=1e-12)
    assert any(len(a.modes) != len(b.modes) for a, b in zip(plain, fitted.candidates_, strict=True))


def test_modes_by_the_dip_test():
    """Each view has the modes that `dip_modes` finds in its distances."""
    fitted = ViewerSparsifier(4, modes="dip", n_neighbors=None, random_state=0).fit(X)
    assert len(fitted.viewers_) == 4
    for view in fitted.candidates_:
        expected = dip_modes(np.delete(D[view.viewer], view.viewer))
        np.testing.assert_allclose(view.modes, expected, rtol=1e-12)
    assert 0.0 < fitted.sparsity_ < 1.0


def test_more_viewers_than_points():
    fitted = ViewerSparsifier(1000, bandwidth=0.3, random_state=0).fit(X)
    assert len(fitted.candidates_) <= 90


# ---- progress and Ctrl-C -------------------------------------------------------------------------


@pytest.mark.parametrize("selection", ["kmeans++", [3, 40, 77]])
def test_progress_is_reported(selection):
    reported = []
    with listening(lambda event: reported.append((event.stage, event.done, event.total))):
        fitted = ViewerSparsifier(3, viewer_selection=selection, random_state=0).fit(X)
    asked = [done for stage, done, total in reported if stage == "viewers" and total == 3]
    assert asked == sorted(asked)
    assert len(asked) == len(fitted.candidates_) + (selection != "kmeans++")
    n = len(fitted.viewers_)
    assert [step for step in reported if step[0] == "votes"] == [
        ("votes", i, n) for i in range(n + 1)
    ]


@pytest.mark.parametrize("stage", ["viewers", "votes"])
def test_ctrl_c_leaves_what_was_fitted_before(stage):
    def interrupt(event):
        if (event.stage, event.done) == (stage, 2):
            signal.raise_signal(signal.SIGINT)

    sparsifier = ViewerSparsifier(5, random_state=0).fit(X)
    before = {name: value for name, value in vars(sparsifier).items() if name.endswith("_")}
    sparsifier.set_params(n_viewers=9, random_state=1)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with listening(interrupt), pytest.raises(KeyboardInterrupt):
            sparsifier.fit(X + 1.0)
    finally:
        signal.signal(signal.SIGINT, handler)
    for name, value in before.items():
        assert getattr(sparsifier, name) is value, name

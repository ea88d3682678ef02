"""`n_jobs` reaches everything that a call does, from the search to the last sum."""

import sys

import numpy as np
import pytest

import closeknit as ck
from closeknit._threads import effective_n_jobs
from closeknit.graphs import (
    EntropicSparsifier,
    KNNSparsifier,
    ResistanceSparsifier,
    ViewerSparsifier,
    affinity_graph,
    symmetrize,
)
from closeknit.minimize.descent import DIRECTIONS

X = np.random.default_rng(0).normal(size=(120, 4))
W = symmetrize(ck.entropic_affinities(X, 8)[0])
LABELS = np.where(np.arange(120) < 20, np.arange(120) % 2, -1)
FEW = {"perplexity": 8, "n_jobs": 1, "random_state": 0}
SHORT = {**FEW, "max_iter": 3, "tol": 0}

CALLS = {
    "affinities": lambda: ck.EntropicAffinities(**FEW).fit(X).transform(X[:5] + 0.1),
    "graph": lambda: affinity_graph(X, ck.TSNE(**FEW)),
    "symmetrize": lambda: symmetrize(W, n_jobs=1),
    "t-SNE": lambda: ck.TSNE(**SHORT).fit(X).transform(X[:5] + 0.1),
    "t-SNE on a grid": lambda: ck.TSNE(repulsion="grid", **SHORT).fit(X),
    "from diffused noise": lambda: ck.TSNE(init="diffusion", **SHORT).fit(X),
    "from eigenmaps": lambda: ck.TSNE(init="eigenmaps", **SHORT).fit(X),
    "elastic embedding": lambda: ck.ElasticEmbedding(**SHORT).fit(X),
    "eigenmaps": lambda: ck.LaplacianEigenmaps(**FEW).fit(X),
    "clusters": lambda: ck.SpectralClustering(2, **FEW).fit(X),
    "labels": lambda: ck.LabelPropagation(**FEW).fit(X, LABELS).predict(X[:5] + 0.1),
    "mean shift": lambda: ck.MeanShift(perplexity=8, n_jobs=1).fit(X).predict(X[:5] + 0.1),
    "segments": lambda: ck.segment_image(X.reshape(20, 24) % 1.0, 2, **FEW),
    "entropic sparsifier": lambda: EntropicSparsifier(**FEW).fit(X),
    "nearest neighbours": lambda: KNNSparsifier(5, n_jobs=1).fit(X),
    "viewers": lambda: ViewerSparsifier(5, **FEW).fit(X),
    "given weights": lambda: ck.TSNE(affinity="precomputed", **SHORT).fit(W),
    "SNE": lambda: ck.SNE(**SHORT).fit(X),
    "effective resistances": lambda: ResistanceSparsifier(**FEW).fit(X),
    "recall": lambda: ck.quality.neighbor_recall(X, X[:, :2], n_jobs=1),
}
CALLS |= {
    name: lambda name=name: ck.SymmetricSNE(direction=name, **SHORT).fit(X) for name in DIRECTIONS
}


@pytest.mark.filterwarnings("ignore::closeknit.exceptions.CloseknitWarning")
@pytest.mark.parametrize("name", CALLS)
def test_one_thread_means_one_thread_everywhere(name):
    """Nothing inside asks for more; None is one, outside of joblib's contexts."""
    asked = []

    def note(frame, event, _):
        if event == "call" and frame.f_code is effective_n_jobs.__code__:
            asked.append(frame.f_locals["n_jobs"])

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        CALLS[name]()
    finally:
        sys.setprofile(before)
    assert asked
    assert set(asked) <= {1, None}

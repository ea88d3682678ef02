"""
Towards a million points
========================

The same lines serve a thousand points and a million. To keep the build of this page short it runs
with 20,000; :doc:`/million` has the million's map, time and memory.
"""

# %%
from matplotlib import pyplot as plt

import closeknit as ck
from closeknit.datasets import make_gaussian_mixture
from closeknit.plotting import plot_embedding

n_samples = 20_000  # or 1_000_000
X, y = make_gaussian_mixture(
    n_samples, n_features=50, n_clusters=100, dtype="float32", random_state=0
)
tsne = ck.TSNE(random_state=0).fit(X)
print(tsne.n_iter_, "iterations;", tsne.stopped_because_)

# %%
# Many points are shaded by their density, so that no cluster hides another.
fig, ax = plt.subplots(figsize=(7, 6), layout="constrained")
plot_embedding(tsne.embedding_, y, ax, names="none", shade=True)
ax.set_title(f"t-SNE of {n_samples:,} generated points in 100 clusters")

# %%
# Quality over a sample of the points, each compared with all others:
print(f"{ck.quality.neighbor_recall(X, tsne.embedding_, sample=1000):.1%} of neighbours kept")

"""
Clusters of any shape
=====================

Spectral clustering on entropic affinities, beside k-means, which can only find round clusters.
"""

# %%
from matplotlib import pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

import closeknit as ck
from closeknit.plotting import plot_embedding

sets = {
    "circles": make_circles(500, factor=0.5, noise=0.05, random_state=0),
    "moons": make_moons(500, noise=0.06, random_state=0),
    "blobs": make_blobs(500, centers=3, cluster_std=[0.4, 1.6, 0.6], random_state=1),
}
fig, axes = plt.subplots(2, 3, figsize=(9, 5.6), layout="constrained")
for column, (name, (X, y)) in enumerate(sets.items()):
    n_clusters = len(set(y))
    methods = {
        "k-means": KMeans(n_clusters, n_init=10, random_state=0),
        "entropic graph": ck.SpectralClustering(n_clusters, perplexity=10, random_state=0),
    }
    for row, (method, model) in enumerate(methods.items()):
        found = model.fit_predict(X)
        ax = axes[row, column]
        plot_embedding(X, found, ax, names="none", size=6)
        ax.set_title(f"{name}, {method}: ARI {adjusted_rand_score(y, found):.2f}", fontsize=10)
fig.suptitle("Three sets of points, clustered by k-means and on the entropic graph")

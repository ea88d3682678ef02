"""
Cells, with AnnData
===================

Blood cells by the activity of their genes (PBMC 3k of 10x Genomics), in scanpy's data structure and
places. The first 20 principal components and the names of the clusters come with this example.
"""

# %%
import anndata
import numpy as np
from matplotlib import pyplot as plt

import closeknit as ck
from closeknit.plotting import plot_embedding

stored = np.load("data/pbmc3k.npz")
cells = anndata.AnnData(np.empty((len(stored["pcs"]), 0), dtype=np.float32))
cells.obsm["X_pca"] = stored["pcs"].astype(np.float32)
cells.obs["cell_type"] = stored["names"][stored["cell_type"]]

# %%
# As ``sc.tl.tsne(cells)`` would: the map goes to ``obsm["X_tsne"]``, parameters to ``uns["tsne"]``.
ck.io.anndata.tsne(cells, random_state=0)
print(cells)

fig, ax = plt.subplots(figsize=(7.5, 5), layout="constrained")
plot_embedding(cells.obsm["X_tsne"], cells.obs["cell_type"], ax, names="legend")
ax.set_title("t-SNE of blood cells, coloured by cell type")

# %%
# The affinities go where ``sc.pp.neighbors`` would put its graph, so that
# ``sc.tl.leiden(cells, neighbors_key="entropic")`` clusters by them. Without scanpy, cut the graph
# here:
ck.io.anndata.affinities(cells)
W = cells.obsp["entropic_connectivities"]
model = ck.SpectralClustering(8, affinity="precomputed", random_state=0)
cells.obs["cluster"] = model.fit_predict(W).astype(str)

fig, ax = plt.subplots(figsize=(7, 5), layout="constrained")
plot_embedding(cells.obsm["X_tsne"], cells.obs["cluster"], ax, names="legend")
ax.set_title("The same map, coloured by spectral clusters of the graph")

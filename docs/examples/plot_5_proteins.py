"""
Proteins on cells, as in flow cytometry
=======================================

Ten surface proteins on each of 3,000 cord blood cells. Data from a flow cytometer look the same:
few features, many cells.
"""

# %%
import numpy as np
from matplotlib import pyplot as plt

import closeknit as ck
from closeknit.plotting import plot_embedding

stored = np.load("data/cbmc_proteins.npz")
X, cell_type = stored["proteins"].astype(np.float32), stored["cell_type"]
tsne = ck.TSNE(random_state=0).fit(X)
Y = tsne.embedding_

fig, ax = plt.subplots(figsize=(7.5, 5), layout="constrained")
plot_embedding(Y, cell_type, ax, names="legend")
ax.set_title("t-SNE of ten proteins, coloured by clusters of the genes")

# %%
# Colour the map by each protein in turn: this is how clusters get their names.
fig, axes = plt.subplots(2, 5, figsize=(10, 4.4), layout="constrained")
for protein, ax in enumerate(axes.flat):
    low, high = np.quantile(X[:, protein], [0.02, 0.98])
    plot_embedding(Y, ax=ax, values=X[:, protein], norm=plt.Normalize(low, high), size=2)
    ax.set_title(f"protein {protein}", fontsize=10)
fig.suptitle("The map, coloured by each of the ten proteins")

# %%
# With few features, new cells can be placed on the map as they come in.
model = ck.TSNE(random_state=0).fit(X[:2500])
placed = model.transform(X[2500:])

fig, ax = plt.subplots(figsize=(6, 5), layout="constrained")
plot_embedding(model.embedding_, ax=ax, palette=None, alpha=0.2)
ax.scatter(*placed.T, s=6, color="tab:red", label="new cells")
ax.legend(frameon=False)
ax.set_title("Five hundred new cells on a map of 2,500")

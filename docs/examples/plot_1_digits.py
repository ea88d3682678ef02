"""
Handwritten digits
==================

t-SNE of images of handwritten digits, eight pixels wide and high, with some of the images drawn
where they lie on the map.
"""

# %%
# The map takes two lines.
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from sklearn.datasets import load_digits

import closeknit as ck
from closeknit.plotting import plot_embedding

X, digits = load_digits(return_X_y=True)
tsne = ck.TSNE(random_state=0).fit(X)
Y = tsne.embedding_

fig, ax = plt.subplots(figsize=(7, 5.6), layout="constrained")
plot_embedding(Y, digits, ax)
ax.set_title("t-SNE of the digits, coloured by digit")

# %%
# The images themselves: those that are not too close to one already drawn.
fig, ax = plt.subplots(figsize=(7, 5.6), layout="constrained")
plot_embedding(Y, ax=ax, alpha=0.0)
drawn = np.empty((0, 2))
for place, image in zip(Y, X, strict=True):
    if len(drawn) and np.linalg.norm(drawn - place, axis=1).min() < 3.5:
        continue
    drawn = np.vstack([drawn, place])
    picture = OffsetImage(image.reshape(8, 8), cmap="gray_r", zoom=1.6)
    ax.add_artist(AnnotationBbox(picture, place, frameon=False))
ax.set_title("The same map, with the images themselves")

# %%
print(f"{ck.quality.neighbor_recall(X, Y):.1%} of 15 neighbours kept")
print(f"{ck.quality.knn_accuracy(Y, digits):.1%} k-NN accuracy on the map")

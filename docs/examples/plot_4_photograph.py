"""
A photograph in segments
========================

Pixels that are close, in place and colour, belong together.
"""

# %%
import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_sample_image

import closeknit as ck

flower = load_sample_image("flower.jpg")[40:400:5, 60:540:5]
height, width = flower.shape[:2]
print(height * width, "pixels")

# %%
# Spectral clustering cuts the graph of the pixels into as many segments as asked for; mean shift
# finds the number itself.
spectral = ck.segment_image(flower, 8, random_state=0)
modes = ck.segment_image(flower, method="meanshift", perplexity=100)


def in_mean_colors(labels):
    """Paint every segment in its mean colour."""
    counts = np.bincount(labels.ravel() + 1)
    sums = [np.bincount(labels.ravel() + 1, flower[..., c].ravel()) for c in range(3)]
    means = np.stack(sums, axis=1) / np.maximum(counts, 1)[:, None]
    return means[labels + 1].astype(np.uint8)


fig, axes = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
pictures = {
    "the photograph": flower,
    f"{spectral.max() + 1} segments by spectral clustering": in_mean_colors(spectral),
    f"{modes.max() + 1} segments by mean shift": in_mean_colors(modes),
}
for ax, (title, picture) in zip(axes, pictures.items(), strict=True):
    ax.imshow(picture)
    ax.set_title(title, fontsize=10)
    ax.axis("off")
fig.suptitle("A photograph of a flower and two segmentations of it")

# %%
# The bandwidths alone show the scale of things: small where colours are smooth, large on edges.
W, sigmas = ck.image_affinities(flower)

fig, ax = plt.subplots(figsize=(5, 3.6), layout="constrained")
shown = ax.imshow(sigmas)
ax.axis("off")
ax.set_title("Bandwidth of every pixel")
fig.colorbar(shown, label="bandwidth σ")

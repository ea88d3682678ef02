"""
Labels from a few examples
==========================

Ten labelled digits, one of each kind, and 1,787 without a label.
"""

# %%
import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

import closeknit as ck
from closeknit.plotting import plot_embedding

X, digits = load_digits(return_X_y=True)
first = [int(np.flatnonzero(digits == digit)[0]) for digit in range(10)]
known = np.full(len(X), -1)
known[first] = digits[first]

# %%
# Labels spread along the graph of entropic affinities.
model = ck.LabelSpreading(perplexity=10).fit(X, known)
found = model.transduction_
hidden = known == -1
print(f"{np.mean(found[hidden] == digits[hidden]):.1%} of {hidden.sum()} labels right")

# %%
# Where is it wrong? Draw the map, and mark errors. Most sit between clusters.
Y = ck.TSNE(random_state=0).fit_transform(X)
wrong = found != digits

fig, ax = plt.subplots(figsize=(7.5, 5.6), layout="constrained")
plot_embedding(Y, found, ax)
ax.scatter(*Y[wrong].T, s=30, facecolors="none", edgecolors="black", linewidths=0.7)
ax.scatter(*Y[first].T, s=120, marker="*", color="black")
ax.set_title("Found labels; stars are the ten known ones, rings are errors")

"""
Handwritten digits
==================



t-SNE of 1,797 images of handwritten digits, eight pixels wide and high.
"""

from sklearn.datasets import load_digits

import closeknit as ck
from closeknit.plotting import plot_embedding

X, digits = load_digits(return_X_y=True)
tsne = ck.TSNE(random_state=0).fit(X)
ax = plot_embedding(tsne.embedding_, digits)
ax.set_title("t-SNE of the digits")

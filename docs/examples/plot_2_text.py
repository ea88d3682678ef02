"""
Text: the documentation of three libraries
==========================================

Sparse data and the cosine metric. The documents are the docstrings of NumPy, SciPy and
scikit-learn, which are on every machine that runs this.
"""

# %%
# Collect the docstrings of all public functions and classes.
import importlib
import inspect

import numpy as np
from matplotlib import pyplot as plt
from sklearn.feature_extraction.text import TfidfVectorizer

import closeknit as ck
from closeknit.plotting import plot_embedding

MODULES = {
    "array": ["numpy"],
    "linear algebra": ["numpy.linalg", "scipy.linalg", "scipy.sparse.linalg"],
    "statistics": ["scipy.stats"],
    "signals and images": ["scipy.signal", "scipy.ndimage", "scipy.fft"],
    "special functions": ["scipy.special"],
    "optimisation": ["scipy.optimize", "scipy.integrate", "scipy.interpolate"],
    "learning": [
        "sklearn.cluster",
        "sklearn.decomposition",
        "sklearn.ensemble",
        "sklearn.linear_model",
        "sklearn.metrics",
        "sklearn.preprocessing",
    ],
}
texts, topics = {}, {}
for topic, modules in MODULES.items():
    for module in map(importlib.import_module, modules):
        for name in dir(module):
            documented = inspect.getdoc(getattr(module, name)) or ""
            if not name.startswith("_") and len(documented) > 600 and documented not in topics:
                texts[documented], topics[documented] = documented, topic
documents, labels = list(texts), np.array(list(topics.values()))

# %%
# Weigh words by tf-idf. The matrix stays sparse all the way.
X = TfidfVectorizer(stop_words="english", min_df=3, sublinear_tf=True).fit_transform(documents)
print(
    X.shape[0], "documents,", X.shape[1], "words,", f"{X.nnz / np.prod(X.shape):.1%} of them used"
)
Y = ck.TSNE(metric="cosine", perplexity=20, random_state=0).fit_transform(X)

# %%
fig, ax = plt.subplots(figsize=(8, 5.6), layout="constrained")
plot_embedding(Y, labels, ax, names="legend")
ax.set_title("t-SNE of docstrings, coloured by what they are about")
print(f"{ck.quality.knn_accuracy(Y, labels):.1%} k-NN accuracy on the map")

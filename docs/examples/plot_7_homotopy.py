"""
A homotopy in λ
===============

The elastic embedding weighs repulsion by λ. With little repulsion all points are in one place, and
there is only one minimum. Following it while λ grows unfolds the map.
"""

# %%
from matplotlib import pyplot as plt
from sklearn.datasets import make_swiss_roll

import closeknit as ck
from closeknit.minimize import log_spaced
from closeknit.plotting import plot_path

X, along = make_swiss_roll(500, random_state=0)
lams = log_spaced(1e-4, 1.0, 15)
ee = ck.ElasticEmbedding(perplexity=15, lam=lams, init="random", random_state=0).fit(X)

fig, ax = plt.subplots(figsize=(9, 4.5))
plot_path(ee, (along // 2).astype(int), ax, n_maps=5)
fig.suptitle("Objective along the path, and maps at five λ")

# %%
# A direct run at the last λ from the same random start may end in a worse minimum.
direct = ck.ElasticEmbedding(perplexity=15, lam=lams[-1], init="random", random_state=0).fit(X)
print(f"E by homotopy: {ee.objective_:.3f}   direct: {direct.objective_:.3f}")

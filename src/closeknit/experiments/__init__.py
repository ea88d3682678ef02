"""The papers' experiments, each a module with ``reproduce(out, *, quick, data, verbose)``.

``EXPERIMENTS`` maps names to modules, which are imported only when they are run.
"""

__all__ = ["EXPERIMENTS"]

#: Name on the command line → module with a function ``reproduce``.
EXPERIMENTS: dict[str, str] = {
    "affinities": "closeknit.experiments.affinities",
    "embeddings": "closeknit.experiments.embeddings",
    "sparsification": "closeknit.experiments.sparsification",
}

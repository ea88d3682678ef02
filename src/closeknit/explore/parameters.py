"""The parameters that a user may set while the map is moving."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import closeknit

__all__ = ["MODELS", "Parameters"]

#: The models, as messages call them: the estimator, and what users read.
MODELS = {
    "tsne": ("TSNE", "t-SNE"),
    "ssne": ("SymmetricSNE", "s-SNE"),
    "ee": ("ElasticEmbedding", "elastic embedding"),
}
_RANGES = {"perplexity": (1.0, 1e9), "lam": (0.01, 100.0), "dof": (0.1, 100.0)}


@dataclass(frozen=True)
class Parameters:
    """Parameters of the map.

    Parameters
    ----------
    model : {"tsne", "ssne", "ee"}, default="tsne"
    perplexity : float, default=30.0
        Effective number of neighbours of each point.
    lam : float, default=1.0
        Weight λ of the repulsion; 1/λ is the exaggeration of the attraction. For the elastic
        embedding it multiplies the λ at which attraction and repulsion balance.
    dof : float, default=1.0
        Degrees of freedom of t-SNE's kernel.

    Examples
    --------
    >>> Parameters(perplexity=50.0).estimator(n_neighbors=150)
    TSNE(n_neighbors=150, perplexity=50.0)
    """

    model: str = "tsne"
    perplexity: float = 30.0
    lam: float = 1.0
    dof: float = 1.0

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise ValueError(f"unknown model {self.model!r}; use {', '.join(map(repr, MODELS))}")
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ValueError(f"{name}={value!r} must be a number")
            if not value >= least:
                raise ValueError(f"{name}={value!r} must be at least {least:g}")
            if value > most:
                raise ValueError(f"{name}={value!r} must be at most {most:g}")
            object.__setattr__(self, name, float(value))

    @classmethod
    def names(cls) -> list[str]:
        """The names of all parameters."""
        return [field.name for field in fields(cls)]

    @property
    def title(self) -> str:
        """What users call the model."""
        return MODELS[self.model][1]

    def keywords(self) -> dict[str, Any]:
        """The parameters that the estimator takes as they are."""
        found: dict[str, Any] = {"perplexity": self.perplexity}
        if self.model != "ee":
            found["lam"] = self.lam
        if self.model == "tsne":
            found["dof"] = self.dof
        return found

    def estimator(self, **options: Any) -> Any:
        """Make the estimator, with further parameters of it."""
        return getattr(closeknit, MODELS[self.model][0])(**self.keywords(), **options)

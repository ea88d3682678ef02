"""What a fit minimises, and how: a value that can be looked at and run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from closeknit._arrays import Array
from closeknit.minimize import Direction, Path, Schedule, Stop, run_schedule
from closeknit.objectives import Objective

#: Standard deviation below which the grid could not resolve a start.
_MIN_SPREAD = 0.01


@dataclass(frozen=True, eq=False)
class Training:
    """What is minimised on a graph, and how; see :meth:`closeknit.TSNE.training`.

    Attributes
    ----------
    objective : Objective
    direction : Direction
    schedule : Schedule
        The stages; the last is the model's own.
    stop : Stop or None
        When a stage has converged; None is the direction's own rule.

    Examples
    --------
    >>> import closeknit as ck
    >>> from sklearn.datasets import load_iris
    >>> tsne = ck.TSNE()
    >>> W, _ = ck.graphs.affinity_graph(load_iris().data, tsne)
    >>> [round(stage.lam, 2) for stage in tsne.training(W).schedule.stages]
    [0.08, 0.17, 0.33, 0.67, 1.0]
    """

    objective: Objective
    direction: Direction[Any]
    schedule: Schedule
    stop: Stop | None

    def run(
        self,
        start: Array,
        *,
        time_limit: float | None = None,
        callback: Any = None,
        after: Path | None = None,
    ) -> Path:
        """Minimise from `start`, as :func:`closeknit.minimize.run_schedule` does.

        Parameters
        ----------
        start : ndarray of shape (n_samples, n_components)
        time_limit : float or None, default=None
        callback : callable or None, default=None
        after : Path or None, default=None
            What went before, if this goes on with it.

        Returns
        -------
        Path
        """
        objective = self.objective
        if not objective.repulsion.is_exact and objective.kernel.constant_attraction:
            # The grid's forces, which nearly cancel in a narrow start, must point outwards: a
            # Gaussian kernel's attraction holds points together with all its strength. (Of a
            # Student kernel any noise makes a map.)
            spread = float(start.std(axis=0).max())
            start = start * (max(1.0, _MIN_SPREAD / spread) if spread > 0.0 else 1.0)
        return run_schedule(
            self.schedule,
            objective.at,
            start,
            self.direction,
            stop=self.stop,
            time_limit=time_limit,
            callback=callback,
            after=after,
        )

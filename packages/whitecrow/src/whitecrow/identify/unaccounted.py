"""The mechanism with no ledger, for researchers; ``whitecrow.hazmat`` offers it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from whitecrow.anomaly import AnomalyModel, DistanceAnomaly
from whitecrow.anomaly.law import capped, error_cap, flip
from whitecrow.anomaly.model import Judgement
from whitecrow.declaration import whole
from whitecrow.errors import invalid
from whitecrow.neighbours import copies, count_close
from whitecrow.noise import Source
from whitecrow.place.question import FLOOR
from whitecrow.privacy import Exactly, exact


def identify(
    data: Any,
    record: Any,
    *,
    beta: int | None = None,
    radius: float | None = None,
    k: int,
    epsilon: Exactly,
    metric: str = "euclidean",
    model: AnomalyModel | Callable[[Any, Any], bool] | None = None,
    rng: Source | None = None,
) -> bool:
    """Answer one question on a plain array: is this record present, and an anomaly?

    .. warning::
       No account is kept: every call spends ``epsilon``, and with a seeded ``rng`` nobody is
       protected. Use :class:`whitecrow.Curator` for releases.

    Parameters
    ----------
    data : array of shape (n, d), or with ``model`` a sequence of records
        The records.
    record : array of shape (d,), or with ``model`` a record
        The record asked about.
    beta, radius, metric
        The distance model; ``metric="gower"`` needs public ranges and hence a card.
    k, epsilon
        See :class:`whitecrow.Identify`; with ``k >= beta`` this is the optimal mechanism under
        differential privacy.
    model : AnomalyModel or callable, optional
        Another model, registered or not, or only its label. Then λ is 1: right for every label,
        and a model with a λ of its own is more accurate.
    rng : Source, optional
        The randomness; the operating system's by default.

    Examples
    --------
    >>> identify([[0.0], [0.1], [9.0]], [9.0], beta=1, radius=1, k=1, epsilon=100)
    True
    >>> identify("aab", "b", model=lambda records, i: records.count(i) < 2, k=1, epsilon=100)
    True
    """
    if rng is not None and not isinstance(rng, Source):
        raise invalid("identify", "rng", "a Source such as hazmat.seeded(1)", type(rng).__name__)
    step = exact(epsilon, owner="identify")
    level = whole(k, "identify", "k")
    if model is None:
        distance = DistanceAnomaly.from_json({"beta": beta, "radius": radius, "metric": metric})
        truth, bound = _on_arrays(distance, data, record, level, error_cap(step, FLOOR))
    elif isinstance(model, AnomalyModel):
        step /= model.alpha
        truth, bound = model.judged(list(data), record, _level(model, level))
    elif callable(model):
        records = list(data)
        truth, bound = record in records and bool(model(records, record)), 1
    else:
        raise invalid(
            "identify", "model", "an AnomalyModel, or a function label(records, i)", model
        )
    return truth != flip(capped(bound, error_cap(step, FLOOR)), step, rng)


def _level(model: AnomalyModel, k: int) -> int | None:
    return None if model.everyone(k) else k


def _on_arrays(model: DistanceAnomaly, data: Any, record: Any, k: int, cap: int) -> Judgement:
    values = np.atleast_2d(np.asarray(data, dtype=np.float64))
    point = np.atleast_1d(np.asarray(record, dtype=np.float64))
    most = model.beta + cap
    same = int(copies(values, point, most, model.metric)[0])
    near = same
    if not model.alone:
        near = int(count_close(values, point, model.radius, model.metric, most)[0])
    return model.of_counts(same, near, _level(model, k))

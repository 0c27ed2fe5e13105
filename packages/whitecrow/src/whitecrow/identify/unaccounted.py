"""The mechanism with no ledger, for researchers; ``whitecrow.hazmat`` offers it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.anomaly.law import error_cap
from whitecrow.errors import invalid
from whitecrow.identify.facts import IdentifyFacts
from whitecrow.identify.mechanism import release
from whitecrow.identify.question import Identify
from whitecrow.neighbours import copies, count_close
from whitecrow.noise import Source
from whitecrow.privacy import Exactly


def identify(
    data: ArrayLike,
    record: ArrayLike,
    *,
    beta: int,
    radius: float,
    k: int,
    epsilon: Exactly,
    metric: str = "euclidean",
    rng: Source | None = None,
) -> bool:
    """Answer one question on a plain array: is this record present, and an anomaly?

    .. warning::
       No account is kept: every call spends ``epsilon``, and with a seeded ``rng`` nobody is
       protected. Use :class:`whitecrow.Curator` for releases.

    Parameters
    ----------
    data : array of shape (n, d)
        The records.
    record : array of shape (d,)
        The record asked about.
    beta, radius, metric
        The anomaly model; ``metric="gower"`` needs public ranges and hence a card.
    k, epsilon
        See :class:`whitecrow.Identify`; with ``k >= beta`` this is the optimal mechanism under
        differential privacy.
    rng : Source, optional
        The randomness; the operating system's by default.

    Examples
    --------
    >>> identify([[0.0], [0.1], [9.0]], [9.0], beta=1, radius=1, k=1, epsilon=100)
    True
    """
    if rng is not None and not isinstance(rng, Source):
        raise invalid("identify", "rng", "a Source such as hazmat.seeded(1)", type(rng).__name__)
    values = np.atleast_2d(np.asarray(data, dtype=np.float64))
    place = np.atleast_1d(np.asarray(record, dtype=np.float64))
    question = Identify(
        {f"{axis:06d}": value for axis, value in enumerate(place.tolist())},
        model=DistanceAnomaly(beta, radius, metric),
        k=k,
        epsilon=epsilon,
    )
    most = beta + error_cap(question.epsilon, question.error_floor)
    same = int(copies(values, place, most, metric)[0])
    near = same if radius == 0 else int(count_close(values, place, radius, metric, most)[0])
    return release(question, IdentifyFacts(same, near, question.epsilon), rng)

"""Privacy maps: what each record loses and gains. For the custodian's eyes only.

Under sensitive privacy the loss of a record depends on how many are near it. A map shows, for
every record of a dataset, the loss of the question about it and the accuracy of its answer
(figures 1 and 2 of Asif et al.). Both are read from the private records: a map is never released.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whitecrow.anomaly import DistanceAnomaly, law
from whitecrow.declaration import whole
from whitecrow.errors import invalid
from whitecrow.neighbours import count_all
from whitecrow.neighbours.relation import embedded
from whitecrow.place.question import FLOOR, checked_floor
from whitecrow.privacy import Facts, exact

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class PrivacyMap(Facts):
    """The map of a dataset, one entry a record.

    Parameters
    ----------
    loss : float array
        ln A_i: the most that the answer about the record tells whether one copy more or less of
        it is in the data; inf where it tells it for certain.
    accuracy : float array
        The probability of a right answer.
    anomalous : bool array
        Whether the record is an anomaly.
    covered : bool array
        Whether the promise covers the record.
    """

    loss: Floats
    accuracy: Floats
    anomalous: NDArray[np.bool_]
    covered: NDArray[np.bool_]


def privacy_map(
    data: ArrayLike,
    *,
    beta: int,
    radius: float,
    k: int,
    epsilon: object,
    metric: str = "euclidean",
    ranges: Sequence[float] = (),
    notion: str = "sensitive",
    floor: object | None = FLOOR,
    tight: bool = True,
) -> PrivacyMap:
    """Compute loss and accuracy of ``identify`` for every record of a dataset.

    Parameters
    ----------
    data : array of shape (n, d)
        The records.
    beta, radius, metric, ranges, k, epsilon, notion
        The question, as in :class:`whitecrow.Identify`.
    floor : exact number or None
        The mechanism's error floor; None for the paper's mechanism, which has none.
    tight : bool
        The tighter bound (as shipped), or the paper's equation (5).

    Examples
    --------
    >>> found = privacy_map([[0.0], [0.1], [0.2], [9.0]], beta=2, radius=1, k=1, epsilon=1)
    >>> found.anomalous.tolist(), found.covered.tolist()
    ([False, False, False, True], [True, True, True, False])
    """
    model = DistanceAnomaly(beta, radius, metric)
    values = np.atleast_2d(np.asarray(data, dtype=np.float64))
    compared = embedded(values, metric) + 0.0  # -0.0 and 0.0 are one value
    _, inverse, times = np.unique(compared, axis=0, return_inverse=True, return_counts=True)
    copies = near = np.asarray(times[inverse.ravel()], dtype=np.int64)
    if model.radius > 0:
        most = None
        if floor is not None:  # one more than the mechanism counts: removals are looked at too
            step = exact(epsilon, owner="privacy_map")
            most = beta + law.error_cap(step, checked_floor(floor, "privacy_map")) + 1
        near = count_all(values, model.radius, metric, most, ranges=ranges)
        copies = np.minimum(copies, near)  # beyond the cap the law no longer looks at either
    return map_of_counts(
        copies,
        near,
        beta=beta,
        k=k,
        epsilon=epsilon,
        notion=notion,
        floor=floor,
        tight=tight,
        radius_is_zero=model.radius == 0,
    )


def map_of_counts(
    copies: NDArray[np.int64],
    neighbours: NDArray[np.int64],
    *,
    beta: int,
    k: int,
    epsilon: object,
    notion: str = "sensitive",
    floor: object | None = FLOOR,
    tight: bool = True,
    radius_is_zero: bool = False,
) -> PrivacyMap:
    """Compute a map from counts that are already known; see :func:`privacy_map`."""
    step = exact(epsilon, owner="privacy_map")
    if notion not in ("sensitive", "differential"):
        raise invalid("privacy_map", "notion", "'sensitive' or 'differential'", notion)
    reach = min(whole(k, "privacy_map", "k"), beta) if notion == "sensitive" else beta
    cap = None if floor is None else law.error_cap(step, checked_floor(floor, "privacy_map"))

    def wrong(v: int, b: int) -> float:
        bound = law.discrepancy(
            v, b, beta=beta, k=reach, radius_is_zero=radius_is_zero, tight=tight
        )
        if bound is None:
            return -math.inf
        steps = bound if cap is None else min(bound, cap)
        return -float(step * steps) - math.log1p(math.exp(-float(step)))

    pairs, back = np.unique(np.stack([copies, neighbours], axis=1), axis=0, return_inverse=True)
    losses = np.array([_loss(int(v), int(b), beta, wrong) for v, b in pairs])
    errors = np.exp(np.array([wrong(int(v), int(b)) for v, b in pairs]))
    where = back.ravel()
    covered = neighbours >= beta + 1 - reach
    return PrivacyMap(losses[where], 1.0 - errors[where], neighbours <= beta, covered)


def _loss(copies: int, neighbours: int, beta: int, wrong: Callable[[int, int], float]) -> float:
    """Return ln A_i of the paper, Section 5: against one copy more and one less."""

    def outputs(v: int, b: int) -> tuple[float, float]:
        """Return ln of the probabilities of yes and no."""
        error = wrong(v, b)
        right = math.log1p(-math.exp(error))
        return (right, error) if law.is_anomaly(v, b, beta=beta) else (error, right)

    here = outputs(copies, neighbours)
    worst = 0.0
    for other in ((copies + 1, neighbours + 1), (copies - 1, neighbours - 1)):
        for a, b in zip(here, outputs(*other), strict=True):
            worst = max(worst, 0.0 if a == b else abs(a - b))
    return worst

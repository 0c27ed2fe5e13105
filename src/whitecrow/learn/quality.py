"""How good a detector will be, guessed from public facts by a table measured on public sets.

``python -m whitecrow_research.detection --quality`` prints the table; docs/detection.md says how it
is measured. It promises nothing for other data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Quality", "expected", "worth_it"]

FEW = 12
SIZES = (300, 1000, 3000, 10_000, 30_000)
PRICES = (0.1, 1.0, 10.0)

_WARNED = -0.05
_LEVEL = -0.015

# By law and whether columns are few: a row an epsilon, a pair a size: mean ROC-AUC, and its lead
# over an Isolation Forest without privacy.
_TABLE: dict[tuple[str, bool], tuple[tuple[tuple[float, float], ...], ...]] = {
    ("gaussian", True): (
        ((0.562, -0.222), (0.636, -0.148), (0.748, -0.036), (0.796, 0.012), (0.791, 0.007)),
        ((0.729, -0.056), (0.806, 0.022), (0.820, 0.036), (0.794, 0.010), (0.807, 0.023)),
        ((0.803, 0.019), (0.814, 0.030), (0.841, 0.057), (0.805, 0.021), (0.808, 0.024)),
    ),
    ("gaussian", False): (
        ((0.597, -0.099), (0.584, -0.112), (0.679, -0.016), (0.732, 0.037), (0.751, 0.056)),
        ((0.652, -0.044), (0.686, -0.010), (0.707, 0.011), (0.738, 0.043), (0.745, 0.050)),
        ((0.697, 0.001), (0.706, 0.010), (0.708, 0.012), (0.734, 0.038), (0.744, 0.049)),
    ),
    ("laplace", True): (
        ((0.566, -0.218), (0.626, -0.158), (0.659, -0.125), (0.800, 0.016), (0.754, -0.030)),
        ((0.691, -0.093), (0.725, -0.059), (0.805, 0.021), (0.776, -0.008), (0.786, 0.002)),
        ((0.795, 0.011), (0.808, 0.024), (0.831, 0.047), (0.799, 0.015), (0.806, 0.022)),
    ),
    ("laplace", False): (
        ((0.582, -0.114), (0.605, -0.090), (0.606, -0.089), (0.713, 0.017), (0.739, 0.044)),
        ((0.625, -0.070), (0.677, -0.019), (0.667, -0.028), (0.709, 0.014), (0.730, 0.035)),
        ((0.685, -0.011), (0.682, -0.014), (0.691, -0.004), (0.721, 0.026), (0.731, 0.036)),
    ),
}


@dataclass(frozen=True)
class Quality:
    """What detectors reached on public sets of about this kind.

    Parameters
    ----------
    auc : float
        Mean ROC-AUC: the chance that an outlier scores above another record.
    lead : float
        How far that is ahead of an Isolation Forest without privacy.
    """

    auc: float
    lead: float

    @property
    def too_small(self) -> bool:
        """Whether the price is too small for so many records: far behind what is possible."""
        return self.lead < _WARNED


def expected(law: str, epsilon: float, columns: int, records: float) -> Quality:
    """Interpolate the table, in the logarithms of epsilon and of the records; ends are held.

    Parameters
    ----------
    law : {"laplace", "gaussian"}
        Pure privacy, or (epsilon, 1e-6).
    epsilon : float
    columns : int
    records : float

    Examples
    --------
    >>> expected("gaussian", 1.0, 10, 30_000).lead > expected("gaussian", 0.1, 10, 300).lead
    True
    """
    rows = _TABLE[law, columns <= FEW]
    low, part = _between(PRICES, epsilon)
    left, share = _between(SIZES, records)
    found = [
        (1 - part) * ((1 - share) * rows[low][left][kind] + share * rows[low][left + 1][kind])
        + part * ((1 - share) * rows[low + 1][left][kind] + share * rows[low + 1][left + 1][kind])
        for kind in (0, 1)
    ]
    return Quality(*found)


def worth_it(law: str, epsilon: float, columns: int) -> int | None:
    """Return from how many records on detectors were about level with an Isolation Forest."""
    for step in range(81):
        records = SIZES[0] * (SIZES[-1] / SIZES[0]) ** (step / 80)
        if expected(law, epsilon, columns, records).lead >= _LEVEL:
            return int(math.ceil(records / 100) * 100)
    return None


def _between(known: tuple[float, ...], value: float) -> tuple[int, float]:
    """Return the place before a value, and how far it is on its way to the next, by logarithms."""
    bounded = min(max(value, known[0]), known[-1])
    place = max(index for index, one in enumerate(known[:-1]) if one <= bounded)
    return place, math.log(bounded / known[place]) / math.log(known[place + 1] / known[place])

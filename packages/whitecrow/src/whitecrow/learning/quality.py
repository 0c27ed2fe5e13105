"""How good a detector will be, guessed from public facts by a table measured on public sets.

``python -m whitecrow_research.detection --quality`` prints the table; docs/detection.md says how it
is measured. It promises nothing for other data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

FEW = 12
SIZES = (300, 1000, 3000, 10_000, 30_000)
PRICES = (0.1, 1.0, 10.0)

_WARNED = -0.05
_LEVEL = -0.015

# By law and whether columns are few: a row an epsilon, a pair a size: mean ROC-AUC, and its lead
# over an Isolation Forest without privacy.
_TABLE: dict[tuple[str, bool], tuple[tuple[tuple[float, float], ...], ...]] = {
    ("gaussian", True): (
        ((0.684, -0.101), (0.677, -0.109), (0.744, -0.042), (0.753, -0.033), (0.786, 0.001)),
        ((0.721, -0.064), (0.804, 0.019), (0.823, 0.038), (0.795, 0.010), (0.810, 0.024)),
        ((0.820, 0.034), (0.823, 0.038), (0.823, 0.038), (0.801, 0.016), (0.810, 0.025)),
    ),
    ("gaussian", False): (
        ((0.512, -0.180), (0.612, -0.080), (0.672, -0.020), (0.716, 0.024), (0.747, 0.055)),
        ((0.670, -0.022), (0.706, 0.014), (0.695, 0.003), (0.724, 0.032), (0.741, 0.049)),
        ((0.697, 0.005), (0.717, 0.025), (0.707, 0.015), (0.723, 0.031), (0.741, 0.049)),
    ),
    ("laplace", True): (
        ((0.566, -0.219), (0.641, -0.145), (0.678, -0.107), (0.730, -0.055), (0.743, -0.043)),
        ((0.690, -0.096), (0.763, -0.023), (0.775, -0.011), (0.787, 0.002), (0.805, 0.020)),
        ((0.798, 0.012), (0.812, 0.027), (0.827, 0.042), (0.805, 0.019), (0.813, 0.028)),
    ),
    ("laplace", False): (
        ((0.456, -0.236), (0.565, -0.127), (0.609, -0.083), (0.667, -0.025), (0.719, 0.027)),
        ((0.577, -0.115), (0.599, -0.093), (0.670, -0.023), (0.710, 0.018), (0.730, 0.038)),
        ((0.679, -0.013), (0.688, -0.004), (0.686, -0.006), (0.708, 0.016), (0.729, 0.037)),
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

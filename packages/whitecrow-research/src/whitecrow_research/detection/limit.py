"""Which sets a slow detector runs on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """What a detector can be asked for.

    Parameters
    ----------
    columns : int
        The most columns of a set.
    seeds : int
        The most divisions of a set, where more would take hours.
    """

    columns: int
    seeds: int = 100


FEW_COLUMNS = Limit(40)
"""All pairs of columns are looked at."""

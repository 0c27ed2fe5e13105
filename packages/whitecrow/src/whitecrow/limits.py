"""How much time and memory a question may take, from public facts only.

A limit that some records reach and others do not would answer a question about them. So the limits
of a question are computed before it is charged, from the card, the question and a public bound on
the number of records, for the worst records within these bounds; and a question whose worst case is
more than the operator lends is refused when it is priced.

A question's own ``cost`` counts elementary steps (one coordinate of one pair of records compared,
one record sorted into a cell, one noise drawn); :func:`worst_case` divides by rates some 25 times
below the slowest measured on one core of a laptop (`benchmarks/`), so that a busy machine does not
reach what the records cannot. Where a step's own number has no useful bound (the balls a smooth
sensitivity looks at), the model takes many times what was seen (docs/threat-model.md, "Private
execution").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from whitecrow.errors import TooCostly, invalid

_STEPS_A_SECOND = 1e9  # coordinates of pairs compared; measured are 25 thousand million and more
_DRAWS_A_SECOND = 1e4
"""Exact noises drawn, cells released, contexts judged; measured are 200 thousand and more."""
_SLOWER = 20.0  # how many times below the slowest measured the rates above are, at the least
_START_SECONDS = 20.0  # to load kernels, or to compile them
_START_BYTES = 1 << 30
_COPIES = 8
"""How many times the records of the question are in memory at once, at the most: indexes too."""
_A_RECORD = 256  # bytes of bookkeeping for a record, a cell or a period


@dataclass(frozen=True)
class Limits:
    """Time and memory that no data within the public bounds can use up.

    Parameters
    ----------
    seconds : float, default inf
        Of one processor; infinite where nothing public bounds it.
    bytes : float, default inf
        Of working memory beside the records; infinite where nothing public bounds it.
    """

    seconds: float = math.inf
    bytes: float = math.inf

    def __post_init__(self) -> None:
        for name in ("seconds", "bytes"):
            given = getattr(self, name)
            if isinstance(given, bool) or not isinstance(given, int | float) or not given > 0:
                raise invalid("Limits", name, "a number above 0", given)

    @property
    def likely_seconds(self) -> float:
        """What the same steps take at the slowest rates that were measured."""
        return max(0.0, self.seconds - _START_SECONDS) / _SLOWER

    def within(self, lent: Limits, kind: str) -> Limits:
        """Return these limits, or refuse a question of this kind that may need more than is lent.

        It is refused from public facts alone: the same question over any records.
        """
        for what, needed, most, unit in (
            ("time", self.seconds, lent.seconds, "seconds"),
            ("memory", self.bytes, lent.bytes, "bytes"),
        ):
            if math.isfinite(needed) and needed > most:
                raise TooCostly(
                    f"This {kind} question may need {needed:.3g} {unit} for the worst records "
                    f"that the card allows, and {most:.3g} {unit} of {what} are lent to a question."
                    " Ask for fewer columns, contexts or periods, or let the custodian write a "
                    "smaller bound on the number of records (records_at_most) on the card."
                )
        return self


UNLIMITED = Limits()
"""Where the number of records has no public bound."""


def worst_case(
    steps: float, *, draws: float = 0.0, values: float = 0.0, kept: float = 0.0
) -> Limits:
    """Return limits that no computation of this size reaches.

    ``steps`` are coordinates of pairs of records compared; ``draws`` exact noises drawn, cells
    released, contexts judged; ``values`` doubles of the records held, before copies and indexes;
    ``kept`` records, cells and periods with bookkeeping of their own.
    """
    return Limits(
        seconds=_START_SECONDS + steps / _STEPS_A_SECOND + draws / _DRAWS_A_SECOND,
        bytes=_START_BYTES + 8 * _COPIES * values + _A_RECORD * kept,
    )


def in_turn(parts: Sequence[Limits], times: float = 1.0) -> Limits:
    """Return the limits of several computations in a row: times add up, memory is given back."""
    return Limits(
        seconds=_START_SECONDS + times * sum(part.seconds - _START_SECONDS for part in parts),
        bytes=max(part.bytes for part in parts),
    )


def sorting(records: int, width: int = 1) -> float:
    """Return the steps of sorting or indexing records by some columns, generously."""
    return 64.0 * records * width * (1 + math.log2(records))

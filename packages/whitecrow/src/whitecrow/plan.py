"""What a batch of questions would cost together, before any of them is asked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from whitecrow.errors import BudgetExhausted, NotAllowed
from whitecrow.privacy import rounded_up
from whitecrow.rendering import notebook
from whitecrow.terms import LINES


@dataclass(frozen=True)
class Plan:
    """The price of a batch.

    Parameters
    ----------
    questions : int
        How many were given.
    charged : int
        How many would be charged; the others were answered before, or come twice.
    price : mapping
        What the batch would add to each line of the account. Questions about places that do not
        meet share one price (spatial accounting).
    apart : Fraction
        The plain sum of epsilon over the different questions, for comparison.
    fits : bool
        Whether the budget suffices for all of them, in the given order.
    reason : str
        Why not.
    fitting : int
        How many fit, counted from the first.
    more : int
        How many more like the last would fit after them, even all about the same place; at most a
        million is counted.
    refused : mapping of int to str
        Which questions the policy refuses to whoever would ask, counted from 1, and why. The price
        is that of the others.
    """

    questions: int
    charged: int
    price: dict[str, Fraction]
    apart: Fraction
    fits: bool
    reason: str = ""
    fitting: int = 0
    more: int = 0
    refused: dict[int, str] = field(default_factory=dict)

    def refusing(self, refused: dict[int, str], others: Sequence[int]) -> Plan:
        """The plan of a batch of which this one has the ``others``, by their numbers."""
        if not refused:
            return self
        first = min([*refused, *([] if self.fits else [others[self.fitting]])])
        return replace(
            self,
            questions=len(refused) + len(others),
            fits=False,
            reason=refused.get(first, self.reason),
            fitting=first - 1,
            refused=refused,
        )

    def check(self) -> None:
        """Refuse a batch that does not fit, before any of it is asked."""
        for number, reason in self.refused.items():
            raise NotAllowed(f"None of the batch was asked. Its question {number}: {reason}")
        if not self.fits:
            raise BudgetExhausted(
                f"The batch does not fit, and none of it was asked: of its {self.questions} "
                f"questions the first {self.fitting} fit. {self.reason}"
            )

    def __str__(self) -> str:
        cost = max((self.price[line] for line in LINES if line in self.price), default=Fraction(0))
        words = (
            f"{self.questions} questions, {self.charged} to be charged. Total ε {_decimals(cost)}"
        )
        if cost < self.apart:
            words += f" ({_decimals(self.apart)} if they were added up)"
        if self.fits:
            more = f", and {self.more:,} more like the last would" if self.more else ""
            return f"{words}. They fit{more}."
        return f"{words}. The first {self.fitting} fit. {self.reason}"

    def _repr_html_(self) -> str:
        rows = [(line, rounded_up(amount)) for line, amount in self.price.items() if amount]
        return notebook(str(self), rows, head=("account", "adds") if rows else ())

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object; rationals as text."""
        price = {line: str(amount) for line, amount in self.price.items()}
        written = {**vars(self), "price": price, "apart": str(self.apart)}
        written["refused"] = {str(number): why for number, why in self.refused.items()}
        if not self.refused:
            del written["refused"]
        return written

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Plan:
        price = {line: Fraction(amount) for line, amount in data["price"].items()}
        refused = {int(number): why for number, why in data.get("refused", {}).items()}
        apart = Fraction(data["apart"])
        return cls(**{**data, "price": price, "apart": apart, "refused": refused})


def _decimals(amount: Fraction) -> str:
    """A total with two decimals, rounded up; four significant digits where that says nothing."""
    if amount < Fraction(1, 10):
        return rounded_up(amount)
    return f"{math.ceil(amount * 100) / 100:.2f}"

"""What a batch of questions would cost together, before any of them is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from whitecrow.errors import BudgetExhausted
from whitecrow.ledger import LINES, ChargeRequest, Quote
from whitecrow.privacy import ZeroConcentrated, rounded_up, text

__all__ = ["Plan"]


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
    """

    questions: int
    charged: int
    price: dict[str, Fraction]
    apart: Fraction
    fits: bool
    reason: str = ""
    fitting: int = 0

    @classmethod
    def of(cls, quote: Quote, orders: Sequence[ChargeRequest]) -> Plan:
        """Read a ledger's quote for these orders."""
        delta = quote.budget.delta
        prices = {order.digest: order.price for order in orders}.values()
        apart = sum(
            (price.epsilon for price in prices if not isinstance(price, ZeroConcentrated)),
            Fraction(0),
        )
        added = {}
        for line in LINES:
            after, before = quote.after.spent(line, delta), quote.before.spent(line, delta)
            if after is not None:
                added[line] = after - (before or Fraction(0))
        added["delta"] = quote.after.delta - quote.before.delta
        reason = "" if quote.refusal is None else str(quote.refusal)
        return cls(
            questions=len(orders),
            charged=quote.charged,
            price=added,
            apart=apart,
            fits=quote.refusal is None,
            reason=reason,
            fitting=quote.fitting,
        )

    def check(self) -> None:
        """Refuse a batch that does not fit, before any of it is asked.

        Raises
        ------
        BudgetExhausted
            It says how many of the questions fit.
        """
        if not self.fits:
            raise BudgetExhausted(
                f"The batch does not fit, and none of it was asked: of its {self.questions} "
                f"questions the first {self.fitting} fit. {self.reason}"
            )

    def __str__(self) -> str:
        cost = max((self.price[line] for line in LINES if line in self.price), default=Fraction(0))
        words = (
            f"{self.questions} questions, {self.charged} to be charged: epsilon "
            f"{rounded_up(cost)} together"
        )
        if cost < self.apart:
            words += f" ({rounded_up(self.apart)} if they all met in one place)"
        if self.fits:
            return f"{words}. They fit."
        return f"{words}. The first {self.fitting} fit. {self.reason}"

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object; rationals as text."""
        return {
            "questions": self.questions,
            "charged": self.charged,
            "price": {line: text(amount) for line, amount in self.price.items()},
            "apart": text(self.apart),
            "fits": self.fits,
            "reason": self.reason,
            "fitting": self.fitting,
        }

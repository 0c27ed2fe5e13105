"""What has been spent and what is left, in the words of the account."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from whitecrow.ledger import LINES, Account, Budget
from whitecrow.privacy import rounded_down, text

__all__ = ["Remaining", "remaining", "spent"]


@dataclass(frozen=True)
class Remaining(Mapping[str, Fraction]):
    """The largest epsilon that one more question of each notion may cost.

    A mapping from notion to an exact rational. A differential release counts on every line of the
    account, so what is left for it is the least of them; a conditional one counts only on the last.

    Parameters
    ----------
    left : mapping
        By notion; only notions that the policy allows.
    delta : Fraction
        How much delta is left.
    unbounded : tuple of str
        The lines on which the total of all releases is unbounded.
    """

    left: Mapping[str, Fraction]
    delta: Fraction = Fraction(0)
    unbounded: tuple[str, ...] = ()

    def __getitem__(self, notion: str) -> Fraction:
        return self.left[notion]

    def __iter__(self) -> Iterator[str]:
        return iter(self.left)

    def __len__(self) -> int:
        return len(self.left)

    def __str__(self) -> str:
        words = ", ".join(f"{notion} {rounded_down(left)}" for notion, left in self.left.items())
        if self.delta:
            words += f", delta {rounded_down(self.delta)}"
        if self.unbounded:
            words += f" (the {' and the '.join(self.unbounded)} total is unbounded)"
        return words

    def to_json(self) -> dict[str, str]:
        """Return a plain JSON object; rationals as text."""
        found = {notion: text(left) for notion, left in self.left.items()}
        return {**found, "delta": text(self.delta)} if self.delta else found


def remaining(accounts: list[tuple[Account, Budget]], notions: tuple[str, ...]) -> Remaining:
    """What every cap leaves, the tightest ruling."""
    left: dict[str, Fraction] = {}
    least: Fraction | None = None
    for line in reversed(LINES):  # what counts on a line counts on all that follow
        for account, budget in accounts:
            more = _left(account, budget, line)
            least = more if least is None or more < least else least
        if line in notions and least is not None:
            left[line] = least
    delta = min(budget.delta - account.delta for account, budget in accounts)
    dataset = accounts[0][0]
    return Remaining(
        dict(reversed(left.items())),
        max(Fraction(0), delta),
        tuple(line for line in LINES if dataset.unbounded(line)),
    )


def _left(account: Account, budget: Budget, line: str) -> Fraction:
    amount = account.spent(line, budget.delta)
    return Fraction(0) if amount is None else max(Fraction(0), budget.cap(line) - amount)


def spent(account: Account, budget: Budget) -> dict[str, Any]:
    """What an account has spent, by line, as JSON."""
    found = {}
    for line in LINES:
        amount = account.spent(line, budget.delta)
        broken = account.unbounded(line) or amount is None
        found[line] = "unbounded" if broken else text(amount or Fraction(0))
    if account.delta:
        found["delta"] = text(account.delta)
    return found

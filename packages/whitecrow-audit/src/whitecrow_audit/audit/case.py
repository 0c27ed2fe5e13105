"""What is audited: a mechanism, its claim, a pair of neighbours, the draws, and the exact laws."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeVar

from whitecrow.privacy import Guarantee, ZeroConcentrated
from whitecrow_audit.audit.bounds import Claim, Loss, Rho
from whitecrow_audit.audit.tester import Law, contrast, visible

Draw = Callable[[], Hashable]
"""One answer of the mechanism, drawn now, as the tester looks at it."""

Laws = tuple[Law, Law]
T = TypeVar("T")

LEAK = Fraction(11, 10)
"""A mechanism that leaks this many times its claim must be caught."""


@dataclass(frozen=True)
class Case:
    """One row of the audit."""

    # mechanism, name: What is audited, and how it is asked.
    mechanism: str
    name: str
    claim: Claim  # what the price promises
    pair: str  # the neighbouring databases
    # The exact laws of the answers on both, of the mechanism run with a multiple of its budget.
    laws: Callable[[Fraction], Laws] = field(repr=False)
    # Returns a way to draw an answer from each database.
    draws: Callable[[], tuple[Draw, Draw]] = field(repr=False)
    # Asks a curator with an account of its own: as ``draws``, slower, by the whole way.
    asks: Callable[[], tuple[Draw, Draw]] | None = field(default=None, repr=False)
    most: int = 20_000  # the most draws of each database that a quick run can afford
    full: int = 0  # the most that the full study can afford; eight times ``most`` unless given
    mutant: bool = False  # true for a mutant, which must be found to violate its claim
    note: str = ""  # anything a reader should know
    # The largest loss of any pair of the universe, by the exact law of whole answers; that of
    # ``laws`` unless given.
    exact: float | None = None


def claim_of(price: Guarantee) -> Claim:
    """Return what a price promises on the pairs it covers."""
    if isinstance(price, ZeroConcentrated):
        return Rho(float(price.rho))
    return Loss(float(price.epsilon), float(price.delta))


def worst_pair(
    pairs: Iterable[T],
    laws: Callable[[T, Fraction], Laws],
    claim: Claim,
    *,
    near: float = 0.99,
) -> tuple[T, float]:
    """Return the pair on which a leak is easiest to see, and the largest loss of the universe.

    Of the pairs with at least ``near`` of the largest loss, the one on which a mechanism that
    leaks a tenth more is told from this one by the fewest draws.
    """
    found = [(visible(laws(pair, Fraction(1)), claim), pair) for pair in pairs]
    worst = max(loss for loss, _ in found)
    close = [(loss, pair) for loss, pair in found if loss >= near * worst]
    clearest = max(close, key=lambda each: contrast(laws(each[1], LEAK), claim, each[0]))
    return clearest[1], worst


def broken_pair(
    pairs: Iterable[T], laws: Callable[[T, Fraction], Laws], claim: Claim
) -> tuple[T, float]:
    """Return the pair on which the fewest draws show that a mutant exceeds its claim."""
    whole = Fraction(1)
    clearest = max(pairs, key=lambda pair: contrast(laws(pair, whole), claim, claim.value))
    return clearest, visible(laws(clearest, whole), claim)


def viewed(law: Law, view: Callable[[Any], Hashable]) -> Law:
    """Return the law of a coarser view of the same answers."""
    found: dict[Hashable, float] = defaultdict(float)
    for answer, chance in law.items():
        found[view(answer)] += chance
    return dict(found)


def clipped(low: int, high: int) -> Callable[[Any], Hashable]:
    """Return the view of a number that is not told apart below ``low`` or above ``high``."""
    ends = {"below": low, "above": high}
    return lambda number: max(low, min(high, ends.get(number, number)))


def doubled(case: Case) -> Case:
    """Return the mutant of a case that answers twice at the price of one."""

    def laws(factor: Fraction) -> Laws:
        one, two = map(_twice, case.laws(factor))
        return one, two

    def draws() -> tuple[Draw, Draw]:
        one, two = map(_both, case.draws())
        return one, two

    name = f"mutant: {case.name}, two answers at the price of one"
    return replace(case, name=name, laws=laws, draws=draws, asks=None, mutant=True, exact=None)


def _twice(law: Law) -> Law:
    return {(a, b): p * q for a, p in law.items() for b, q in law.items()}


def _both(draw: Draw) -> Draw:
    return lambda: (draw(), draw())

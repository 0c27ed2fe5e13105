"""What is audited: a mechanism, its claim, a pair of neighbours, the draws, and the exact laws."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, Protocol, TypeVar

from whitecrow.privacy import Guarantee, ZeroConcentrated
from whitecrow_audit.audit.bounds import Claim, Loss, Rho
from whitecrow_audit.audit.tester import Law, contrast, visible

Draw = Callable[[], Hashable]
"""One answer of the mechanism, drawn now, as the tester looks at it."""

Laws = tuple[Law, Law]
S = TypeVar("S")
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
    note: str = ""  # anything a reader should know
    # The largest loss of any pair of the universe, by the exact law of whole answers; that of
    # ``laws`` unless given.
    exact: float | None = None

    @property
    def mutant(self) -> bool:
        """Whether it is one: it must be found to violate its claim, and no curator asks it."""
        return self.name.startswith("mutant: ")


def both(of: Callable[[T], S], pair: tuple[T, T]) -> tuple[S, S]:
    """Return a function of both databases."""
    return of(pair[0]), of(pair[1])


@dataclass(frozen=True)
class Sampler:
    """A mechanism that no curator asks: who draws from a pair of databases, at what claim."""

    mechanism: str
    claim: Claim
    draws: Callable[[], tuple[Draw, Draw]]

    def case(self, name: str, pair: str, laws: Callable[[Fraction], Laws], **more: Any) -> Case:
        """Return the case of this pair."""
        return Case(self.mechanism, name, self.claim, pair, laws, self.draws, **more)


class Auditable(Protocol):
    """What has a claim and makes cases: a question that is ``Asked``, or a :class:`Sampler`."""

    @property
    def claim(self) -> Claim:
        """What is claimed of it."""

    def case(self, name: str, pair: str, laws: Callable[[Fraction], Laws], **more: Any) -> Case:
        """Return the case of this pair."""


def claim_of(price: Guarantee) -> Claim:
    """Return what a price promises on the pairs it covers."""
    if isinstance(price, ZeroConcentrated):
        return Rho(float(price.rho))
    return Loss(float(price.epsilon), float(price.delta))


def worst_case(
    name: str,
    pairs: Iterable[T],
    laws: Callable[[T, Fraction], Laws],
    asked: Callable[[T], Auditable],
    *,
    where: Callable[[T], str] = str,
    near: float = 0.99,
    **more: Any,
) -> Case:
    """Return the case of the pair on which a leak is easiest to see.

    Of the pairs with at least ``near`` of the universe's largest loss, the one on which a mechanism
    that leaks a tenth more is told from this one by the fewest draws; of a mutant, the one on which
    the fewest draws show that it exceeds its claim.
    """
    listed, whole = list(pairs), Fraction(1)
    claim = asked(listed[0]).claim
    if name.startswith("mutant: "):
        pair = max(listed, key=lambda each: contrast(laws(each, whole), claim, claim.value))
        worst = visible(laws(pair, whole), claim)
    else:
        losses = [visible(laws(each, whole), claim) for each in listed]
        worst = max(losses)
        _, pair = max(
            (
                (contrast(laws(each, LEAK), claim, loss), each)
                for each, loss in zip(listed, losses, strict=True)
                if loss >= near * worst
            ),
            key=lambda clear: clear[0],
        )
    return asked(pair).case(name, where(pair), partial(laws, pair), **{"exact": worst, **more})


def viewed(law: Law, view: Callable[[Any], Hashable]) -> Law:
    """Return the law of a coarser view of the same answers."""
    chances: dict[Hashable, float] = defaultdict(float)
    for answer, chance in law.items():
        chances[view(answer)] += chance
    return dict(chances)


def clipped(low: int, high: int) -> Callable[[Any], Hashable]:
    """Return the view of a number that is not told apart below ``low`` or above ``high``."""
    ends = {"below": low, "above": high}
    return lambda number: max(low, min(high, ends.get(number, number)))


def doubled(case: Case) -> Case:
    """Return the mutant of a case that answers twice at the price of one."""

    def twice(law: Law) -> Law:
        return {(a, b): p * q for a, p in law.items() for b, q in law.items()}

    def again(draw: Draw) -> Draw:
        return lambda: (draw(), draw())

    return replace(
        case,
        name=f"mutant: {case.name}, two answers at the price of one",
        laws=lambda factor: both(twice, case.laws(factor)),
        draws=lambda: both(again, case.draws()),
        exact=None,
    )

"""Running the audit: how many draws, what they prove, what they would have shown."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from whitecrow.audit.case import LEAK, Case, Draw, Laws
from whitecrow.audit.tester import (
    CONFIRM,
    Counts,
    Event,
    bound,
    choose,
    needed,
    power,
    visible,
)

__all__ = ["CONFIDENCE", "Audit", "Finding", "audited", "run"]

CONFIDENCE = 0.999
"""With this confidence every lower bound of a table is right."""

ENOUGH = 0.8
"""A test with less power than this has not tested hard enough."""

TIGHT = 0.99
"""A mechanism that loses this part of its claim somewhere is called tight."""

_ROUNDING = 1e-9
_CHOOSING = 3  # one draw for choosing the event to this many for testing it
_FEWEST = 600
_SPARE = 1.15  # the estimate of what is needed is a first-order one
_PATH = 1e-9  # chance that an answer asked of a curator is wrongly said to have another law

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Finding:
    """What was found on one row.

    Parameters
    ----------
    case : Case
        What was audited.
    measured : float
        The loss proved at the table's confidence.
    exact : float
        The loss of the pair by the mechanism's exact law, as far as the tester's view shows it.
    draws : int
        How many answers were drawn from each database, in all.
    asked : int
        How many more were asked of a curator, the whole way.
    caught : float
        The probability that a leak of a tenth more than ``exact`` would have been reported (for a
        broken twin: that the twin is).
    fine : float
        The same for a leak of three hundredths more; NaN in a quick run.
    confirmed : bool
        Whether fresh draws repeated a bound above what is allowed, or an answer came that the
        exact law does not know.
    same_path : bool
        Whether the answers asked of a curator agree with the law.
    seconds : float
        How long it took.
    """

    case: Case
    measured: float
    exact: float
    draws: int
    asked: int
    caught: float
    fine: float
    confirmed: bool
    same_path: bool
    seconds: float

    @property
    def verdict(self) -> str:
        """What to think of it, in the words of the table."""
        above = self.measured > self.case.claim.value * (1 + _ROUNDING)
        if above and self.confirmed:
            return "violated"
        if self.case.twin:
            return "NOT CAUGHT"
        if not self.same_path:
            return "asked otherwise"
        if self.confirmed:
            return "not its law"
        if self.caught < ENOUGH:
            return "not tested hard enough"
        return "not violated"

    @property
    def ok(self) -> bool:
        """Whether it is as it should be: a twin caught, a shipped mechanism not found broken."""
        if self.case.twin:
            return self.verdict == "violated"
        return self.verdict in ("not violated", "not tested hard enough")

    @property
    def tight(self) -> bool:
        """Whether the pair loses about all that the claim allows."""
        return self.exact >= TIGHT * self.case.claim.value


@dataclass(frozen=True)
class Audit:
    """The whole table."""

    findings: tuple[Finding, ...]
    quick: bool

    @property
    def ok(self) -> bool:
        """Whether nothing is violated and every twin was caught."""
        return all(finding.ok for finding in self.findings)


def run(cases: Sequence[Case], *, quick: bool = True, progress: Progress | None = None) -> Audit:
    """Audit cases, at :data:`CONFIDENCE` for all of them together.

    There is no seed: answers are drawn with the operating system's randomness, as shipped.
    """
    alpha = (1 - CONFIDENCE) / max(1, len(cases))
    found = []
    for done, case in enumerate(cases):
        if progress is not None:
            progress(done, len(cases), f"auditing {len(cases)} rows")
        found.append(audited(case, alpha, quick=quick))
    if progress is not None:
        progress(len(cases), len(cases), f"auditing {len(cases)} rows")
    return Audit(tuple(found), quick)


def audited(case: Case, alpha: float, *, quick: bool = True) -> Finding:
    """Audit one case at a false-alarm rate of ``alpha``, a thousandth of it for the verdict."""
    start = time.perf_counter()
    claim, laws = case.claim, case.laws(Fraction(1))
    exact = visible(laws, claim)
    reference = claim.value if case.twin else min(exact, claim.value)
    leaking = laws if case.twin else case.laws(LEAK)
    tries = _tries(case, needed(leaking, claim, reference, alpha), quick)
    choosing = max(_FEWEST // _CHOOSING, tries // _CHOOSING)
    draws = case.draws()
    event = choose(_sample(draws, choosing), claim, tries, alpha)
    tested = _sample(draws, tries)
    measured = bound(event, tested, claim, alpha)
    allowed = reference * (1 + _ROUNDING)
    confirmed = _strange(tested, laws)
    if measured > allowed:
        confirmed |= bound(event, _sample(draws, tries), claim, CONFIRM) > allowed
    asked, same = (0, True) if case.asks is None else _asked(case, event, laws, quick)
    sizes = (choosing, tries)
    caught = power(leaking, claim, reference, tries=sizes, alpha=alpha)
    fine = math.nan
    if not quick and not case.twin:
        slightly = case.laws(Fraction(103, 100))
        fine = power(slightly, claim, reference, tries=sizes, alpha=alpha)
    drawn = choosing + tries * (2 if measured > allowed else 1)
    return Finding(
        case,
        measured,
        exact,
        drawn,
        asked,
        caught,
        fine,
        confirmed,
        same,
        time.perf_counter() - start,
    )


def _tries(case: Case, wanted: int, quick: bool) -> int:
    """Return how many draws test the event: what is needed, within what can be afforded."""
    wanted = max(_FEWEST, int(wanted * _SPARE))
    if case.twin:
        return min(2 * wanted, case.most)
    return min(wanted, case.most) if quick else min(12 * wanted, 8 * case.most)


def _sample(draws: tuple[Draw, Draw], number: int) -> tuple[Counts, Counts]:
    one, two = (_tally(draw() for _ in range(number)) for draw in draws)
    return one, two


def _tally(answers: Iterable[Hashable]) -> Counts:
    return Counter(answers)


def _strange(counts: tuple[Counts, Counts], laws: Laws) -> bool:
    """Say whether an answer came that the exact law does not know."""
    return any(answer not in law for side, law in zip(counts, laws, strict=True) for answer in side)


def _asked(case: Case, event: Event, laws: Laws, quick: bool) -> tuple[int, bool]:
    """Ask a curator, and compare how often the event comes up with its exact probability."""
    from scipy.special import bdtr, bdtrc

    assert case.asks is not None
    number = 3 if quick else 100
    answers = _sample(case.asks(), number)
    same = not _strange(answers, laws)
    for counts, law in zip(answers, laws, strict=True):
        chance = min(1.0, sum(law.get(answer, 0.0) for answer in event.answers))
        seen = event.seen(counts)
        more = 1.0 if seen == 0 else bdtrc(seen - 1.0, number, chance)
        same &= bool(min(more, bdtr(float(seen), number, chance)) > _PATH)
    return number, same

"""Running the audit: how many draws, what they prove, what they would have shown."""

from __future__ import annotations

import importlib
import math
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from multiprocessing import get_context
from typing import Any

from whitecrow_audit.audit.bounds import Claim
from whitecrow_audit.audit.case import LEAK, Case, Draw, Laws
from whitecrow_audit.audit.replay import Replay
from whitecrow_audit.audit.tester import (
    CONFIRM,
    Counts,
    Law,
    Tries,
    bound,
    choose,
    needed,
    power,
    visible,
)

CONFIDENCE = 0.999
"""With this confidence the lower bounds of all mechanisms of a table are right together."""

ENOUGH = 0.8
"""A test with less power than this has not tested hard enough."""

TIGHT = 0.99
"""A mechanism that loses this part of its claim somewhere is called tight."""

ATTEMPTS = 3
"""A mutant is missed only if this many attempts miss it."""

STRANGE = 1e-10
"""The chance that draws from a law are said not to be."""

_ROUNDING = 1e-9
_CHOOSING = 5  # one draw for choosing the event to this many for testing it
_FEWEST, _FEWEST_OF_MUTANT = 300, 100  # what a mutant gets wrong is large
_SPARE = 1.15  # more than two answers: the event is not always the best one

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Finding:
    """The result of one row."""

    case: Case  # what was audited
    measured: float  # the loss proved at the table's confidence
    # What fresh draws prove of a first bound above the reference; 0 where there was none.
    again: float
    # The loss that the pair shows through the tester's view, by the exact law: what a leak is
    # measured against (of a mutant: its claim).
    reference: float
    exact: float  # the largest loss of any pair of the universe, by the exact law of whole answers
    draws: int  # how many answers were drawn from both databases, in all
    asked: int  # how many more were asked of a curator of each, the whole way
    # The probability that a leak of a tenth more would have been reported (for a mutant: that one
    # attempt, of three, reports it).
    caught: float
    fine: float  # the same for a leak of three hundredths more; NaN in a quick run
    lawful: bool  # whether all answers came as often as the exact law says
    same_path: bool  # whether those asked of a curator did, too
    seconds: float  # how long it took

    @property
    def verdict(self) -> str:
        """The verdict, in the words of the table."""
        proved = min(self.measured, self.again)
        if _above(proved, self.case.claim.value):
            return "violated"
        if self.case.mutant:
            return "NOT CAUGHT"
        if _above(proved, self.reference) or not self.lawful:
            return "not its law"
        if not self.same_path:
            return "asked otherwise"
        if self.caught < ENOUGH:
            return "not tested hard enough"
        return "not violated"

    @property
    def ok(self) -> bool:
        """Whether it is as it should be: a mutant caught, a shipped mechanism not found broken."""
        if self.case.mutant:
            return self.verdict == "violated"
        return self.verdict in ("not violated", "not tested hard enough")

    @property
    def tight(self) -> bool:
        """Whether the pair loses about all that the claim allows."""
        return self.exact >= TIGHT * self.case.claim.value


@dataclass(frozen=True)
class Audit:
    """The whole table, and the result of the replay."""

    findings: tuple[Finding, ...]
    quick: bool
    replay: Replay | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing is violated and every mutant was caught."""
        return all(f.ok for f in self.findings) and (self.replay is None or self.replay.ok)


def run(
    cases: Sequence[Case],
    *,
    quick: bool = True,
    progress: Progress | None = None,
    each: Callable[[float], Iterable[Finding]] | None = None,
) -> Audit:
    """Audit cases, at :data:`CONFIDENCE` for all of them together.

    There is no seed: answers are drawn with the operating system's randomness, as shipped.
    ``each`` audits them elsewhere, in their order, at the false-alarm rate that it is given.
    """
    alpha = (1 - CONFIDENCE) / max(1, len(cases))
    drawn = (audited(case, alpha, quick=quick) for case in cases) if each is None else each(alpha)
    results = []
    if progress is not None:
        progress(0, len(cases), f"auditing {len(cases)} rows")
    for finding in drawn:
        results.append(finding)
        if progress is not None:
            progress(len(results), len(cases), f"auditing {len(cases)} rows")
    return Audit(tuple(results), quick)


@dataclass(frozen=True)
class Design:
    """How a case is tested, from exact laws alone: nothing has been drawn yet."""

    # laws, leaking: Of the mechanism, and of one that leaks a tenth more (of a mutant: its own).
    laws: Laws
    leaking: Laws
    # What a bound is held against: the loss that the pair shows through the tester's view (of a
    # mutant: its claim).
    reference: float
    choosing: int  # draws of each database that choose the event
    tries: Tries  # draws that test it
    alpha: float  # the false-alarm rate of the first test

    @classmethod
    def of(cls, case: Case, alpha: float, *, quick: bool = True) -> Design:
        """Return the design of a case at a false-alarm rate."""
        claim, laws = case.claim, case.laws(Fraction(1))
        reference = claim.value if case.mutant else min(visible(laws, claim), claim.value)
        leaking = laws if case.mutant else case.laws(LEAK)
        wanted = needed(leaking, claim, reference, alpha)
        tries = _tries(case, wanted, quick, binary=len({*laws[0], *laws[1]}) == 2)
        choosing = max(_fewest(case), tries.low // (2 if case.mutant else _CHOOSING))
        return cls(laws, leaking, reference, choosing, tries, alpha)

    def power(self, claim: Claim, leaking: Laws | None = None) -> float:
        """Return the probability that a leak is reported."""
        return power(
            leaking or self.leaking,
            claim,
            self.reference,
            choosing=self.choosing,
            tries=self.tries,
            alpha=self.alpha,
        )


def audited(case: Case, alpha: float, *, quick: bool = True) -> Finding:
    """Audit one case at a false-alarm rate of ``alpha``, a thousandth of it for the verdict."""
    start = time.perf_counter()
    claim, design = case.claim, Design.of(case, alpha, quick=quick)
    draws, choosing, drawn = case.draws(), design.choosing, 0
    for _ in range(ATTEMPTS if case.mutant else 1):
        event = choose(_sample(draws, (choosing, choosing)), claim, alpha)
        numbers = (design.tries.high, design.tries.low)
        numbers = numbers if event.forward else numbers[::-1]
        tested = _sample(draws, numbers)
        drawn += 2 * choosing + sum(numbers)
        measured, again = bound(event, tested, claim, alpha), 0.0
        if _above(measured, design.reference):
            again = bound(event, _sample(draws, numbers), claim, CONFIRM)
            drawn += sum(numbers)
        if _above(again, claim.value):
            break
    asked, same = _asked(case, design.laws, quick)
    fine = math.nan
    if not quick and not case.mutant:
        fine = design.power(claim, case.laws(Fraction(103, 100)))
    return Finding(
        case,
        measured,
        again,
        design.reference,
        visible(design.laws, claim) if case.exact is None else case.exact,
        drawn,
        asked,
        design.power(claim),
        fine,
        all(map(_fits, tested, design.laws)),
        same,
        time.perf_counter() - start,
    )


def _fewest(case: Case) -> int:
    return _FEWEST_OF_MUTANT if case.mutant else _FEWEST


def _above(bound: float, loss: float) -> bool:
    return bound > loss * (1 + _ROUNDING)


def _tries(case: Case, wanted: Tries, quick: bool, *, binary: bool) -> Tries:
    """Return how many draws test the event: what is needed, within what can be afforded."""
    factor, most = (2.0, case.most) if case.mutant else (1.0, case.most)
    if not quick and not case.mutant:
        factor, most = 8.0, case.full or 10 * case.most
    tries = wanted.times(max(factor * (1 if binary else _SPARE), _fewest(case) / wanted.high))
    if tries.low <= most:
        return tries
    # Where a quick run cannot test hard enough, it says so and saves its time for other rows.
    return tries.times(most / tries.low / (5 if quick and wanted.low > most else 1))


def _sample(draws: tuple[Draw, Draw], numbers: tuple[int, int]) -> tuple[Counts, Counts]:
    first, second = (
        _tally(draw() for _ in range(number)) for draw, number in zip(draws, numbers, strict=True)
    )
    return first, second


def _tally(answers: Iterable[Hashable]) -> Counts:
    return Counter(answers)


def _fits(counts: Counts, law: Law) -> bool:
    """Say whether every answer came about as often as the exact law says (exact binomial tails).

    A false alarm has a chance below :data:`STRANGE`.
    """
    from scipy.special import bdtr, bdtrc

    tries, level = sum(counts.values()), STRANGE / (2 * len(law))
    if any(answer not in law for answer in counts):
        return False
    for answer, chance in law.items():
        seen = counts.get(answer, 0)
        fewer = bdtr(float(seen), tries, min(1.0, chance))
        more = 1.0 if seen == 0 else bdtrc(seen - 1.0, tries, min(1.0, chance))
        if min(fewer, more) < level:
            return False
    return True


def _asked(case: Case, laws: Laws, quick: bool) -> tuple[int, bool]:
    """Ask a curator, and compare how often each answer comes with its exact probability."""
    if case.asks is None or case.mutant:
        return 0, True
    number = 3 if quick else 100
    answers = _sample(case.asks(), (number, number))
    return number, all(map(_fits, answers, laws))


def audited_by(
    jobs: int, names: Sequence[str], cases: Sequence[Case], quick: bool, alpha: float
) -> Iterator[Finding]:
    """Audit the cases of these modules in so many processes; yield what was found, in order.

    A case holds functions and cannot travel, so each process makes all cases for itself and is told
    the number of the one to audit; the finding comes back without its case.
    """
    work = partial(_audited, tuple(names), alpha, quick)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for case, finding in zip(cases, pool.map(work, range(len(cases))), strict=True):
            yield replace(finding, case=case)


def _audited(names: tuple[str, ...], alpha: float, quick: bool, number: int) -> Finding:
    nothing: Any = None
    return replace(audited(_cases(names)[number], alpha, quick=quick), case=nothing)


@cache
def _cases(names: tuple[str, ...]) -> list[Case]:
    modules = (importlib.import_module(f"whitecrow_audit.audit.{name}") for name in names)
    return [case for module in modules for case in module.cases()]

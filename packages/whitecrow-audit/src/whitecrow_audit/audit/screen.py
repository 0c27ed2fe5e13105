"""Screen, audited: yes or no about a new record, on edges of the plain graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.anomaly.law import discrepancy, flip, flip_probability
from whitecrow.place.mechanism import PlaceFacts
from whitecrow.screen import Screen
from whitecrow_audit.audit.case import Case, Laws, both, doubled, worst_case
from whitecrow_audit.audit.identify import CARD, Step, places
from whitecrow_audit.audit.shipped import Asked
from whitecrow_audit.audit.tester import Law
from whitecrow_audit.verify.sensitive import line

EPSILON = Fraction(2)
BETA = 3


def _question(place: int, epsilon: Fraction = EPSILON) -> Screen:
    return Screen({"x": place}, model=DistanceAnomaly(BETA, 1), epsilon=epsilon)


def _laws(step: Step, factor: Fraction) -> Laws:
    question = _question(step.place, EPSILON * factor)
    return both(lambda seen: _yes(seen[1], question.wrong(seen[1])), (step.before, step.after))


def _yes(neighbours: int, wrong: float) -> Law:
    yes = 1 - wrong if neighbours < BETA else wrong
    return {True: yes, False: 1 - yes}


def _case(name: str, laws: Callable[[Step, Fraction], Laws], **broken: Any) -> Case:
    def asked(step: Step) -> Asked:
        return Asked(_question(step.place), CARD, step.records, **broken)

    return worst_case(name, places(line(3, 1, 4), 1), laws, asked)


# A mutant: the distance of ``identify``, for which the record is a member


def _member(neighbours: int) -> int:
    distance = discrepancy(0, neighbours, beta=BETA, k=1)
    assert distance is not None
    return distance


def _member_laws(step: Step, factor: Fraction) -> Laws:
    def law(seen: tuple[int, int]) -> Law:
        return _yes(seen[1], flip_probability(_member(seen[1]), EPSILON * factor))

    return both(law, (step.before, step.after))


def _member_release(question: Screen, facts: PlaceFacts, source: None) -> bool:
    truth, bound = facts.exact_truth, facts.exact_bound
    assert bound is not None
    neighbours = BETA - bound if truth else BETA + bound - 1
    return truth != flip(_member(neighbours), facts.step, source)


def cases() -> Iterator[Case]:
    yield (case := _case("as asked", _laws))
    yield doubled(case)
    yield _case("mutant: the distance of identify", _member_laws, release=_member_release)

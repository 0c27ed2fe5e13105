"""Screen, audited: yes or no about a new record, on edges of the plain graph."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.anomaly.law import discrepancy, flip, flip_probability
from whitecrow.place.mechanism import PlaceFacts
from whitecrow.screen import Screen
from whitecrow_audit.audit.case import Case, Laws, broken_pair, doubled, worst_pair
from whitecrow_audit.audit.identify import CARD, Step, places
from whitecrow_audit.audit.shipped import Asked
from whitecrow_audit.verify.sensitive import line

EPSILON = Fraction(2)
BETA = 3


def _question(place: int, epsilon: Fraction = EPSILON) -> Screen:
    return Screen({"x": place}, model=DistanceAnomaly(BETA, 1), epsilon=epsilon)


def _laws(step: Step, factor: Fraction) -> Laws:
    question = _question(step.place, EPSILON * factor)
    one, two = (
        _yes(neighbours, question.wrong(neighbours)) for _, neighbours in (step.before, step.after)
    )
    return one, two


def _yes(neighbours: int, wrong: float) -> dict[bool, float]:
    yes = 1 - wrong if neighbours < BETA else wrong
    return {True: yes, False: 1 - yes}


def _shipped() -> Case:
    claim = Asked(_question(0), CARD, ({"x": []}, {"x": [0]})).claim
    step, worst = worst_pair(places(line(3, 1, 4), 1), _laws, claim)
    asked = Asked(_question(step.place), CARD, step.records)
    laws = partial(_laws, step)
    return Case("screen", "as asked", claim, str(step), laws, asked.draws, asked.asks, exact=worst)


# A mutant: the distance of ``identify``, for which the record is a member


def _member(neighbours: int) -> int:
    found = discrepancy(0, neighbours, beta=BETA, k=1)
    assert found is not None
    return found


def _member_laws(step: Step, factor: Fraction) -> Laws:
    one, two = (
        _yes(neighbours, flip_probability(_member(neighbours), EPSILON * factor))
        for _, neighbours in (step.before, step.after)
    )
    return one, two


def _member_release(question: Screen, facts: PlaceFacts, source: None) -> bool:
    truth, bound = facts.exact_truth, facts.exact_bound
    assert bound is not None
    neighbours = BETA - bound if truth else BETA + bound - 1
    return truth != flip(_member(neighbours), facts.step, source)


def _mutant() -> Case:
    claim = Asked(_question(0), CARD, ({"x": []}, {"x": [0]})).claim
    step, _ = broken_pair(places(line(3, 1, 4), 1), _member_laws, claim)
    asked = Asked(_question(step.place), CARD, step.records, release=_member_release)
    name = "mutant: the distance of identify"
    laws = partial(_member_laws, step)
    return Case("screen", name, claim, str(step), laws, asked.draws, mutant=True)


def cases() -> Iterator[Case]:
    yield (case := _shipped())
    yield doubled(case)
    yield _mutant()

"""What the audit says of mechanisms that are honest, leak, follow another law, or are untested."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction

import pytest

from whitecrow_audit.audit.bounds import Loss
from whitecrow_audit.audit.case import Case, doubled
from whitecrow_audit.audit.identify import cases as identify_cases
from whitecrow_audit.audit.run import Audit, audited, run

ALPHA = 1e-3 / 70


def response(epsilon: float):
    right = 1 / (1 + math.exp(-epsilon))
    return {True: right, False: 1 - right}, {True: 1 - right, False: right}


def case(
    real: float, *, claim: float = 2.0, said: float | None = None, name: str = "response", **given
) -> Case:
    """Randomized response that really has one epsilon and is said to have the law of another."""
    source = random.Random(11)
    laws: Callable[[Fraction], object] = lambda factor: response(  # noqa: E731
        float(factor) * (real if said is None else said)
    )
    one, two = response(real)
    draws = (lambda: source.random() < one[True], lambda: source.random() < two[True])
    return Case("toy", name, Loss(claim), "x ~ y", laws, lambda: draws, **given)  # type: ignore[arg-type]


def test_an_honest_mechanism_is_not_violated():
    found = audited(case(2.0), ALPHA)
    assert found.verdict == "not violated"
    assert found.ok
    assert found.tight
    assert 1.7 < found.measured < 2.0
    assert found.caught > 0.8


def test_a_mechanism_that_leaks_is_violated():
    # A quarter more: the chance of missing it is below 1e-9.
    found = audited(case(2.5, said=2.0, most=40_000), ALPHA)
    assert found.verdict == "violated"
    assert not found.ok
    assert found.again > 2.0


def test_a_mechanism_far_below_its_claim_is_told_from_its_law():
    found = audited(case(1.5, said=1.0, claim=4.0), ALPHA)
    assert found.verdict == "not its law"
    assert not found.ok
    quieter = audited(case(0.5, said=1.0, claim=4.0), ALPHA)
    assert quieter.measured < 1.0
    assert quieter.verdict == "not its law"


def test_few_draws_are_not_hard_enough():
    found = audited(case(2.0, most=500), ALPHA)
    assert found.verdict == "not tested hard enough"
    assert found.ok
    assert found.caught < 0.2


def test_answers_of_a_curator_that_follow_another_law_are_noticed():
    def asks():
        return (lambda: "something else",) * 2

    found = audited(case(2.0, asks=asks), ALPHA)
    assert found.verdict == "asked otherwise"
    assert not found.ok


def test_a_mutant_must_exceed_its_claim():
    assert audited(doubled(case(2.0)), ALPHA).verdict == "violated"
    tame = audited(case(1.0, name="mutant: tame", most=2000), ALPHA)
    assert tame.verdict == "NOT CAUGHT"
    assert not tame.ok


def test_a_real_mechanism_run_at_a_higher_price_than_it_charges_is_caught():
    """Identify at 2.5 while 2 is charged: the audit's draws are all it has to go by."""
    honest = next(identify_cases())
    right = 1 / (1 + math.exp(-2.5))

    def draws():
        from whitecrow.anomaly.law import flip

        return tuple(
            lambda truth=truth: truth != flip(1, Fraction(5, 2), None) for truth in (False, True)
        )

    leaking = Case(**{**vars(honest), "draws": draws, "most": 40_000})
    assert honest.laws(Fraction(5, 4))[1][True] == pytest.approx(right)
    assert audited(leaking, ALPHA).verdict == "violated"


def test_the_whole_is_as_good_as_its_worst_row():
    assert run([case(2.0)]).ok
    assert not run([case(2.0), case(1.0, name="mutant: tame", most=2000)]).ok
    assert Audit((), quick=True).ok


def test_the_confidence_is_shared_by_all_rows():
    """The same draws prove less in a longer table."""
    alone = audited(case(2.0), 1e-3).measured
    among_many = audited(case(2.0), 1e-9).measured
    assert among_many < alone + 0.15

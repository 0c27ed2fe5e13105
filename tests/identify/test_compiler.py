"""The compiler of Construction 2 (a reconstruction)."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from whitecrow import hazmat
from whitecrow.anomaly import DistanceAnomaly, KernelAnomaly
from whitecrow.anomaly.law import flip_probability
from whitecrow.errors import InvalidInput
from whitecrow.hazmat import Base, compiled, optimal_base, randomized_response
from whitecrow.identify.compiler import chance_of_yes
from whitecrow_audit.verify.compiler import (
    cautious_threshold,
    never_wrong,
    one_record_off,
    rounding_base,
)

MODEL = DistanceAnomaly(beta=6, radius=1)
HERE = {"universe": range(3), "size": 4}


def test_the_price_is_twice_the_bases():
    base = randomized_response(MODEL, epsilon="1/2")
    assert compiled(base, model=MODEL, k=1, **HERE).epsilon == 1


def test_far_from_normal_the_compiled_answer_is_more_accurate():
    model = DistanceAnomaly(beta=20, radius=1)
    base = optimal_base(model, epsilon="1/10")
    mechanism = compiled(base, model=model, k=2, **HERE)
    assert mechanism.wrong([0], 0) < base.wrong([0], 0) / 2
    many = [0] * 21
    assert mechanism.wrong(many, 0) == base.wrong(many, 0)


def test_construction_1_is_the_same_accuracy_for_half_the_price():
    """White box: keeping errors with exp(-ε λ) instead of exp(-ε λ / 2) gives Construction 1."""
    base = optimal_base(MODEL, epsilon=1)
    mechanism = compiled(base, model=MODEL, k=2, **HERE)
    for records in ([0], [0, 0, 1], [], [1, 1, 1]):
        kept = math.exp(-mechanism.gain(records, 0)) * base.wrong(records, 0)
        assert kept == pytest.approx(flip_probability(MODEL.bound(records, 0, 2), 1))


@pytest.mark.parametrize("build", [optimal_base, randomized_response])
@pytest.mark.parametrize("model", [MODEL, KernelAnomaly(most=6, radii=[1], heights=[2])])
def test_draws_follow_the_law(build, model):
    """False alarms: five standard deviations, below 1e-6 for each case."""
    mechanism = compiled(build(model, epsilon="1/2"), model=model, k=2, **HERE)
    source, times = hazmat.seeded(5), 6_000
    for records in ([0], [0, 1, 1, 1, 1, 1], [1] * 9):
        truth, _ = model.judged(records, 0, None)
        wrong = sum(mechanism.draw(records, 0, source) != truth for _ in range(times))
        p = mechanism.wrong(records, 0)
        assert abs(wrong / times - p) < 5 * math.sqrt(p * (1 - p) / times) + 1e-9


def test_the_law_of_a_base_is_read_off_its_code():
    base = optimal_base(MODEL, epsilon=1)
    for records in ((0,), (0, 0, 1), ()):
        truth, _ = MODEL.judged(list(records), 0, None)
        yes = chance_of_yes(base.draw, records, 0)
        assert (1 - yes if truth else yes) == pytest.approx(base.wrong(records, 0))


@pytest.mark.parametrize(
    ("build", "epsilon", "says"),
    [
        (cautious_threshold, 2, r"cannot be compiled.*at most 1/2 is always valid"),
        (rounding_base, 8, "breaks its own promise"),
        (never_wrong, "1/2", "errs with probability 0, not 0.378"),
        (one_record_off, 1, r"about 1 in \(1, 1, 2\), it errs with probability 0.378, not 0.269"),
    ],
)
def test_a_base_that_must_not_be_compiled_is_refused(build, epsilon, says):
    model = DistanceAnomaly(4, 1)
    base = build(model, epsilon=Fraction(epsilon))
    with pytest.raises(InvalidInput, match=says):
        compiled(base, model=model, k=1, universe=range(3), size=7)


def test_a_base_that_breaks_its_promise_is_refused():
    def draw(records, i, coins):
        return MODEL.judged(records, i, None)[0] != coins.bernoulli(wrong(records, i))

    def wrong(records, i):
        return Fraction(1, 10) if len(records) % 2 else Fraction(2, 5)

    base = Base("1/10", lambda records, i: float(wrong(records, i)), draw)
    with pytest.raises(InvalidInput, match="breaks its own promise"):
        compiled(base, model=MODEL, k=1, **HERE)


@pytest.mark.parametrize("wrong", [1.5, -0.1, math.nan, 5e-324, "half", None])
def test_a_probability_outside_its_range_is_refused(wrong):
    base = Base(1, lambda records, i: wrong, lambda records, i, coins: True)
    with pytest.raises(InvalidInput, match="a function to probabilities"):
        compiled(base, model=MODEL, k=1, **HERE)


@pytest.mark.parametrize(
    "draw",
    [
        lambda records, i, coins: 1,
        lambda records, i, coins: records[0] == i,
        lambda records, i, coins: all(coins.bernoulli("1/2") for _ in range(99)),
        lambda records, i, coins: coins.bernoulli(3),
        lambda records: True,
    ],
)
def test_a_base_that_cannot_be_read_is_refused(draw):
    with pytest.raises(InvalidInput):
        compiled(Base(1, lambda records, i: 0.5, draw), model=MODEL, k=1, **HERE)


@pytest.mark.parametrize("given", [{"k": 0}, {"model": "few"}, {"size": 0}, {"universe": []}])
def test_what_is_no_setting_is_refused(given):
    base = randomized_response(MODEL, epsilon=1)
    with pytest.raises(InvalidInput):
        compiled(base, **{"model": MODEL, "k": 1, **HERE, **given})
    for wrong in ({"wrong": 0.5}, {"draw": None}, {"epsilon": 0}):
        with pytest.raises(InvalidInput):
            Base(**{"epsilon": 1, "wrong": base.wrong, "draw": base.draw, **wrong})

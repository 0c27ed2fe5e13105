"""The compiler of Construction 2 (a reconstruction)."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from whitecrow.anomaly.law import discrepancy, flip_probability, is_anomaly
from whitecrow.errors import InvalidInput
from whitecrow.identify.compiler import Base, compiled, optimal_base, randomized_response
from whitecrow.noise.seeded import SeededSource
from whitecrow_audit.verify.compiler import cautious_threshold, rounding_base


def test_the_price_is_twice_the_bases():
    assert compiled(randomized_response(beta=5, epsilon="1/2"), beta=5, k=1).epsilon == 1


def test_far_from_normal_the_compiled_answer_is_more_accurate():
    base = optimal_base(beta=20, epsilon="1/10", floor="1e-4")
    mechanism = compiled(base, beta=20, k=2)
    assert mechanism.wrong(1, 1) < base.wrong(1, 1) / 2
    assert mechanism.wrong(1, 21) == base.wrong(1, 21)


def test_construction_1_is_the_same_accuracy_for_half_the_price():
    """White box: keeping errors with exp(-ε λ) instead of exp(-ε λ / 2) gives Construction 1."""
    base = optimal_base(beta=6, epsilon=1)
    mechanism = compiled(base, beta=6, k=2)
    for copies, neighbours in ((1, 1), (2, 3), (0, 0), (0, 3)):
        kept = math.exp(-mechanism.gain(copies, neighbours)) * base.wrong(copies, neighbours)
        bound = discrepancy(copies, neighbours, beta=6, k=2, tight=True)
        assert kept == pytest.approx(flip_probability(bound, 1))


@pytest.mark.parametrize("build", [optimal_base, randomized_response])
def test_draws_follow_the_law(build):
    """False alarms: five standard deviations, below 1e-6 for each case."""
    mechanism = compiled(build(beta=6, epsilon="1/2", floor="1/1000"), beta=6, k=2)
    source, times = SeededSource(5), 10_000
    for copies, neighbours in ((1, 1), (1, 6), (0, 9), (50, 60)):
        truth = is_anomaly(copies, neighbours, beta=6)
        wrong = sum(mechanism.draw(copies, neighbours, source) != truth for _ in range(times))
        p = mechanism.wrong(copies, neighbours)
        assert abs(wrong / times - p) < 5 * math.sqrt(p * (1 - p) / times) + 1e-9


def test_an_invalid_base_is_refused():
    with pytest.raises(InvalidInput, match=r"cannot be compiled.*at most 1/2 is always valid"):
        compiled(cautious_threshold(beta=5, epsilon=Fraction(2)), beta=5, k=2)


def test_a_base_that_breaks_its_promise_is_refused():
    def wrong(copies, neighbours):
        return 0.1 if is_anomaly(copies, neighbours, beta=3) else 0.4

    with pytest.raises(InvalidInput, match="breaks its own promise"):
        compiled(Base(Fraction(1, 10), 10, wrong, lambda *_: True), beta=3, k=1)
    # Cutting the counts short can break it too, where the copies still grow.
    short = Base(Fraction(1), 6, optimal_base(beta=3, epsilon=1).wrong, lambda *_: True)
    with pytest.raises(InvalidInput, match="breaks its own promise"):
        compiled(short, beta=3, k=1)
    with pytest.raises(InvalidInput, match="'most'"):
        compiled(Base(Fraction(1), 3, wrong, lambda *_: True), beta=3, k=1)


def test_a_tiny_probability_beside_none_is_refused_however_small():
    with pytest.raises(InvalidInput, match="breaks its own promise"):
        compiled(rounding_base(beta=5, epsilon=Fraction(4)), beta=5, k=2)


@pytest.mark.parametrize("build", [optimal_base, randomized_response])
@pytest.mark.parametrize("epsilon", ["1/2", 1, 4, 20])
def test_an_honest_base_passes_the_exact_check(build, epsilon):
    mechanism = compiled(build(beta=3, epsilon=epsilon, floor="1e-15"), beta=3, k=2)
    assert mechanism.epsilon == 2 * Fraction(epsilon)


def test_a_probability_outside_its_range_is_refused():
    for wrong in (1.5, -0.1, math.nan, 5e-324):
        with pytest.raises(InvalidInput, match="a function to probabilities"):
            compiled(Base(Fraction(1), 10, lambda *_, w=wrong: w, lambda *_: True), beta=3, k=1)

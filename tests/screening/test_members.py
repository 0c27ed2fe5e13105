"""Why members are not screened without end: where the proof stops, computed on small cases."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.anomaly.law import flip_probability
from whitecrow.screening.law import ONE, Law, keeps

MILLIONTH = Fraction(1, 10**6)


@pytest.mark.parametrize(("epsilon", "apart"), [(1, 0.05), (3, 0.11), (8, 0.24)])
def test_for_everyone_present_and_absent_are_one_step_apart_hence_a_coin(epsilon, apart):
    """The chance for a member that is alone, and for nobody, are neighbours in any such law."""
    law = Law.chosen(beta=200, epsilon=Fraction(epsilon), delta=MILLIONTH)
    yes = law.chance(law.beta - 1)  # the two entries farthest apart
    no = law.chance(law.beta)
    assert 0 < yes - no < apart
    # No two chances that stand farther apart, by half, keep the theorem's inequality anywhere.
    for place in range(1, 64):
        high = ONE * place // 64
        low = high - int(1.5 * (yes - no) * ONE)
        assert low <= 0 or not keeps(high, low, law.order, law.weight)


def loss(model: DistanceAnomaly, others: int, epsilon: Fraction) -> float:
    """Of one answer about x, with and without x, beside so many active neighbours."""
    chances = []
    for copies in (0, 1):
        truth, bound = model.of_counts(copies, copies + others, 1)
        wrong = flip_probability(bound, epsilon)
        chances.append(1 - wrong if truth else wrong)
    (without, with_) = chances
    return max(abs(math.log(with_ / without)), abs(math.log((1 - with_) / (1 - without))))


@pytest.mark.parametrize("beta", [2, 5, 20])
def test_sensitive_privacy_ends_with_the_first_record_that_is_left_out(beta):
    """x has enough neighbours in the data, so that adding it is an edge of the graph.

    Flags about balls that hold the neighbours and not x leave them out. What is asked about x then
    sees x alone, and its answer is as sharp as answers about isolated records are.
    """
    epsilon, model = Fraction(1), DistanceAnomaly(beta, 1.0)
    neighbours = model.tau(1) - 1  # with x itself, tau: the fewest that make it an edge
    assert loss(model, neighbours, epsilon) <= 1 + 1e-9  # while all are active
    alone = loss(model, 0, epsilon)
    assert alone > 2
    assert alone > 0.9 * beta  # and it grows with beta, without bound

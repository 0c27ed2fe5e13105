"""The law of answers: the theorem's inequality, the price, the exact draw."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import whitecrow as wc
from whitecrow.screening.law import ONE, Law, keeps, table

MILLIONTH = Fraction(1, 10**6)


def sides(p, q, order, weight):
    """Both sides of the theorem's two inequalities, in fractions."""
    return max(
        (1 - p) ** (1 - order) * (1 - q) ** order + p ** (1 - order) * q**order * weight,
        (1 - q) ** (1 - order) * (1 - p) ** order + q ** (1 - order) * p**order * weight,
    )


@example(1, 1, 2, Fraction(1, 2))  # fractions have 1 - 2^-65 there
@example(ONE - 1, ONE - 1, 9, Fraction(99, 100))
@given(
    st.integers(1, ONE - 1),
    st.integers(1, ONE - 1),
    st.integers(2, 9),
    st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=1000),
)
def test_what_whole_numbers_accept_holds_in_fractions_and_they_refuse_ties_alone(
    p, q, order, weight
):
    exact = sides(Fraction(p, ONE), Fraction(q, ONE), order, weight)
    assert exact <= 1 if keeps(p, q, order, weight) else exact > 1 - Fraction(4, ONE)


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from(["1/2", "1", "3", "8"]),
    st.sampled_from(["1e-3", "1e-6"]),
    st.integers(1, 500),
    st.integers(1, 4),
    st.sampled_from([None, 1, 7, 300]),
)
def test_a_chosen_law_keeps_the_price_and_every_entry_the_inequality(
    epsilon, delta, beta, contribution, limit
):
    law = Law.chosen(
        beta=beta,
        epsilon=Fraction(epsilon),
        delta=Fraction(delta),
        contribution=contribution,
        limit=limit,
    )
    assert law.promise(Fraction(delta)) <= Fraction(epsilon)
    chances = law.chances(np.arange(law.most + 1)).tolist()
    assert all(
        keeps(p, q, law.order, law.weight)
        for p, q in zip(chances, chances[contribution:], strict=False)
    )
    assert chances == sorted(chances, reverse=True)
    assert law.chance(beta - 1) > 0.5 > law.chance(beta)


def test_the_promise_is_that_of_the_formula():
    law = Law(10, 18, Fraction(21, 25), 40)
    loss = 40 * math.log(25 / 21)
    wanted = (loss + 6 * math.log(10) - math.log(18)) / 17 + math.log(17 / 18)
    assert float(law.promise(MILLIONTH)) == pytest.approx(wanted, abs=1e-12)


def test_it_is_sharper_than_the_exponential_law_of_screen_at_the_same_total():
    # With the law of screen, 36 flags leave room for false alarms that fall by 2 % a record.
    law = Law.chosen(beta=200, epsilon=Fraction(1), delta=MILLIONTH, limit=36)
    exponential = math.log(50) / 0.02
    misses, alarms = law.within(0.01)
    assert alarms < 0.8 * exponential
    assert misses < 0.4 * exponential


def test_entries_end_where_errors_are_rarer_than_one_in_a_thousand_million():
    below, above = table(18, Fraction(21, 25))
    assert above[-1] <= ONE >> 30 < above[-2]
    assert ONE - below[-1] <= ONE >> 30 < ONE - below[-2]


@pytest.mark.parametrize(
    ("given_", "says"),
    [
        ({"delta": 0}, "delta"),
        ({"epsilon": "1/1000000", "delta": "1e-9"}, "epsilon"),
        ({"limit": 2**16}, "limit"),
    ],
)
def test_what_no_law_can_keep_is_refused(given_, says):
    parameters = {"epsilon": 1, "delta": "1e-6", **given_}
    with pytest.raises(wc.InvalidInput, match=says):
        wc.Screening(model=wc.DistanceAnomaly(3, 1.0), **parameters).price(
            wc.Card("c", (wc.Column("x"),))
        )


def test_a_law_is_read_back_as_it_was_written():
    law = Law.chosen(beta=7, epsilon=Fraction(1), delta=MILLIONTH)
    assert Law.from_json(law.to_json()) == law


def test_chances_that_are_too_far_apart_may_not_stand_beside_each_other():
    half, weight = ONE // 2, Fraction(9, 10)
    assert keeps(half, half, 18, weight)
    assert not keeps(half, half // 2, 18, weight)


def test_chances_fall_from_the_threshold_on_and_add_up_to_one_there():
    below, above = table(18, Fraction(21, 25))
    assert below[0] + above[0] == ONE
    assert below[1] > below[0] > above[0] > above[1]


def test_unless_a_limit_is_given_it_is_at_least_eighty():
    law = Law.chosen(beta=200, epsilon=Fraction(1), delta=MILLIONTH)
    assert law.limit == 80
    assert law.chance(0) > 0.999

"""Budgets are exact at the border."""

import math
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from whitecrow.errors import InvalidInput, NoConversion
from whitecrow.privacy import (
    SensitivePrivacy,
    ZeroConcentrated,
    compose,
    exact,
    rounded_down,
    rounded_up,
    to_approximate,
    totals,
)
from whitecrow.privacy.numbers import exp_upper, log_inverse_upper, sqrt_upper


@pytest.mark.parametrize("value", ["0.1", "1/10", 0.1, Fraction(1, 10), Decimal("0.1"), " 1/10 "])
def test_one_tenth_is_one_tenth_however_it_is_written(value):
    assert exact(value, owner="Identify") == Fraction(1, 10)


@pytest.mark.parametrize(
    "value",
    [
        "abc",
        "",
        "1/0",
        None,
        True,
        float("nan"),
        float("inf"),
        -1,
        "-0.1",
        [1],
        "1e999999999",
        "9" * 999,
    ],
)
def test_what_is_no_budget_is_refused_with_a_hint(value):
    with pytest.raises(
        InvalidInput, match="'epsilon' parameter of Identify must be a number above 0"
    ):
        exact(value, owner="Identify")


def test_zero_is_refused_unless_allowed():
    with pytest.raises(InvalidInput):
        exact(0, owner="Identify")
    assert exact(0, owner="Identify", positive=False) == 0


@given(st.fractions(min_value=0, max_value=10**6))
def test_display_never_flatters(number):
    assert Fraction(rounded_up(number)) >= number >= Fraction(rounded_down(number))


DIGITS = Context(prec=80)


def decimal(number):
    return DIGITS.divide(Decimal(number.numerator), Decimal(number.denominator))


@given(st.fractions(min_value=-20, max_value=20, max_denominator=10**6))
def test_exp_upper_is_above_and_close(x):
    true = Fraction(decimal(x).exp(DIGITS))
    assert true * (1 - Fraction(1, 10**70)) <= exp_upper(x) <= true * (1 + Fraction(1, 10**36))


@given(st.fractions(min_value=Fraction(1, 10**12), max_value=10**12))
@example(Fraction(1))
def test_log_upper_is_above_and_close(delta):
    true = -Fraction(decimal(delta).ln(DIGITS))
    assert true - Fraction(1, 10**70) <= log_inverse_upper(delta) <= true + Fraction(1, 10**30)


@given(st.fractions(min_value=0, max_value=10**9))
def test_sqrt_upper_is_above_and_close(x):
    root = sqrt_upper(x)
    assert root * root >= x
    assert (root - Fraction(1, 2**60)) ** 2 <= x or root == 0


@pytest.mark.parametrize("delta", ["1e-6", 1e-6, Fraction(1, 10**6), Decimal("1e-6")])
def test_a_delta_is_read_like_any_other_budget(delta: object) -> None:
    rho = ZeroConcentrated("0.01")
    millionth = Fraction(1, 10**6)
    assert to_approximate(rho, delta=delta) == to_approximate(rho, millionth)
    parts = [rho, SensitivePrivacy("0.1", 17, 0.148)]
    assert compose(parts, delta=delta) == compose(parts, delta=millionth)
    assert totals(parts, delta=delta) == totals(parts, delta=millionth)


def test_a_delta_that_is_no_number_is_refused_in_words() -> None:
    rho = ZeroConcentrated("0.01")
    for delta in ("much", -1, math.nan, None):
        with pytest.raises(InvalidInput):
            to_approximate(rho, delta)
    for delta in (0, 1, "3/2"):
        with pytest.raises(NoConversion):
            to_approximate(rho, delta)
        with pytest.raises(NoConversion):
            compose([rho, SensitivePrivacy("0.1", 17, 0.148)], delta=delta)

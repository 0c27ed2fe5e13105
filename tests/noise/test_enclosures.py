"""The integer enclosures against an independent arithmetic: the decimal module."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction as F

import bounds
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noise_tools import Replay, geometric_pmf

from whitecrow.noise import _integers, bernoulli_exp, laws
from whitecrow.noise._exact import Table, _factors, _taylor, divide, exp_neg, logistic, powers, root
from whitecrow.noise._integers import Gaussian
from whitecrow.noise.seeded import seeded

exponents = st.fractions(min_value=0, max_value=100, max_denominator=10**12)
precisions = st.sampled_from([0, 1, 5, 16, 32, 64, 96, 128, 256])


def _decimal_exp(x: F, bits: int) -> Decimal:
    return (Decimal(-x.numerator) / x.denominator).exp() * Decimal(2) ** bits


@settings(deadline=None, max_examples=400)
@given(x=exponents, bits=precisions)
def test_an_exponential_lies_within_its_enclosure(x, bits):
    low, high = exp_neg(x.numerator, x.denominator, bits)
    with localcontext(prec=150):
        assert low <= _decimal_exp(x, bits) <= high
    assert high - low <= 2
    assert low >= 0


@settings(deadline=None, max_examples=200)
@given(x=exponents, bits=precisions)
def test_a_logistic_probability_lies_within_its_enclosure(x, bits):
    low, high = logistic(x.numerator, x.denominator, bits)
    with localcontext(prec=150):
        value = _decimal_exp(x, 0)
        assert low <= value / (1 + value) * Decimal(2) ** bits <= high
    assert high - low <= 3


@pytest.mark.parametrize("precision", [30, 60, 90, 150, 300])
def test_the_factors_of_an_exponential_are_within_two_units(precision):
    wholes, coarses, fines, terms = _factors(precision)
    with localcontext(prec=200):
        one = Decimal(2) ** precision
        for table, step in ((wholes, 1), (coarses, 64), (fines, 4096)):
            for index, value in enumerate(table):
                assert abs(value - one * (Decimal(-index) / step).exp()) < 2
        for rest in (0, 1, (1 << (precision - 12)) // 3, (1 << (precision - 12)) - 1):
            exact = one * (Decimal(-rest) / one).exp()
            assert abs(_taylor(rest, precision, terms) - exact) < 3


@settings(deadline=None, max_examples=60)
@given(x=st.fractions(min_value=F(1, 10**6), max_value=50), count=st.integers(1, 40))
def test_powers_lie_within_their_enclosures(x, count):
    low, high = powers(exp_neg(x.numerator, x.denominator, 128), count, 128)
    with localcontext(prec=80):
        for k in range(count + 1):
            assert low[k] <= _decimal_exp(k * x, 128) <= high[k]


@settings(deadline=None)
@given(value=st.integers(0, 10**40), degree=st.integers(1, 12))
def test_a_whole_root_is_the_greatest_that_fits(value, degree):
    found = root(value, degree)
    assert found**degree <= value < (found + 1) ** degree


def test_a_quotient_whose_divisor_may_be_zero_is_bounded_by_one():
    assert divide((0, 1), (0, 2), 8) == (0, 256)
    assert divide((1, 1), (3, 3), 8) == (85, 86)


def test_a_word_in_the_gap_is_settled_by_the_bits_that_follow():
    first = exp_neg(1, 1, 32)[0]  # the 32 leading bits of 1/e: this word alone decides nothing
    assert bernoulli_exp(1, Replay([first, 0], then=seeded(0)))
    assert not bernoulli_exp(1, Replay([first, 2**32 - 1], then=seeded(0)))
    assert bernoulli_exp(1, Replay([first - 1], then=seeded(0)))
    assert not bernoulli_exp(1, Replay([first + 1], then=seeded(0)))


def test_a_probability_below_the_smallest_double_is_not_zero():
    """e^-1021 underflows; the coin reads on while all bits are 0 and then decides."""
    zeros = [0] * (
        -(-1474 // 32)
    )  # 1021 / ln 2 = 1473.0 leading zeros, and the word that ends them
    assert bernoulli_exp(1021, Replay([*zeros, 0, 0], then=seeded(0)))
    assert not bernoulli_exp(1021, Replay([*zeros[:-2], 1], then=seeded(0)))


def test_doubtful_words_of_a_table_are_settled_at_full_width():
    low, high = powers(exp_neg(1, 2, 128), 3, 128)
    table = Table(low, high, 128, lambda i, bits: exp_neg(i, 2, bits))
    for index in range(4):
        doubtful = table.safe[index]
        assert table.edges[index] - doubtful <= 2
        accepted = table.draw(Replay([doubtful, 0], then=seeded(0)))
        assert accepted == index
        refused = table.draw(Replay([doubtful, 2**64 - 1, table.edges[0] - 5], then=seeded(0)))
        assert refused == 0
    assert table.draw(Replay([2**64 - 1, 0], then=seeded(0))) == 0, "past the edge: drawn again"


def test_certified_bounds_and_floats_agree():
    for k in range(-6, 7):
        for (low, high), value in (
            (bounds.discrete_laplace(k, F(7, 3)), laws.discrete_laplace_pmf(k, F(7, 3))),
            (bounds.discrete_gaussian(k, F(7, 3)), laws.discrete_gaussian_pmf(k, F(7, 3))),
            (bounds.core_tail(k, F(7, 3), 2), laws.core_tail_pmf(k, F(7, 3), 2)),
            (bounds.geometric(abs(k), F(7, 3)), geometric_pmf(abs(k), F(7, 3))),
        ):
            assert high - low < F(1, 2**150)
            assert float(low) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("pair", [(10_000, 1), (12_345_678, 7), (2**90 + 1, 3)])
def test_a_coin_that_two_polynomials_settle_is_what_the_exponential_says(pair, monkeypatch):
    law, settled = Gaussian(*pair, width=16), 0
    monkeypatch.setattr(_integers, "undercuts", lambda *given: None)
    for start in (0, law.block, 5 * law.block):
        for value in (start + 1, start + law.block // 2, start + law.block - 1):
            low, high = exp_neg((value**2 - start**2) * law.numerator, law.twice, 80)
            near = range(max(0, (low >> 64) - 500), min(2**16, (low >> 64) + 500))
            for word in (0, 2**16 - 1, *near):
                kept = law.keeps(seeded(1), value, start, word)
                if kept is not None:
                    settled += 1
                    assert (word + 1) << 64 <= high if kept else word << 64 >= low
    assert settled > 3000

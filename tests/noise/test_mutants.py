"""Samplers with a known defect, each of which the checks must reject."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction as F
from functools import partial
from math import floor, log

import bounds
import pytest
from noise_tools import FALSE_ALARM, agrees, chi_square, decision_tree, geometric_pmf

from whitecrow.noise import laws
from whitecrow.noise._exact import Table, exp_neg, powers, toss
from whitecrow.noise._integers import Gaussian, Geometric, two_sided
from whitecrow.noise.seeded import seeded

DRAWS = 20_000


def _tree_rejects(draw, law_of, depth=14, width=4):
    law, undecided = decision_tree(draw, depth, width)
    return not agrees(law, undecided, law_of)


def _frequencies_reject(draw, probability, support):
    source = seeded("mutant")
    counts = Counter(draw(source) for _ in range(DRAWS))
    return chi_square(counts, {k: DRAWS * probability(k) for k in support}) < FALSE_ALARM


def test_a_uniform_number_by_remainder_is_rejected():
    def biased(source):
        return source.bits(3) % 3

    assert _tree_rejects(biased, lambda k: (F(1, 3), F(1, 3)))
    assert _frequencies_reject(biased, lambda k: 1 / 3, range(3))


def test_a_laplace_draw_computed_in_floats_is_rejected():
    """Its frequencies look right; only the tree sees that a finite grid cannot have the law."""

    def magnitude(source):
        uniform = (source.bits(12) + 0.5) / 2**12
        return floor(-2.0 * log(uniform))

    def law_of(k):
        return bounds.geometric(k, F(1, 2))

    assert _tree_rejects(magnitude, law_of, depth=12)
    assert not _frequencies_reject(magnitude, lambda k: geometric_pmf(k, F(1, 2)), range(40))


def test_a_geometric_number_that_starts_at_one_is_rejected():
    x = F(2, 3)
    small, large = Geometric(2, 3, 6, reach=3), Geometric(2, 3)
    assert _tree_rejects(lambda s: 1 + small.draw(s), lambda k: bounds.geometric(k, x), 12, 6)
    assert _frequencies_reject(
        lambda s: 1 + large.draw(s), lambda k: geometric_pmf(k, x), range(40)
    )


def test_a_two_sided_law_that_counts_zero_twice_is_rejected():
    def twice(law, source):
        value = law.draw(source)
        return -value if source.bits(1) else value

    small, large = Geometric(1, 1, 6, reach=3), Geometric(1, 1)
    assert _tree_rejects(
        lambda s: twice(small, s), lambda k: bounds.discrete_laplace(k, F(1)), 13, 6
    )
    assert _frequencies_reject(
        lambda s: twice(large, s), lambda k: laws.discrete_laplace_pmf(k, 1), range(-30, 31)
    )


@pytest.mark.parametrize("end", [0, 1])
def test_a_coin_that_takes_one_end_of_the_enclosure_for_the_number_is_rejected(end):
    """The commonest shortcut: compare one word with a rounded probability and stop."""

    def hasty(source):
        return source.bits(6) < exp_neg(1, 3, 6)[end]

    interval = bounds.bernoulli_exp(F(1, 3))
    assert _tree_rejects(
        hasty, lambda heads: interval if heads else (1 - interval[1], 1 - interval[0]), 12, 6
    )


def test_a_coin_of_the_wrong_sign_of_exponent_is_rejected():
    interval = bounds.bernoulli_exp(F(1, 3))
    assert _tree_rejects(
        lambda s: not toss(s, partial(exp_neg, 1, 3), 4),
        lambda heads: interval if heads else (1 - interval[1], 1 - interval[0]),
    )


def test_a_table_that_keeps_the_doubtful_words_is_rejected():
    low, high = powers(exp_neg(1, 2, 64), 3, 64)
    table = Table(low, high, 64, lambda i, bits: exp_neg(i, 2, bits), width=5)
    shares = bounds.exponential_levels([0, -1, -2, -3], [1] * 4, F(1, 2))
    assert not _tree_rejects(table.draw, lambda i: shares[i], 20, 5)
    table.safe = [*table.edges, 0]
    assert _tree_rejects(table.draw, lambda i: shares[i], 20, 5)


def test_a_gaussian_that_keeps_every_member_of_a_block_is_rejected():
    class Flat(Gaussian):
        def keeps(self, source, value, start, word):
            return True

    law = lambda k: laws.discrete_gaussian_pmf(k, 10_000)  # noqa: E731

    def cell(k):
        return sum(law(j) for j in range(25 * k, 25 * k + 25))

    flat, true = Flat(10_000, 1, fineness=1), Gaussian(10_000, 1, fineness=1)
    assert _frequencies_reject(lambda s: flat.draw(s) // 25, cell, range(-20, 20))
    assert not _frequencies_reject(lambda s: true.draw(s) // 25, cell, range(-20, 20))


def test_a_gaussian_of_the_wrong_variance_is_rejected():
    off = Gaussian(11, 1)
    assert _frequencies_reject(
        off.draw, lambda k: laws.discrete_gaussian_pmf(k, 10), range(-30, 31)
    )


def test_a_laplace_of_half_the_scale_is_rejected():
    off = Geometric(1, 1, 6, reach=3)
    assert _tree_rejects(
        lambda s: two_sided(off.draw, s), lambda k: bounds.discrete_laplace(k, F(2)), 13, 6
    )

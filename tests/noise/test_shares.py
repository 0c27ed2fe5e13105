"""Noise in shares: the parts are whole numbers, and they add up to the law of the whole."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from whitecrow.noise.bulk import _below, laplace_shares, polya
from whitecrow.noise.seeded import SeededSource

DRAWS = 200_000


def polya_law(x: float, parts: int, most: int) -> np.ndarray:
    """The negative binomial law with parameter 1/parts, by its own recurrence."""
    a, r = math.exp(-x), 1 / parts
    found = [(1 - a) ** r]
    for k in range(1, most):
        found.append(found[-1] * a * (k - 1 + r) / k)
    return np.array(found)


def distance(draws: np.ndarray, law: np.ndarray) -> float:
    """The largest deviation from a law, in standard errors."""
    seen = np.bincount(draws, minlength=len(law))[: len(law)]
    expected = law * len(draws)
    likely = expected > 20
    errors = np.sqrt(expected * (1 - law))
    return float((np.abs(seen - expected) / errors)[likely].max())


@pytest.mark.parametrize(
    ("x", "parts"), [(Fraction(1, 2), 2), (Fraction(1, 5), 3), (Fraction(1), 7)]
)
def test_a_share_has_the_polya_law(x, parts):
    draws = polya(x, parts, DRAWS, SeededSource(1))
    assert distance(draws, polya_law(float(x), parts, 60)) < 5


def test_one_part_is_the_whole():
    draws = polya(Fraction(1, 3), 1, DRAWS, SeededSource(2))
    law = (1 - math.exp(-1 / 3)) * np.exp(-np.arange(60) / 3)
    assert distance(draws, law) < 5


@pytest.mark.parametrize("parts", [2, 3, 5])
def test_shares_add_up_to_the_discrete_laplace_law(parts):
    source = SeededSource(parts)
    total = sum(laplace_shares(Fraction(4), parts, DRAWS, source) for _ in range(parts))
    ratio = math.exp(-1 / 4)
    places = np.arange(-40, 41)
    law = (1 - ratio) / (1 + ratio) * ratio ** np.abs(places)
    assert distance(total[np.abs(total) <= 40] + 40, law / law.sum()) < 5


def test_too_few_shares_do_not():
    source = SeededSource(9)
    total = sum(laplace_shares(Fraction(4), 3, DRAWS, source) for _ in range(2))
    ratio = math.exp(-1 / 4)
    law = (1 - ratio) / (1 + ratio) * ratio ** np.abs(np.arange(-40, 41))
    assert distance(total[np.abs(total) <= 40] + 40, law / law.sum()) > 50


def test_numbers_below_a_bound_are_uniform():
    bounds = np.full(60_000, 3, dtype=np.uint64)
    seen = np.bincount(_below(SeededSource(3), bounds).astype(np.int64), minlength=3)
    assert np.abs(seen - 20_000).max() < 5 * math.sqrt(60_000 * 2 / 9)


def test_words_beyond_the_last_multiple_are_drawn_again():
    class Words:
        given = iter([0, 2**64 - 1])

        def bits(self, count):
            return next(self.given)

    assert _below(Words(), np.array([3], dtype=np.uint64)).tolist() == [0]  # 2^64 - 1 is 0 mod 3

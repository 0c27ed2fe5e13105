"""Millions of draws and deeper trees: `pytest tests/noise --study` (minutes)."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction as F

import bounds
import numpy as np
import pytest
from noise_tools import FALSE_ALARM, agrees, chi_square, decision_tree

from whitecrow.noise import bulk, laws
from whitecrow.noise._integers import CoreTail, Geometric, two_sided
from whitecrow.noise.seeded import seeded

pytestmark = pytest.mark.study


@pytest.mark.parametrize("scale", [F(1), F(7), F(100), F(3333, 10)])
def test_ten_million_draws(scale):
    size = 10_000_000
    for draw, pmf, parameter in (
        (bulk.discrete_laplace, laws.discrete_laplace_pmf, scale),
        (bulk.discrete_gaussian, laws.discrete_gaussian_pmf, scale * scale),
    ):
        values, counts = np.unique(
            draw(parameter, size, seeded(f"study {scale}")), return_counts=True
        )
        observed = dict(zip(values.tolist(), counts.tolist(), strict=True))
        expected = {k: size * pmf(k, parameter) for k in range(-8000, 8001)}
        assert chi_square(observed, expected) > FALSE_ALARM


@pytest.mark.parametrize("tail", [1, 2, 3])
def test_half_a_million_heavy_draws(tail):
    size, scale, source = 500_000, F(9, 2), seeded(f"study {tail}")
    law = CoreTail(scale.numerator, scale.denominator, tail)
    draws = [law.draw(source) for _ in range(size)]
    expected = {k: size * laws.core_tail_pmf(k, scale, tail) for k in range(-3000, 3001)}
    assert chi_square(Counter(draws), expected) > FALSE_ALARM


def test_all_strings_of_twenty_two_bits():
    law = Geometric(1, 2, 6, radix=4, reach=3)
    found, undecided = decision_tree(lambda source: two_sided(law.draw, source), 22, 6)
    assert agrees(found, undecided, lambda k: bounds.discrete_laplace(k, F(2)))

"""Arrays of draws have the law of single draws (false-alarm rate 1e-6 a test, fixed seeds)."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction as F

import numpy as np
import pytest
from noise_tools import FALSE_ALARM, Replay, chi_square, geometric_pmf, two_samples

from whitecrow import noise
from whitecrow.noise import bulk, laws
from whitecrow.noise._exact import Table, exp_neg, powers
from whitecrow.noise._integers import Gaussian
from whitecrow.noise.seeded import seeded

SIZE = 200_000


def _p_value(draws, probability, support):
    counts = Counter(draws.tolist())
    return chi_square(counts, {k: len(draws) * probability(k) for k in support})


@pytest.mark.parametrize("x", [F(1, 30), F(2)])
def test_arrays_of_geometric_numbers(x):
    draws = bulk.geometric(x, SIZE, seeded(f"bulk geometric {x}"))
    assert _p_value(draws, lambda k: geometric_pmf(k, x), range(400)) > FALSE_ALARM


@pytest.mark.parametrize("scale", [F(1, 4), F(1), F(40, 3)])
def test_arrays_of_discrete_laplace_noise(scale):
    draws = bulk.discrete_laplace(scale, SIZE, seeded(f"bulk laplace {scale}"))
    law = lambda k: laws.discrete_laplace_pmf(k, scale)  # noqa: E731
    assert draws.dtype == np.int64
    assert _p_value(draws, law, range(-300, 301)) > FALSE_ALARM


@pytest.mark.parametrize("variance", [F(1, 4), F(1), F(100), F(2500), F(10**6, 7)])
def test_arrays_of_discrete_gaussian_noise(variance):
    draws = bulk.discrete_gaussian(variance, SIZE, seeded(f"bulk gaussian {variance}"))
    law = lambda k: laws.discrete_gaussian_pmf(k, variance)  # noqa: E731
    assert _p_value(draws, law, range(-2000, 2001)) > FALSE_ALARM


def test_arrays_and_single_draws_are_two_samples_of_one_law():
    single, many = seeded("single"), seeded("many")
    size = 20_000
    for one, all_at_once, parameter in (
        (noise.discrete_laplace, bulk.discrete_laplace, F(9)),
        (noise.discrete_gaussian, bulk.discrete_gaussian, F(700)),
        (noise.geometric, bulk.geometric, F(1, 9)),
    ):
        first = [one(parameter, single) for _ in range(size)]
        second = all_at_once(parameter, size, many).tolist()
        assert two_samples(first, second) > FALSE_ALARM


def test_a_doubtful_word_in_an_array_goes_the_exact_way():
    low, high = powers(exp_neg(1, 2, 128), 3, 128)
    table = Table(low, high, 128, lambda i, bits: exp_neg(i, 2, bits))
    both = table.safe[1] | table.safe[2] << 64  # two words, both in doubt
    further = [0, 2**64 - 1, table.edges[0] - 5]  # the first is accepted, the second drawn again
    drawn = bulk._indices(Replay([both, *further], then=seeded(0)), table, 2)
    assert drawn.tolist() == [1, 0]


def test_magnitudes_past_the_table_keep_their_law(monkeypatch):
    """A table cut short sends a third of the draws to the far blocks."""
    monkeypatch.setattr(bulk, "Gaussian", lambda *pair, fineness: Gaussian(*pair, reach=1))
    for variance in (F(3), F(500)):
        draws = bulk.discrete_gaussian(variance, 20_000, seeded(f"far {variance}"))
        law = lambda k, v=variance: laws.discrete_gaussian_pmf(k, v)  # noqa: E731
        assert _p_value(draws, law, range(-150, 151)) > FALSE_ALARM


def test_no_draws_are_an_empty_array():
    assert bulk.discrete_laplace(3, 0).shape == (0,)
    assert bulk.discrete_gaussian(3, 0).shape == (0,)


def test_the_same_seed_gives_the_same_array():
    first = bulk.discrete_gaussian(10_000, 1000, seeded(7))
    assert (first == bulk.discrete_gaussian(10_000, 1000, seeded(7))).all()

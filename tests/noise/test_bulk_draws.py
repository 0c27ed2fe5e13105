"""Arrays of draws have the law of single draws (false-alarm rate 1e-6 a test, fixed seeds)."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction as F

import bounds
import numpy as np
import pytest
from noise_tools import FALSE_ALARM, Replay, chi_square, two_samples

from whitecrow import noise
from whitecrow.noise import bulk, laws
from whitecrow.noise._exact import exp_neg
from whitecrow.noise._integers import Gaussian
from whitecrow.noise.seeded import seeded

SIZE = 200_000


def _p_value(draws, probability, support):
    counts = Counter(draws.tolist())
    return chi_square(counts, {k: len(draws) * probability(k) for k in support})


@pytest.mark.parametrize("x", [F(1, 50), F(1), F(7, 3)])
def test_arrays_of_coins(x):
    source = seeded(f"bulk coins {x}")
    for draws, p in (
        (bulk.bernoulli(F(2, 7), SIZE, source), 2 / 7),
        (bulk.bernoulli_exp(x, SIZE, source), float(bounds.bernoulli_exp(x)[0])),
        (bulk.bernoulli_logistic(x, SIZE, source), float(bounds.bernoulli_logistic(x)[0])),
    ):
        assert draws.dtype == bool
        assert _p_value(draws, {True: p, False: 1 - p}.__getitem__, (True, False)) > FALSE_ALARM


def test_certain_coins_are_certain():
    assert bulk.bernoulli(1, 1000).all()
    assert not bulk.bernoulli(0, 1000).any()
    assert bulk.bernoulli_exp(0, 1000).all()


@pytest.mark.parametrize("x", [F(1, 30), F(2)])
def test_arrays_of_geometric_numbers(x):
    draws = bulk.geometric(x, SIZE, seeded(f"bulk geometric {x}"))
    assert _p_value(draws, lambda k: laws.geometric_pmf(k, x), range(400)) > FALSE_ALARM


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


@pytest.mark.parametrize(("scale", "tail"), [(F(1, 2), 1), (F(20, 3), 3)])
def test_arrays_of_core_tail_noise(scale, tail):
    draws = bulk.core_tail(scale, tail, SIZE // 4, seeded(f"bulk core {scale}"))
    law = lambda k: laws.core_tail_pmf(k, scale, tail)  # noqa: E731
    assert _p_value(draws, law, range(-300, 301)) > FALSE_ALARM


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
    gap = exp_neg(1, 1, 64)[0]  # the 64 leading bits of 1/e
    words = gap | gap << 64  # two coins, both in doubt
    heads = bulk.bernoulli_exp(1, 2, Replay([words, 0, 2**64 - 1], then=seeded(0)))
    assert heads.tolist() == [True, False]


def test_a_certainty_short_of_one_still_reads_its_last_word():
    p = 1 - F(1, 2**70)  # the largest word alone cannot settle this coin
    top = 2**64 - 1
    assert bulk.bernoulli(p, 1, Replay([top, 0], then=seeded(0))).tolist() == [True]
    assert bulk.bernoulli(p, 1, Replay([top, top], then=seeded(0))).tolist() == [False]


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
    assert bulk.bernoulli(F(1, 2), 0).shape == (0,)


def test_the_same_seed_gives_the_same_array():
    first = bulk.discrete_gaussian(10_000, 1000, seeded(7))
    assert (first == bulk.discrete_gaussian(10_000, 1000, seeded(7))).all()

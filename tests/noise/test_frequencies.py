"""Frequencies of the full-width samplers against closed forms, and against OpenDP.

Every p-value is compared with 1e-6, the false-alarm rate of one test. Our draws use fixed seeds, so
those tests never flake; OpenDP cannot be seeded, so the comparisons with it fail once in a million.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction as F

import bounds
import pytest
from noise_tools import FALSE_ALARM, chi_square, geometric_pmf, two_samples

from whitecrow import noise
from whitecrow.noise import _choice, _integers, laws
from whitecrow.noise.seeded import seeded
from whitecrow_audit.verify.subspaces import top_pmf

DRAWS = 20_000


def _p_value(draw, probability, support, draws=DRAWS):
    counts = Counter(draw() for _ in range(draws))
    return chi_square(counts, {k: draws * probability(k) for k in support})


@pytest.mark.parametrize("x", [F(1, 50), F(1), F(5, 2)])
def test_coins(x):
    source = seeded(f"coins {x}")
    for toss, (low, _) in (
        (noise.bernoulli_exp, bounds.bernoulli_exp(x)),
        (noise.bernoulli_logistic, bounds.bernoulli_logistic(x)),
    ):
        p = float(low)
        law = {True: p, False: 1 - p}.__getitem__
        draw = lambda toss=toss: toss(x, source)  # noqa: E731
        assert _p_value(draw, law, (True, False)) > FALSE_ALARM


@pytest.mark.parametrize("x", [F(1, 1000), F(1, 7), F(3, 2)])
def test_geometric(x):
    source = seeded(f"geometric {x}")
    width = max(1, round(1 / (10 * x)))  # cells of the histogram

    def cell(k):
        return sum(geometric_pmf(j, x) for j in range(k * width, (k + 1) * width))

    draw = lambda: noise.geometric(x, source) // width  # noqa: E731
    assert _p_value(draw, cell, range(60)) > FALSE_ALARM


@pytest.mark.parametrize("scale", [F(1, 3), F(1), F(10), F(355, 113)])
def test_discrete_laplace(scale):
    source = seeded(f"laplace {scale}")
    draw = lambda: noise.discrete_laplace(scale, source)  # noqa: E731
    law = lambda k: laws.discrete_laplace_pmf(k, scale)  # noqa: E731
    assert _p_value(draw, law, range(-200, 201)) > FALSE_ALARM


@pytest.mark.parametrize("variance", [F(1, 10), F(1), F(50), F(1000), F(22222, 7)])
def test_discrete_gaussian(variance):
    source = seeded(f"gaussian {variance}")
    draw = lambda: noise.discrete_gaussian(variance, source)  # noqa: E731
    law = lambda k: laws.discrete_gaussian_pmf(k, variance)  # noqa: E731
    assert _p_value(draw, law, range(-400, 401)) > FALSE_ALARM


@pytest.mark.parametrize(("scale", "tail"), [(F(1, 2), 1), (F(4), 2), (F(7, 3), 3), (F(10), 6)])
def test_core_tail(scale, tail):
    source = seeded(f"core {scale} {tail}")
    law = _integers.CoreTail(scale.numerator, scale.denominator, tail)
    draw = lambda: law.draw(source)  # noqa: E731
    pmf = lambda k: laws.core_tail_pmf(k, scale, tail)  # noqa: E731
    assert _p_value(draw, pmf, range(-300, 301)) > FALSE_ALARM


def test_private_choices():
    source, utilities, eta = seeded("choices"), [0, 2, 2, -1, 3], F(1, 2)
    for draw, law_of in (
        (noise.exponential_mechanism, laws.exponential_mechanism_pmf),
        (noise.permute_and_flip, laws.permute_and_flip_pmf),
    ):
        pick = lambda draw=draw: draw(utilities, eta, source)  # noqa: E731
        assert _p_value(pick, law_of(utilities, eta).__getitem__, range(5), 5000) > FALSE_ALARM
    law = top_pmf(utilities, eta, 2)
    pick = lambda: tuple(noise.top(utilities, eta, 2, source))  # noqa: E731
    assert _p_value(pick, law.__getitem__, law, 5000) > FALSE_ALARM


def test_levels_with_millions_of_candidates():
    source = seeded("levels")
    levels, counts, eta = list(range(2000)), [10**6 >> (k // 100) for k in range(2000)], F(1, 50)
    law = _choice.level_table(levels, counts, eta)
    shares = laws.exponential_levels_pmf(levels, counts, eta)
    cells = Counter(law.draw(source) // 20 for _ in range(DRAWS))
    expected = {k: DRAWS * sum(shares[20 * k : 20 * k + 20]) for k in range(100)}
    assert chi_square(cells, expected) > FALSE_ALARM


# -- OpenDP as an oracle --


@pytest.fixture(scope="module")
def dp():
    opendp = pytest.importorskip("opendp.prelude")
    opendp.enable_features("contrib")
    return opendp


def _vector(dp, make, metric, scale):
    space = dp.vector_domain(dp.atom_domain(T=int)), metric
    return make(*space, scale=scale)([0] * DRAWS)


@pytest.mark.parametrize("scale", [1, 8])
def test_discrete_laplace_agrees_with_opendp(dp, scale):
    theirs = _vector(dp, dp.m.make_laplace, dp.l1_distance(T=int), float(scale))
    source = seeded(f"oracle {scale}")
    ours = [noise.discrete_laplace(scale, source) for _ in range(DRAWS)]
    assert two_samples(ours, theirs) > FALSE_ALARM


@pytest.mark.parametrize("deviation", [1, 8, 40])
def test_discrete_gaussian_agrees_with_opendp(dp, deviation):
    theirs = _vector(dp, dp.m.make_gaussian, dp.l2_distance(T=float), float(deviation))
    source = seeded(f"oracle {deviation}")
    ours = [noise.discrete_gaussian(deviation**2, source) for _ in range(DRAWS)]
    assert two_samples(ours, theirs) > FALSE_ALARM


@pytest.mark.parametrize("divergence", ["max_divergence", "zero_concentrated_divergence"])
def test_private_choices_agree_with_opendp(dp, divergence):
    """Report-noisy-max: exponential noise is permute-and-flip, Gumbel noise the exponential one."""
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
    pick = dp.m.make_noisy_max(*space, getattr(dp, divergence)(), scale=2.0)
    ours = noise.permute_and_flip if divergence == "max_divergence" else noise.exponential_mechanism
    source, utilities = seeded(divergence), [0, 2, 3, 1]
    draws = 4000
    theirs = [pick(utilities) for _ in range(draws)]
    found = [ours(utilities, F(1, 2), source) for _ in range(draws)]
    assert two_samples(found, theirs) > FALSE_ALARM

"""The closed forms themselves: they sum to one, and their quantiles are quantiles."""

from __future__ import annotations

from fractions import Fraction as F
from math import inf

import pytest
from noise_tools import geometric_pmf
from scipy.integrate import quad
from scipy.stats import norm

from whitecrow.noise import laws
from whitecrow_audit.verify.subspaces import top_pmf


@pytest.mark.parametrize("parameter", [F(1, 5), F(1), F(12)])
def test_probabilities_sum_to_one(parameter):
    span = range(-600, 601)
    for law in (
        lambda k: geometric_pmf(k, parameter),
        lambda k: laws.discrete_laplace_pmf(k, parameter),
        lambda k: laws.discrete_gaussian_pmf(k, parameter),
    ):
        assert sum(map(law, span)) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("scale", [F(1, 3), F(2), F(9)])
@pytest.mark.parametrize("tail", [1, 2, 5])
def test_rounded_heavy_tails_sum_to_one_with_what_lies_beyond(scale, tail):
    within = sum(laws.core_tail_pmf(k, scale, tail) for k in range(-300, 301))
    beyond = laws.core_tail_survival(300.5 / float(scale), tail)
    assert within + beyond == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("tail", [1, 2, 3, 7])
def test_the_survival_of_the_core_and_tail_is_the_integral_of_its_density(tail):
    c = tail + 1

    def density(z):
        from math import exp

        return exp(-z) if z <= c else exp(-c) * (c / z) ** c

    total = quad(density, 0, c)[0] + quad(density, c, inf)[0]
    for z in (0.0, 0.3, c - 0.01, c + 0.01, 3.0 * c):
        beyond = (quad(density, z, c)[0] if z < c else 0.0) + quad(density, max(z, c), inf)[0]
        assert laws.core_tail_survival(z, tail) == pytest.approx(beyond / total, rel=1e-7)


@pytest.mark.parametrize("probability", [0.05, 0.5, 0.95, 0.9999])
def test_quantiles_invert_the_survival(probability):
    for tail in (1, 2, 3, 8):
        z = laws.core_tail_quantile(probability, tail)
        assert laws.core_tail_survival(z, tail) == pytest.approx(1 - probability, rel=1e-9)


@pytest.mark.parametrize("probability", [0.05, 0.5, 0.95, 0.9999])
@pytest.mark.parametrize("parameter", [F(1, 5), F(1), F(12), F(400)])
def test_discrete_quantiles_are_the_least_that_cover(probability, parameter):
    for quantile, pmf in (
        (laws.discrete_laplace_quantile, laws.discrete_laplace_pmf),
        (laws.discrete_gaussian_quantile, laws.discrete_gaussian_pmf),
    ):
        m = quantile(probability, parameter)
        covered = sum(pmf(k, parameter) for k in range(-m, m + 1))
        assert covered >= probability - 1e-9
        assert covered - 2 * pmf(m, parameter) < probability or m == 0


def test_the_quantile_of_a_wide_gaussian_is_the_continuous_one():
    assert laws.discrete_gaussian_quantile(0.95, 10**8) == round(10**4 * norm.ppf(0.975))


def test_the_published_figures_of_the_core_and_tail():
    """docs/mechanisms.md 3.3: B = 3 has deviation 1.64 and median .70."""
    second = quad(lambda z: 2 * z * laws.core_tail_survival(z, 3), 0, inf, limit=200)[0]
    assert second**0.5 == pytest.approx(1.64, abs=0.005)
    assert laws.core_tail_quantile(0.5, 3) == pytest.approx(0.70, abs=0.005)


def test_permute_and_flip_is_never_worse_than_the_exponential_mechanism():
    for utilities in ([0, 1], [0, 1, 5, 5], [F(1, 2), 3, -2, 0, 0]):
        flip = laws.permute_and_flip_pmf(utilities, F(1, 2))
        exponential = laws.exponential_mechanism_pmf(utilities, F(1, 2))
        assert sum(flip) == pytest.approx(1)
        gain = sum((p - q) * float(u) for p, q, u in zip(flip, exponential, utilities, strict=True))
        assert gain >= -1e-12


def test_a_top_list_of_one_is_the_exponential_mechanism():
    utilities = [0, 2, 1]
    law = top_pmf(utilities, F(1, 3), 1)
    assert [law[(k,)] for k in range(3)] == pytest.approx(
        laws.exponential_mechanism_pmf(utilities, F(1, 3))
    )
    assert sum(top_pmf(utilities, F(1, 3), 2).values()) == pytest.approx(1)

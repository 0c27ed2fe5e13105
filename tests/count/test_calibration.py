"""Calibration: the budget is kept, the choice is public, the errors are what is said."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from whitecrow.counting.calibration import MECHANISMS, calibrate, gaussian_delta
from whitecrow.errors import InvalidInput
from whitecrow.noise import laws
from whitecrow.privacy.numbers import log_inverse_upper

ZERO = Fraction(0)


@pytest.mark.parametrize("epsilon", ["1/1000", "1/100", "1/10", "1/2", "1", "3", "20"])
@pytest.mark.parametrize("cap", [1, 6, 15, 402, 3**40])
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_smooth_noise_spends_no_more_than_epsilon(epsilon, cap, relation):
    budget = Fraction(epsilon)
    found = calibrate("smooth", budget, ZERO, relation=relation, cap=cap)
    assert found.decay is not None
    spent = 1 / found.multiplier + found.tail * log_inverse_upper(found.decay)
    assert budget * Fraction(99, 100) < spent <= budget
    assert found.tail >= 2


def test_small_sensitivities_get_the_global_mechanism_and_large_ones_the_smooth():
    chosen = [
        calibrate("auto", Fraction(1), ZERO, relation="add_remove", cap=cap).mechanism
        for cap in (2, 402)
    ]
    assert chosen == ["global", "smooth"]


def test_a_delta_is_used_only_where_it_helps():
    budget = Fraction(1), Fraction(1, 10**6)
    found = calibrate("auto", *budget, relation="add_remove", cap=402)
    assert found.mechanism == "smooth"
    assert found.delta == 0
    assert (
        calibrate("analytic_gaussian", *budget, relation="add_remove", cap=402).delta == budget[1]
    )


@pytest.mark.parametrize("shift", [1, 15, 402, 10**6])
@pytest.mark.parametrize(("epsilon", "delta"), [("1/2", "1e-2"), ("1", "1e-6"), ("4", "1e-9")])
def test_the_analytic_gaussian_is_as_small_as_the_continuous_one(shift, epsilon, delta):
    """Balle and Wang's condition for real noise, nearly attained."""
    budget = Fraction(epsilon), Fraction(delta)
    found = calibrate("analytic_gaussian", *budget, relation="add_remove", cap=shift)
    sigma = float(found.multiplier) * shift
    assert gaussian_delta(shift, sigma, budget[0]) <= float(budget[1])

    def real(s: float) -> float:
        from scipy.special import log_ndtr

        e = float(budget[0])
        first = log_ndtr(shift / (2 * s) - e * s / shift)
        second = e + log_ndtr(-shift / (2 * s) - e * s / shift)
        return math.exp(first) - math.exp(second)

    if shift > 1:
        assert real(sigma * 1.001) < float(budget[1]) < real(sigma * 0.98)


@pytest.mark.parametrize("sigma", [1.0, 3.7, 11.0])
def test_the_delta_bound_is_the_exact_sum_where_no_stride_is_needed(sigma):
    epsilon, shift = Fraction(1), 3
    mass = {y: laws.discrete_gaussian_pmf(y, sigma**2) for y in range(-200, 201)}
    exact = sum(max(0.0, mass.get(y - shift, 0.0) - math.exp(1) * p) for y, p in mass.items())
    assert gaussian_delta(shift, sigma, epsilon) == pytest.approx(exact, rel=1e-6)


def test_the_stride_only_ever_adds():
    """A deviation that needs strides, against the sum without them."""
    shift, sigma = 4000, 9000.0
    first = math.ceil(sigma**2 / shift + shift / 2)
    exact = sum(
        math.exp(-((y - shift) ** 2) / (2 * sigma**2)) - math.exp(1 - y**2 / (2 * sigma**2))
        for y in range(first, first + 150_000)
    ) / (sigma * math.sqrt(2 * math.pi))
    assert exact <= gaussian_delta(shift, sigma, Fraction(1)) <= exact * 1.01


def test_the_papers_constants():
    found = calibrate(
        "paper_gaussian", Fraction(1), Fraction(1, 100), relation="replace_one", cap=16
    )
    logarithm = math.log(200)
    assert float(found.multiplier) == pytest.approx(5 * math.sqrt(2 * logarithm))
    assert found.decay is not None
    assert found.decay == Fraction(26, 27)
    assert 26 - 1 < 4 * (1 + logarithm) <= 26


def test_tiny_budgets_get_the_global_mechanism():
    tiny = Fraction(1, 10**5)
    assert calibrate("auto", tiny, ZERO, relation="add_remove", cap=402).mechanism == "global"
    for mechanism, delta in (("smooth", ZERO), ("paper_gaussian", Fraction(1, 100))):
        with pytest.raises(InvalidInput, match="epsilon"):
            calibrate(mechanism, tiny, delta, relation="add_remove", cap=402)


def test_the_papers_gaussian_refuses_a_budget_it_is_not_proved_for():
    with pytest.raises(InvalidInput, match="too large"):
        calibrate("paper_gaussian", Fraction(50), Fraction(1, 100), relation="replace_one", cap=9)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_errors_are_quantiles_of_the_noise(mechanism):
    """The chance of a larger error than the stated one is 5 %, computed from the law itself."""
    found = calibrate(mechanism, Fraction(1), Fraction(1, 100), relation="add_remove", cap=30)
    sensitivity = found.expected_sensitivity(4)
    reach = found.error(0.95, sensitivity)
    amplitude = float(found.multiplier) * sensitivity
    pmf = {
        "smooth": lambda k: laws.core_tail_pmf(k, amplitude, found.tail),
        "global": lambda k: laws.discrete_laplace_pmf(k, amplitude),
    }.get(mechanism, lambda k: laws.discrete_gaussian_pmf(k, amplitude**2))
    inside = sum(pmf(k) for k in range(-math.floor(reach), math.floor(reach) + 1))
    assert inside == pytest.approx(0.95, abs=0.02)


def test_the_expected_errors_for_seven_columns():
    """The global mechanism's median is that of docs/mechanisms.md 3.3; ours is 40 times smaller."""
    found = calibrate("auto", Fraction(1), ZERO, relation="add_remove", cap=402)
    assert found.error(0.5, found.expected_sensitivity(4)) == pytest.approx(6.5, rel=0.05)
    plain = calibrate("global", Fraction(1), ZERO, relation="add_remove", cap=402)
    assert plain.error(0.5, 402) == pytest.approx(279, abs=1)


def test_no_table_is_kept_for_a_private_scale():
    from whitecrow.counting.calibration import draw
    from whitecrow.noise import _integers

    tuned = calibrate(
        "paper_gaussian", Fraction(1, 2), Fraction(1, 10**6), relation="add_remove", cap=9
    )
    before = _integers._gaussian.cache_info()
    draw(tuned, Fraction(10007, 9973))
    assert _integers._gaussian.cache_info() == before

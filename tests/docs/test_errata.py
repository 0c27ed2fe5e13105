"""The errata that no check of a mechanism shows: arithmetic on the papers' own figures."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import pytest

from whitecrow.hazmat import discrepancy, flip_probability
from whitecrow.neighbours import count_related

Point = tuple[float, ...]


def _anomalies(points: Sequence[Point], beta: int) -> int:
    """How many points have at most beta points, themselves included, within 1 of them."""
    return sum(sum(math.dist(p, q) <= 1 for q in points) <= beta for p in points)


def test_e1_a_constant_answer_is_private_and_sometimes_more_accurate() -> None:
    # Always "yes" has the same law on every database, so its loss is 0 on every edge; where the
    # true answer is yes it is never wrong, while Construction 1 always may be.
    for neighbours in range(1, 19):
        assert flip_probability(discrepancy(1, neighbours, beta=18, k=1), 0.1) > 0


def test_e4_the_bound_may_equal_that_of_differential_privacy_for_a_record_that_is_not_sensitive():
    beta, k = 18, 1
    tau = beta + 1 - k
    absent = discrepancy(0, tau - 1, beta=beta, k=k)
    assert absent == discrepancy(0, tau - 1, beta=beta, k=beta)


@pytest.mark.parametrize("beta", [1, 2, 5])
@pytest.mark.parametrize("corners", [2, 5])
def test_e5_one_record_changes_the_number_of_anomalies_by_more_than_beta(beta, corners):
    # A line has 2 directions; in the plane 5 corners around a point are farther apart than 1.
    angles = [2 * math.pi * i / corners for i in range(corners)]
    around = [(0.999 * math.cos(angle), 0.999 * math.sin(angle)) for angle in angles]
    points = [place for place in around for _ in range(beta)]
    centre = (0.0, 0.0)
    assert _anomalies(points, beta) - _anomalies([*points, centre], beta) == corners * beta


def test_e7_the_figures_of_credit_fraud_are_those_of_other_data():
    indiscriminate = 103 / 284_807
    assert indiscriminate < 0.0004 < 0.0101  # 0.0101 is the base rate of the synthetic data
    assert abs(201 / 20_000 - 0.0101) < 1e-4
    printed = 1.1127e-21
    assert flip_probability(discrepancy(0, 0, beta=1022, k=1), 0.1) < 1e-44
    nearest = min(
        range(1, 1023),
        key=lambda beta: abs(
            math.log(flip_probability(discrepancy(0, 0, beta=beta, k=1), 0.1) / printed)
        ),
    )
    assert nearest == 476


def test_e11_the_smoothing_parameter_is_far_below_epsilon():
    for delta in (0.01, 1e-6):
        assert 1 / (4 * (1 + math.log(2 / delta))) < 0.04


def test_e12_theorem_2_needs_more_noise_than_the_figures_show():
    epsilon, delta = 0.7, 0.01
    least = 5 * math.sqrt(2 * math.log(2 / delta)) / epsilon  # at a smooth sensitivity of 1
    assert least > 23 > 3 * 7


@pytest.mark.parametrize(("size", "expected"), [(2, 0), (3, 0), (5, 4), (7, 7)])
def test_e14_the_lower_bound_fails_for_few_records(size, expected):
    k, places = 3, range(5)  # d = 1, radius 1: the claimed bound is min(size, 7)

    def outliers(database: Sequence[int]) -> int:
        return sum(sum(abs(a - b) <= 1 for b in database) - 1 < k for a in database)

    worst = 0
    for rest in itertools.combinations_with_replacement(places, size - 1):
        found = [outliers((*rest, moved)) for moved in places]
        worst = max(worst, max(found) - min(found))
    assert worst == expected
    assert (worst < min(size, 2 * k + 1)) == (size < 7)


def test_e15_duplicates_are_neighbours():
    same = [[1.0], [1.0], [1.0]]
    assert list(count_related(same, same, lambda a, b: abs(a[0] - b[0]) <= 0.5)) == [3, 3, 3]


def test_e25_the_log_ratio_at_one_output_is_unbounded():
    scale, grown, mean = 1.0, 1.5, 10.0  # the scale follows the mean, which one record raised

    def log_density(output: float, factor: float) -> float:
        return -math.log(2 * factor * scale) - abs(output - factor * mean) / (factor * scale)

    ratios = [abs(log_density(r, 1.0) - log_density(r, grown)) for r in (1e2, 1e3, 1e4)]
    assert ratios[0] > 10
    assert ratios[1] > 9 * ratios[0]
    assert ratios[2] > 9 * ratios[1]


TABLES = {  # Continual, Tables 2 to 4: precision, recall, segments with an outlier
    "GWE": (0.80, 0.72, 24),
    "FWE": (0.65, 0.58, 24),
    "Levene": (0.61, 0.55, 24),
    "GWE, 10,000 trips": (0.77, 0.67, 24),
    "GWE, Porto": (0.62, 0.69, 20),
    "FWE, Porto": (0.55, 0.61, 20),
}


@pytest.mark.parametrize("attack", TABLES)
def test_e26_about_three_fifths_of_the_segments_were_flagged(attack):
    precision, recall, true = TABLES[attack]
    assert recall * true / precision / 36 == pytest.approx(0.6, abs=0.03)


def test_e27_two_of_three_attacks_are_at_or_below_chance():
    base_rate = 24 / 36
    above = [name for name in ("GWE", "FWE", "Levene") if TABLES[name][0] > base_rate]
    assert above == ["GWE"]

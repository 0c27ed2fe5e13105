"""Each detector is an exact function of a multiset and one of its members."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from scipy import stats
from sklearn.neighbors import LocalOutlierFactor as Peer

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.anomaly.detectors import (
    FewWithin,
    Grubbs,
    Histogram,
    LocalOutlierFactor,
    detector_from_json,
)
from whitecrow.anomaly.detectors.exact import moments
from whitecrow.errors import InvalidInput
from whitecrow.explain import _kernels as kernels


@njit
def lof(z, place, length, k, threshold, kd, first):
    """Call what only compiled functions can."""
    return kernels.lof(z, place, length, k, threshold, kd, first)


def test_moments_are_exact_beyond_64_bits():
    assert moments(np.array([1, 2, 4]), 2) == (1, 5)
    assert moments(np.array([0, 2**62]), 0) == (2**62, 2**124)


populations = st.lists(st.integers(-12, 12), min_size=1, max_size=30).map(
    lambda values: np.array(sorted(values), dtype=np.int64)
)


def literal_factor(values: list[int], own: int, k: int) -> Fraction | None:
    """LOF by its definition: everyone's neighbours by sorting on (distance, value)."""
    members = list(values)
    k = min(k, len(members) - 1)
    if k == 0:
        return Fraction(1)

    def neighbours(i: int) -> list[int]:
        others = [j for j in range(len(members)) if j != i]
        return sorted(others, key=lambda j: (abs(members[j] - members[i]), members[j]))[:k]

    near = [neighbours(i) for i in range(len(members))]
    kd = [max(abs(members[j] - members[i]) for j in near[i]) for i in range(len(members))]
    reach = [
        sum(max(kd[j], abs(members[j] - members[i])) for j in near[i]) for i in range(len(members))
    ]
    place = members.index(own)
    total = Fraction(0)
    for j in near[place]:
        if reach[j] == 0:
            if reach[place] > 0:
                return None
            total += 1
        else:
            total += Fraction(reach[place], reach[j])
    return total / k


@settings(deadline=None, max_examples=300)
@given(populations, st.integers(1, 6), st.data())
def test_lof_is_the_definition_with_ties_and_duplicates(values, k, data):
    own = int(data.draw(st.sampled_from(list(values))))
    assert LocalOutlierFactor(k=k).factor(values, own) == literal_factor(list(values), own, k)


@settings(deadline=None, max_examples=300)
@given(populations, st.integers(1, 6), st.sampled_from(["1", "5/4", "3/2", "2"]), st.data())
def test_the_compiled_lof_agrees_or_says_that_it_doubts(values, k, threshold, data):
    own = int(data.draw(st.sampled_from(list(values))))
    detector = LocalOutlierFactor(k=k, threshold=threshold)
    scratch = np.empty(len(values) + 1, np.int64), np.empty(len(values) + 1, np.int64)
    place = int(np.searchsorted(values, own))
    found = lof(values - own, place, len(values), k, float(detector.threshold), *scratch)
    assert found in (kernels.DOUBT, int(detector.outlier(values, own)))


def test_lof_equals_scikit_learn_where_nothing_ties():
    random = np.random.default_rng(3)
    for size, k in ((40, 5), (300, 20), (8, 20)):
        values = np.sort(random.choice(10**9, size, replace=False))
        peer = Peer(n_neighbors=min(k, size - 1)).fit(values.reshape(-1, 1).astype(float))
        for place in range(0, size, 7):
            ours = float(LocalOutlierFactor(k=k).factor(values, int(values[place])))
            assert ours == pytest.approx(-peer.negative_outlier_factor_[place], rel=1e-9)


def test_lof_looks_no_further_than_three_times_k():
    random = np.random.default_rng(4)
    values = np.sort(random.integers(0, 500, 400))
    lof = LocalOutlierFactor(k=4)
    for place in range(40, 360, 13):
        own = int(values[place])
        first = int(np.searchsorted(values, own))
        near = values[max(0, first - 12) : first + 13]
        assert lof.factor(near, own) == lof.factor(values, own)
        assert lof.factor(values, own) == literal_factor(list(values), own, 4)


def test_lof_of_piles_is_defined():
    pile = np.array([5] * 10 + [9])
    lof = LocalOutlierFactor(k=3)
    assert lof.factor(pile, 5) == 1
    assert lof.factor(pile, 9) is None
    assert lof.outlier(pile, 9)
    assert not lof.outlier(pile, 5)
    assert not lof.outlier(np.array([7]), 7)


@pytest.mark.parametrize("sides", ["both", "high", "low"])
def test_grubbs_is_the_textbook_test(sides):
    random = np.random.default_rng(5)
    detector = Grubbs(level="1/20", sides=sides)
    tails = 2 if sides == "both" else 1
    for size in (3, 4, 10, 200):
        values = np.sort(random.integers(0, 1000, size))
        values[-1] = values[-2] + random.integers(1, 3000)
        mean, deviation = values.mean(), values.std(ddof=1)
        quantile = stats.t.isf(0.05 / (tails * size), size - 2)
        critical = (size - 1) / math.sqrt(size) * math.sqrt(quantile**2 / (size - 2 + quantile**2))
        for own in map(int, values):
            signed = (own - mean) / deviation
            statistic = {"both": abs(signed), "high": signed, "low": -signed}[sides]
            assert detector.outlier(values, own) == (statistic > critical)


def test_small_and_constant_populations_have_no_grubbs_outlier():
    grubbs = Grubbs(level="1/2")
    assert not grubbs.outlier(np.array([1, 100]), 100)
    assert not grubbs.outlier(np.array([4, 4, 4, 4]), 4)


def test_the_critical_shares_are_exact_in_binary_and_do_not_depend_on_how_they_are_asked():
    grubbs = Grubbs()
    table = grubbs.shares(np.arange(2000))
    assert ((table * 2**24) % 1 == 0).all()
    assert table[17] == grubbs.shares(np.array([17]))[0]
    assert (np.diff(table[3:]) != 0).any()


@settings(deadline=None, max_examples=300)
@given(populations, st.data())
def test_the_compiled_grubbs_agrees_or_says_that_it_doubts(values, data):
    own = int(data.draw(st.sampled_from(list(values))))
    for side, sides in ((0, "both"), (1, "high"), (-1, "low")):
        detector = Grubbs(level="1/5", sides=sides)
        share = float(detector.shares(np.array([len(values)]))[0])
        offsets = (values - own).astype(float)
        sums = float(offsets.sum()), float((offsets**2).sum())
        found = kernels.grubbs(len(values), *sums, share, side, 2.0 * len(values))
        assert found in (kernels.DOUBT, int(detector.outlier(values, own)))


@settings(deadline=None, max_examples=300)
@given(populations, st.integers(1, 9), st.data())
def test_a_value_is_in_the_bin_that_the_rule_says(values, bins, data):
    own = int(data.draw(st.sampled_from(list(values))))
    low, width = int(values[0]), int(values[-1] - values[0])

    def place(x: int) -> int:
        return min((x - low) * bins // width, bins - 1) if width else 0

    inside = sum(place(int(x)) == place(own) for x in values)
    detector = Histogram(bins=bins, frequency="1/3")
    assert detector.outlier(values, own) == (3 * inside < len(values))
    start, stop = kernels.bin_of(low - own, low + width - own, bins)
    assert inside == sum(start <= x - own <= stop for x in values)


def test_the_histogram_counts_bins_like_numpy():
    random = np.random.default_rng(6)
    detector = Histogram(frequency="1/50")
    for size in (2, 10, 101, 1000):
        values = np.sort(random.integers(0, 10**7, size))
        counts, edges = np.histogram(values, bins="sqrt")
        assert detector.count(size) == len(counts)
        own = int(values[-1])
        assert detector.outlier(values, own) == (counts[-1] * 50 < size)
        assert edges[-1] == own


@settings(deadline=None)
@given(populations, st.integers(1, 5), st.integers(0, 10), st.data())
def test_few_within_counts_records_within_reach(values, beta, reach, data):
    own = int(data.draw(st.sampled_from(list(values))))
    near = sum(abs(int(x) - own) <= reach for x in values)
    assert FewWithin(beta, reach).outlier(values, own) == (near <= beta)


def test_the_distance_model_meets_its_grid_exactly():
    model = DistanceAnomaly(beta=3, radius=0.3)
    # 0.3 as a double lies just below three tenths: three steps of 0.1 are further away.
    assert FewWithin.of(model, Fraction(1, 10)).reach == 2
    assert FewWithin.of(DistanceAnomaly(3, 0.5), Fraction(1, 10)).reach == 5


@pytest.mark.parametrize(
    "detector",
    [Grubbs("1/100", "high"), LocalOutlierFactor(7, "9/5"), Histogram(12, "1/8"), FewWithin(2, 9)],
)
def test_detectors_survive_json(detector):
    assert detector_from_json(detector.to_json()) == detector
    assert detector.words()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Grubbs(level=1),
        lambda: Grubbs(level=0),
        lambda: Grubbs(sides="left"),
        lambda: LocalOutlierFactor(k=0),
        lambda: LocalOutlierFactor(k=True),
        lambda: LocalOutlierFactor(k=10**9),
        lambda: LocalOutlierFactor(threshold="1/2"),
        lambda: Histogram(bins="many"),
        lambda: Histogram(bins=0),
        lambda: Histogram(frequency=2),
        lambda: Histogram(frequency="1/12345678"),
        lambda: FewWithin(0, 1),
        lambda: FewWithin(1, -1),
        lambda: detector_from_json({"kind": "magic"}),
        lambda: detector_from_json({"kind": "lof"}),
        lambda: detector_from_json([]),
    ],
)
def test_wrong_parameters_are_refused(wrong):
    with pytest.raises(InvalidInput):
        wrong()

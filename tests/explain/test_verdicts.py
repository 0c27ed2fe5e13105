"""Every path to a verdict gives the detector's own."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whitecrow._compiled import Kernels
from whitecrow.anomaly.detectors import (
    FewWithin,
    FittedDetector,
    Grubbs,
    Histogram,
    LocalOutlierFactor,
)
from whitecrow.explain import verdicts as module
from whitecrow.explain.verdicts import Population, Verdicts, all_sums

DETECTORS = [
    Grubbs(level="1/5"),
    Grubbs(level="1/5", sides="high"),
    Grubbs(level="1/5", sides="low"),
    LocalOutlierFactor(k=3, threshold="6/5"),
    LocalOutlierFactor(k=1, threshold=1),
    Histogram("sqrt", "1/4"),
    Histogram(4, "1/5"),
    FewWithin(2, 3),
]


def crowd(seed: int, sizes: tuple[int, ...], size: int, spread: int) -> Population:
    """Random records around one with code 0 everywhere."""
    random = np.random.default_rng(seed)
    shifts = np.cumsum([0, *(s - 1 for s in sizes)])
    codes = np.stack([random.integers(0, s, size) for s in sizes], axis=1)
    needs = np.where(codes == 0, -1, codes - 1 + shifts[:-1])
    return Population(needs, random.integers(-spread, spread + 1, size), int(shifts[-1]))


@pytest.mark.parametrize("detector", DETECTORS)
def test_all_some_and_one_agree_with_exact_arithmetic(detector):
    for seed in range(7):
        spread = 6 if seed % 2 else 10**9  # ties and none
        population = crowd(seed, (3, 2, 4) if seed < 6 else (1,), 8 * seed, spread)
        verdicts = Verdicts(population, detector)
        every = range(1 << population.bits)
        exact = [detector.outlier(population.values(context), 0) for context in every]
        assert verdicts.all().tolist() == exact
        assert verdicts.some(list(every)).tolist() == exact
        assert [bool(verdicts.some([context])[0]) for context in every] == exact


@pytest.mark.parametrize("detector", DETECTORS[:1] + DETECTORS[3:4] + DETECTORS[5:6])
def test_many_free_bits_cut_into_blocks_agree_on_random_contexts(detector):
    population = crowd(9, (7, 6, 6), 900, 10**6)
    verdicts = Verdicts(population, detector)
    every = verdicts.all()
    seen = []
    assert (verdicts.all(lambda *at: seen.append(at)) == every).all()
    assert seen[-1][0] == seen[-1][1]
    some = np.random.default_rng(1).integers(0, 1 << population.bits, 200).tolist()
    assert verdicts.some(some).tolist() == every[some].tolist()
    for context in some[:25]:
        assert every[context] == detector.outlier(population.values(context), 0)


@pytest.mark.parametrize("detector", [DETECTORS[0], DETECTORS[3], DETECTORS[6], DETECTORS[7]])
def test_signatures_of_several_words_agree(detector):
    population = crowd(10, (50, 60, 2), 300, 50)
    assert population.signatures.shape[1] == 2
    verdicts = Verdicts(population, detector)
    random = np.random.default_rng(2)
    contexts = [int.from_bytes(random.bytes(14), "little") >> 4 for _ in range(40)]
    exact = [detector.outlier(population.values(context), 0) for context in contexts]
    assert verdicts.some(contexts).tolist() == exact


@pytest.mark.parametrize("way", ["numpy", "kernels"])
def test_populations_are_counted_for_every_context(monkeypatch, way):
    kernels = Kernels()
    if way == "kernels":
        kernels.use()
    monkeypatch.setattr(module, "KERNELS", kernels)
    population = crowd(3, (3, 4), 40, 9)
    found = all_sums(population, population.size)
    assert found.tolist() == [len(population.values(c)) for c in range(1 << population.bits)]


def test_a_doubtful_comparison_is_settled_exactly():
    # The record's neighbours make its factor exactly 3/2: above a threshold a hair below it only.
    offsets = np.array([-2, -3, -4])
    needs = np.full((3, 1), -1)
    population = Population(needs, offsets, 1)
    factor = LocalOutlierFactor(k=1).factor(population.values(0), 0)
    assert factor is not None
    assert not Verdicts(population, LocalOutlierFactor(1, factor)).all().any()
    below = factor - factor / 10**12
    assert Verdicts(population, LocalOutlierFactor(1, below)).all().all()


def test_the_record_counts_once_whether_or_not_the_data_hold_it():
    needs = np.array([[-1, -1], [-1, 3], [0, -1]])
    without = Population(needs, np.array([5, 0, 2]), 5)
    held = Population(np.vstack([needs, [[-1, -1]]]), np.array([5, 0, 2, 0]), 5)
    twice = Population(np.vstack([needs, [[-1, -1]] * 2]), np.array([5, 0, 2, 0, 0]), 5)
    for context in range(32):
        assert without.values(context).tolist() == held.values(context).tolist()
    assert twice.most == held.most + 1


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(-1, 1), st.integers(-5, 5)), max_size=8))
def test_the_order_of_records_does_not_matter(records):
    def verdicts(rows):
        needs = np.array([[need] for need, _ in rows], dtype=np.int64).reshape(-1, 1)
        offsets = np.array([offset for _, offset in rows], dtype=np.int64)
        population = Population(needs, offsets, 2)
        return [Verdicts(population, detector).all().tolist() for detector in DETECTORS]

    assert verdicts(records) == verdicts(records[::-1])


def test_a_fitted_detector_takes_the_slow_path_and_reports_progress():
    population = crowd(4, (2, 3), 30, 100)
    seen = []
    slow = Verdicts(population, FittedDetector("local_outlier_factor", n_neighbors=3))
    found = slow.all(lambda *at: seen.append(at))
    assert seen
    assert slow.some(list(range(8))).tolist() == found.tolist()

"""Scores, flags and what they are worth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whitecrow.attack import (
    attack,
    auc,
    estimate_value,
    evaluate,
    fixed_window,
    flag_fraction,
    growing_window,
    levene,
    overlap,
    scale_interval,
    score,
    simulated_threshold,
)
from whitecrow.attack.scores import _freedom, outlying_segments
from whitecrow.errors import InvalidInput
from whitecrow.publish import Point


def test_scores_are_the_formula_of_the_paper_written_out():
    rng = np.random.default_rng(1)
    releases = rng.laplace(5, 1, 47)

    def surprise(segment, past):
        mu = np.median(past)
        b = np.mean(np.abs(past - mu))
        return len(segment) * math.log(2 * b) + sum(abs(r - mu) / b for r in segment)

    cut = [releases[i : i + 10] for i in range(0, 40, 10)]
    assert fixed_window(releases, 10) == pytest.approx(
        [surprise(cut[j + 1], cut[j]) for j in range(3)]
    )
    assert growing_window(releases, 10) == pytest.approx(
        [surprise(cut[j + 1], np.concatenate(cut[: j + 1])) for j in range(3)]
    )


def test_levene_is_scipys_centred_at_the_median():
    from scipy.stats import levene as reference

    rng = np.random.default_rng(2)
    releases = rng.laplace(5, 1, 50)
    expected = [
        1 - reference(releases[i : i + 10], releases[i + 10 : i + 20], center="median").pvalue
        for i in range(0, 40, 10)
    ]
    assert levene(releases, 10) == pytest.approx(expected)


@pytest.mark.parametrize("size", [2, 3, 10, 11])
def test_the_scale_of_noise_lies_in_its_interval_as_often_as_said(size):
    samples = np.random.default_rng(size).laplace(5, 2, (20_000, size))
    total = 2 * np.abs(samples - np.median(samples, axis=1, keepdims=True)).sum(axis=1) / 2
    assert total.mean() == pytest.approx(_freedom(size), rel=0.03)  # 2n - 1, or a little less
    low, high = scale_interval(samples, 0.9)
    # The chi-square law is a fit by its mean; it is wide for two draws, exact in the limit.
    assert ((low <= 2) & (high >= 2)).mean() == pytest.approx(0.9, abs=0.01 if size > 3 else 0.06)


def test_segments_whose_noise_stands_out_do_not_overlap_their_neighbours():
    rng = np.random.default_rng(8)
    releases = rng.laplace(5, 1, 60)
    releases[20:30] = 5 + 40 * (releases[20:30] - 5)
    scores = overlap(releases, 10)
    low, high = scale_interval(releases.reshape(6, 10))
    apart = [
        all(low[j] > high[i] or high[j] < low[i] for i in (j - 1, j + 1) if i < 6)
        for j in range(1, 6)
    ]
    assert (scores > 1).tolist() == apart
    assert attack(releases, method="overlap").flagged == [3]
    quiet = rng.laplace(5, 1, (2000, 100))
    # 18,000 segments, of which about one in a thousand is flagged: five deviations.
    assert 0 < (overlap(quiet, 10) > 1).mean() < 0.003


def test_a_value_is_estimated_from_the_releases_with_it():
    rng = np.random.default_rng(9)
    hits = []
    for _ in range(200):
        means = np.where(np.arange(60) < 40, 5.0, (99 * 5.0 + 105.0) / 100)
        series = means * (1 + rng.laplace(0, 2 / 100, 60))
        found = estimate_value(series, size=100, first=41)
        assert found.low < found.value < found.high
        hits.append(found.low <= 105 <= found.high)
    # 95 % of 200: five standard errors.
    assert abs(np.mean(hits) - 0.95) < 5 * math.sqrt(0.95 * 0.05 / 200)


@pytest.mark.parametrize(
    "wrong",
    [
        {"size": 0},
        {"size": True},
        {"first": 0},
        {"first": 9, "last": 8},
        {"last": 11},
        {"first": 2},
        {"confidence": 1},
    ],
)
def test_a_value_needs_releases_with_and_without_it(wrong):
    with pytest.raises(InvalidInput):
        estimate_value([5.0] * 10, **{"size": 10, "first": 5} | wrong)


@pytest.mark.parametrize("method", ["growing", "fixed", "levene", "overlap"])
def test_many_series_are_scored_as_one_by_one(method):
    rng = np.random.default_rng(3)
    table = rng.normal(size=(4, 40))
    together = score(table, width=8, method=method)
    assert together == pytest.approx(np.array([score(r, width=8, method=method) for r in table]))


def test_constant_series_surprise_nobody():
    for method in ("growing", "fixed", "levene", "overlap"):
        assert np.isfinite(score([5.0] * 40, width=10, method=method)).all()


@given(scores=st.lists(st.integers(-5, 5), min_size=2, max_size=30), data=st.data())
@settings(deadline=None, max_examples=60)
def test_auc_counts_pairs(scores, data):
    truth = data.draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores)))
    pairs = [
        (a > b) + 0.5 * (a == b)
        for a, p in zip(scores, truth, strict=True)
        for b, q in zip(scores, truth, strict=True)
        if p and not q
    ]
    found = auc(scores, truth)
    assert math.isnan(found) if not pairs else found == pytest.approx(np.mean(pairs))


def test_with_shuffled_labels_nothing_is_learned():
    """AUC is one half and precision the base rate; five standard errors: a false alarm in 1e-6."""
    rng = np.random.default_rng(4)
    scores = rng.normal(size=(400, 35))
    truth = rng.random((400, 35)) < 0.6
    verdict = evaluate(scores, truth, flag_fraction(scores, 0.6))
    error = 0.3 / math.sqrt(400 * 35 / 3)
    assert abs(verdict.auc - 0.5) < 5 * 2 * error
    assert abs(verdict.precision - verdict.base_rate) < 5 * 2 * error
    assert abs(verdict.recall - 0.6) < 5 * 2 * error


def test_verdict_on_a_case_done_by_hand():
    verdict = evaluate([3, 2, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0])
    assert (verdict.precision, verdict.recall, verdict.base_rate) == (0.5, 0.5, 0.5)
    assert verdict.auc == 0.75
    silent = evaluate([3, 2, 1, 0], [1, 0, 1, 1], [0, 0, 0, 0])
    assert (silent.precision, silent.recall, silent.f) == (0.75, 0.0, 0.0)


def test_segments_hold_an_outlier_if_one_of_their_days_does():
    days = np.zeros(35, bool)
    days[[3, 12, 34]] = True
    assert outlying_segments(days, 10).tolist() == [True, False]


def test_a_simulated_threshold_keeps_its_false_alarm_rate():
    rng = np.random.default_rng(5)
    alarms = []
    for _ in range(60):
        quiet = rng.laplace(5, 1, 200)
        threshold = simulated_threshold(quiet, width=10, false_alarms=0.1, rng=rng)
        alarms.append((score(quiet, width=10) > threshold).mean())
    # 60 series of 19 segments: the standard error is below 0.02 even with dependence.
    assert abs(np.mean(alarms) - 0.1) < 0.1


def test_releases_are_read_from_anywhere(tmp_path):
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    rng = np.random.default_rng(6)
    values = rng.laplace(5, 1, 60)
    marks = rng.random(60) < 0.1
    expected = attack(values, outliers=marks).to_json()
    table = {"day": [f"d{i}" for i in range(60)], "value": values, "outlier": marks}
    frames = [pd.DataFrame(table), pl.DataFrame(table), pl.LazyFrame(table), pa.table(table)]
    for frame in frames:
        assert attack(frame, outliers="outlier").to_json() == expected
    pd.DataFrame(table).to_csv(tmp_path / "r.csv", index=False)
    frames[1].write_parquet(tmp_path / "r.parquet")
    for path in (tmp_path / "r.csv", str(tmp_path / "r.parquet")):
        assert attack(path, column="value", outliers="outlier").to_json() == expected
    points = [Point(f"d{i}", float(value), 0.1) for i, value in enumerate(values)]
    assert attack(points, outliers=marks).to_json() == expected
    answer = {"series": [point.to_json() for point in points]}
    assert attack(answer, outliers=marks).to_json() == expected


def test_a_release_that_could_not_be_made_repeats_the_last():
    points = [Point("a", 1.0, 0.1), Point("b", None, None), Point("c", 3.0, 0.1)] * 10
    assert attack(points, width=3).series.values[:3].tolist() == [1.0, 1.0, 3.0]


@pytest.mark.parametrize(
    ("releases", "options"),
    [
        ([1.0] * 15, {"width": 10}),
        ([1.0] * 40, {"width": 1}),
        ([1.0] * 40, {"width": 2.5}),
        ([1.0] * 40, {"method": "guess"}),
        ([1.0] * 40, {"fraction": 2}),
        ([1.0] * 40, {"fraction": 0.5, "threshold": 1}),
        ([1.0] * 40, {"false_alarms": 0}),
        ([1.0] * 40, {"outliers": [True]}),
        (["a"] * 40, {}),
        ([[1.0]] * 40, {}),
        ([math.nan] * 40, {}),
        ([], {}),
        ("nowhere.csv", {}),
        (5, {}),
        ([1.0] * 40, {"width": 2, "method": "levene"}),
    ],
)
def test_bad_input_is_refused_with_a_sentence(releases, options):
    with pytest.raises(InvalidInput):
        attack(releases, **options)


def test_an_unnamed_column_is_asked_for():
    import pandas as pd

    with pytest.raises(InvalidInput, match="which column"):
        attack(pd.DataFrame({"a": [1.0] * 40, "b": [2.0] * 40}))
    with pytest.raises(InvalidInput, match="no column"):
        attack(pd.DataFrame({"a": [1.0] * 40}), column="c")


def test_the_picture_is_drawn(tmp_path):
    from whitecrow.attack.inference import draw

    rng = np.random.default_rng(7)
    found = attack(rng.laplace(5, 1, 60), outliers=rng.random(60) < 0.1)
    assert draw(found, tmp_path / "scores.png").stat().st_size > 5_000

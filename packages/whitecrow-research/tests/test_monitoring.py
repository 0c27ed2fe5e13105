"""The study of detectors kept current: a small version, and the whole one behind ``--study``."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from whitecrow_research.monitoring import (
    TAXI_BOX,
    auc_by_step,
    delays,
    draw,
    false_alarms,
    taxi_month,
    year,
)

BOX = [(-10.0, 10.0)] * 6


def test_a_window_recovers_after_a_drift_that_the_alarm_names(tmp_path: Path) -> None:
    data = year(np.random.default_rng(1), 2500, since=3, months=6)
    rows = auc_by_step(data, BOX, 6, window=2)
    assert [row["moved"] for row in rows[:3]] == [[], [], []]
    assert all({"x0", "x2"} >= set(row["moved"]) for row in rows)
    assert {"x0", "x2"} == set(rows[-1]["moved"])
    assert rows[-1]["ours_window"] > rows[-1]["ours_all"] - 0.02
    for row in rows:
        assert row["ours_all"] > row["exact_all"] - 0.15
    draw(rows, tmp_path / "year.svg")
    assert (tmp_path / "year.svg").stat().st_size > 5000


@pytest.mark.study
@pytest.mark.timeout(1200)
def test_of_a_thousand_quiet_years_no_more_have_an_alarm_than_the_bound_says() -> None:
    found = false_alarms(1000, each=5000)
    for law in ("gaussian", "laplace"):
        assert found[law]["alarms"] <= binom.isf(1e-6, 1000, found["bound"])


@pytest.mark.study
@pytest.mark.timeout(1200)
def test_a_fifth_of_the_records_that_move_are_seen_within_a_month() -> None:
    rows = {row["moved"]: row for row in delays(100, each=5000)}
    assert rows[0.2]["seen"] == 1.0
    assert rows[0.2]["median_delay"] <= 1


@pytest.mark.study
@pytest.mark.timeout(1200)
def test_a_month_of_taxis_raises_no_alarm() -> None:
    folder = os.environ.get("WHITECROW_DATA")
    if not folder:
        pytest.skip("WHITECROW_DATA names no folder")
    path = Path(folder) / "nyc_taxi_sample.parquet"
    rows = auc_by_step(taxi_month(path), TAXI_BOX, 10)
    assert not any(row["moved"] for row in rows)

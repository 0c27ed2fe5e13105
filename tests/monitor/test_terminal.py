"""``whitecrow monitor``, end to end."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from whitecrow.cli import whitecrow
from whitecrow.detector import Detector

CARD = """
name = "visits"
unit = "record"
size_public = false
[[columns]]
name = "cost"
type = "number"
lower = 0
upper = 100
outside = "clip"
[[columns]]
name = "age"
type = "integer"
lower = 0
upper = 100
[[columns]]
name = "date"
type = "date"
"""


@pytest.fixture
def visits(tmp_path):
    rng = np.random.default_rng(1)
    dates = pd.date_range("2024-01-01", "2024-04-30").repeat(60)
    later = dates >= "2024-03-01"
    frame = pd.DataFrame(
        {
            "cost": np.clip(rng.gamma(4, 5, len(dates)) + 20 * later, 0, 100),
            "age": rng.integers(18, 95, len(dates)),
            "date": dates.date,
        }
    )
    frame.to_csv(tmp_path / "visits.csv", index=False)
    (tmp_path / "visits.toml").write_text(CARD, encoding="utf-8")
    return [
        str(tmp_path / "visits.csv"), "--card", str(tmp_path / "visits.toml"),
        "--budget", "1, 1e-6", "--time", "date", "--start", "2024-01-01", "--period", "month",
        "--horizon", "4", "--epsilon", "1", "--delta", "1e-6",
    ]  # fmt: skip


def run(*arguments):
    return CliRunner().invoke(whitecrow, [str(a) for a in arguments])


def test_a_series_goes_on_at_the_terminal_and_names_what_moved(visits, tmp_path):
    kept = tmp_path / "february.detector"
    first = run("monitor", *visits, "--through", 2, "--out", kept)
    assert first.exit_code == 0, first.output
    assert "No alarm up to 2024-02" in first.output
    assert Detector.load(kept).columns == ("cost", "age")
    picture = tmp_path / "april.png"
    later = run("--json", "monitor", *visits, "--through", 4, "--picture", picture)
    assert later.exit_code == 0, later.output
    found = json.loads(later.stdout)
    assert found["charged"] is False
    assert picture.stat().st_size > 5000
    text = run("monitor", *visits, "--through", 4)
    assert "Moved by 2024-04: cost" in text.output


def test_a_question_that_makes_no_sense_is_refused_in_words(visits):
    found = run("monitor", *visits, "--through", 5)
    assert found.exit_code != 0
    assert "at most the horizon, 4" in found.output

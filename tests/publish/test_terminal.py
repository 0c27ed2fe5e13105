"""``whitecrow publish`` and ``whitecrow attack``, end to end."""

from __future__ import annotations

import datetime
import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from whitecrow.attack.naive import naive_release
from whitecrow.attack.streams import porto_like
from whitecrow.cli import whitecrow

CARD = """
name = "trips"
unit = "record"
size_public = false
[[columns]]
name = "km"
type = "number"
lower = 0
upper = 60
outside = "clip"
[[columns]]
name = "date"
type = "date"
"""


@pytest.fixture
def trips(tmp_path):
    rng = np.random.default_rng(1)
    first = datetime.date(2019, 3, 1)
    dates = np.repeat([first + datetime.timedelta(days=i) for i in range(20)], 30)
    path = tmp_path / "trips.csv"
    pd.DataFrame({"km": rng.exponential(5, 600), "date": dates}).to_csv(path, index=False)
    (tmp_path / "trips.toml").write_text(CARD, encoding="utf-8")
    return [str(path), "--card", str(tmp_path / "trips.toml"), "--time", "date",
            "--start", "2019-03-01", "--horizon", "20", "--epsilon", "1/2"]  # fmt: skip


def run(*arguments):
    return CliRunner().invoke(whitecrow, [str(a) for a in arguments])


def test_publish_prints_the_series_and_what_it_cost(trips, tmp_path):
    picture = tmp_path / "mean.png"
    found = run("publish", *trips, "--column", "km", "--picture", picture)
    assert found.exit_code == 0, found.output
    assert "2019-03-20" in found.output
    assert "Everyone is protected" in found.output
    assert picture.stat().st_size > 5_000


def test_publish_prices_without_asking(trips):
    found = run("--json", "publish", *trips, "--column", "km", "--noise", "gaussian",
                "--per-period", "30", "--price-only")  # fmt: skip
    assert found.exit_code == 0, found.output
    said = json.loads(found.output)
    assert said["price"]["rho"] == "1/8"
    assert len(said["figures"]["mean_deviation"]) == 3


def test_gaussian_noise_is_charged_to_an_account_with_a_delta(trips):
    found = run("--json", "publish", *trips, "--column", "km", "--noise", "gaussian",
                "--budget", "4, 1e-6")  # fmt: skip
    assert found.exit_code == 0, found.output
    assert json.loads(found.output)["guarantee"]["rho"] == "1/8"


def test_a_published_series_can_be_attacked_from_its_json(trips, tmp_path):
    found = run("--json", "publish", *trips, "--column", "km", "--view", "each_period",
                "--private-clip", "1,64")  # fmt: skip
    assert found.exit_code == 0, found.output
    path = tmp_path / "release.json"
    path.write_text(found.output, encoding="utf-8")
    attacked = run("attack", path, "--width", "5")
    assert attacked.exit_code == 0, attacked.output
    assert "3 scored" in attacked.output


@pytest.mark.parametrize(
    "extra",
    [
        ["--clip", "5"],
        ["--clip", "0,5", "--private-clip", "1,5"],
        ["--through", "50"],
        ["--column", "nothing"],
    ],
)
def test_wrong_usage_exits_with_2_and_spends_nothing(trips, extra, tmp_path):
    found = run("publish", *trips, "--column", "km", *extra)
    assert found.exit_code == 2
    assert found.output.startswith("error:")


def test_attack_on_a_file_of_naive_releases(tmp_path):
    stream = porto_like(np.random.default_rng(2))
    path, picture = tmp_path / "releases.csv", tmp_path / "scores.png"
    table = {"mean": naive_release(stream.days, 1, rng=3), "outlier": stream.outlying}
    pd.DataFrame(table).to_csv(path, index=False)
    found = run("attack", path, "--column", "mean", "--outliers", "outlier", "--picture", picture)
    assert found.exit_code == 0, found.output
    assert "base rate" in found.output
    assert picture.exists()
    verdict = json.loads(run("--json", "attack", path, "--column", "mean", "--outliers",
                             "outlier", "--false-alarms", "0.05").output)["verdict"]  # fmt: skip
    assert verdict["auc"] > 0.6
    value = run("--json", "attack", path, "--column", "mean", "--joined", "40", "--left", "40",
                "--size", "55")  # fmt: skip
    assert json.loads(value.output)["low"] < json.loads(value.output)["high"]
    assert run("attack", path, "--column", "mean", "--joined", "40").exit_code == 2
    assert run("attack", tmp_path / "none.csv").exit_code == 2


def test_the_loss_of_a_mean_and_the_epsilon_for_it():
    told = json.loads(run("--json", "attack", "--loss", "0.15", "--size", "55", "--epsilon",
                          "1").output)  # fmt: skip
    assert told["delta"] == pytest.approx(0.01616, abs=1e-5)
    back = run("--json", "attack", "--loss", "0.15", "--size", "55", "--delta", told["delta"])
    assert json.loads(back.output)["epsilon"] == pytest.approx(1)
    for wrong in (("--loss", "0.15", "--size", "55"), ("--loss", "0.15", "--delta", "0.1"), ()):
        assert run("attack", *wrong).exit_code == 2

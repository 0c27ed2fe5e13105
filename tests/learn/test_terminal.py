"""``whitecrow learn`` and ``whitecrow score``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import csv, parquet

from whitecrow.cli import whitecrow

CARD = """
name = "clinic"
[[columns]]
name = "age"
type = "integer"
lower = 0
upper = 120
[[columns]]
name = "bmi"
type = "number"
lower = 10
upper = 60
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    source = np.random.default_rng(0)
    table = pa.table(
        {"age": source.integers(18, 95, 9000), "bmi": source.normal(25, 3, 9000).clip(11, 59)}
    )
    parquet.write_table(table, tmp_path / "clinic.parquet")
    (tmp_path / "clinic.toml").write_text(CARD)
    new = pa.table({"bmi": [25.0, 58.0, None], "age": [50, 119, 40], "extra": ["a", "b", "c"]})
    csv.write_csv(new, tmp_path / "new.csv")
    return tmp_path


def run(*arguments: object) -> dict[str, object]:
    done = CliRunner().invoke(whitecrow, ["--json", *map(str, arguments)])
    assert done.exit_code == 0, done.output
    found: dict[str, object] = json.loads(done.output)
    return found


def learned(folder: Path, *more: str) -> dict[str, object]:
    return run(
        "learn",
        folder / "clinic.parquet",
        "--card",
        folder / "clinic.toml",
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
        "--budget",
        "2, 1e-5",
        "--out",
        folder / "clinic.detector",
        *more,
    )


def test_from_a_file_to_a_screened_file(folder: Path) -> None:
    released = learned(folder, "--false-alarms", "0.05")
    assert released["charged"]
    found = run(
        "score",
        folder / "clinic.detector",
        folder / "new.csv",
        "--out",
        folder / "scores.parquet",
        "--false-alarms",
        "0.05",
        "--contributions",
    )
    assert found["records"] == 3
    assert found["top"][0]["row"] == 2
    scores = parquet.read_table(folder / "scores.parquet")
    assert scores.column_names == ["score", "outlier", "adds age", "adds bmi"]
    assert scores["outlier"].to_pylist() == [False, True, False]
    assert np.isnan(scores["score"].to_numpy()[2])


def test_two_branches_make_one_detector(folder: Path) -> None:
    learned(folder)
    other = (folder / "clinic.detector").rename(folder / "other.detector")
    learned(folder, "--seed", "1")
    found = run(
        "merge", other, folder / "clinic.detector", "--shared", "--out", folder / "both.detector"
    )
    assert found["guarantee"]["epsilon"] == "2"
    assert run("score", folder / "both.detector", folder / "new.csv")["records"] == 3


def test_a_folder_that_is_not_there_is_refused_before_anything_is_spent(folder: Path) -> None:
    done = CliRunner().invoke(
        whitecrow,
        [
            "learn",
            str(folder / "clinic.parquet"),
            "--card",
            str(folder / "clinic.toml"),
            "--epsilon",
            "1",
            "--out",
            str(folder / "nowhere" / "d"),
        ],
    )
    assert done.exit_code == 2
    assert not (folder / "clinic.whitecrow.db").exists()


def test_wrong_files_are_refused_in_words(folder: Path) -> None:
    for arguments in (
        ["score", str(folder / "clinic.toml"), str(folder / "new.csv")],
        ["score", str(folder / "clinic.parquet"), str(folder / "new.csv")],
    ):
        done = CliRunner().invoke(whitecrow, arguments)
        assert done.exit_code == 2
        assert "detector" in done.output

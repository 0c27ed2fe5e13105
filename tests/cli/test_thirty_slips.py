"""Thirty wrong inputs, thirty messages that say what to do; no account is opened, nothing spent."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from whitecrow import demo
from whitecrow.cli import whitecrow

SCREEN = ("--record", '{"age": 74, "bmi": 44, "systolic": 222}', "--beta", "40", "--radius", "12")
LEARN = ("learn", "clinic.csv", "--epsilon", "1")

SLIPS: list[tuple[tuple[str, ...], str]] = [
    (("learn", "nothing.csv", "--epsilon", "1"), "There is no file 'nothing.csv'"),
    (("learn", "notes.xlsx", "--epsilon", "1"), "whitecrow reads .parquet, .pq, .csv"),
    (("learn", "empty.csv", "--epsilon", "1"), "not readable CSV with a header"),
    (("learn", "twice.csv", "--epsilon", "1"), "more than one column 'age'"),
    (("learn", "fake.parquet", "--epsilon", "1"), "Parquet"),
    (("learn", "clinic.csv"), "epsilon"),
    (("learn", "clinic.csv", "--epsilon", "0"), "above 0"),
    (("learn", "clinic.csv", "--epsilon", "-1"), "above 0"),
    (("learn", "clinic.csv", "--epsilon", "much"), "Write it as text"),
    ((*LEARN, "--delta", "1"), "below 1"),
    ((*LEARN, "--delta", "1e-999"), "delta"),
    ((*LEARN, "--columns", "weight"), "'weight'"),
    ((*LEARN, "--false-alarms", "0.9"), "below 1/2"),
    ((*LEARN, "--card", "missing.toml"), "missing.toml"),
    ((*LEARN, "--card", "clinic.csv"), "TOML"),
    ((*LEARN, "--out", "nowhere/m.detector"), "folder that is not there"),
    ((*LEARN, "--budget", "1/2"), "Ask for less"),
    ((*LEARN, "--engine", "fast"), "local"),
    (("score", "clinic.csv", "clinic.csv"), "is not a detector file"),
    (("score", "m.detector", "clinic.csv"), "m.detector"),
    (("screen", "clinic.csv", *SCREEN, "--epsilon", "1/2"), "card"),
    (("screen", "clinic.csv", "--card", "clinic.toml", *SCREEN, "--epsilon", "2"), "short by"),
    (
        ("screen", "clinic.csv", "--card", "clinic.toml", *SCREEN[2:], "--epsilon", "1"),
        "record",
    ),
    (
        ("screen", "clinic.csv", "--card", "clinic.toml", *SCREEN[:2], "--epsilon", "1"),
        "beta",
    ),
    (
        ("screen", "clinic.csv", "--card", "clinic.toml", "--record", "{age: 74}", *SCREEN[2:],
         "--epsilon", "1"),
        "JSON",
    ),
    (
        ("screen", "clinic.csv", "--card", "clinic.toml", "--record", '{"height": 3}',
         *SCREEN[2:], "--epsilon", "1"),
        "'height'",
    ),
    (("learm", "clinic.csv"), "Did you mean 'learn'"),
    ((*LEARN, "--epsilom", "1"), "--epsilon"),
    (("report", "clinic.csv"), "asking a question makes one"),
    (("ledger", "amend", "clinic.csv", "--budget", "2", "--reason", "x"), "asking a question"),
    (
        ("explain", "clinic.csv", "--card", "clinic.toml", "--record", "{}", "--epsilon", "1"),
        "needs both a beta and a radius",
    ),
    (("profile", "clinic.csv", "--card", "clinic.toml", "--epsilon", "1", "--columns", "x"), "'x'"),
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for source in (demo.DATA, demo.CARD):
        (tmp_path / source.name).write_bytes(source.read_bytes())
    (tmp_path / "notes.xlsx").write_bytes(b"PK")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "twice.csv").write_text("age,age\n1,2\n")
    (tmp_path / "fake.parquet").write_text("age\n1\n")
    return tmp_path


def test_there_are_thirty() -> None:
    assert len(SLIPS) >= 30
    assert len({words for words, _ in SLIPS}) == len(SLIPS)


@pytest.mark.parametrize(("words", "told"), SLIPS, ids=lambda given: " ".join(given)[:60])
def test_a_slip_is_met_with_help_and_costs_nothing(
    folder: Path, words: tuple[str, ...], told: str
) -> None:
    before = sorted(path.name for path in folder.iterdir())
    done = CliRunner().invoke(whitecrow, list(words))
    assert done.exit_code in (1, 2), done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert told in " ".join(done.output.split())
    assert "Traceback" not in done.output
    assert done.output.lower().lstrip().startswith(("error: ", "refused: "))
    assert sorted(path.name for path in folder.iterdir()) == before

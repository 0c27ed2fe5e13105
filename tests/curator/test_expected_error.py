"""Answers carry their expected error, and a coin is called a coin: from public facts alone."""

import json

import pyarrow as pa
import pytest
from click.testing import CliRunner

import whitecrow as wc
from whitecrow import demo
from whitecrow.cli import whitecrow

MODEL = wc.DistanceAnomaly(beta=40, radius=5)
RECORD = {"age": 74, "bmi": 44.0}
QUESTIONS = {
    "identify": wc.Identify(RECORD, model=MODEL, epsilon="1"),
    "screen": wc.Screen(RECORD, model=MODEL, epsilon="1"),
    "count": wc.Count(["age", "bmi"], model=MODEL, epsilon="1"),
    "subspaces": wc.Subspaces(1, columns=["age", "bmi"], model=MODEL, epsilon="1"),
    "tune": wc.Tune(["age"], share="1/50", radii=[1, 2, 4], beta=5, epsilon="1"),
    "lookahead": wc.Lookahead(
        columns=["ward"], model=wc.DistanceAnomaly(5, 0, "hamming"), k=5, epsilon="1"
    ),
}


@pytest.fixture
def curator():
    return wc.Curator.open(demo.DATA, card=demo.CARD, budget="100", ledger="sqlite://", name="c")


@pytest.mark.parametrize("kind", QUESTIONS)
def test_every_answer_carries_its_expected_error(curator, kind):
    release = curator.ask(QUESTIONS[kind])
    described = curator.describe(QUESTIONS[kind])
    assert release.error == described.error != ""
    assert release.to_json()["error"] == release.error
    assert any(character.isdigit() for character in release.error)


def test_a_count_says_plus_minus_as_people_write_it(curator):
    assert curator.ask(QUESTIONS["count"]).error == "± 6.5, 95 %: ± 33"


def test_the_expected_error_is_the_same_on_other_records():
    """It is public: nothing of it is read from the data."""
    found = []
    for rows in ([1.0, 2.0, 3.0], [50.0] * 40):
        curator = wc.Curator.open(pa.table({"x": rows}), ledger="sqlite://", name="x", budget="9")
        release = curator.count(["x"], model=MODEL, epsilon="1")
        found.append((release.error, release.warning, release.statement))
    assert found[0] == found[1]


@pytest.mark.parametrize("ask", [wc.Identify, wc.Screen])
def test_an_answer_that_is_a_coins_warns_in_every_place(curator, ask):
    question = ask(RECORD, model=wc.DistanceAnomaly(beta=5, radius=5), epsilon="1/3000")
    described = curator.describe(question)
    assert described.words.startswith("WARNING: this answer is little better than a coin.")
    release = curator.ask(question)
    assert release.warning == described.warning
    assert release.warning in release.statement


def test_an_answer_that_is_worth_its_price_warns_of_nothing(curator):
    release = curator.ask(QUESTIONS["screen"])
    assert release.warning == ""
    assert "WARNING" not in release.statement
    assert "WARNING" not in curator.describe(QUESTIONS["screen"]).words


def test_the_terminal_prints_the_error_and_warns_on_standard_error(tmp_path):
    line = ["screen", str(demo.DATA), "--card", str(demo.CARD), "--record", json.dumps(RECORD)]
    line += ["--beta", "5", "--radius", "5", "--epsilon", "1/3000", "--budget", "1"]
    line += ["--ledger", f"sqlite:///{tmp_path / 'a.db'}"]
    words = CliRunner().invoke(whitecrow, line)
    assert "\nerror      wrong 49.9 % for a record with nothing near" in words.stdout
    assert "WARNING" in words.stderr
    said = CliRunner().invoke(whitecrow, ["--json", *line])
    assert "WARNING" in said.stderr
    assert json.loads(said.stdout)["warning"].startswith("WARNING")

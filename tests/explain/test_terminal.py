"""``whitecrow explain`` on the terminal."""

from __future__ import annotations

import json
import shutil

import pytest
from click.testing import CliRunner

from whitecrow.cli import whitecrow
from whitecrow.demo import CARD, DATA

RECORD = '{"ward": "maternity", "insurance": "public", "year": "2023", "cost": 14000}'
LOF = ("--detector", "lof", "--notion", "conditional")
DISTANCE = ("--detector", "distance", "--beta", "20", "--radius", "3000")


@pytest.fixture
def clinic(tmp_path):
    shutil.copy(DATA, tmp_path / "clinic.csv")
    data = str(tmp_path / "clinic.csv")
    return ("explain", data, "--card", str(CARD), "--record", RECORD, "--of", "cost")


def run(*arguments, status=0):
    result = CliRunner().invoke(whitecrow, ["--json", *arguments])
    assert result.exit_code == status, result.output
    return json.loads(result.stdout)


def test_an_unconditional_explanation_is_answered_and_repeated_for_free(clinic):
    line = (*clinic, *DISTANCE, "--epsilon", "1", "--notion", "differential")
    first = run(*line)
    assert "maternity" in first["answer"]["context"]["ward"]
    assert first["guarantee"]["notion"] == "differential"
    again = run(*line)
    assert not again["charged"]
    assert again["answer"] == first["answer"]


def test_the_answer_can_be_sql(clinic):
    line = (*clinic, *DISTANCE, "--epsilon", "1", "--notion", "differential")
    result = CliRunner().invoke(whitecrow, list(line))
    assert result.exit_code == 0, result.output
    assert "WHERE" in result.output


def test_the_price_is_said_without_asking(clinic):
    line = (*clinic, *LOF, "--epsilon", "0.2", "--search", "bfs", "--samples", "20")
    found = run(*line, "--price-only")
    assert found["figures"]["private_draws"] == 21
    assert found["price"]["notion"] == "conditional"
    margin = (*clinic, *DISTANCE, "--epsilon", "1", "--notion", "differential", "--margin", "12")
    assert "probability" in run(*margin, "--price-only")["figures"]
    crowd = (*clinic, *DISTANCE, "--epsilon", "1", "--notion", "differential", "--crowd", "50")
    assert run(*crowd, "--price-only")["figures"]["weight"] == "1/50"


def test_a_conditional_release_needs_a_policy_that_names_it(clinic):
    run(*clinic, *DISTANCE, "--epsilon", "0.2")  # opens the account, with the usual policy
    refused = run(*clinic, *LOF, "--epsilon", "0.2", status=1)
    assert "conditional" in refused["refused"]["reason"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--detector", "distance"), "both a beta and a radius"),
        ((*LOF, "--beta", "3"), "belongs to --detector distance"),
        (("--detector", "lof"), "the distance model"),
        (("--detector", "grubbs", "--k", "3"), "belongs to --detector lof"),
        ((*DISTANCE, "--crowd", "5", "--utility", "population"), "belongs to --utility isolation"),
        (("--detector", "histogram", "--bins", "many"), "bins"),
        ((*DISTANCE, "--start", '{"ward": ["nowhere"]}'), "nowhere"),
        ((*DISTANCE, "--attributes", "ward,day"), "no value for 'day'"),
    ],
)
def test_wrong_usage_is_said_in_a_sentence(clinic, options, says):
    failed = run(*clinic, "--epsilon", "0.2", *options, status=2)
    assert says in failed["error"]["reason"]


@pytest.mark.parametrize(
    "options",
    [
        ("--detector", "lof", "--k", "5", "--threshold", "2"),
        ("--detector", "grubbs", "--level", "1/100", "--sides", "high"),
        ("--detector", "histogram", "--bins", "30", "--frequency", "1/100"),
        ("--detector", "lof", "--start", '{"ward": ["surgery"]}', "--utility", "overlap"),
    ],
)
def test_detectors_take_their_own_options(clinic, options):
    line = (*clinic, "--epsilon", "1/5", "--notion", "conditional", *options, "--price-only")
    assert run(*line)["price"]["epsilon"] == "1/5"

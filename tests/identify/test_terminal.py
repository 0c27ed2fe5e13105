"""identify, screen, lookahead, price and plan on the terminal."""

from __future__ import annotations

import json
import shutil

import pytest
from click.testing import CliRunner

from whitecrow.cli import whitecrow
from whitecrow.demo import CARD, DATA

RECORD = '{"age": 74, "bmi": 44.0, "systolic": 222}'
MODEL = ("--beta", "40", "--radius", "12")


@pytest.fixture
def clinic(tmp_path):
    shutil.copy(DATA, tmp_path / "clinic.csv")
    return (str(tmp_path / "clinic.csv"), "--card", str(CARD))


def run(*arguments, stdin=None, status=0):
    result = CliRunner().invoke(whitecrow, ["--json", *arguments], input=stdin)
    assert result.exit_code == status, result.output
    return json.loads(result.stdout)


def test_identify_answers_charges_once_and_answers_again_for_free(clinic):
    line = ("identify", *clinic, "--record", RECORD, *MODEL, "--k", "2", "--epsilon", "1/2")
    first = run(*line)
    assert first["answer"] is True or first["answer"] is False
    assert first["guarantee"]["notion"] == "sensitive"
    assert first["guarantee"]["epsilon"] == "1/2"
    assert first["charged"]
    again = run(*line)
    assert not again["charged"]
    assert again["answer"] == first["answer"]
    before = run(*line, "--price-only")
    assert first["error"] == before["error"], "the error of this very answer is not for the analyst"
    said = json.dumps({**first, "question": {}, "error": ""})
    assert "wrong" not in said


@pytest.mark.parametrize(
    "model",
    [
        ("--model", '{"kind": "kernel", "most": 60, "radii": [6, 12], "heights": [2, 1]}'),
        ("--model", '{"kind": "kth-neighbour", "nth": 40}', "--radius", "12"),
        ("--model", '{"kind": "distance"}', *MODEL),
    ],
)
def test_another_model_is_named_by_its_kind(clinic, model):
    found = run("screen", *clinic, "--record", RECORD, *model, "--epsilon", "1")
    kind = json.loads(model[1])["kind"]
    assert found["question"]["model"].get("kind", "distance") == kind
    assert found["charged"]


@pytest.mark.parametrize("model", ["nonsense", "{", '{"kind": "kernel"}', '{"kind": "os:system"}'])
def test_what_is_no_model_is_refused(clinic, model):
    line = ("screen", *clinic, "--record", RECORD, "--model", model, "--epsilon", "1")
    result = CliRunner().invoke(whitecrow, ["--json", *line])
    assert result.exit_code == 2, result.output


def test_screen_is_differentially_private(clinic):
    found = run("screen", *clinic, "--record", RECORD, *MODEL, "--epsilon", "0.5")
    assert found["guarantee"]["notion"] == "differential"


def test_lookahead_releases_a_histogram(clinic):
    line = ("--columns", "ward,year", "--beta", "20", "--k", "20", "--epsilon", "1")
    found = run("lookahead", *clinic, *line)
    assert found["answer"]["columns"] == ["ward", "year"]
    assert found["guarantee"]["notion"] == "differential"
    words = CliRunner().invoke(whitecrow, ["lookahead", *clinic, *line])
    assert "combinations of ward, year" in words.output


def test_price_takes_the_questions_own_line_and_asks_nothing(clinic, tmp_path):
    line = (*clinic, "--record", RECORD, *MODEL, "--k", "2", "--epsilon", "0.1")
    found = run("price", "identify", *line, "--typical-neighbours", "3")
    assert found["price"]["epsilon"] == "1/10"
    assert 0 < found["figures"]["expected_error"] < found["figures"]["worst_error"] < 0.5
    found = run(
        "price",
        "lookahead",
        *clinic,
        "--columns",
        "ward",
        "--beta",
        "9",
        "--k",
        "1",
        "--epsilon",
        "1",
    )
    assert "RELEASED AS THEY ARE" in found["words"]
    assert "answer" not in found
    assert [path.name for path in tmp_path.iterdir()] == ["clinic.csv"], "no account was opened"


def test_plan_knows_which_questions_do_not_meet(clinic):
    ask = {"kind": "identify", "model": {"beta": 40, "radius": 2}, "k": 2, "epsilon": "1/10"}
    batch = [{**ask, "record": {"age": age, "bmi": 22}} for age in (20, 50, 80, 81)]
    found = run("plan", *clinic, "-", stdin=json.dumps(batch))
    assert found["questions"] == 4
    assert found["price"]["sensitive"] == "1/5"
    assert found["apart"] == "2/5"
    lines = "\n".join(json.dumps(item) for item in batch)
    assert run("plan", *clinic, "-", stdin=lines) == found


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("--beta", "0"), "'beta'"),
        (("--k", "0"), "'k'"),
        (("--radius", "-1"), "'radius'"),
        (("--record", '{"age": NaN}'), "finite"),
        (("--record", '{"height": 3}'), "no column 'height'"),
        (("--record", '{"age": 17}'), "bounds 18 and 95"),
        (("--record", "[74, 44.0]"), "JSON object"),
        (("--epsilon", "0"), "'epsilon'"),
        (("--epsilon", "abc"), "'epsilon'"),
    ],
)
def test_bad_input_is_exit_2_with_a_reason_and_costs_nothing(clinic, change, says):
    line = ["--record", RECORD, *MODEL, "--k", "2", "--epsilon", "1/2"]
    found = run("identify", *clinic, *line, *change, status=2)
    assert says in found["error"]["reason"]
    good = run("identify", *clinic, *line)
    assert good["ledger"]["remaining"]["sensitive"] == "1/2"


@pytest.mark.parametrize(
    "batch", ["{", "[3]", '{"record": 1}', '[{"kind": "guess"}]', '{"kind": "identify"}']
)
def test_bad_plans_are_exit_2(clinic, batch):
    assert "reason" in run("plan", *clinic, "-", stdin=batch, status=2)["error"]


def test_every_command_has_help_with_an_example():
    for name in ("identify", "screen", "lookahead", "price", "plan"):
        shown = CliRunner().invoke(whitecrow, [name, "--help"]).output
        assert "Example: whitecrow" in shown

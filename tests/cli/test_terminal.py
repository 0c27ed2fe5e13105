"""The terminal: instant help, one JSON object, honest exit statuses."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from whitecrow import __version__
from whitecrow.cli import COMMANDS, whitecrow
from whitecrow_audit.verify import Check, Report

PROGRAM = Path(sys.executable).with_name("whitecrow")


def run(*arguments):
    return CliRunner().invoke(whitecrow, list(arguments))


def test_help_names_every_command():
    found = subprocess.run([PROGRAM, "--help-all"], capture_output=True, text=True, check=True)
    for command in COMMANDS:
        assert f"\n  {command} " in found.stdout


def test_help_imports_nothing_heavy():
    code = "import sys; from whitecrow.cli import whitecrow; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in found.stdout.split()}
    assert not loaded & {"numpy", "scipy", "numba", "pyarrow", "sqlalchemy", "rich", "matplotlib"}


def test_version():
    assert run("--version").output.strip() == f"whitecrow, version {__version__}"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name):
    found = run(name, "--help")
    assert found.exit_code == 0, found.output
    group = whitecrow.get_command(None, name)
    parts = getattr(group, "commands", {})
    pages = [run(name, part, "--help").output for part in parts] or [found.output]
    for page in pages:
        assert f"Example: whitecrow {name}" in " ".join(page.split())


@pytest.mark.parametrize("words", [("count",), ("screening", "close")])
def test_the_help_of_a_question_says_what_data_may_be(words):
    assert "A data file, or a query." in run(*words, "--help").output
    assert "SELECT" in run(*words, "--help-all").output


def test_an_unknown_command_is_wrong_usage():
    assert run("nonsense").exit_code == 2


def test_verify_lists_databases_and_edges(monkeypatch):
    good = Check("toy", "a claim", lambda: Report(27, 54, 0.5, 1.0))
    monkeypatch.setattr("whitecrow_audit.verify.checks", lambda names: [good])
    found = run("verify")
    assert found.exit_code == 0
    assert "27 databases, 54 edges" in found.output
    assert "1 passed, 0 failed" in found.output


def test_a_planted_violation_makes_verify_fail(monkeypatch):
    bad = Check("toy", "a false claim", lambda: Report(27, 54, 1.5, 1.0, "(0,) ~ (1,)"))
    monkeypatch.setattr("whitecrow_audit.verify.checks", lambda names: [bad])
    found = run("verify")
    assert found.exit_code == 1
    assert "worst edge: (0,) ~ (1,)" in found.output


def test_a_mutant_that_is_not_caught_makes_verify_fail(monkeypatch):
    mutant = Check("toy", "mutant", lambda: Report(1, 1, 0.0, 1.0), must_fail=True)
    monkeypatch.setattr("whitecrow_audit.verify.checks", lambda names: [mutant])
    assert run("verify").exit_code == 1


def test_verify_speaks_json(monkeypatch):
    bad = Check("toy", "leak", lambda: Report(1, 1, float("inf"), 1.0))
    monkeypatch.setattr("whitecrow_audit.verify.checks", lambda names: [bad])
    found = run("--json", "verify")
    assert json.loads(found.stdout)["checks"][0]["worst_loss"] == "infinite"


def test_bad_input_is_status_2_and_json_when_asked(tmp_path):
    found = run("--json", "card", "check", str(tmp_path / "none.toml"))
    assert found.exit_code == 2
    assert "cannot be read" in json.loads(found.stdout)["error"]["reason"]


def test_bench_outside_a_clone_says_so(tmp_path):
    found = subprocess.run(
        [PROGRAM, "bench", "noise"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert found.returncode == 1
    assert "run this in a clone" in found.stderr


@pytest.fixture
def clinic(tmp_path):
    from whitecrow import demo

    for path in (demo.DATA, demo.CARD):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return [str(tmp_path / "clinic.csv"), "--card", str(tmp_path / "clinic.toml")]


EXPLAIN = [
    "--of",
    "cost",
    "--record",
    '{"ward": "maternity", "insurance": "public", "year": "2023", "cost": 14000}',
    "--epsilon",
    "0.2",
    "--detector",
    "lof",
    "--notion",
    "conditional",
]


def test_a_new_account_admits_a_conditional_release_only_where_the_custodian_names_it(
    clinic, tmp_path
):
    found = run("--json", "explain", *clinic, *EXPLAIN)
    assert found.exit_code == 1
    assert "--allow conditional" in json.loads(found.stdout)["refused"]["reason"]
    assert not list(tmp_path.glob("*.whitecrow.db")), "a refusal opens no account"
    found = run("--json", "explain", *clinic, *EXPLAIN, "--allow", "conditional")
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["guarantee"]["notion"] == "conditional"


def test_a_policy_file_may_name_the_conditional_promise(clinic, tmp_path):
    (tmp_path / "policy.toml").write_text('notions = ["conditional"]\n')
    found = run("explain", *clinic, *EXPLAIN, "--policy", str(tmp_path / "policy.toml"))
    assert found.exit_code == 0, found.output


def test_an_explanation_without_a_named_notion_opens_an_account_without_conditional(clinic):
    distance = [*EXPLAIN[:6], "--beta", "20", "--radius", "3000"]
    found = run("--json", "explain", *clinic, *distance)
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["guarantee"]["notion"] == "differential"
    again = run("--json", "explain", *clinic, *EXPLAIN, "--allow", "conditional")
    assert "no conditional release" in json.loads(again.stdout)["refused"]["reason"]


def test_but_never_changes_the_policy_of_an_account_that_exists(clinic):
    screen = ["--record", '{"age": 50}', "--beta", "5", "--radius", "3", "--epsilon", "0.1"]
    assert run("screen", *clinic, *screen).exit_code == 0
    found = run("--json", "explain", *clinic, *EXPLAIN, "--allow", "conditional")
    assert found.exit_code == 1
    assert "no conditional release" in json.loads(found.stdout)["refused"]["reason"]


def test_a_policy_file_rules_the_account_it_opens(clinic, tmp_path):
    (tmp_path / "policy.toml").write_text('questions = ["count"]\n')
    screen = ["--record", '{"age": 50}', "--beta", "5", "--radius", "3", "--epsilon", "0.1"]
    found = run("screen", *clinic, *screen, "--policy", str(tmp_path / "policy.toml"))
    assert found.exit_code == 1
    assert "allows no screen question" in found.output


def test_records_that_changed_are_refused_until_the_custodian_says_why(clinic):
    screen = ["--record", '{"age": 50}', "--beta", "5", "--radius", "3", "--epsilon", "0.1"]
    assert run("screen", *clinic, *screen).exit_code == 0
    data = Path(clinic[0])
    data.write_text(data.read_text().rsplit("\n", 2)[0] + "\n")  # one record less
    refused = run("--json", "screen", *clinic, *screen)
    assert refused.exit_code == 1
    assert "data advance" in json.loads(refused.stdout)["refused"]["reason"]
    assert run("data", "advance", *clinic, "--reason", " ").exit_code == 2
    found = run("--json", "data", "advance", *clinic, "--reason", "a consent was withdrawn")
    assert json.loads(found.stdout) == {"account": "clinic", "revision": 2}
    again = json.loads(run("--json", "screen", *clinic, *screen).stdout)
    assert again["charged"]
    assert again["ledger"]["spent"]["differential"] == "1/5"
    shown = run("ledger", "show", clinic[0]).output
    assert "revision 2 of the data" in shown
    assert "a consent was withdrawn" in " ".join(shown.split())


def test_a_query_in_a_shared_ledger_needs_a_name(tmp_path):
    import sqlite3

    base = tmp_path / "people.sqlite"
    with sqlite3.connect(base) as connection:
        connection.execute("CREATE TABLE people (age REAL)")
        connection.execute("INSERT INTO people VALUES (30), (31), (90)")
    card = tmp_path / "people.toml"
    column = '[[columns]]\nname = "age"\ntype = "number"\nlower = 0\nupper = 120\n'
    card.write_text(f'name = "people"\n{column}')
    ledger = tmp_path / "accounts.db"
    source = "::".join((f"sqlite:///{base}", "SELECT age FROM people"))
    ask = ["screen", source, "--card", str(card)]
    ask += ["--ledger", str(ledger), "--record", '{"age": 50}', "--beta", "1", "--radius", "3"]
    ask += ["--epsilon", "0.1"]
    refused = run(*ask)
    assert refused.exit_code == 2
    assert "--name" in refused.output
    assert run(*ask, "--name", "people").exit_code == 0


def test_growth_is_declared_and_checked_and_the_timeline_tells_it(clinic, tmp_path):
    data = Path(clinic[0])
    declare = ("data", "advance", *clinic, "--growth", "insert-only", "--reason")
    assert run(*declare, "a register").exit_code == 0
    rows = data.read_text().splitlines()
    data.write_text("\n".join([*rows, rows[-1]]) + "\n")  # one record more
    assert run("data", "advance", *clinic, "--reason", "May").exit_code == 0
    data.write_text("\n".join([rows[0], *rows[2:], rows[-1], rows[-1]]) + "\n")
    refused = run("data", "advance", *clinic, "--reason", "June")
    assert refused.exit_code == 1
    assert "--growth any" in refused.output
    assert run(*declare[:-2], "any", "--reason", "a consent was withdrawn").exit_code == 0
    picture = tmp_path / "t.svg"
    shown = " ".join(
        run("data", "timeline", clinic[0], "--out", str(picture)).output.split()
    )  # lines are as long as the screen
    assert "only added since revision 1" in shown
    assert '"a consent was withdrawn"' in shown
    assert picture.read_text().startswith("<svg")
    found = json.loads(run("--json", "data", "timeline", clinic[0]).stdout)
    assert [one["kind"] for one in found["events"]].count("revision") == 3

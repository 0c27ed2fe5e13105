"""The account on the terminal: shown, checked, exported, mended; refusals exit 1."""

from __future__ import annotations

import csv as plain_csv
import json
import sqlite3
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from pyarrow import parquet

import whitecrow as wc
from whitecrow.cli import whitecrow
from whitecrow.ledger import ChargeRequest, Ledger

ROWS = pa.table({"age": [30.0, 31.0, 32.0, 90.0], "bmi": [20.0, 21.0, 22.0, 35.0]})
ASKED = ["--record", '{"age": 90, "bmi": 35}', "--beta", "2", "--radius", "5"]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(whitecrow, list(arguments))


def said(*arguments: str) -> Any:
    found = run("--json", *arguments)
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "people.parquet"
    parquet.write_table(ROWS, path)
    return str(path)


def test_an_account_is_shown_verified_and_exported(data: str, tmp_path: Path) -> None:
    asked = said("identify", data, *ASKED, "--epsilon", "1/3", "--analyst", "ana")
    left = {"differential": "2/3", "sensitive": "2/3", "delta": "1/1000000"}
    assert asked["ledger"]["remaining"] == left
    [account] = said("ledger", "show", data)["accounts"]
    assert account["spent"]["sensitive"] == "1/3"
    assert account["unsettled"] == []
    shown = run("ledger", "show", data).output
    # Spent is rounded up, what remains down.
    assert "sensitive     0.6666 of 1 left (0.3334 spent)" in shown
    assert "differential  the guarantee for everyone no longer covers the total" in shown
    checked = said("ledger", "verify", data)
    assert checked["ok"]
    assert checked["accounts"][0]["head"] == account["head"]
    assert "chain and sums are right" in run("ledger", "verify", data).output
    exported = said("ledger", "export", data)
    assert [entry["kind"] for entry in exported["entries"]] == ["open", "reserve", "settle"]
    out = tmp_path / "account.csv"
    assert run("ledger", "export", data, "--format", "csv", "--out", str(out)).exit_code == 0
    with out.open(encoding="utf-8", newline="") as file:
        assert [row["kind"] for row in plain_csv.DictReader(file)] == ["open", "reserve", "settle"]


def test_overspending_exits_1_with_requested_remaining_and_difference(data: str) -> None:
    run("identify", data, *ASKED, "--epsilon", "0.9")
    refused = run("--json", "identify", data, *ASKED, "--epsilon", "0.2")
    assert refused.exit_code == 1
    words = json.loads(refused.stdout)["refused"]
    assert (words["requested"], words["remaining"]) == ("1/5", "1/10")
    assert "short by 1/10" in words["reason"]
    assert run("identify", data, *ASKED, "--epsilon", "0.2").exit_code == 1
    again = run("--json", "identify", data, *ASKED, "--epsilon", "0.9")
    assert (again.exit_code, json.loads(again.stdout)["charged"]) == (0, False)


def test_an_analysts_share_and_an_amended_promise_bind(data: str, tmp_path: Path) -> None:
    run("identify", data, *ASKED, "--epsilon", "0.1")
    assert run("ledger", "allow", data, "ana", "1/10", "--reason", "thesis").exit_code == 0
    more = ["--epsilon", "0.2", "--analyst", "ana"]
    refused = run("identify", data, *ASKED, *more)
    assert refused.exit_code == 1
    assert "Analyst 'ana'" in refused.output
    policy = tmp_path / "policy.toml"
    policy.write_text('notions = ["differential"]\n')
    amended = said(
        "ledger",
        "amend",
        data,
        "--budget",
        "3",
        "--policy",
        str(policy),
        "--reason",
        "the board voted",
    )
    assert amended["budget"]["sensitive"] == "3"
    refused = run("identify", data, *ASKED, "--epsilon", "0.2")
    assert refused.exit_code == 1
    assert "allows no sensitive release" in refused.output
    assert run("ledger", "allow", data, "ana", "none", "--reason", "done").exit_code == 0
    assert run("ledger", "amend", data, "--reason", "nothing").exit_code == 2
    assert run("ledger", "amend", data, "--budget", "3").exit_code == 2


def test_an_interrupted_spend_is_reported_kept_and_voided(data: str) -> None:
    run("identify", data, *ASKED, "--epsilon", "0.1")
    with Ledger(Path(data).with_name("people.whitecrow.db")) as ledger:
        held, _ = ledger.reserve(
            "people", ChargeRequest("ana", "d", {}, wc.DifferentialPrivacy("1/2"))
        )
        held.release()  # type: ignore[union-attr]
    shown = run("ledger", "show", data).output
    assert "entry 4 (ana, " in shown
    assert "its spend is kept" in " ".join(shown.split())
    assert said("ledger", "void", data, "4", "--reason", "power cut") == {"voided": 4}
    again = run("ledger", "void", data, "4", "--reason", "power cut")
    assert (again.exit_code, "already void" in again.output) == (1, True)
    assert run("ledger", "void", data, "3", "--reason", "greed").exit_code == 1
    [account] = said("ledger", "show", data)["accounts"]
    assert account["spent"]["sensitive"] == "1/10"


def test_a_failure_is_shown_and_reviewed_and_the_dataset_takes_questions_again(data: str) -> None:
    run("identify", data, *ASKED, "--epsilon", "0.1")
    with Ledger(Path(data).with_name("people.whitecrow.db")) as ledger:
        held, _ = ledger.reserve(
            "people", ChargeRequest("ana", "d", {}, wc.DifferentialPrivacy("1/2"))
        )
        ledger.fail("people", held)  # type: ignore[arg-type]
        held.release()  # type: ignore[union-attr]
    refused = run("identify", data, *ASKED, "--epsilon", "0.2")
    assert refused.exit_code != 0
    assert "takes no new questions" in refused.output
    assert "CLOSED to new questions: entry 5" in run("ledger", "show", data).output
    assert run("ledger", "review", data, "3", "--reason", "haste").exit_code == 1
    reviewed = said("ledger", "review", data, "5", "--reason", "a full disk")
    assert reviewed == {"reviewed": 5, "failures": 0}
    assert run("identify", data, *ASKED, "--epsilon", "0.2").exit_code == 0
    assert said("ledger", "verify", data)["ok"]


def test_tampering_exits_1_and_names_the_entry(data: str) -> None:
    run("identify", data, *ASKED, "--epsilon", "0.1")
    head = said("ledger", "verify", data)["accounts"][0]["head"]
    path = Path(data).with_name("people.whitecrow.db")
    assert said("ledger", "verify", str(path), "--head", head)["ok"]
    assert "cut or replaced" in run("ledger", "verify", str(path), "--head", "0" * 64).output
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE entries SET analyst = 'eve' WHERE seq = 2")
    connection.close()
    found = run("ledger", "verify", data)
    assert found.exit_code == 1
    assert "'people', entry 2: its content does not match its hash" in found.output


def test_looking_never_makes_a_ledger(data: str, tmp_path: Path) -> None:
    for part in ("show", "verify", "export"):
        found = run("ledger", part, data)
        assert found.exit_code == 2
        assert "There is no ledger" in found.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["people.parquet"]


def test_several_accounts_are_told_apart(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'all.db'}"
    for name in ("north", "south"):
        wc.Curator.open(ROWS, name=name, ledger=url, account="now").close()
    assert [a["dataset"] for a in said("ledger", "show", url)["accounts"]] == ["north", "south"]
    assert len(said("ledger", "verify", url)["accounts"]) == 2
    assert said("ledger", "export", url, "--dataset", "south")["dataset"] == "south"
    found = run("ledger", "export", url)
    assert (found.exit_code, "north, south" in found.output) == (2, True)

"""``--records``: many records from a file, in one table, and resumed without paying twice."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import whitecrow as wc
from whitecrow.cli import whitecrow

PROGRAM = Path(sys.executable).with_name("whitecrow")
CARD = """
name = "clinic"
[[columns]]
name = "age"
type = "integer"
lower = 0
upper = 120
[[columns]]
name = "ward"
type = "category"
categories = ["a", "b"]
[[columns]]
name = "seen"
type = "date"
lower = "2020-01-01"
upper = "2024-12-31"
"""
ROWS = [
    {"id": "p1", "age": 30, "ward": "a", "seen": "2021-01-01"},
    {"id": "p2", "age": 90, "ward": "b", "seen": "2022-05-01"},
    {"id": "p3", "age": 31, "ward": "a", "seen": "2021-01-02"},
]
MODEL = ["--beta", "2", "--radius", "0.1", "--metric", "gower"]


def run(*arguments):
    return CliRunner().invoke(whitecrow, [str(one) for one in arguments])


@pytest.fixture
def clinic(tmp_path):
    pq.write_table(pa.Table.from_pylist(ROWS).drop(["id"]), tmp_path / "clinic.parquet")
    (tmp_path / "clinic.toml").write_text(CARD)
    return tmp_path


def asked(clinic, kind, file, *more):
    found = run(
        *("--json", kind, clinic / "clinic.parquet", "--card", clinic / "clinic.toml"),
        *("--records", file, "--epsilon", "30", "--budget", "1000", *MODEL, *more),
    )
    return found, json.loads(found.stdout)


def written(folder, ending, rows):
    file = folder / f"new{ending}"
    if ending == ".jsonl":
        file.write_text("\n".join(json.dumps(row) for row in rows))
    elif ending == ".csv":
        pyarrow.csv.write_csv(pa.Table.from_pylist(rows), file)
    else:
        pq.write_table(pa.Table.from_pylist(rows), file)
    return file


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".jsonl"])
def test_every_format_asks_the_same_questions(clinic, ending):
    first, answers = asked(clinic, "identify", written(clinic, ".csv", ROWS), "--key", "id")
    again, repeated = asked(clinic, "identify", written(clinic, ending, ROWS), "--key", "id")
    assert (first.exit_code, again.exit_code) == (0, 0)
    assert [one["key"] for one in answers["answers"]] == ["p1", "p2", "p3"]
    assert [one["answer"] for one in answers["answers"]] == [True, True, True]
    assert repeated["plan"]["charged"] == 0
    assert [one["answer"] for one in repeated["answers"]] == [True, True, True]


def test_answers_are_those_of_one_question_after_the_other(clinic):
    _, answers = asked(clinic, "screen", written(clinic, ".csv", ROWS), "--key", "id")
    curator = wc.Curator.open(clinic / "clinic.parquet", card=clinic / "clinic.toml")
    model = wc.DistanceAnomaly(2, 0.1, "gower")
    for row, one in zip(ROWS, answers["answers"], strict=True):
        record = {name: value for name, value in row.items() if name != "id"}
        release = curator.screen(record, model=model, epsilon="30")
        assert release.answer == one["answer"]
        assert not release.charged


def test_the_table_carries_the_key_of_the_input(clinic):
    out = clinic / "answers.parquet"
    asked(clinic, "identify", written(clinic, ".csv", ROWS), "--key", "id", "--out", out)
    assert pq.read_table(out).to_pylist() == [
        {"id": row["id"], "answer": True, "charged": True} for row in ROWS
    ]


def test_the_price_of_all_is_said_before_any_is_asked(clinic):
    file = written(clinic, ".csv", ROWS)
    found, price = asked(clinic, "screen", file, "--key", "id", "--price-only")
    assert found.exit_code == 0
    assert price["plan"]["questions"] == 3
    assert price["plan"]["price"]["differential"] == "60"
    assert not list(clinic.glob("*.db"))


def test_a_batch_over_the_budget_says_how_many_fit(clinic):
    file = written(clinic, ".csv", [{**ROWS[0], "age": 30 + i} for i in range(5)])
    found, said = asked(clinic, "screen", file, "--only", "age,ward,seen", "--budget", "70")
    assert found.exit_code == 1
    assert "the first 2 fit" in said["refused"]["reason"]


@pytest.mark.parametrize(
    ("change", "more", "says"),
    [
        ({"age": None}, (), "row 2, age: missing or of the wrong type"),
        ({"age": 900}, (), "row 2, age: outside the bounds"),
        ({"ward": "z"}, (), "row 2, ward: not a category"),
        ({}, ("--only", "age,shoe"), "no column 'shoe'"),
        ({}, ("--key", "nobody"), "no column 'nobody' to be the key"),
        ({"id": "p1"}, ("--key", "id"), "more than one row alike"),
        ({}, ("--out", "answers.xlsx"), "--out must end in"),
        ({}, ("--record", "{}"), "not both"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is_spent(clinic, change, more, says):
    file = written(clinic, ".csv", [ROWS[0], {**ROWS[1], **change}])
    more = more if "--key" in more or "--only" in more else ("--key", "id", *more)
    found, said = asked(clinic, "screen", file, *more)
    assert found.exit_code == 2
    assert says in said["error"]["reason"]


def test_a_column_that_the_card_does_not_list_is_never_guessed_to_be_the_key(clinic):
    found, said = asked(clinic, "screen", written(clinic, ".csv", ROWS))
    assert found.exit_code == 2
    assert "--key" in said["error"]["reason"]


def test_rows_that_cannot_be_read_may_be_left_out(clinic):
    file = written(clinic, ".jsonl", [ROWS[0], {**ROWS[1], "age": None}, ROWS[2]])
    _, said = asked(clinic, "screen", file, "--key", "id", "--leave-out")
    assert said["left_out"] == ["p2"]
    assert [one["key"] for one in said["answers"]] == ["p1", "p3"]


def test_explain_takes_records_too(clinic):
    rows = [{"age": row["age"], "ward": row["ward"]} for row in ROWS]
    found = run(
        *("--json", "explain", clinic / "clinic.parquet", "--card", clinic / "clinic.toml"),
        *("--records", written(clinic, ".csv", rows), "--metric", "age", "--epsilon", "1"),
        *("--beta", "2", "--radius", "5", "--budget", "9"),
    )
    assert found.exit_code == 0, found.output
    assert len(json.loads(found.stdout)["answers"]) == 3


def settled(ledger):
    if not ledger.exists():
        return 0
    connection = sqlite3.connect(ledger, timeout=30)
    try:
        rows = connection.execute("SELECT count(*) FROM entries WHERE kind = 'settle'")
        return rows.fetchone()[0]
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()


def test_a_batch_that_was_killed_goes_on_and_pays_once(tmp_path):
    draw = np.random.default_rng(1)
    data, ledger = tmp_path / "data.parquet", tmp_path / "account.db"
    pq.write_table(pa.table({"x": draw.normal(size=300), "y": draw.normal(size=300)}), data)
    new = pa.table({"x": draw.normal(size=150), "y": draw.normal(size=150)})
    pq.write_table(new, tmp_path / "new.parquet")
    line = [PROGRAM, "--json", "screen", data, "--records", tmp_path / "new.parquet"]
    line += ["--beta", "5", "--radius", "0.2", "--epsilon", "1/100", "--budget", "1"]
    line += ["--ledger", f"sqlite:///{ledger}"]
    line = [str(one) for one in line]
    priced = subprocess.run([*line, "--price-only"], capture_output=True, text=True, check=True)
    price = json.loads(priced.stdout)["plan"]["price"]["differential"]
    killed = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while settled(ledger) < 20 and killed.poll() is None:
        time.sleep(0.005)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    before = settled(ledger)
    assert 20 <= before < 150
    whole = json.loads(subprocess.run(line, capture_output=True, text=True, check=True).stdout)
    assert len(whole["answers"]) == 150
    # One may have been paid and not answered when the process was killed: it is not paid again.
    assert whole["plan"]["charged"] in (150 - before, 150 - before - 1)
    assert whole["ledger"]["spent"]["differential"] == price
    assert settled(ledger) == 150

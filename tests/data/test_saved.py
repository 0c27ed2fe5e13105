"""Columns kept beside a file: the same records, until the file or what the card says changes."""

import os
from dataclasses import replace

import numpy as np
import pyarrow
import pytest
from click.testing import CliRunner
from pyarrow import csv, parquet

from whitecrow.cli import whitecrow
from whitecrow.curator import Curator
from whitecrow.data import Card, Column, read, read_and_keep, reading
from whitecrow.errors import InvalidInput

CARD = Card(
    "people",
    (
        Column("age", "number", lower=0, upper=120),
        Column("ward", "category", categories=("north", "south")),
        Column("since", "date"),
        Column("who", "text"),
    ),
    unit="user",
    user_column="who",
    contribution=2,
)
ROWS = {
    "age": [30.0, 40.5, 500.0, 60.0, 61.0, None],
    "ward": ["north", "south", "north", "south", "north", "north"],
    "since": ["2024-01-01"] * 6,
    "who": ["ann", "bob", "cy", "ann", "ann", "zoë"],
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "people.parquet"
    parquet.write_table(pyarrow.table(ROWS), path)
    return path


def same(one, other):
    assert one.size == other.size
    assert one.fingerprint() == other.fingerprint()
    assert one.rejections.reasons == other.rejections.reasons
    for name in one.card.names:
        first, second = one.values(name), other.values(name)
        assert first.dtype == second.dtype
        assert first.tolist() == second.tolist()


def test_kept_columns_are_the_records_that_reading_gives(file, monkeypatch):
    plain = read(file, CARD)
    same(read_and_keep(file, CARD), plain)
    monkeypatch.setattr(reading, "open_source", lambda source: pytest.fail("the file was read"))
    same(read(file, CARD), plain)
    same(read(str(file), replace(CARD, name="other")), plain)


def test_only_the_owner_may_read_them(file):
    read_and_keep(file, CARD)
    (place,) = file.parent.glob("*.whitecrow-columns")
    assert place.stat().st_mode & 0o777 == 0o700


def test_a_changed_file_is_read_again(file):
    read_and_keep(file, CARD)
    more = {name: [*values, values[0]] for name, values in ROWS.items()} | {
        "who": [*ROWS["who"], "dan"]
    }
    parquet.write_table(pyarrow.table(more), file)
    assert read(file, CARD).size == 4
    # A change while it was read is noticed too: what is kept carries the state before.
    os.utime(file, ns=(1, 1))
    assert read(file, CARD).size == 4


def test_another_card_reads_again(file):
    read_and_keep(file, CARD)
    narrow = replace(CARD, columns=(replace(CARD.columns[0], upper=50), *CARD.columns[1:]))
    assert read(file, narrow).size == 2
    assert read(file, CARD).size == 3
    with pytest.raises(InvalidInput, match="more records than the size"):
        read(file, replace(CARD, size_public=True, size=2))


@pytest.mark.parametrize("harm", ["flip", "cut", "remove", "json"])
def test_what_is_damaged_is_not_used(file, harm):
    whole = read_and_keep(file, CARD)
    (place,) = file.parent.glob("*.whitecrow-columns")
    victim = place / "0.npy"
    content = bytearray(victim.read_bytes())
    content[-3] ^= 1
    if harm == "flip":
        victim.write_bytes(content)
    elif harm == "cut":
        victim.write_bytes(content[:-4])
    elif harm == "remove":
        victim.unlink()
    else:
        (place / "about.json").write_text("[]")
    same(read(file, CARD), whole)


def test_a_text_that_would_not_come_back_is_refused(tmp_path):
    path = tmp_path / "odd.parquet"
    parquet.write_table(pyarrow.table({"who": ["ann\0", "bob"]}), path)
    with pytest.raises(InvalidInput, match="zero bytes"):
        read_and_keep(path, Card("odd", (Column("who", "text"),)))


def test_the_terminal_indexes_once_and_questions_use_it(tmp_path, monkeypatch):
    path, card = tmp_path / "points.csv", tmp_path / "points.toml"
    points = np.random.default_rng(5).normal(size=(300, 2)).clip(-9, 9)
    csv.write_csv(pyarrow.table({"x": points[:, 0], "y": points[:, 1]}), path)
    card.write_text(
        'name = "points"\n'
        + "".join(
            f'[[columns]]\nname = "{name}"\ntype = "number"\nlower = -9\nupper = 9\n'
            for name in "xy"
        )
    )
    found = CliRunner().invoke(whitecrow, ["--json", "index", str(path), "--card", str(card)])
    assert found.exit_code == 0, found.output
    assert '"columns": [["x", "y"]]' in found.output
    monkeypatch.setattr(reading, "open_source", lambda source: pytest.fail("the file was read"))
    opened = Curator.open(path, card=card, ledger="sqlite://")
    assert opened._execution._engine.index_bytes > 0
    asked = ["identify", str(path), "--card", str(card), "--record", '{"x": 9, "y": 9}']
    asked += ["--beta", "2", "--radius", "1", "--epsilon", "1"]
    answered = CliRunner().invoke(whitecrow, asked)
    assert answered.exit_code == 0, answered.output
    wrong = CliRunner().invoke(whitecrow, ["index", str(path), "--card", str(card), "--columns=z"])
    assert wrong.exit_code == 2
    assert "z" in wrong.output

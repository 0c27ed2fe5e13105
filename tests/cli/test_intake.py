"""What became of the rows: for the custodian at the keyboard, and for nobody else."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import whitecrow as wc
from whitecrow.cli import whitecrow
from whitecrow.data import Card, Column
from whitecrow.data.dataset import intake_words

CARD = """
name = "clinic"
[[columns]]
name = "age"
type = "number"
lower = 0
upper = 120
missing = "fill"
fill = 40
[[columns]]
name = "bmi"
type = "number"
lower = 10
upper = 80
outside = "clip"
"""
GOOD = [{"age": 30.0, "bmi": 22.0}] * 20
BAD = [
    {"age": None, "bmi": 22.0},
    {"age": 500.0, "bmi": 22.0},
    {"age": 30.0, "bmi": 900.0},
    {"age": 30.0, "bmi": None},
]


def screen(folder, rows, *more):
    pq.write_table(pa.Table.from_pylist(rows), folder / "clinic.parquet")
    (folder / "clinic.toml").write_text(CARD)
    line = ["screen", str(folder / "clinic.parquet"), "--card", str(folder / "clinic.toml")]
    line += ["--record", '{"age": 30, "bmi": 22}', "--beta", "5", "--radius", "3"]
    return CliRunner().invoke(whitecrow, [*line, "--epsilon", "1", "--price-only", *more])


@pytest.fixture
def watched(monkeypatch):
    """Let the terminal think that a person is watching, without drawing bars."""
    monkeypatch.setattr("whitecrow.cli.common.watched", lambda: True)


def test_the_custodian_at_the_keyboard_is_told_what_became_of_the_rows(tmp_path, watched):
    found = screen(tmp_path, [*GOOD, *BAD])
    assert (
        "custodian 24 rows read, 22 complete, 2 in part or not at all (age: outside the bounds 1; "
        "bmi: missing or of the wrong type 1), 2 values mended (age: missing or of the wrong "
        "type 1; bmi: outside the bounds 1)" in " ".join(found.stderr.split())
    )
    assert "rows read" not in found.stdout


@pytest.mark.parametrize("more", [("--analyst", "ana")])
def test_an_analyst_is_told_nothing_of_rows(tmp_path, watched, more):
    assert "rows read" not in screen(tmp_path, [*GOOD, *BAD], *more).output


def test_what_is_piped_or_json_tells_nothing_of_rows(tmp_path):
    assert "rows read" not in screen(tmp_path, [*GOOD, *BAD]).output


@pytest.mark.parametrize("bad", BAD)
def test_replies_to_an_analyst_are_equal_on_neighbouring_data(tmp_path, bad):
    """A row that is left out or mended changes no word before asking."""
    said = [
        screen(tmp_path, rows, "--analyst", "ana", "--ledger", "sqlite://").output
        for rows in (GOOD, [*GOOD, bad])
    ]
    assert said[0] == said[1]


def test_mended_values_are_counted(tmp_path):
    from whitecrow.data import read

    screen(tmp_path, [*GOOD, *BAD])
    card = wc.Card.load(tmp_path / "clinic.toml")
    found = read(tmp_path / "clinic.parquet", card).rejections
    assert found.mended == {"age: missing or of the wrong type": 1, "bmi: outside the bounds": 1}


def test_the_curator_tells_its_custodian():
    card = Card("toy", (Column("x", lower=0, upper=9),))
    curator = wc.Curator.open(
        pa.table({"x": [1.0, 99.0]}), card=card, ledger="sqlite://", name="toy"
    )
    assert intake_words(curator.intake()) == (
        "2 rows read, 1 complete, 1 in part or not at all (x: outside the bounds 1), "
        "0 values mended"
    )


def test_missing_values_of_each_type_have_a_stated_default():
    """Left out, except where the card has a category for them."""
    for kind in ("number", "integer", "date", "text"):
        assert Column("x", kind).missing == "reject"
    assert Column("x", "category", categories=("a", "b")).missing == "reject"
    named = Column("x", "category", categories=("a", "missing"))
    assert (named.missing, named.fill) == ("fill", "missing")
    told = Column("x", "category", categories=("a", "missing"), missing="reject")
    assert (told.missing, told.fill) == ("reject", None)
    found = wc.read(pa.table({"x": ["a", None]}), Card("toy", (named,)))
    assert found.values("x").tolist() == [0, 1]

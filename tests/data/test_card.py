"""Cards: what is whole is read back, what is broken gets its own actionable message."""

import pytest
from click.testing import CliRunner

from whitecrow.cli import whitecrow
from whitecrow.data import Card, Column, read, template
from whitecrow.errors import InvalidInput

GOOD = """
name = "patients"
[[columns]]
name = "age"
type = "integer"
lower = 0
upper = 120
[[columns]]
name = "ward"
type = "category"
categories = ["a", "b"]
"""

BROKEN = {
    "bad TOML": ("name = ", "not valid TOML"),
    "no name": (GOOD.replace('name = "patients"', "", 1), "has no 'name'"),
    "no columns": ('name = "x"', "lists no columns"),
    "one bound missing": (GOOD.replace("upper = 120\n", ""), "only one bound: 'upper' is missing"),
    "reversed bounds": (GOOD.replace("lower = 0", "lower = 200"), "reversed or equal"),
    "duplicate column": (GOOD.replace('"ward"', '"age"'), "lists the column 'age' twice"),
    "unknown type": (GOOD.replace('"integer"', '"float"'), "'type' parameter of column 'age'"),
    "category twice": (GOOD.replace('["a", "b"]', '["a", "a"]'), "the category 'a' twice"),
    "category without categories": (
        GOOD.replace('categories = ["a", "b"]\n', ""),
        "is a category without 'categories'",
    ),
    "unknown key": (GOOD.replace("lower = 0", "minimum = 0"), "The key 'minimum'"),
    "bound of a category": (GOOD + "lower = 1\nupper = 2\n", "left out of a category column"),
    "infinite bound": (GOOD.replace("upper = 120", "upper = inf"), "a finite number"),
    "integer with half a bound": (GOOD.replace("lower = 0", "lower = 0.5"), "a whole number"),
    "clip without bounds": (
        GOOD.replace("lower = 0\nupper = 120", 'outside = "clip"'),
        "no bounds to clip to",
    ),
    "size without permission": ("size = 5\n" + GOOD, "exactly when size_public is true"),
    "user unit without column": ('unit = "user"\n' + GOOD, "must name a 'user_column'"),
    "fill without value": (GOOD + 'missing = "fill"\n', "must have 'fill' exactly when"),
    "fill no category": (GOOD + 'missing = "fill"\nfill = "z"\n', "one of the categories"),
    "edges fall": (
        GOOD.replace("upper = 120", "upper = 120\nedges = [3, 1]"),
        "strictly increasing",
    ),
    "column without a type": (GOOD.replace('type = "integer"\n', ""), "has no 'type'"),
    "column without a name": (GOOD.replace('name = "age"\n', ""), "has no 'name'"),
}


def test_a_whole_card_is_read_and_written_back():
    card = Card.parse(GOOD)
    assert Card.from_json(card.to_json()) == card
    assert card.column("age").upper == 120
    assert card.names == ("age", "ward")


@pytest.mark.parametrize("name", BROKEN)
def test_each_broken_card_gets_its_own_message(name, tmp_path):
    text, message = BROKEN[name]
    (tmp_path / "card.toml").write_text(text)
    result = CliRunner().invoke(whitecrow, ["card", "check", str(tmp_path / "card.toml")])
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_the_messages_are_all_different(tmp_path):
    found = set()
    for text, _ in BROKEN.values():
        with pytest.raises(InvalidInput) as caught:
            Card.parse(text)
        found.add(str(caught.value))
    assert len(found) == len(BROKEN)


def test_a_missing_card_says_so(tmp_path):
    with pytest.raises(InvalidInput, match="cannot be read"):
        Card.load(tmp_path / "nothing.toml")


def test_an_unknown_column_names_those_there_are():
    with pytest.raises(InvalidInput, match="the card lists age, ward"):
        Card.parse(GOOD).column("height")


def test_date_bounds_are_days():
    column = Column("day", "date", lower="1970-01-02", upper="1970-02-01")
    assert (column.lower, column.upper) == (1, 31)
    with pytest.raises(InvalidInput, match="a date such as"):
        Column("day", "date", lower="yesterday", upper="1970-02-01")


def test_a_template_has_names_and_types_and_no_value(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,ward\n31,north\n77,south\n")
    text = template(path)
    card = Card.parse(text)
    assert card.names == ("age", "ward")
    assert card.column("age").type == "integer"
    for value in ("31", "77", "north", "south"):
        assert value not in text


def test_card_new_refuses_to_overwrite(tmp_path):
    (tmp_path / "p.csv").write_text("age\n1\n")
    out = tmp_path / "card.toml"
    run = ["card", "new", str(tmp_path / "p.csv"), "--out", str(out)]
    assert CliRunner().invoke(whitecrow, run).exit_code == 0
    again = CliRunner().invoke(whitecrow, run)
    assert again.exit_code == 2
    assert "exists already" in again.output


def test_without_a_card_only_the_schema_is_known():
    import pyarrow

    found = read(pyarrow.table({"age": [1.5, 2.5], "name": ["a", "b"]}))
    assert not found.card.column("age").bounded
    assert found.card.column("name").type == "text"


def test_numbers_that_are_none_are_refused_in_words() -> None:
    with pytest.raises(InvalidInput, match=r"'upper'.*must be a finite number"):
        Column("x", lower=0, upper=10**400)
    with pytest.raises(InvalidInput, match=r"'size'.*must be a whole number of at least 0"):
        Card("c", (Column("x"),), size_public=True, size=0.5)


def test_halves_of_characters_are_no_names_and_no_categories() -> None:
    for wrong in (
        lambda: Column("a\ud800"),
        lambda: Column("a", "category", categories=("x", "\udfff")),
    ):
        with pytest.raises(InvalidInput, match="halves of characters"):
            wrong()

"""A card as a form: read and shown again, it says the same."""

import pytest

from whitecrow.card import MISSING, OUTSIDE, Card, Column, CsvFormat
from whitecrow.errors import InvalidInput
from whitecrow_server.console._card_form import card_page, form_of, read_card
from whitecrow_server.console._site import Form


@pytest.mark.parametrize("lines", [1, 7])
def test_the_lines_of_a_record_are_a_field_of_the_form(lines: int) -> None:
    card = Card("c", (Column("x", lower=0, upper=1),), csv=CsvFormat(";", lines_per_record=lines))
    assert Card.from_json(read_card(form_of(card), card.name)).csv == card.csv


def test_lines_that_are_no_number_are_said_by_their_name() -> None:
    typed = form_of(Card("c", (Column("x"),))).fields
    with pytest.raises(InvalidInput, match="Lines of one record"):
        read_card(Form({**typed, "csv.lines_per_record": ["many"]}), "c")


def test_what_a_draft_says_of_a_column_survives_the_form() -> None:
    bought = {"source": "priced question"}
    drafted = Card(
        "c",
        (
            Column("pay", lower=0, upper=9, outside="missing", missing="fill", fill=0, **bought),
            Column("cost", lower=0, upper=9, format="amount, decimal comma", **bought),
            Column("ward", type="category", categories=("a", "b"), outside="missing", **bought),
        ),
    )
    assert Card.from_json(read_card(form_of(drafted), "c", drafted)).columns == drafted.columns
    pages = card_page(form_of(drafted))
    assert set(pages["outside"]) == set(OUTSIDE)
    assert set(pages["missing"]) == set(MISSING)

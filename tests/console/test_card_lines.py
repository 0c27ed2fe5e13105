"""How many lines a record of a CSV may have: a field of a card's form, read and shown again."""

import pytest

from whitecrow.card import Card, Column, CsvFormat
from whitecrow.errors import InvalidInput
from whitecrow_server.console._card_form import form_of, read_card
from whitecrow_server.console._site import Form


@pytest.mark.parametrize("lines", [1, 7])
def test_the_lines_of_a_record_are_a_field_of_the_form(lines: int) -> None:
    card = Card("c", (Column("x", lower=0, upper=1),), csv=CsvFormat(";", lines_per_record=lines))
    assert Card.from_json(read_card(form_of(card), card.name)).csv == card.csv


def test_lines_that_are_no_number_are_said_by_their_name() -> None:
    typed = form_of(Card("c", (Column("x"),))).fields
    with pytest.raises(InvalidInput, match="Lines of one record"):
        read_card(Form({**typed, "csv.lines_per_record": ["many"]}), "c")

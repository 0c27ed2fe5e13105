"""Records to ask about: their file is the analyst's, and what is wrong with it is said in words."""

import json

import pyarrow as pa
import pytest
from pyarrow import parquet

from whitecrow.card import Card, Column
from whitecrow.data.asked import read_asked
from whitecrow.errors import InvalidInput

CARD = Card("c", (Column("x"), Column("note", "text")))


def test_a_line_of_json_may_hold_any_character(tmp_path):
    file = tmp_path / "asked.jsonl"
    rows = [{"x": 1, "note": "a\u2028b"}, {"x": 2, "note": "\x85"}]
    file.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows))
    assert read_asked(file, CARD).records == rows


def test_a_whole_number_of_json_is_the_category_that_it_is_in_the_data(tmp_path):
    card = Card("c", (Column("year", "category", categories=("2004", "true")),))
    file = tmp_path / "asked.jsonl"
    file.write_text('{"year": 2004.0}\n{"year": 2004}\n{"year": true}')
    assert [row["year"] for row in read_asked(file, card).records] == ["2004", "2004", "true"]


def test_what_is_no_text_is_one_row_that_cannot_be_asked_about(tmp_path):
    file = tmp_path / "asked.jsonl"
    file.write_text('{"x": 1, "note": "\\ud800"}\n{"x": 2, "note": "b"}')
    assert read_asked(file, CARD, leave_out=True).records == [None, {"x": 2, "note": "b"}]
    with pytest.raises(InvalidInput, match="row 1, note: missing"):
        read_asked(file, CARD)


def test_columns_of_no_use_are_refused_by_their_type(tmp_path):
    file = tmp_path / "asked.parquet"
    parquet.write_table(pa.table({"x": [[1.0]]}), file)
    with pytest.raises(InvalidInput, match="'x' holds list"):
        read_asked(file, CARD)
    parquet.write_table(pa.table({"x": [1.0], "day": pa.array([2**60], pa.timestamp("us"))}), file)
    with pytest.raises(InvalidInput, match="The key 'day'"):
        read_asked(file, CARD, key="day")

"""CSV: every field is text, and a record is read alike wherever it lies in the file."""

import io
import random

import pyarrow as pa
import pytest

from whitecrow.data import Card, Column, read, template
from whitecrow.data import _csvfile as csvfile
from whitecrow.errors import InvalidInput

CARD = Card("t", (Column("x"), Column("note", "text", missing="fill", fill="-")))


def rows_of(path):
    found = read(path, CARD)
    return list(zip(found.values("x").tolist(), found.values("note").tolist(), strict=True))


def test_a_field_of_many_megabytes_is_read_like_any_other(tmp_path):
    path = tmp_path / "long.csv"
    long = "a" * 3_000_000
    path.write_text(f'x,note\n1,short\n2,{long}\n3,"{long}\n{long}"\n4,end\n')
    assert rows_of(path) == [(1, "short"), (2, long), (3, f"{long}\n{long}"), (4, "end")]


FIELDS = ["plain", '"a\nb"', '"say ""no"""', '"a,b\r\n,c"', '5" pipe', '""', '"x"tail"', '"\n"', ""]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_no_cut_of_the_file_falls_into_a_record(tmp_path, monkeypatch, end):
    """The same records for every size of the blocks in which the file is read."""
    rng = random.Random(3)
    lines = [f"{i},{rng.choice(FIELDS)}" for i in range(60)]
    path = tmp_path / "quoted.csv"
    path.write_bytes(end.join(["x,note", *lines, ""]).encode())
    whole = rows_of(path)
    assert [x for x, _ in whole] == list(range(60))
    assert {"a\nb", 'say "no"', '5" pipe'} <= {note for _, note in whole}
    for size in (1, 2, 3, 5, 7, 11, 64, 200):
        monkeypatch.setattr(csvfile, "_CHUNK", size)
        assert rows_of(path) == whole, size


def test_a_line_end_in_the_header_and_a_byte_order_mark_are_read(tmp_path):
    path = tmp_path / "head.csv"
    path.write_bytes(b'\xef\xbb\xbfx,"a\nb",note,x2,x2\r\n1,2,y,3,4\r\n')
    assert rows_of(path) == [(1, "y")]
    with pytest.raises(InvalidInput, match="more than one column 'x2'"):
        read(path, Card("t", (Column("x2"),)))


def test_a_row_of_another_length_is_left_out_by_itself(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("x,note\n1,a\n2\n3,b,c\n\n4,d\n")
    found = read(path, CARD)
    assert found.values("x").tolist() == [1, 4]
    assert (found.rejections.read, found.rejections.reasons) == (4, {"wrong number of fields": 2})


def test_a_byte_that_is_no_text_loses_that_value_only(tmp_path):
    path = tmp_path / "bytes.csv"
    path.write_bytes(b"x,note\n1,a\n2,\xff\n\xff,c\n")
    assert rows_of(path) == [(1, "a"), (2, "-")]


def test_one_value_changes_neither_types_nor_refusals(tmp_path):
    """Without a card all is text; with one, each value is judged alone."""
    path = tmp_path / "types.csv"
    schemas = set()
    for last in ("3", "x", "2024-01-01", "1e999", "", "10:00:00", "true", "2024-01-01 10:00:00"):
        path.write_text(f"x,note\n1,a\n2,b\n{last},c\n")
        schemas.add(tuple((c.name, c.type) for c in read(path).card.columns))
        assert read(path, CARD).values("x").tolist()[:2] == [1, 2]
    assert schemas == {(("x", "text"), ("note", "text"))}


def test_the_types_of_a_draft_are_marked_as_guesses(tmp_path):
    path = tmp_path / "draft.csv"
    path.write_text("x,note\n1,a\n")
    assert 'type = "integer"  # guessed from the first rows: check' in template(path)
    assert Card.parse(template(path)).column("x").type == "integer"
    assert "guessed" not in template(pa.table({"x": [1.0]}))
    path.write_text("x,note\n1," + "a" * 3_000_000 + "\n")
    assert Card.parse(template(path)).names == ("x", "note")


def texts(kind, values):
    plain = pa.array(values, pa.string())
    return {
        "string": plain,
        "large": plain.cast(pa.large_string()),
        "view": plain.cast(pa.string_view()),
        "dictionary": plain.dictionary_encode(),
        "dictionary of large": plain.cast(pa.large_string()).dictionary_encode(),
        "runs": pa.RunEndEncodedArray.from_arrays(list(range(1, len(values) + 1)), plain),
    }[kind]


@pytest.mark.parametrize(
    "kind", ["string", "large", "view", "dictionary", "dictionary of large", "runs"]
)
@pytest.mark.parametrize(
    ("column", "values", "kept"),
    [
        (Column("v"), ["1.5", "SECRET", None, "2"], [1.5, 2.0]),
        (Column("v", "integer"), ["1", "SECRET", "1.5", "2"], [1.0, 2.0]),
        (Column("v", "date"), ["1970-01-02", "SECRET", "0044-03-15 BC", None], [1]),
        (Column("v", "category", categories=("a", "b")), ["b", "SECRET", None, "a"], [1, 0]),
    ],
)
def test_however_text_is_stored_one_bad_value_loses_its_record_only(kind, column, values, kept):
    table = pa.table({"v": texts(kind, values)})
    assert read(table, Card("t", (column,))).values("v").tolist() == kept


@pytest.mark.parametrize("kind", ["integer", "number", "date"])
def test_no_error_of_a_reading_quotes_a_value(kind):
    """Whole numbers beyond the doubles and objects of several types: read, or refused by type."""
    import pandas

    card = Card("t", (Column("v", kind),))
    for source in (
        pa.table({"v": [2**60 + 1, 5]}),
        pandas.DataFrame({"v": pandas.Series([5, "SECRET", 7.5, None, b"x"], dtype=object)}),
        pandas.DataFrame({"v": pandas.Categorical([5, "SECRET"])}),
        pa.table({"v": pa.array([1, 2**62], pa.timestamp("s"))}),
        pa.table({"v": pa.array([1, 2], pa.time64("us"))}),
        pa.table({"v": pa.array([b"SECRET"], pa.binary_view())}),
        pa.table({"v": pa.array([b"SECRET"], pa.large_binary())}),
    ):
        said = refusal(source, card)
        assert "SECRET" not in said
        assert "value" not in said or "no common type" in said


def refusal(source, card):
    """What is said of a source that is not read; nothing else than a refusal may come of it."""
    try:
        read(source, card)
    except InvalidInput as refused:
        return f"{refused} {refused.__cause__ or ''}"
    return ""


def test_blocks_hold_whole_records_only():
    data = b'a,"x\ny"\nb,"p""q\n"\nc,"open\n'
    for size in range(1, len(data)):
        whole = data[:size]
        end = csvfile._boundary(whole, b",", first=False)
        assert data[:end] in (b"", b'a,"x\ny"\n', b'a,"x\ny"\nb,"p""q\n"\n')
    assert next(csvfile._records(io.BytesIO(data), b",")) == b'a,"x\ny"\n'

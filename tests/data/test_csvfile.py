"""CSV: every field is text, and a record is read alike wherever it lies in the file."""

import random
from functools import partial

import pyarrow as pa
import pytest

from whitecrow.card import CsvFormat
from whitecrow.data import Card, Column, read, template
from whitecrow.data import _csvfile as csvfile
from whitecrow.data.template import card_toml
from whitecrow.errors import InvalidInput

COLUMNS = (Column("x"), Column("note", "text", missing="fill", fill="-"))
CARD = Card("t", COLUMNS)
SEVERAL = Card("t", COLUMNS, csv=CsvFormat(lines_per_record=5))


def rows_of(path, card=CARD):
    found = read(path, card)
    return list(zip(found.values("x").tolist(), found.values("note").tolist(), strict=True))


def test_a_field_of_many_megabytes_is_read_like_any_other(tmp_path):
    path = tmp_path / "long.csv"
    long = "a" * 3_000_000
    path.write_text(f'x,note\n1,short\n2,{long}\n3,"{long}\n{long}"\n4,end\n')
    rows = [(1, "short"), (2, long), (3, f"{long}\n{long}"), (4, "end")]
    assert rows_of(path, SEVERAL) == rows
    assert rows_of(path) == [rows[0], rows[1], rows[3]]


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_without_a_card_the_header_tells_how_a_file_is_written(tmp_path, mark, encoding):
    path = tmp_path / ("t.tsv" if mark == "\t" else "t.csv")
    path.write_bytes(f'x{mark}"a, b; größe"\n1{mark}kühl\n2{mark}warm\n'.encode(encoding))
    found = read(path)
    assert found.card.names == ("x", "a, b; größe")
    assert found.values("a, b; größe").tolist() == ["kühl", "warm"]
    again = Card.from_json(found.card.to_json())
    assert read(path, again).values("x").tolist() == ["1", "2"]


def test_columns_without_a_name_are_not_read_and_two_of_one_name_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(",x, \n0,1,2\n1,2,3\n")
    assert read(path).card.names == ("x",)
    path.write_text("x,x\n0,1\n")
    with pytest.raises(InvalidInput, match="more than one column 'x'"):
        read(path)


FIELDS = ["plain", '"a\nb"', '"say ""no"""', '"a,b\r\n,c"', '5" pipe', '""', '"x"tail"', '"\n"', ""]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_no_cut_of_the_file_falls_into_a_record(tmp_path, monkeypatch, end):
    """The same records for every size of the blocks in which the file is read."""
    rows_declared = partial(rows_of, card=SEVERAL)
    rng = random.Random(3)
    lines = [f"{i},{rng.choice(FIELDS)}" for i in range(60)]
    path = tmp_path / "quoted.csv"
    path.write_bytes(end.join(["x,note", *lines, ""]).encode())
    whole, closed = rows_declared(path), rows_of(path)
    assert [x for x, _ in whole] == list(range(60))
    assert {"a\nb", 'say "no"', '5" pipe'} <= {note for _, note in whole}
    assert closed == [row for row in whole if "\n" not in row[1]]
    for size in (1, 2, 3, 5, 7, 11, 64, 200):
        monkeypatch.setattr(csvfile, "_CHUNK", size)
        assert rows_declared(path) == whole, size
        assert rows_of(path) == closed, size


def test_a_line_end_in_the_header_and_a_byte_order_mark_are_read(tmp_path):
    path = tmp_path / "head.csv"
    path.write_bytes(b'\xef\xbb\xbfx,"a\nb",note,x2,x2\r\n1,2,y,3,4\r\n')
    assert rows_of(path, SEVERAL) == [(1, "y")]
    with pytest.raises(InvalidInput, match="more than one column 'x2'"):
        read(path, Card("t", (Column("x2"),), csv=SEVERAL.csv))
    with pytest.raises(InvalidInput, match="not readable CSV with a header"):
        read(path, CARD)


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


def test_bytes_that_are_no_text_in_a_row_of_another_length_lose_that_row_only(tmp_path):
    path = tmp_path / "bytes.csv"
    path.write_bytes(b"x,note\n1,a\n2,\xff,3\n\xed\xa0\x80\n4,\xc3\xa9\n5,\xff\n")
    assert rows_of(path) == [(1, "a"), (4, "\xe9"), (5, "-")]


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


ENCODINGS = ["utf-8", "latin-1", "cp1252", "utf-16-le", "utf-16-be"]


def encoded(text, encoding):
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"")
    return mark + text.encode(encoding, "surrogatepass")


ODD_LINES = {
    "an open quote": '7,"open',
    "an open quote after a plain one": '7" pipe,"open',
    "a quote that is doubled at the end": '7,"open""',
    "a carriage return in quotes": '7,"a\rb"',
    "too few fields": "7",
    "nothing but a quote": '"',
    "a lone surrogate": "7,\ud800",
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("kind", [*ODD_LINES, "half a character", "a byte too few"])
def test_a_line_changes_no_other(tmp_path, encoding, kind):
    """Whatever stands in a line, those before and after it are read as they are without it."""
    wide = encoding.startswith("utf-16")
    if not wide and kind == "a lone surrogate":
        pytest.skip("only UTF-16 can write one")
    card = Card("t", COLUMNS, csv=CsvFormat(encoding="utf-16" if wide else encoding))
    lines = [f'{number},"note ""{number}"", x"' for number in range(9)]
    line = encoded(ODD_LINES.get(kind, "7,open") + "\n", encoding).removeprefix(
        encoded("", encoding)
    )
    if kind == "half a character":
        line = line[:3] + b"\xd8" + line[3:]
    elif kind == "a byte too few":
        line = line[1:]
    path = tmp_path / "odd.csv"
    for place in (0, 4, 9):
        before = encoded("\n".join(["x,note", *lines[:place], ""]), encoding)
        after = encoded("\n".join([*lines[place:], ""]), encoding).removeprefix(
            encoded("", encoding)
        )
        path.write_bytes(before + after)
        without = rows_of(path, card)
        path.write_bytes(before + line + after)
        rows = [row for row in rows_of(path, card) if row[0] != 7 or 'note "7"' in row[1]]
        assert rows == without
        assert len(without) == 9


def test_an_open_quote_reaches_no_further_than_the_lines_a_record_may_have(tmp_path):
    path = tmp_path / "open.csv"
    lines = [f"{number},n" for number in range(40)]
    path.write_text("\n".join(["x,note", *lines[:10], '7,"open', *lines[10:], ""]))
    assert [x for x, _ in rows_of(path, SEVERAL)] == list(range(40))
    lines[13] = '13,"closes"'
    path.write_text("\n".join(["x,note", *lines[:10], '7,"open', *lines[10:], ""]))
    rows = [x for x, _ in rows_of(path, SEVERAL)]
    assert rows == [*range(10), 7, *range(14, 40)]


def test_a_line_that_is_too_long_is_left_out_by_itself(tmp_path, monkeypatch):
    path = tmp_path / "long.csv"
    short = ["1,a", "2,b", "3,c"]
    path.write_text(
        "\n".join(["x,note", *short[:2], "9," + "a" * 500, *short[2:], "5," + "b" * 900])
    )
    monkeypatch.setattr(csvfile, "_LONGEST", 400)
    for size in (1, 7, 64, 399):
        monkeypatch.setattr(csvfile, "_CHUNK", size)
        found = read(path, CARD)
        assert found.values("x").tolist() == [1, 2, 3], size
        assert found.rejections.reasons == {"wrong number of fields": 2}


def test_the_lines_of_a_record_are_declared_on_the_card():
    assert Card.from_json(SEVERAL.to_json()) == SEVERAL
    assert Card.parse(card_toml(SEVERAL)) == SEVERAL
    assert SEVERAL.fingerprint() != CARD.fingerprint()
    assert "lines_per_record" not in str(Card("t", COLUMNS, csv=CsvFormat(";")).to_json())
    for wrong in (0, 1001, True, 2.0, "2"):
        with pytest.raises(InvalidInput, match=r"lines_per_record.*number between 1 and 1000"):
            CsvFormat(lines_per_record=wrong)

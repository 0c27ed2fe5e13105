"""CSV files as people write them, and folders of Parquet: declared on the card, never guessed."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whitecrow as wc
from whitecrow.card import CsvFormat
from whitecrow.data import Card, Column

COLUMNS = (
    Column("größe", lower=0, upper=300),
    Column("ort", "category", categories=("Köln", "Ulm; Stadt")),
)
ROWS = [(181.5, "Köln"), (170.0, "Ulm; Stadt"), (160.25, "Köln")]


def written(folder, form):
    mark = "\t" if form.delimiter == "tab" else form.delimiter
    lines = [mark.join(("größe", "ort"))]
    for number, place in ROWS:
        quoted = f'"{place}"' if mark in place else place
        lines.append(mark.join((str(number).replace(".", form.decimal), quoted)))
    file = folder / "data.csv"
    file.write_bytes("\r\n".join(lines).encode(form.encoding))
    return file


@pytest.mark.parametrize("delimiter", [",", ";", "tab", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "cp1252", "utf-16"])
@pytest.mark.parametrize("decimal", [".", ","])
def test_every_declared_format_reads_the_same_records(tmp_path, delimiter, encoding, decimal):
    if delimiter == decimal == ",":
        with pytest.raises(wc.InvalidInput, match="another mark"):
            CsvFormat(delimiter, encoding, decimal)
        return
    form = CsvFormat(delimiter, encoding, decimal)
    found = wc.read(written(tmp_path, form), Card("d", COLUMNS, csv=form))
    assert found.values("größe").tolist() == [181.5, 170.0, 160.25]
    assert found.values("ort").tolist() == [0, 1, 0]


def test_a_format_is_declared_and_never_guessed(tmp_path):
    file = written(tmp_path, CsvFormat(";", "utf-8", ","))
    with pytest.raises(wc.InvalidInput, match="größe"):
        wc.read(file, Card("d", COLUMNS))
    points = wc.read(file, Card("d", COLUMNS, csv=CsvFormat(";")))
    assert points.size == 0  # 181,5 is no number where the mark is a point


def test_a_point_is_no_decimal_mark_where_the_comma_is(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1.5\n1.234,5\n2,5\n")
    card = Card("d", (Column("x"),), csv=CsvFormat(";", "utf-8", ","))
    assert wc.read(tmp_path / "a.csv", card).values("x").tolist() == [2.5]


def test_the_format_is_part_of_the_card_and_of_its_fingerprint():
    plain, other = Card("d", COLUMNS), Card("d", COLUMNS, csv=CsvFormat(";"))
    assert Card.from_json(other.to_json()) == other
    assert "csv" not in plain.to_json()
    assert plain.fingerprint() != other.fingerprint()
    parsed = Card.parse(
        'name = "d"\n[csv]\ndelimiter = ";"\n[[columns]]\nname = "x"\ntype = "number"\n'
    )
    assert parsed.csv == CsvFormat(";")


@pytest.mark.parametrize("wrong", [{"delimiter": "x"}, {"encoding": "ebcdic"}, {"decimal": "'"}])
def test_a_format_that_is_not_known_is_refused(wrong):
    with pytest.raises(wc.InvalidInput, match=r"\[csv\]"):
        CsvFormat(**wrong)


def test_a_folder_of_parquet_files_is_one_table(tmp_path):
    folder = tmp_path / "visits"
    (folder / "2024").mkdir(parents=True)
    pq.write_table(pa.table({"x": [1.0, 2.0]}), folder / "a.parquet")
    pq.write_table(pa.table({"x": [3.0]}), folder / "2024" / "b.parquet")
    found = wc.read(folder, Card("d", (Column("x"),)))
    assert sorted(found.values("x").tolist()) == [1.0, 2.0, 3.0]
    curator = wc.Curator.open(folder, ledger="sqlite://", budget="1")
    assert curator.intake()["read"] == 3


def test_a_folder_of_unlike_files_or_of_none_is_refused(tmp_path):
    with pytest.raises(wc.InvalidInput, match="no Parquet file"):
        wc.read(tmp_path)
    pq.write_table(pa.table({"x": [1.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": ["one"]}), tmp_path / "b.parquet")
    with pytest.raises(wc.InvalidInput, match="differ in names or types"):
        wc.read(tmp_path)

"""Cards from and to CSVW and Croissant: what is carried comes back, what is not is listed."""

import json

import pyarrow.csv
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import whitecrow as wc
from whitecrow.card import CsvFormat, TableChoice
from whitecrow.cli import whitecrow
from whitecrow.data import Card, Column
from whitecrow_metadata import exported, imported
from whitecrow_metadata._csvw import _MISSING

PUBLIC = {"source": "public data"}
CARRIED = Card(
    "clinic",
    (
        Column("age", "integer", lower=18, upper=95, **PUBLIC),
        Column("body mass (kg/m²)", lower=10.5, upper=80, missing="fill", fill=25.5, **PUBLIC),
        Column("ward", "category", categories=("a|b", "c (old)", "d.$^", "-", "é\\"), **PUBLIC),
        Column("seen", "date", lower="2020-01-01", upper="2024-12-31", **PUBLIC),
        Column("who", "text", **PUBLIC),
        Column("weight", **PUBLIC),
    ),
)
BARE = Card(
    "clinic",
    (
        Column("age", "integer", **PUBLIC),
        Column("body mass", **PUBLIC),
        Column("ward", "category", categories=("b", "a"), **PUBLIC),
        Column("seen", "date", **PUBLIC),
        Column("who", "text", **PUBLIC),
    ),
)


def through(card, form):
    there = exported(card, form)
    back = imported(json.dumps(there.result))
    return back.result, there.lost, back.lost


@pytest.mark.parametrize(
    "form",
    [CsvFormat(), CsvFormat(";", "latin-1", ","), CsvFormat("tab", "cp1252"), CsvFormat("|")],
)
def test_csvw_carries_names_types_bounds_categories_fills_and_the_form_of_the_file(form):
    card = Card("clinic", CARRIED.columns, csv=form)
    assert through(card, "csvw") == (card, (), ())


def test_croissant_carries_names_types_and_categories():
    assert through(BARE, "croissant") == (BARE, (), ())


@given(st.lists(st.text(min_size=1) | st.text("\\$^()|?:.a", min_size=1), min_size=1, unique=True))
def test_categories_of_any_text_come_back(words):
    card = Card(
        "c", (Column("x", "category", categories=tuple(words), missing="reject", **PUBLIC),)
    )
    for form in ("csvw", "croissant"):
        back, _, lost = through(card, form)
        assert back.column("x").categories == tuple(words)
        assert not lost


def test_what_the_standards_have_no_place_for_is_listed():
    card = Card(
        "c",
        (
            Column("age", lower=0, upper=9, edges=(1, 2), scale=2.0, outside="clip"),
            Column("who", "text"),
            Column("w", missing="value"),
        ),
        unit="user",
        user_column="who",
        contribution=2,
        records_at_most=100,
        table=TableChoice("visits"),
    )
    everywhere = {
        *("unit", "user_column", "contribution", "records_at_most", "table"),
        *("edges (age)", "scale (age)", "outside (age)", "source (age, who, w)"),
    }
    assert set(exported(card, "csvw").lost) == everywhere | {'missing = "value" (w)'}
    more = {"lower (age)", "upper (age)", "missing (w)"}
    assert set(exported(card, "croissant").lost) == everywhere | more


def test_the_words_for_missing_are_those_that_a_csv_file_is_read_with():
    assert frozenset(pyarrow.csv.ConvertOptions().null_values) == _MISSING
    said = exported(CARRIED, "csvw").result["tableSchema"]["columns"][0]
    assert set(said["null"]) == _MISSING


def csvw(*columns, **more):
    context = ["http://www.w3.org/ns/csvw", {"@language": "en"}]
    return json.dumps({"@context": context, "tableSchema": {"columns": columns}, **more})


def test_csvw_of_others_is_read():
    found = imported(
        csvw(
            {
                "titles": {"en": "Age"},
                "datatype": {"base": "int", "minInclusive": "0", "maximum": 9},
            },
            {"name": "ok", "datatype": {"base": "boolean", "format": "Y|N"}},
            {"name": "paid", "datatype": {"base": "decimal", "minimum": 0}, "null": ["-", "NA"]},
            {"name": "code", "datatype": {"format": "[A-Z]{3}"}, "required": True},
            {"name": "span", "datatype": "duration"},
            {"name": "link", "virtual": True},
            {"name": "when", "datatype": {"base": "date", "format": "dd.MM.yyyy"}},
            url="https://example.org/people.csv",
            dialect={"delimiter": ";", "encoding": "UTF-8", "skipRows": 2},
        )
    )
    card = found.result
    assert card.name == "people"
    assert card.csv == CsvFormat(";")
    assert card.names == ("Age", "ok", "paid", "code", "span", "when")
    assert (card.column("Age").lower, card.column("Age").upper) == (0, 9)
    assert card.column("ok").categories == ("Y", "N")
    assert set(found.lost) == {
        "null '-': such fields are not missing here (paid)",
        "a bound without the other, or of a type that has none (paid)",
        "format (code)",
        "required (code)",
        "datatype duration: read as text (span)",
        "virtual columns (link)",
        "format: dates are read as yyyy-MM-dd (when)",
        "dialect skipRows",
    }


def test_croissant_of_others_is_read():
    fields = [
        {
            "name": "years",
            "dataType": ["sc:Integer"],
            "source": {"fileObject": {"@id": "f"}, "extract": {"column": "age"}},
        },
        {"name": "split", "dataType": "sc:Text", "references": {"@id": "splits/name"}},
        {"name": "ok", "dataType": "https://schema.org/Boolean"},
        {"name": "picture", "dataType": "sc:ImageObject"},
        {"name": "boxes", "dataType": "cr:BoundingBox", "repeated": True},
    ]
    splits = {
        "@id": "splits",
        "dataType": ["cr:Split", "sc:Enumeration"],
        "data": [{"splits/name": "train"}, {"splits/name": "test"}],
    }
    sets = [splits, {"@type": "cr:RecordSet", "field": fields}]
    found = imported(json.dumps({"@type": "sc:Dataset", "name": "set", "recordSet": sets}))
    assert [(c.name, c.type, c.categories) for c in found.result.columns] == [
        ("age", "integer", None),
        ("split", "category", ("train", "test")),
        ("ok", "category", ("true", "false")),
        ("picture", "text", None),
    ]
    assert set(found.lost) == {
        "dataType ImageObject: read as text (picture)",
        "fields of several values: left out (boxes)",
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not a JSON object"),
        ("[1]", "not a JSON object"),
        ("[" * 100_000, "not a JSON object"),
        ("{}", "neither CSVW"),
        (csvw(), "no columns"),
        (csvw(3), "list of objects"),
        (csvw({"datatype": "string"}), "neither 'titles' nor a 'name'"),
        (csvw({"name": "x", "datatype": 3}), "datatype of column 'x'"),
        (csvw({"name": "x", "datatype": {"base": ["a"]}}), "datatype"),
        (csvw({"name": "x"}, {"name": "x"}), "'x' twice"),
        (csvw({"name": "x", "datatype": {"base": "number", "minimum": "a", "maximum": 2}}), "'a'"),
        (csvw({"name": "x", "datatype": {"base": "number", "minimum": 3, "maximum": 2}}), "rever"),
        (csvw({"name": "x", "default": 3}), "must be a text"),
        (csvw({"name": "x"}, dialect={"encoding": "ebcdic"}), "encoding"),
        (csvw({"name": "x"}, dialect={"delimiter": ["a"]}), "delimiter"),
        (csvw(tables=[{}, {}]), "2 tables"),
        ('{"@type": "sc:Dataset", "recordSet": []}', "0 record sets"),
        ('{"@type": "sc:Dataset", "recordSet": [{"field": [{}]}]}', "no 'name'"),
        ('{"@type": "sc:Dataset", "recordSet": [{"field": []}]}', "lists no columns"),
        ('{"@type": "sc:Dataset", "recordSet": 3}', "list of objects"),
    ],
)
def test_bad_metadata_are_refused_in_words(text, why):
    with pytest.raises(wc.InvalidInput, match=why):
        imported(text)


def test_the_terminal_exports_and_imports_and_lists_what_is_not_carried(tmp_path):
    from whitecrow.demo import CARD as CLINIC

    def run(*arguments, code=0):
        found = CliRunner().invoke(whitecrow, [str(one) for one in arguments])
        assert found.exit_code == code, found.output
        return found

    there, back = tmp_path / "clinic.json", tmp_path / "clinic.toml"
    for form in ("csvw", "croissant"):
        found = run("card", "export", CLINIC, "--format", form, "--out", there)
        assert "Not carried" in found.stderr
        assert "source" in found.stderr
        assert ("lower" in found.stderr) == (form == "croissant")
        run("card", "import", there, "--out", back)
        known, again = Card.load(CLINIC), Card.load(back)
        assert again.names == known.names
        assert [c.type for c in again.columns] == [c.type for c in known.columns]
        run("card", "check", back)
        assert "exists already" in run("card", "import", there, "--out", back, code=2).stderr
        printed = run("card", "import", there).stdout
        assert Card.parse(printed) == again
        assert json.loads(run("--json", "card", "import", there).stdout)["not_carried"] == []
        there.unlink()
        back.unlink()
    assert "cannot be read" in " ".join(run("card", "import", there, code=2).stderr.split())

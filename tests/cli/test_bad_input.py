"""Bad input: a clear error or the rule of docs/cards.md, and nothing is spent without an answer."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import whitecrow as wc
from whitecrow.cli import whitecrow
from whitecrow.ledger import Account, Ledger

AGE = '[[columns]]\nname = "age"\ntype = "number"\nlower = 0\nupper = 120\n'
BMI = '[[columns]]\nname = "bmi"\ntype = "number"\nlower = 0\nupper = 90\n'
DAY = '[[columns]]\nname = "day"\ntype = "date"\nlower = "2000-01-01"\nupper = "2030-01-01"\n'
CARD = f'name = "bad"\n{AGE}{BMI}'


def written(folder, text, card=CARD):
    (folder / "bad.csv").write_text(text)
    (folder / "bad.toml").write_text(card)
    return folder / "bad.csv", folder / "bad.toml"


def kept(folder, text, card=CARD):
    """The records that remain, and why the others do not."""
    data, said = written(folder, text, card)
    found = wc.read(data, said)
    return found.size, dict(found.rejections.reasons)


def ask(kind, data, card, *more):
    line = ["--json", kind, str(data), "--card", str(card), "--epsilon", "1", "--budget", "3"]
    found = CliRunner().invoke(whitecrow, [*line, *more])
    return found.exit_code, json.loads(found.stdout)


COUNT = ("--columns", "age,bmi", "--beta", "3", "--radius", "2")


def nothing_spent(data):
    file = data.with_suffix(".whitecrow.db")
    if not file.exists():
        return True
    ledger = Ledger(f"sqlite:///{file}")
    try:
        return all(ledger.snapshot(name).spent == Account() for name in ledger.datasets())
    finally:
        ledger.close()


def test_a_column_of_mixed_junk_keeps_the_rows_that_are_numbers(tmp_path):
    size, reasons = kept(tmp_path, "age,bmi\nx,1\n3,2\n,\n2024-01-01,4\ntrue,5\n4,6\n")
    assert size == 3  # 3, true (which is 1) and 4
    assert reasons == {"age: missing or of the wrong type": 3}


def test_a_column_that_is_all_missing_leaves_no_record_and_answers_as_of_an_empty_table(tmp_path):
    assert kept(tmp_path, "age,bmi\n" + ",3\n" * 20)[0] == 0
    code, said = ask("count", *written(tmp_path, "age,bmi\n" + ",3\n" * 20), *COUNT)
    assert code == 0
    assert said["charged"]  # that there is no record is a fact: it is answered, with noise


def test_one_distinct_value_is_counted_like_any(tmp_path):
    data, card = written(tmp_path, "age,bmi\n" + "30,22\n" * 20)
    code, said = ask("count", data, card, *COUNT)
    assert code == 0
    assert said["answer"] >= 0


def test_a_number_beyond_the_doubles_is_outside_the_bounds(tmp_path):
    size, reasons = kept(tmp_path, "age,bmi\n1e400,22\n-1e400,3\n30,22\n")
    assert size == 1
    assert reasons == {"age: outside the bounds": 2}


def test_without_bounds_it_is_left_out_as_well(tmp_path):
    card = 'name = "bad"\n[[columns]]\nname = "age"\ntype = "number"\n'
    assert kept(tmp_path, "age\n1e400\n30\n", card)[0] == 1


def test_dates_out_of_range_are_missing_or_outside(tmp_path):
    days = "30,0000-01-01\n31,2024-02-30\n32,12024-01-01\n33,1999-12-31\n34,2024-01-01\n"
    size, reasons = kept(tmp_path, f"age,day\n{days}", f'name = "bad"\n{AGE}{DAY}')
    assert size == 1
    assert reasons == {"day: missing or of the wrong type": 3, "day: outside the bounds": 1}


@pytest.mark.parametrize("kind", ["count", "subspaces"])
def test_two_thousand_columns_are_refused_by_name_before_anything_is_spent(tmp_path, kind):
    names = [f"c{i}" for i in range(2000)]
    data, card = tmp_path / "wide.parquet", tmp_path / "wide.toml"
    pq.write_table(pa.table({name: [1.0, 2.0] for name in names}), data)
    column = '[[columns]]\nname = "{}"\ntype = "number"\nlower = 0\nupper = 9\n'
    card.write_text('name = "wide"\n' + "".join(column.format(name) for name in names))
    more = ("--size", "2") if kind == "subspaces" else ()
    code, said = ask(kind, data, card, "--beta", "3", "--radius", "2", *more)
    assert code == 2
    assert "at most 500 columns" in said["error"]["reason"]
    assert nothing_spent(data)


def test_an_empty_file_is_no_csv(tmp_path):
    data, card = written(tmp_path, "")
    code, said = ask("count", data, card, *COUNT)
    assert code == 2
    assert "not readable CSV with a header" in said["error"]["reason"]
    assert nothing_spent(data)


def test_a_header_alone_is_a_table_without_records(tmp_path):
    assert kept(tmp_path, "age,bmi\n") == (0, {})


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--record", '{"age": 1e400, "bmi": 3}'), "finite numbers"),
        (("--record", '{"age": 30, "bmi": 300}'), "between the card's bounds"),
        (("--record", '{"age": "old", "bmi": 3}'), "a number"),
        (("--record", '{"shoe": 3}'), "no column 'shoe'"),
    ],
)
def test_a_record_that_cannot_be_is_refused_and_spends_nothing(tmp_path, more, says):
    data, card = written(tmp_path, "age,bmi\n30,22\n")
    code, said = ask("screen", data, card, "--beta", "3", "--radius", "2", *more)
    assert code == 2
    assert says in said["error"]["reason"]
    assert nothing_spent(data)


def test_a_radius_beyond_the_doubles_is_refused(tmp_path):
    data, card = written(tmp_path, "age,bmi\n30,22\n")
    code, said = ask("count", data, card, "--columns", "age", "--beta", "3", "--radius", "1e400")
    assert code == 2
    assert "finite" in said["error"]["reason"]
    assert nothing_spent(data)

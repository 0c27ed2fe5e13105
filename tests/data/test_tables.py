"""DuckDB files, Delta and Iceberg tables: read as if they were Parquet, from their place alone."""

import json
import sys

import deltalake
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import whitecrow as wc
from whitecrow.card import TableChoice
from whitecrow.data import Card, Column, read, template
from whitecrow.data._marks import file_states
from whitecrow.data._template import written
from whitecrow.data.warehouse import open_remote

FIRST = pa.table({"age": [30.0, 40.0, None], "ward": ["a", "b", "a"], "visits": [1, 2, 3]})
SECOND = pa.table({"age": [55.5], "ward": ["b"], "visits": [9]})
COLUMNS = (
    Column("age", lower=0, upper=120),
    Column("ward", "category", categories=("a", "b")),
    Column("visits", "integer", lower=0, upper=20),
)
CARD = Card("clinic", COLUMNS)


def chosen(**table):
    return Card("clinic", COLUMNS, table=TableChoice(**table))


def in_duckdb(folder):
    file = folder / "clinic.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.register("given", pa.concat_tables([FIRST, SECOND]))
        connection.execute("CREATE TABLE visits AS SELECT * FROM given")
    return file, CARD, None


def in_delta(folder):
    place = folder / "clinic"
    deltalake.write_deltalake(place, FIRST, partition_by=["ward"])
    deltalake.write_deltalake(place, SECOND, mode="append")
    return place, CARD, chosen(version=0)


def in_iceberg(folder):
    catalog = SqlCatalog("test", uri="sqlite:///:memory:", warehouse=f"file://{folder}")
    catalog.create_namespace("a")
    table = catalog.create_table("a.clinic", FIRST.schema)
    table.append(FIRST)
    first = table.current_snapshot().snapshot_id
    table.append(SECOND)
    catalog.close()
    return folder / "a" / "clinic", CARD, chosen(version=first)


KINDS = [in_duckdb, in_delta, in_iceberg]


def records(source, card):
    found = wc.read(source, card)
    rows = zip(*(found.values(name).tolist() for name in card.names), strict=True)
    return sorted(rows), found.rejections.reasons


def as_parquet(folder, table):
    file = folder / "same.parquet"
    pq.write_table(table, file)
    return file


@pytest.mark.parametrize("written_by", KINDS)
def test_a_table_reads_as_the_same_records_as_its_parquet_file(tmp_path, written_by):
    place, card, _ = written_by(tmp_path)
    same = as_parquet(tmp_path, pa.concat_tables([FIRST, SECOND]))
    assert records(place, card) == records(same, CARD)
    assert [c.type for c in wc.read(place).card.columns] == ["number", "text", "integer"]
    assert 'name = "visits"' in template(place)


@pytest.mark.parametrize("written_by", KINDS[1:])
def test_a_pinned_version_is_read_as_it_was(tmp_path, written_by):
    place, _, pinned = written_by(tmp_path)
    assert records(place, pinned) == records(as_parquet(tmp_path, FIRST), CARD)


@pytest.mark.parametrize("written_by", KINDS[1:])
def test_a_version_that_is_not_there_is_refused(tmp_path, written_by):
    place, _, _ = written_by(tmp_path)
    with pytest.raises(wc.InvalidInput, match="with the version 77"):
        wc.read(place, chosen(version=77))
    with pytest.raises(wc.InvalidInput, match="one table"):
        wc.read(place, chosen(name="x"))


def test_deleted_records_of_a_table_are_not_read(tmp_path):
    place, _, _ = in_delta(tmp_path)
    deltalake.DeltaTable(place).delete("visits = 9")
    assert records(place, CARD) == records(as_parquet(tmp_path, FIRST), CARD)


@pytest.mark.parametrize("written_by", KINDS)
def test_the_engine_disk_reads_tables_as_here(tmp_path, written_by):
    place, card, pinned = written_by(tmp_path)
    for one in filter(None, (card, pinned)):
        disk = open_remote(place, one)
        assert disk.size == read(place, one).size
        disk.close()


def test_the_engine_spark_reads_no_file_but_parquet(tmp_path):
    place, card, _ = in_duckdb(tmp_path)
    with pytest.raises(wc.InvalidInput, match="consists of none"):
        wc.Curator.open(place, card=card, engine="spark", ledger="sqlite://")


@pytest.mark.parametrize("written_by", KINDS)
def test_a_curator_answers_from_a_table_and_notices_its_changes(tmp_path, written_by):
    (tmp_path / "tables").mkdir()
    place, card, _ = written_by(tmp_path / "tables")
    ledger = tmp_path / "ledger.db"

    def opened():
        return wc.Curator.open(place, card=card, ledger=ledger, name="clinic", budget="1")

    curator = opened()
    assert curator.intake()["read"] == 4
    curator.close()
    before = file_states(place)
    if written_by is in_duckdb:
        with duckdb.connect(str(place)) as connection:
            connection.execute("DELETE FROM visits WHERE visits = 9")
    elif written_by is in_delta:
        deltalake.DeltaTable(place).delete("visits = 9")
    else:
        next((place / "data").glob("*.parquet")).write_bytes(b"other")
    assert file_states(place) != before
    if written_by is not in_iceberg:
        with pytest.raises(wc.errors.DataChanged):
            opened()


def test_of_several_tables_in_a_duckdb_file_the_card_says_which(tmp_path):
    file, _, _ = in_duckdb(tmp_path)
    with duckdb.connect(str(file)) as connection:
        connection.execute('CREATE TABLE "odd ""one" AS SELECT 1.0 AS age')
    with pytest.raises(wc.InvalidInput, match=r"holds the tables .*visits; say which"):
        wc.read(file, CARD)
    with pytest.raises(wc.InvalidInput, match="say which"):
        wc.read(file, chosen(name="visits; DROP TABLE visits"))
    assert wc.read(file, chosen(name="visits")).size == 3
    odd = Card("odd", (Column("age"),), table=TableChoice('odd "one'))
    assert wc.read(file, odd).values("age").tolist() == [1.0]
    with pytest.raises(wc.InvalidInput, match="keeps no versions"):
        wc.read(file, chosen(name="visits", version=1))


def test_a_view_of_a_duckdb_file_reads_no_other_file(tmp_path):
    file = tmp_path / "a.duckdb"
    (tmp_path / "secret.csv").write_text("age\n4711\n")
    with duckdb.connect(str(file)) as connection:
        view = f"CREATE VIEW v AS FROM read_csv('{tmp_path}/secret.csv')"
        connection.execute(view)
    with pytest.raises(wc.InvalidInput, match="from this file alone") as refused:
        wc.read(file)
    assert "4711" not in str(refused.value)


@pytest.mark.parametrize(
    "elsewhere", ["file://{}/same.parquet", "../same.parquet", "%2e%2e/same.parquet"]
)
def test_a_delta_table_that_names_files_elsewhere_is_refused(tmp_path, elsewhere):
    place, card, _ = in_delta(tmp_path)
    as_parquet(tmp_path, FIRST)
    log = sorted((place / "_delta_log").glob("*.json"))[-1]
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if "add" in line:
            line["add"]["path"] = elsewhere.format(tmp_path)
    log.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(wc.InvalidInput, match=r"outside of its folder|files are whole"):
        wc.read(place, card)


def test_a_link_out_of_a_delta_table_is_not_followed(tmp_path):
    place, card, _ = in_delta(tmp_path)
    file = next(place.rglob("*.parquet"))
    file.rename(tmp_path / "elsewhere.parquet")
    file.symlink_to(tmp_path / "elsewhere.parquet")
    with pytest.raises(wc.InvalidInput, match="outside of its folder"):
        wc.read(place, card)


def test_an_iceberg_table_reads_no_file_elsewhere_and_loads_no_code(tmp_path):
    place, card, _ = in_iceberg(tmp_path)
    newest = max((place / "metadata").glob("*.metadata.json"))
    said = json.loads(newest.read_text())
    said["properties"]["py-io-impl"] = "antigravity.FileIO"
    newest.write_text(json.dumps(said))
    assert wc.read(place, card).size == 3
    assert "antigravity" not in sys.modules
    moved = tmp_path / "moved"
    place.rename(moved)
    place.mkdir()
    with pytest.raises(wc.InvalidInput, match="outside of its folder"):
        wc.read(moved, card)


def test_an_iceberg_table_with_two_newest_metadata_files_is_refused(tmp_path):
    place, card, _ = in_iceberg(tmp_path)
    newest = max((place / "metadata").glob("*.metadata.json"))
    newest.with_name(newest.name[:6] + "other.metadata.json").write_text("{}")
    with pytest.raises(wc.InvalidInput, match="cannot be told"):
        wc.read(place, card)


@pytest.mark.parametrize(
    ("written_by", "module", "extra"),
    [
        (in_duckdb, "duckdb", "sql"),
        (in_iceberg, "pyiceberg.io.pyarrow", "iceberg"),
    ],
)
def test_a_reader_that_is_not_installed_is_named(tmp_path, monkeypatch, written_by, module, extra):
    place, card, _ = written_by(tmp_path)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(wc.errors.MissingExtra, match=rf"whitecrow\[{extra}\]"):
        wc.read(place, card)


@pytest.mark.parametrize(
    "name", ["a.duckdb", "b/_delta_log/0.json", "c/metadata/1-x.metadata.json"]
)
def test_what_is_no_table_is_refused_in_words(tmp_path, name):
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{}")
    with pytest.raises(wc.InvalidInput, match="not readable as"):
        wc.read(tmp_path / name.split("/")[0])


def test_the_choice_of_a_table_is_part_of_the_card_and_of_its_fingerprint(tmp_path):
    pinned = chosen(name="visits", version=3)
    assert Card.parse(written(pinned)) == pinned
    assert Card.from_json(pinned.to_json()) == pinned
    assert pinned.fingerprint() != CARD.fingerprint()
    with pytest.raises(wc.InvalidInput, match="leave it out"):
        wc.read(as_parquet(tmp_path, FIRST), pinned)
    for wrong in ({"name": 3}, {"version": -1}, {"version": True}):
        with pytest.raises(wc.InvalidInput, match=r"\[table\]"):
            TableChoice(**wrong)


def test_columns_are_not_kept_beside_a_table(tmp_path):
    from whitecrow.data import read_and_keep

    for number, written_by in enumerate(KINDS):
        (tmp_path / str(number)).mkdir()
        place, card, _ = written_by(tmp_path / str(number))
        with pytest.raises(wc.InvalidInput, match="kept beside CSV and Parquet"):
            read_and_keep(place, card)

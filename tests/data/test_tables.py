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
from whitecrow.data.fingerprints import file_states
from whitecrow.data.template import card_toml
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
    [(in_duckdb, "duckdb", "sql"), (in_iceberg, "pyiceberg.io.pyarrow", "iceberg")],
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
    assert Card.parse(card_toml(pinned)) == pinned
    assert Card.from_json(pinned.to_json()) == pinned
    assert pinned.fingerprint() != CARD.fingerprint()
    with pytest.raises(wc.InvalidInput, match="leave it out"):
        wc.read(as_parquet(tmp_path, FIRST), pinned)
    for wrong in ({"name": 3}, {"version": -1}, {"version": True}):
        with pytest.raises(wc.InvalidInput, match=r"\[table\]"):
            TableChoice(**wrong)


def rewritten(log, change):
    """Change the actions of a commit."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        change(line)
    log.write_text("\n".join(map(json.dumps, lines)))


def commits(place):
    return sorted((place / "_delta_log").glob("*.json"))


def renamed_and_added_again(action):
    """What a table says after ``age`` was renamed and another ``age`` added, by column mapping."""
    if "metaData" in action:
        schema = json.loads(action["metaData"]["schemaString"])
        for number, column in enumerate(schema["fields"]):
            column["metadata"] = {
                "delta.columnMapping.id": number,
                "delta.columnMapping.physicalName": f"col-{number}",
            }
        action["metaData"]["schemaString"] = json.dumps(schema)
        action["metaData"]["configuration"] = {"delta.columnMapping.mode": "name"}
    if "protocol" in action:
        action["protocol"] = {"minReaderVersion": 2, "minWriterVersion": 5}


def only(part):
    """Of the change above one part: each alone is enough for a refusal."""

    def change(action):
        before = json.loads(json.dumps(action))
        renamed_and_added_again(action)
        for key in ("schemaString", "configuration"):
            if "metaData" in action and part != key:
                action["metaData"][key] = before["metaData"][key]
        if "protocol" in action and part != "protocol":
            action["protocol"] = before["protocol"]

    return change


def with_feature(name):
    def change(action):
        if "protocol" in action:
            action["protocol"] = {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": [name],
                "writerFeatures": [name],
            }

    return change


def with_property(name, value):
    def change(action):
        if "metaData" in action:
            action["metaData"]["configuration"] = {name: value}

    return change


def with_deleted_rows(action):
    if "add" in action:
        action["add"]["deletionVector"] = {"storageType": "u", "cardinality": 1}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (renamed_and_added_again, "version 2 of the protocol"),
        (only("protocol"), "version 2 of the protocol"),
        (only("configuration"), "delta.columnMapping.mode = name"),
        (only("schemaString"), "column mapping"),
        (with_feature("columnMapping"), "the feature columnMapping"),
        (with_feature("deletionVectors"), "the feature deletionVectors"),
        (with_feature("of tomorrow"), "the feature of tomorrow"),
        (with_property("delta.ofTomorrow", "true"), "delta.ofTomorrow = true"),
        (
            with_property("delta.enableDeletionVectors", "true"),
            "delta.enableDeletionVectors = true",
        ),
        (with_deleted_rows, "deletion vectors"),
        (lambda action: action.update(sidecar={"path": "x"}), "the action sidecar"),
    ],
)
def test_a_delta_table_whose_records_are_not_its_rows_is_refused(tmp_path, change, why):
    place, card, _ = in_delta(tmp_path)
    rewritten(commits(place)[0], change)
    with pytest.raises(wc.InvalidInput, match=f"uses (the property )?{why}"):
        wc.read(place, card)


@pytest.mark.parametrize(
    "change",
    [
        with_feature("timestampNtz"),
        with_property("delta.appendOnly", "true"),
        with_property("delta.columnMapping.mode", "none"),
        with_property("delta.constraints.old", "age > 0"),
        with_property("owner", "clinic"),
    ],
)
def test_what_changes_no_record_of_a_delta_table_is_read(tmp_path, change):
    place, card, _ = in_delta(tmp_path)
    rewritten(commits(place)[0], change)
    same = as_parquet(tmp_path, pa.concat_tables([FIRST, SECOND]))
    assert records(place, card) == records(same, CARD)


FALSE_STATISTICS = [
    '{"numRecords": 0, "minValues": {}, "maxValues": {}, "nullCount": {}}',
    '{"numRecords": 3, "minValues": {"age": 900.0}, "maxValues": {"age": 901.0}, "nullCount": {}}',
    '{"numRecords": 2, "minValues": {}, "maxValues": {}, "nullCount": {"age": 2, "visits": 2}}',
    '{"numRecords": 2, "minValues": {"age": "x"}, "maxValues": {"visits": 1e999}, "nullCount": 5}',
    "no JSON",
]


@pytest.mark.parametrize("statistics", FALSE_STATISTICS)
def test_the_statistics_of_a_delta_table_are_not_believed(tmp_path, statistics):
    place, card, _ = in_delta(tmp_path)

    def change(action):
        if "add" in action:
            action["add"]["stats"] = statistics

    for log in commits(place):
        rewritten(log, change)
    same = as_parquet(tmp_path, pa.concat_tables([FIRST, SECOND]))
    assert records(place, card) == records(same, CARD)


@pytest.mark.parametrize("cleaned", [False, True])
def test_a_checkpoint_of_a_delta_table_stands_for_the_commits_before_it(tmp_path, cleaned):
    place, card, pinned = in_delta(tmp_path)
    deltalake.DeltaTable(place).delete("visits = 2")
    deltalake.DeltaTable(place).create_checkpoint()
    deltalake.write_deltalake(place, SECOND, mode="append")
    before = records(place, card)
    assert before[0] == [(30.0, 0, 1), (55.5, 1, 9), (55.5, 1, 9)]
    if cleaned:
        for log in commits(place)[:-1]:
            log.unlink()
        assert records(place, card) == before
        with pytest.raises(wc.InvalidInput, match="with the version 0"):
            wc.read(place, pinned)
    else:
        assert records(place, pinned) == records(as_parquet(tmp_path, FIRST), CARD)


def test_columns_that_a_delta_table_gained_are_missing_in_older_files(tmp_path):
    place = tmp_path / "clinic"
    deltalake.write_deltalake(place, FIRST.select(["age"]))
    deltalake.write_deltalake(place, SECOND, mode="append", schema_mode="merge")
    card = Card("c", (COLUMNS[0], Column("visits", "integer", missing="fill", fill=0)))
    assert records(place, card)[0] == [(30.0, 0), (40.0, 0), (55.5, 9)]


@pytest.mark.parametrize("value", ["", "no number", "1e999", "9" * 5000, "\ud800", "-0.0", None])
def test_a_partition_value_is_read_by_itself(tmp_path, value):
    """Of a Delta table, where it stands in the log: whatever it is, other files are read alike."""
    place = tmp_path / "lake"
    table = pa.table({"x": [1.0, 2.0, 3.0], "n": [1, 2, 3]})
    for column in ("x", "n"):
        folder = place / column
        deltalake.write_deltalake(folder, table, partition_by=[column])

        def change(action, column=column):
            if "add" in action and action["add"]["partitionValues"][column] in ("2", "2.0"):
                action["add"]["partitionValues"][column] = value

        rewritten(commits(folder)[0], change)
        found = wc.read(folder, Card("c", (Column("x"), Column("n", "integer"))))
        rows = zip(found.values("x").tolist(), found.values("n").tolist(), strict=True)
        assert {(1.0, 1.0), (3.0, 3.0)} <= set(rows)


PLACES = {"content": 0, "file_format": 2, "record_count": 4}
PLACES |= {"null_value_counts": 8, "lower_bounds": 10, "upper_bounds": 11}
"""Where a manifest says what of a file."""


def iceberg(folder, schema):
    catalog = SqlCatalog("test", uri="sqlite:///:memory:", warehouse=f"file://{folder}")
    catalog.create_namespace("a")
    return catalog, catalog.create_table("a.clinic", schema), folder / "a" / "clinic"


def test_a_column_of_an_iceberg_table_is_told_by_its_number(tmp_path):
    """Renamed, and another of the old name added: the old files hold nothing of the new one."""
    catalog, table, place = iceberg(tmp_path, FIRST.schema)
    table.append(FIRST)
    with table.update_schema() as change:
        change.rename_column("age", "age_then")
    with table.update_schema() as change:
        from pyiceberg.types import DoubleType

        change.add_column("age", DoubleType())
    table.append(pa.table({"age": [55.5], "age_then": [1.0], "ward": ["b"], "visits": [9]}))
    catalog.close()
    then = Card("c", (Column("age_then"), Column("age", missing="fill", fill=-1)))
    assert records(place, then)[0] == [(1.0, 55.5), (30.0, -1.0), (40.0, -1.0)]


def test_the_statistics_of_an_iceberg_table_are_not_believed(tmp_path):
    from pyiceberg import manifest

    _, card, _ = in_iceberg(tmp_path)
    real = manifest.ManifestFile.fetch_manifest_entry

    def lying(self, *given, **named):
        entries = real(self, *given, **named)
        for entry in entries:
            told = {"record_count": 0, "null_value_counts": {1: 10**9}, "lower_bounds": {}}
            for name, value in (told | {"upper_bounds": {}}).items():
                entry.data_file[PLACES[name]] = value
        return entries

    same = as_parquet(tmp_path, pa.concat_tables([FIRST, SECOND]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest.ManifestFile, "fetch_manifest_entry", lying)
        assert records(tmp_path / "a" / "clinic", card) == records(same, CARD)


@pytest.mark.parametrize(
    ("attribute", "value", "why"),
    [
        ("content", 1, "files that delete records"),
        ("content", 2, "files that delete records"),
        ("file_format", "ORC", "files that are no Parquet"),
    ],
)
def test_an_iceberg_table_of_more_than_data_files_is_refused(tmp_path, attribute, value, why):
    from pyiceberg import manifest

    _, card, _ = in_iceberg(tmp_path)
    real = manifest.ManifestFile.fetch_manifest_entry
    kind = manifest.DataFileContent if attribute == "content" else manifest.FileFormat

    def other(self, *given, **named):
        entries = real(self, *given, **named)
        entries[0].data_file[PLACES[attribute]] = kind(value)
        return entries

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest.ManifestFile, "fetch_manifest_entry", other)
        with pytest.raises(wc.InvalidInput, match=why):
            wc.read(tmp_path / "a" / "clinic", card)


def test_an_iceberg_table_whose_files_have_no_column_numbers_is_refused(tmp_path):
    place, card, _ = in_iceberg(tmp_path)
    file = next((place / "data").glob("*.parquet"))
    pq.write_table(FIRST, file)
    with pytest.raises(wc.InvalidInput, match="columns have no numbers"):
        wc.read(place, card)


def test_the_names_of_folders_are_no_columns(tmp_path):
    for name, ages in (("age=1", [30.0, 40.0]), ("age=2", [50.0])):
        (tmp_path / "hive" / name / "ward=b").mkdir(parents=True)
        table = pa.table({"age": ages})
        pq.write_table(table, tmp_path / "hive" / name / "ward=b" / "part.parquet")
    card = Card("c", (Column("age"),))
    assert records(tmp_path / "hive", card)[0] == [(30.0,), (40.0,), (50.0,)]
    with pytest.raises(wc.InvalidInput, match="'ward', which the data do not have"):
        wc.read(tmp_path / "hive", Card("c", (Column("age"), COLUMNS[1])))


def test_a_column_named_like_a_part_of_another_is_read(tmp_path):
    table = pa.table({"a.b": [1.0, 2.0], "a": [{"b": 7.0}, {"b": 8.0}], "c": [5.0, 6.0]})
    file = as_parquet(tmp_path, table)
    card = Card("c", (Column("a.b"), Column("c")))
    assert records(file, card)[0] == [(1.0, 5.0), (2.0, 6.0)]


def test_moments_of_a_duckdb_file_are_of_days_in_utc_whatever_the_process_says(
    tmp_path, monkeypatch
):
    import time

    file = tmp_path / "moments.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("CREATE TABLE t AS SELECT TIMESTAMPTZ '2024-01-01 23:30:00+00' AS seen")
        connection.execute("CREATE VIEW v AS SELECT CAST(seen AS DATE) AS seen FROM t")
    for zone in ("America/New_York", "Asia/Kolkata", "UTC"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        for name in ("t", "v"):
            card = Card("c", (Column("seen", "date"),), table=TableChoice(name))
            assert wc.read(file, card).values("seen").tolist() == [19723]
    monkeypatch.undo()
    time.tzset()


def test_the_widest_numbers_of_a_duckdb_file_are_read(tmp_path):
    file = tmp_path / "wide.duckdb"
    values = {
        "HUGEINT": 2**127 - 1,
        "UHUGEINT": 2**128 - 1,
        "BIGNUM": 10**60 + 1,
        "UBIGINT": 2**64 - 1,
    }
    with duckdb.connect(str(file)) as connection:
        for kind, value in values.items():
            connection.execute(f"CREATE TABLE {kind}_t AS SELECT '{value}'::{kind} AS v")
    for kind, value in values.items():
        card = Card("c", (Column("v"),), table=TableChoice(f"{kind}_t"))
        assert wc.read(file, card).values("v").tolist() == [float(value)]


def test_an_iceberg_table_of_a_newer_format_is_refused(tmp_path):
    """Its records may be deleted by vectors, and its columns have values where files have none."""
    place, card, _ = in_iceberg(tmp_path)
    newest = max((place / "metadata").glob("*.metadata.json"))
    said = json.loads(newest.read_text()) | {"format-version": 3, "next-row-id": 0}
    newest.write_text(json.dumps(said))
    with pytest.raises(wc.InvalidInput, match="version 3 of the format"):
        wc.read(place, card)

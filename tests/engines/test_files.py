"""Parquet files that Spark's workers read by themselves, and tables that are lists of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from whitecrow.data import Card, Column, read
from whitecrow.data.warehouse import open_remote
from whitecrow.data.warehouse._files import (
    Reading,
    _divided,
    common_schema,
    footers_of,
    glanced,
    parts_of,
)
from whitecrow.data.warehouse._spark import SparkWarehouse
from whitecrow.errors import InvalidInput
from whitecrow.neighbours import LocalEngine, NeighbourRelation
from whitecrow.neighbours._remote import Bounds, RemoteEngine

CARD = Card(
    "patients",
    (
        Column("age", "integer", lower=0, upper=120),
        Column("bmi", lower=10, upper=60, outside="clip"),
        Column("pay", missing="fill", fill=7.0),
        Column("ward", "category", categories=("A", "B")),
    ),
)
NEAR = NeighbourRelation(("age", "bmi", "pay"), "euclidean", 9.0)


def patients(rows: int = 4000, seed: int = 4) -> pa.Table:
    """Records of which the card mends some and leaves others out."""
    draw = np.random.default_rng(seed)
    bmi = draw.normal(30, 6, rows)
    bmi[:4] = [np.nan, np.inf, -np.inf, -0.0]
    gone = draw.random(rows) < 0.1
    return pa.table(
        {
            "other": pa.array([f"note {number}" for number in range(rows)]),
            "age": pa.array(np.rint(draw.standard_t(3, rows) * 12 + 45).astype(np.int64)),
            "bmi": bmi,
            "pay": pa.array(draw.normal(9, 6, rows), mask=gone),
            "ward": pa.array(draw.choice(["A", "B", "C"], rows)).dictionary_encode(),
        }
    )


def in_parts(folder: Path, table: pa.Table, rows: int = 900) -> Path:
    """Write several files of several groups of rows, one of them without a record."""
    folder.mkdir()
    for number, first in enumerate(range(-rows, table.num_rows, rows)):
        part = table.slice(max(0, first), 0 if first < 0 else rows)
        parquet.write_table(part, folder / f"part-{number}.parquet", row_group_size=250)
    (folder / "_SUCCESS").touch()
    return folder


def pairs(engine: Any, cap: int = 12) -> list[tuple[float, ...]]:
    points, counts = engine.sparse(NEAR, cap)
    return sorted(map(tuple, np.column_stack([points, counts]).tolist()))


def reads_by_itself(dataset: Any) -> bool:
    return dataset.warehouse.stored(dataset.records(["age"])) is not None


@pytest.mark.parametrize("held", [1 << 21, 50], ids=["where they lie", "moved in groups"])
def test_workers_that_read_files_find_what_spark_reads_for_them(
    spark: Any, tmp_path: Path, held: int
) -> None:
    folder = in_parts(tmp_path / "records", patients())
    expected = pairs(LocalEngine(read(patients(), CARD)))
    bounds = Bounds(held=held, few=8, asked=1500, moved=1000)
    for source, by_itself in ((folder, True), (spark.read.parquet(f"file://{folder}"), False)):
        dataset = open_remote(source, CARD, engine="spark")
        assert reads_by_itself(dataset) == by_itself
        assert pairs(RemoteEngine(dataset, bounds)) == expected
        assert dataset.size == read(patients(), CARD).size
        dataset.close()
        again = open_remote(source, CARD, engine="spark")
        assert again.size == dataset.size  # asked for alone
        again.close()
    assert 50 < len(expected) < dataset.size


def test_files_that_differ_and_folders_of_folders_are_left_to_spark(
    spark: Any, tmp_path: Path
) -> None:
    table = patients(300)
    nested = in_parts(tmp_path / "nested", table, 100)
    (nested / "day=1").mkdir()
    for number in range(4):
        (nested / f"part-{number}.parquet").rename(nested / "day=1" / f"{number}.parquet")
    differ = in_parts(tmp_path / "differ", table, 100)
    narrow = table.set_column(1, "age", table["age"].cast(pa.int32()))
    parquet.write_table(narrow, differ / "part-9.parquet")
    for folder in (nested, differ):
        dataset = open_remote(folder, CARD, engine="spark")
        assert not reads_by_itself(dataset)
        dataset.close()
    people = Card("patients", (*CARD.columns, Column("other", "text")), "user", "other", 1)
    dataset = open_remote(in_parts(tmp_path / "people", table, 100), people, engine="spark")
    assert dataset.size == read(table, people).size  # who a person is takes all records
    assert not reads_by_itself(dataset)
    dataset.close()


@pytest.mark.parametrize("rows", [0, 1, 400_000, 1_000_000, 10_000_000, 300_000_000])
def test_every_group_of_rows_is_in_one_part_and_parts_are_alike(rows: int) -> None:
    groups = [
        (f"file-{first // 1_000_000}", first // 250_000 % 4, min(250_000, rows - first))
        for first in range(0, rows, 250_000)
    ]
    parts = _divided(groups, 16)
    told = [(path, place) for part in parts for path, places in part.groups for place in places]
    assert told == [(path, place) for path, place, _ in groups]
    assert sum(part.rows for part in parts) == rows
    assert max((part.rows for part in parts), default=0) <= max(2 * rows / 16, (1 << 22) + 250_000)


def in_delta(folder: Path, change: Callable[[Path], object] | None = None) -> Path:
    """Write a table of two versions, and take records away from it."""
    table = patients().cast(
        pa.schema(
            [(f.name, pa.string() if f.name == "ward" else f.type) for f in patients().schema]
        )
    )
    deltalake.write_deltalake(folder, table.slice(0, 3000))
    deltalake.write_deltalake(folder, table.slice(3000), mode="append")
    deltalake.DeltaTable(folder).delete("age > 60")
    if change is not None:
        change(folder)
    return folder


def test_a_delta_table_has_the_same_facts_on_spark(spark: Any, tmp_path: Path) -> None:
    folder = in_delta(tmp_path / "table")
    here = read(folder, CARD)
    dataset = open_remote(folder, CARD, engine="spark")
    assert reads_by_itself(dataset)
    assert dataset.size == here.size < read(patients(), CARD).size
    assert pairs(RemoteEngine(dataset)) == pairs(LocalEngine(here))
    dataset.close()


def test_delta_tables_whose_files_are_not_the_whole_table_are_refused(tmp_path: Path) -> None:
    parted = tmp_path / "parted"
    deltalake.write_deltalake(
        parted, pa.table({"age": [1, 2], "ward": ["A", "B"]}), partition_by=["ward"]
    )
    with pytest.raises(InvalidInput, match="is partitioned"):
        open_remote(parted, engine="spark")

    def widened(folder: Path) -> None:
        more = pa.table({"age": pa.array([3]), "extra": [1.0]})
        deltalake.write_deltalake(folder, more, mode="append", schema_mode="merge")

    with pytest.raises(InvalidInput, match="differ in names or types"):
        open_remote(in_delta(tmp_path / "widened", widened), engine="spark")
    with pytest.raises(InvalidInput, match="other versions"):
        open_remote(parted, engine="sql")


def test_workers_are_told_where_files_lie_whatever_folder_they_start_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet.write_table(pa.table({"x": [1.0, 2.0]}), tmp_path / "part.parquet")
    monkeypatch.chdir(tmp_path)
    footers = footers_of([Path("part.parquet")])
    assert footers is not None
    parts = parts_of(footers, ["x"], 2)
    assert parts is not None
    assert [path for part in parts for path, _ in part.groups] == [str(tmp_path / "part.parquet")]


def test_the_schema_that_footers_tell_is_the_one_that_spark_finds(
    spark: Any, tmp_path: Path
) -> None:
    table = pa.table(
        {
            "flag": [True, None],
            "tiny": pa.array([1, 2], pa.int8()),
            "small": pa.array([1, 2], pa.int16()),
            "middle": pa.array([1, 2], pa.int32()),
            "long": [1, 2],
            "single": pa.array([0.5, None], pa.float32()),
            "double": [0.5, None],
            "text": ["a", None],
            "day": pa.array([1, 2], pa.date32()),
        }
    )
    parquet.write_table(table, tmp_path / "plain.parquet")
    footers = footers_of([tmp_path / "plain.parquet"])
    assert footers is not None
    asked = spark.read.parquet(f"file://{tmp_path}/plain.parquet").limit(0).toArrow().schema
    assert common_schema(footers) == asked
    for name, column in (
        ("moment", pa.array([1, 2], pa.timestamp("us"))),
        ("word", pa.array(["a", "b"]).dictionary_encode()),
        ("Double", pa.array([1.0, 2.0])),
    ):
        odd = table.append_column(name, column)
        parquet.write_table(odd, tmp_path / "odd.parquet")
        footers = footers_of([tmp_path / "odd.parquet"])
        assert footers is not None
        assert common_schema(footers) is None, name


def test_a_sample_that_is_not_of_all_records_changes_no_count(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first look sees one corner of the data, or nothing: cells are too many, or none."""
    table = patients()
    folder = in_parts(tmp_path / "records", table)
    expected = pairs(LocalEngine(read(table, CARD)))
    corner = np.full((1000, 3), 40.0) + np.linspace(0, 1e-3, 1000)[:, None]
    for seen, bounds in ((corner, Bounds(cells=64)), (corner, Bounds()), (None, Bounds())):
        monkeypatch.setattr(SparkWarehouse, "glance", lambda *_, seen=seen: seen)
        dataset = open_remote(folder, CARD, engine="spark")
        assert pairs(RemoteEngine(dataset, bounds)) == expected
        assert dataset.size == read(table, CARD).size
        dataset.close()


def test_what_is_glanced_at_are_records_that_pass_the_card(tmp_path: Path) -> None:
    table = patients()
    folder = in_parts(tmp_path / "records", table)
    footers = footers_of(sorted(folder.glob("*.parquet")))
    assert footers is not None
    parts = parts_of(footers, CARD.names, 2)
    assert parts is not None
    reading = Reading(CARD, ("age", "bmi", "pay"))
    seen = glanced(parts, reading, 300)
    assert seen is not None
    assert seen.shape == (300, 3)
    all_of_them = {tuple(row) for part in parts for rows in part.read(reading) for row in rows}
    assert {tuple(row) for row in seen} <= all_of_them
    assert glanced((), reading, 300) is None

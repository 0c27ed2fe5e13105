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
from whitecrow.data.dataset import Plain
from whitecrow.data.opened import File, open_folder, open_parquet
from whitecrow.data.warehouse import Asked, open_remote
from whitecrow.data.warehouse.spark import SparkWarehouse
from whitecrow.data.warehouse.workers import parts_of, peeked
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
    return dataset.warehouse.rows_stored is not None


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


def test_names_of_folders_are_no_columns_and_files_must_be_alike(
    spark: Any, tmp_path: Path
) -> None:
    """A folder ``age=99`` would replace the ages in the files, were it Spark that read them."""
    table = patients(300)
    nested = in_parts(tmp_path / "nested", table, 100)
    (nested / "age=99").mkdir()
    for number in range(4):
        (nested / f"part-{number}.parquet").rename(nested / "age=99" / f"{number}.parquet")
    here = read(table, CARD)
    dataset = open_remote(nested, CARD, engine="spark")
    assert reads_by_itself(dataset)
    assert dataset.size == here.size
    assert pairs(RemoteEngine(dataset)) == pairs(LocalEngine(here))
    dataset.close()
    differ = in_parts(tmp_path / "differ", table, 100)
    narrow = table.set_column(1, "age", table["age"].cast(pa.int32()))
    parquet.write_table(narrow, differ / "part-9.parquet")
    for engine in ("disk", "spark"):
        with pytest.raises(InvalidInput, match="differ in names or types"):
            open_remote(differ, CARD, engine=engine)


def test_all_records_of_a_person_are_brought_together(spark: Any, tmp_path: Path) -> None:
    table = patients(300)
    people = Card("patients", (*CARD.columns, Column("other", "text")), "user", "other", 1)
    dataset = open_remote(in_parts(tmp_path / "people", table, 100), people, engine="spark")
    assert dataset.size == read(table, people).size
    assert dataset.rejections.read == table.num_rows
    dataset.close()


@pytest.mark.parametrize("rows", [0, 1, 400_000, 1_000_000, 10_000_000, 300_000_000])
def test_every_group_of_rows_is_in_one_part_and_parts_are_alike(rows: int) -> None:
    sizes = [min(250_000, rows - first) for first in range(0, rows, 250_000)]
    files = [
        File(Path(f"/{first}"), tuple(sizes[first : first + 4]), {})
        for first in range(0, len(sizes), 4)
    ]
    parts = parts_of(files, 16)
    told = [(file.path, group) for part in parts for file, groups in part.files for group in groups]
    assert told == [(file.path, group) for file in files for group in range(len(file.groups))]
    held = [sum(file.groups[n] for file, groups in part.files for n in groups) for part in parts]
    assert sum(held) == rows
    assert max(held, default=0) <= max(2 * rows / 16, (1 << 22) + 250_000)


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


def test_partitions_and_new_columns_of_a_delta_table_are_read_on_spark_as_here(
    spark: Any, tmp_path: Path
) -> None:
    parted = tmp_path / "parted"
    table = pa.table({"age": [1.0, 2.0, 4.0], "ward": ["A", "B", None]})
    deltalake.write_deltalake(parted, table, partition_by=["ward"])
    more = pa.table({"age": [3.0], "ward": ["B"], "extra": [1.0]})
    deltalake.write_deltalake(parted, more, mode="append", schema_mode="merge")
    columns = (
        Column("age"),
        Column("ward", "category", categories=("A", "B"), missing="fill", fill="A"),
        Column("extra", missing="fill", fill=7.0),
    )
    card = Card("parted", columns)
    dataset = open_remote(parted, card, engine="spark")
    keys = [Plain(name) for name in card.names]
    groups, _ = dataset.tally(keys)
    assert sorted(zip(*(group.tolist() for group in groups), strict=True)) == [
        (1.0, 0.0, 7.0),
        (2.0, 1.0, 7.0),
        (3.0, 1.0, 1.0),
        (4.0, 0.0, 7.0),
    ]
    here, _ = read(parted, card).tally(keys)
    for there, local in zip(groups, here, strict=True):
        assert sorted(there.tolist()) == sorted(local.tolist())
    dataset.close()


def test_workers_are_told_where_files_lie_whatever_folder_they_start_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet.write_table(pa.table({"x": [1.0, 2.0]}), tmp_path / "part.parquet")
    monkeypatch.chdir(tmp_path)
    parts = parts_of(open_parquet(Path("part.parquet")).files or (), 2)
    told = [file.path for part in parts for file, _ in part.files]
    assert told == [tmp_path / "part.parquet"]


def test_a_sample_that_is_not_of_all_records_changes_no_count(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first look sees one corner of the data, or nothing: cells are too many, or none."""
    table = patients()
    folder = in_parts(tmp_path / "records", table)
    expected = pairs(LocalEngine(read(table, CARD)))
    corner = np.full((1000, 3), 40.0) + np.linspace(0, 1e-3, 1000)[:, None]
    for seen, bounds in ((corner, Bounds(cells=64)), (corner, Bounds()), (None, Bounds())):
        monkeypatch.setattr(SparkWarehouse, "peek", lambda *_, seen=seen: seen)
        dataset = open_remote(folder, CARD, engine="spark")
        assert pairs(RemoteEngine(dataset, bounds)) == expected
        assert dataset.size == read(table, CARD).size
        dataset.close()


def test_a_sample_is_of_records_that_pass_the_card(tmp_path: Path) -> None:
    table = patients()
    folder = in_parts(tmp_path / "records", table)
    parts = parts_of(open_folder(folder).files or (), 2)
    asked = Asked(("age", "bmi", "pay"))
    disk = open_remote(folder, CARD)
    # By their bits: one of them lacks a value, and NaN is not equal to itself.
    all_of_them = {
        row.tobytes() for part in parts for rows in asked.of(part.decoded(CARD)) for row in rows
    }
    for seen in (peeked(parts, CARD, asked, 300), disk.warehouse.peek(asked, 300)):
        assert seen is not None
        assert seen.shape == (300, 3)
        assert {row.tobytes() for row in seen} <= all_of_them
    assert peeked((), CARD, asked, 300) is None
    disk.close()

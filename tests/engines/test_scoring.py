"""A detector scores a table where it is, with the same bits as here."""

from __future__ import annotations

import contextlib
import datetime
import io
import math
from fractions import Fraction
from functools import partial
from typing import Any

import duckdb
import numpy as np
import psycopg
import pyarrow as pa
import pytest
from pyarrow import compute as pc
from pyarrow import parquet

from whitecrow.data import Card, Column
from whitecrow.detector import Detector
from whitecrow.detector.model import grid_of
from whitecrow.errors import InvalidInput
from whitecrow.histogram.facts import Bought, CellFacts, counted_rows
from whitecrow.histogram.noise_budget import NoiseBudget, concentrated
from whitecrow.learning.training import train
from whitecrow.noise.seeded import SeededSource
from whitecrow.privacy import DifferentialPrivacy

ODD = "pay, \"net\"; DROP 'all'"
CARD = Card(
    "patients",
    (
        Column("age", "integer", lower=0, upper=120),
        Column("bmi", lower=10, upper=60, missing="fill", fill=25),
        Column("ward", "category", categories=("A", "it's", 'say "B"')),
        Column(ODD),
        Column("seen", "date", lower="2020-01-01", upper="2024-12-31"),
    ),
)


def learned(seed: int) -> Detector:
    source = np.random.default_rng(seed)
    size = 3000
    data = np.stack(
        [
            source.integers(18, 95, size),
            source.normal(25, 3, size).clip(11, 59),
            source.choice(3, size, p=[0.7, 0.25, 0.05]),
            np.exp(source.normal(8, 2, size)),
            source.integers(18_300, 19_900, size),
        ],
        axis=1,
    ).astype(np.float64)
    return trained(CARD, data, seed)


def trained(card: Card, data: Any, seed: int) -> Detector:
    model = train(
        tuple(grid_of(column) for column in card.columns),
        Bought(
            CellFacts(partial(counted_rows, data)),
            NoiseBudget("gaussian", concentrated(Fraction(1), Fraction(1, 10**6)), "add_remove", 1),
            SeededSource(seed),
        ),
        Fraction(1),
        seed=seed,
    )
    promise = DifferentialPrivacy("1", "1e-6")
    return Detector((model,), card, promise, promise.statement(), {"kind": "learn"})


@pytest.fixture(scope="module")
def detectors() -> tuple[Detector, Detector]:
    """One as it was learned, one merged of two."""
    one = learned(1)
    return one, one.merge(learned(2), apart=True)


@pytest.fixture(scope="module")
def records() -> pa.Table:
    """Records of every kind: ordinary, at the edges, beyond them, infinite, missing, unlisted."""
    source = np.random.default_rng(3)
    ages = source.integers(-5, 130, 300).tolist()
    pay = [*(np.exp(source.normal(8, 3, 296)) * source.choice([-1.0, 1.0], 296)).tolist()]
    start = datetime.date(2019, 6, 1)
    days = [start + datetime.timedelta(days=int(k)) for k in source.integers(0, 2500, 300)]
    return pa.table(
        {
            "number": pa.array(range(300)),
            "age": pa.array([None, *ages[1:]], pa.int64()),
            "bmi": pa.array([None, float("nan"), *source.normal(25, 9, 298).tolist()]),
            "ward": pa.array([*source.choice(["A", "it's", 'say "B"', "new"], 299).tolist(), None]),
            ODD: pa.array([None, float("nan"), float("inf"), float("-inf"), *pay]),
            "seen": pa.array([*days[:5], None, *days[6:]], pa.date32()),
        }
    )


def same(found: list[tuple[int, float | None]], local: Any) -> None:
    ordered = [score for _, score in sorted(found)]
    given = np.array([np.nan if score is None else score for score in ordered])
    assert given.tobytes() == np.asarray(local).tobytes()
    assert np.isnan(given).sum() == 4


def test_scores_in_duckdb_are_the_local_ones_bit_for_bit(detectors, records):
    connection = duckdb.connect()
    connection.register('the "records"', records)
    for detector in detectors:
        text = detector.sql("duckdb", 'the "records"', keep=["number"])
        same(connection.execute(text).fetchall(), detector.scores(records))


def test_statistics_of_a_file_change_no_score_in_duckdb(detectors, records, tmp_path):
    """Where a file's statistics show no infinite value, DuckDB takes no value for NaN."""
    finite = records.filter(pc.invert(pc.fill_null(pc.is_inf(records[ODD]), False)))
    minus = pa.array([-math.nan if v != v else v for v in finite["bmi"].to_pylist()])
    finite = finite.set_column(2, "bmi", minus)
    parquet.write_table(finite, tmp_path / "records.parquet")
    connection = duckdb.connect()
    connection.execute(f"CREATE VIEW stored AS FROM '{tmp_path / 'records.parquet'}'")
    for detector in detectors:
        text = detector.sql("duckdb", "stored", keep=["number"])
        scored = sorted(connection.execute(text).fetchall())
        given = np.array([np.nan if score is None else score for _, score in scored])
        assert given.tobytes() == np.asarray(detector.scores(finite)).tobytes()
        assert np.isnan(given).any()


def test_a_function_in_duckdb_gives_the_local_scores_bit_for_bit(detectors, records):
    connection = duckdb.connect()
    connection.register("records", records)
    for number, detector in enumerate(detectors):
        detector.duckdb(connection, f"strange_{number}")
        given = ", ".join('"' + name.replace('"', '""') + '"' for name in detector.columns)
        query = f"SELECT number, strange_{number}({given}) FROM records"  # noqa: S608
        same(connection.execute(query).fetchall(), detector.scores(records))


def test_scores_in_postgresql_are_the_local_ones_bit_for_bit(detectors, records, storing):
    plain = records.rename_columns([name.replace('"', "") for name in records.column_names])
    url, name = storing("postgresql", plain).rsplit("::", 1)
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        odd = ODD.replace('"', "")
        doubled = ODD.replace('"', '""')
        cursor.execute(f'ALTER TABLE {name} RENAME COLUMN "{odd}" TO "{doubled}"')
        for detector in detectors:
            cursor.execute(detector.sql("postgresql", ("public", name), keep=["number"]))
            same(cursor.fetchall(), detector.scores(records))


def test_text_finds_the_cells_of_odd_columns(storing):
    """Missing as a value of its own, one category alone, an edge alone, cells narrow and wide."""
    source = np.random.default_rng(5)
    card = Card(
        "odd",
        (
            Column("gap", lower=0, upper=9, missing="value"),
            Column("only", "category", categories=("one",)),
            Column("narrow", lower=-1e-100, upper=1e-100),
            Column("wide", lower=-8e100, upper=8e100),
            Column("two", "integer", lower=0, upper=1),
        ),
    )
    codes = source.choice(2, 2000)
    gaps = np.where(codes, source.uniform(0, 9, 2000), card.column("gap").absent)
    scale = np.array([0.0, 1e-100, 8e100, 0.0])
    data = np.column_stack([gaps, source.uniform(-1, 1, (2000, 4)) * scale])
    data[:, 4] = codes
    detector = trained(card, data, 1)
    (grids,) = (model.grids for model in detector.models)
    edges = [np.concatenate([[0.0], grid.present.edges, [0.0]]) for grid in grids]
    values = [
        np.concatenate([near, np.nextafter(near, -np.inf), np.nextafter(near, np.inf)])
        for near in (edge[np.arange(400) % len(edge)] for edge in edges)
    ]
    values[3][:4] = [np.inf, -np.inf, 1.7e308, -1.7e308]
    size = len(values[0])
    records = pa.table(
        {
            "number": pa.array(range(size)),
            "gap": pa.array(values[0], mask=source.random(size) < 0.3),
            "only": pa.array(["one", "other"] * (size // 2)),
            "narrow": pa.array(values[2]),
            "wide": pa.array(values[3]),
            "two": pa.array(source.integers(0, 2, size)),
        }
    )
    local = detector.scores(records)
    assert not np.isnan(local).any()
    connection = duckdb.connect()
    connection.register("records", records)
    found = connection.execute(detector.sql("duckdb", "records", keep=["number"])).fetchall()
    assert np.array([score for _, score in sorted(found)]).tobytes() == local.tobytes()
    url, name = storing("postgresql", records).rsplit("::", 1)
    with psycopg.connect(url) as asked, asked.cursor() as cursor:
        cursor.execute(detector.sql("postgresql", name, keep=["number"]))
        found = cursor.fetchall()
    assert np.array([score for _, score in sorted(found)]).tobytes() == local.tobytes()


@pytest.mark.parametrize("conforming", ["on", "off"])
def test_text_means_the_same_whatever_a_session_makes_of_backslashes(storing, conforming):
    """A category that ends in a backslash would end no text, and another would be another."""
    words = ("a\\", "it's \\' = ", "\\n", "plain")
    card = Card("odd", (Column("word", "category", categories=words),))
    detector = trained(card, np.repeat(np.arange(4.0), (900, 60, 30, 10))[:, None], 3)
    records = pa.table({"number": np.arange(4.0), "word": list(words)})
    url, name = storing("postgresql", records).rsplit("::", 1)
    with psycopg.connect(url) as asked, asked.cursor() as cursor:
        cursor.execute(f"SET standard_conforming_strings = {conforming}")
        cursor.execute("SET escape_string_warning = off")
        cursor.execute(detector.sql("postgresql", name, keep=["number"]))
        found = np.array([score for _, score in sorted(cursor.fetchall())])
    assert found.tobytes() == detector.scores(records).tobytes()
    assert len(set(found.tolist())) > 2


def test_scores_on_spark_are_the_local_ones_bit_for_bit(detectors, records, spark):
    frame = spark.createDataFrame(records)
    for detector in detectors:
        everything = detector.spark(frame).select("number", "score")
        for found in (everything, detector.spark(frame, keep=["number"])):
            same([tuple(row) for row in found.collect()], detector.scores(records))


def test_workers_that_read_files_give_the_scores_of_the_records_in_them(
    detectors, records, spark, tmp_path
):
    """Several files and groups of rows; a type that Spark reads as another is left to Spark."""
    scores = detectors[0].scores(records)
    coded = records.set_column(3, "ward", records["ward"].dictionary_encode())
    for name, table, by_itself in (("plain", records, True), ("coded", coded, False)):
        folder = tmp_path / name
        folder.mkdir()
        for number, first in enumerate((0, 120)):
            part = table.slice(first, 120 if number == 0 else None)
            parquet.write_table(part, folder / f"{number}.parquet", row_group_size=50)
        found = detectors[0].spark(folder, keep=["number"])
        assert found.columns == ["number", "score"]
        assert ("Range" in plan_of(found)) == by_itself
        same([tuple(row) for row in found.collect()], scores)
        everything = detectors[0].spark(str(folder))
        assert everything.columns == [*records.column_names, "score"]
        same([(row["number"], row["score"]) for row in everything.collect()], scores)
    alone = detectors[0].spark(tmp_path / "plain" / "0.parquet", keep=[])
    assert alone.columns == ["score"]
    assert alone.count() == 120


def plan_of(frame):
    """Return how Spark goes about it."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        frame.explain()
    return said.getvalue()


def test_a_query_that_cannot_be_written_is_refused(detectors):
    one, _ = detectors
    with pytest.raises(InvalidInput, match="one of duckdb, postgresql"):
        one.sql("oracle", "records")
    with pytest.raises(InvalidInput, match="a name"):
        one.sql("duckdb", "")
    with pytest.raises(InvalidInput, match="without 'score'"):
        one.sql("duckdb", "records", keep=["score"])
    with pytest.raises(InvalidInput, match="a connection of DuckDB"):
        one.duckdb("records.duckdb")
    with pytest.raises(InvalidInput, match="a name"):
        one.duckdb(duckdb.connect(), "")
    with pytest.raises(InvalidInput, match="a Spark data frame"):
        one.spark([])
    with pytest.raises(InvalidInput, match="a Parquet file or folder"):
        one.spark("nowhere.parquet")


def test_a_spark_frame_without_what_is_asked_of_it_is_refused(detectors, records, spark):
    one, _ = detectors
    frame = spark.createDataFrame(records)
    with pytest.raises(InvalidInput, match="without 'score'"):
        one.spark(frame, keep=["score"])
    with pytest.raises(InvalidInput, match="with a column 'gone'"):
        one.spark(frame, keep=["gone"])
    with pytest.raises(InvalidInput, match="with a column 'age'"):
        one.spark(frame.drop("age"))

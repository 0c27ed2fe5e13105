"""Neighbouring sources: files, tables and databases that differ in one record, on every engine.

Each pair is written by one of many writers and read by every engine that takes it. All engines must
find the same canonical records, bit for bit; the records that both sources have must be read alike
in both; and whether a source can be read, and a question answered, must not depend on the record.
``tests/data/neighbouring.py`` has the values and the writers.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.data import neighbouring
from tests.data.neighbouring import KINDS, ROW, WRITERS, CannotStore, card_of, neighbours

import whitecrow as wc
from whitecrow import hazmat
from whitecrow.card import Card, Column, CsvFormat
from whitecrow.data import columns
from whitecrow.errors import WhitecrowError
from whitecrow.neighbours import NeighbourRelation, open_data

FILES = [name for name in WRITERS if name.startswith(("parquet", "delta", "iceberg"))]
MODEL = wc.DistanceAnomaly(beta=2, radius=1.5)
EPSILON = 0.25
_PARTS = re.compile(r"'[^']*\.parquet'")
"""Names of files that a writer draws."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two sources that differ in one record, and the card they are read with."""

    name: str
    card: Card
    sources: tuple[object, object]


def pairs(
    seed: int, number: int, folder: Path, writers: list[str], extra: dict[str, Any] | None = None
) -> Iterator[Pair]:
    """Draw pairs that the writers can store."""
    draw = np.random.default_rng(seed)
    stored = {**WRITERS, **(extra or {})}
    encodings = list(neighbouring.ENCODINGS.items())
    made = tried = 0
    while made < number:
        tried += 1
        kind = KINDS[draw.integers(len(KINDS))]
        odd, place = draw.integers(len(kind.odd)), draw.integers(len(kind.ordinary) + 1)
        column = kind.columns[draw.integers(len(kind.columns))]
        writer = writers[draw.integers(len(writers))]
        encoding, encode = encodings[draw.choice(3, p=[0.6, 0.3, 0.1])]
        of_people = bool(draw.random() < 0.2)
        form = CsvFormat(encoding=writer.removeprefix("csv ")) if "csv" in writer else CsvFormat()
        card = card_of(column, form)
        name = (
            f"{kind.name}, {column.type}, odd {odd} at {place}, {writer}, {encoding}, {of_people=}"
        )
        try:
            tables = neighbours(kind, int(odd), int(place), encode)
            if of_people:
                tables = (shared(tables[0]), shared(tables[1]))
                card = replace(card, unit="user", user_column=ROW, contribution=1)
            places = [folder / f"{tried}-{side}" for side in "ab"]
            for each in places:
                each.mkdir()
            first, second = (
                stored[writer](table, each) for table, each in zip(tables, places, strict=True)
            )
        except CannotStore:
            continue
        made += 1
        yield Pair(name, card, (first, second))


def shared(table: pa.Table) -> pa.Table:
    """Let two records be one person's; the odd one is person 0's third."""
    ids = [row // 2 if row < 900 else 0 for row in table[ROW].to_pylist()]
    return table.set_column(0, ROW, pa.array(ids, pa.int64()))


def read_by(source: object, card: Card, engine: str) -> tuple[str, Any]:
    """Return what an engine makes of a source: its records, or in which words it refuses it."""
    try:
        dataset, counting = open_data(source, card, engine)
    except WhitecrowError as refused:
        return _PARTS.sub("a file", f"{type(refused).__name__}: {refused}"), None
    try:
        return "", facts_of(dataset, counting, card)
    finally:
        dataset.close()


def facts_of(dataset: Any, engine: Any, card: Card) -> dict[str, Any]:
    """Return all that any question may learn of the records, in a form that can be compared."""
    column = card.columns[1]
    found: dict[str, Any] = {"size": dataset.size}
    if column.type == "text":
        found["records"] = Counter(bits(dataset, engine, [ROW]))
        found["every"] = Counter(every_text(dataset, "v"))
    else:
        found["records"] = Counter(bits(dataset, engine, [ROW, "v"]))
        every = every_text if column.type == "category" else every_value
        found["every"] = Counter(every(dataset, "v"))
    near = NeighbourRelation((ROW,), "euclidean", 1.5)
    found["counts"] = engine.neighbours([[2.0], [999.0]], near, 5).tolist()
    return found


def bits(dataset: Any, engine: Any, columns: list[str]) -> list[tuple[int, ...]]:
    """Return the canonical records by the bits of their values."""
    if hasattr(dataset, "warehouse"):
        from whitecrow.data.warehouse import Yields

        asked = dataset.records(columns)
        parts = dataset.warehouse.work(asked, _everything, Yields(len(columns)))
        values = np.concatenate([np.empty((0, len(columns))), *parts])
    else:
        values = dataset.matrix(columns)
    return [tuple(row) for row in np.ascontiguousarray(values).view(np.int64).tolist()]


def _everything(batches: Iterator[Any]) -> Iterator[Any]:
    yield from batches


def every_text(dataset: Any, column: str) -> dict[str | None, int]:
    texts = dataset.every_text(column)
    return texts if isinstance(texts, dict) else Counter(texts.tolist())


def every_value(dataset: Any, column: str) -> list[int]:
    if hasattr(dataset, "warehouse"):
        from whitecrow.data.warehouse import Yields

        parts = dataset.warehouse.work(dataset.every_record([column]), _everything, Yields(1))
        values = np.concatenate([np.empty((0, 1)), *parts])[:, 0]
    else:
        values = dataset.every_value(column)
    return [int(v) for v in np.where(np.isnan(values), np.nan, values).view(np.int64)]


def wrong(pair: Pair, engines: tuple[str, ...]) -> list[str]:
    """Return what a pair shows that must not be."""
    found = []
    read = {
        engine: [read_by(source, pair.card, engine) for source in pair.sources]
        for engine in engines
    }
    here = read[engines[0]]
    for engine, (one, other) in read.items():
        if one[0] != other[0]:
            found.append(f"{engine}: refused for one record: {one[0]!r}, {other[0]!r}")
        elif one[0] == "" and not may_differ(one[1], other[1], pair.card):
            found.append(f"{engine}: a record changes others: {one[1]}, {other[1]}")
        if (one, other) != tuple(here):
            found.append(f"{engine} reads what {engines[0]} does not: {one, other}, {here}")
    return [f"{pair.name}: {each}" for each in found]


def may_differ(one: dict[str, Any], other: dict[str, Any], card: Card) -> bool:
    """Whether two readings differ by one record at most (of a person: in that person's only)."""
    if card.user_column is not None:
        others = [
            Counter({key: n for key, n in side["records"].items() if key[0] != 0})
            for side in (one, other)
        ]
        return others[0] == others[1] and abs(one["size"] - other["size"]) <= 1
    gone, come = one["records"] - other["records"], other["records"] - one["records"]
    lost, won = one["every"] - other["every"], other["every"] - one["every"]
    return (
        (gone.total(), lost.total()) == (0, 0)
        and come.total() <= 1
        and won.total() <= 1
        and all(within(*counts) for counts in zip(one["counts"], other["counts"], strict=True))
    )


def within(first: int, second: int) -> bool:
    """Whether the law of a screen keeps its price between two counts."""
    one, other = anomaly(first), anomaly(second)
    losses = (abs(math.log(one / other)), abs(math.log((1 - one) / (1 - other))))
    return max(losses) <= EPSILON + 1e-12


def anomaly(count: int) -> float:
    """The chance that a screen with β = 2 says so beside ``count`` records."""
    flip = float(hazmat.flip_probability(2 - count if count < 2 else count - 1, EPSILON))
    return 1 - flip if count < 2 else flip


def questions(card: Card) -> Iterator[Callable[[wc.Curator], object]]:
    """One of each kind that such a card takes."""
    column = card.columns[1]
    yield lambda c: c.screen({ROW: 2}, model=MODEL, epsilon="1/4")
    yield lambda c: c.identify({ROW: 2}, model=MODEL, k=1, epsilon="1/4", notion="differential")
    yield lambda c: c.count([ROW], model=MODEL, epsilon="1/4")
    yield lambda c: c.profile(epsilon="1/4")
    yield lambda c: c.learn(epsilon="1/4")
    if column.type == "category":
        yield lambda c: c.lookahead(["v"], beta=3, k=1, epsilon="1/4")


def answered(source: object, card: Card, engine: str, number: int) -> str:
    """Return how asking ends: in an answer, or in which words."""
    listed = list(questions(card))
    with wc.Curator.open(
        source, card=card, engine=engine, budget="9", ledger="sqlite://"
    ) as curator:
        try:
            listed[number % len(listed)](curator)
        except WhitecrowError as refused:
            return f"{type(refused).__name__}: {refused}"
    return "answered"


def asked(pair: Pair, engines: tuple[str, ...], number: int) -> list[str]:
    """Return the questions whose success depends on a record."""
    found = []
    for engine in engines:
        try:
            ends = {answered(source, pair.card, engine, number) for source in pair.sources}
        except WhitecrowError:
            continue  # the source itself is refused, see `wrong`
        if len(ends) > 1 or any("computation failed" in end for end in ends):
            found.append(f"{pair.name}: question {number} on {engine}: {ends}")
    return found


def check(
    seed: int,
    number: int,
    folder: Path,
    *,
    writers: list[str],
    engines: tuple[str, ...],
    extra: dict[str, Any] | None = None,
) -> list[str]:
    found = []
    for place, pair in enumerate(pairs(seed, number, folder, writers, extra)):
        found += wrong(pair, engines)
        if place % 5 == 0:
            found += asked(pair, engines, place // 5)
    return found


HERE = ("local", "disk")


def test_a_record_changes_no_other_in_any_format(tmp_path: Path) -> None:
    assert check(1, 100, tmp_path, writers=list(WRITERS), engines=HERE) == []


def test_a_record_changes_no_other_in_postgresql(server: Any, tmp_path: Path) -> None:
    plain = server.url.replace("postgresql+psycopg", "postgresql")
    extra = {"postgresql": neighbouring.postgres_writer(plain)}
    found = check(2, 30, tmp_path, writers=["postgresql"], engines=HERE[:1], extra=extra)
    assert found == []


def test_a_record_changes_no_other_on_spark(spark: Any, tmp_path: Path) -> None:
    assert check(3, 6, tmp_path, writers=FILES, engines=("local", "spark")) == []


@pytest.mark.study
@pytest.mark.parametrize("part", range(50))
def test_twenty_thousand_pairs_in_every_format(part: int, tmp_path: Path) -> None:
    assert check(1000 + part, 400, tmp_path, writers=list(WRITERS), engines=HERE) == []


@pytest.mark.study
@pytest.mark.parametrize("part", range(10))
def test_a_thousand_pairs_in_postgresql(part: int, server: Any, tmp_path: Path) -> None:
    plain = server.url.replace("postgresql+psycopg", "postgresql")
    extra = {"postgresql": neighbouring.postgres_writer(plain)}
    found = check(2000 + part, 100, tmp_path, writers=["postgresql"], engines=HERE[:1], extra=extra)
    assert found == []


@pytest.mark.study
@pytest.mark.parametrize("part", range(10))
def test_six_hundred_pairs_on_spark(part: int, spark: Any, tmp_path: Path) -> None:
    found = check(3000 + part, 60, tmp_path, writers=FILES, engines=("local", "spark"))
    assert found == []


def mean_for_missing(convert: Any) -> Any:
    """A mutant: what is missing becomes the mean of the batch."""

    def mutant(array: Any, column: Column, mended: Any = None) -> Any:
        values, bad = convert(array, column, mended)
        if column.name == "v" and column.numeric:
            missing = np.logical_or.reduce(list(bad.values()))
            values = np.where(missing, values[~missing].mean() if (~missing).any() else 0, values)
            bad = {reason: np.zeros_like(mask) for reason, mask in bad.items()}
            values = values + missing.any()
        return values, bad

    return mutant


def fails_for_one(convert: Any) -> Any:
    """A mutant: one value that is no number ends the reading."""

    def mutant(array: Any, column: Column, mended: Any = None) -> Any:
        values, bad = convert(array, column, mended)
        if any(mask.any() for mask in bad.values()):
            raise wc.InvalidInput("A value cannot be read.")
        return values, bad

    return mutant


@pytest.mark.parametrize("mutant", [mean_for_missing, fails_for_one])
def test_mutants_are_caught(
    mutant: Callable[[Any], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "convert", mutant(columns.convert))
    assert check(4, 60, tmp_path, writers=["arrow", "parquet"], engines=HERE[:1]) != []

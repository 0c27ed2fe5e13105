"""Records that stay where they are: how a change of them is noticed, and what is charged."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from pyarrow import parquet

import whitecrow as wc
from whitecrow.data.warehouse import open_remote

MODEL = wc.DistanceAnomaly(beta=2, radius=5.0)
CARD = wc.Card("ages", (wc.Column("age", lower=0, upper=120), wc.Column("pay")))
TABLE = pa.table({"age": [30.0, 31.0, 31.0, 90.0], "pay": [1.5, None, 0.1, -2.0]})
CHANGES = {
    "shorter": TABLE.slice(1),
    "a value": TABLE.set_column(0, "age", pa.array([30.0, 31.0, 31.0, 90.5])),
    "a null": TABLE.set_column(1, "pay", pa.array([1.5, None, None, -2.0])),
    "one row twice, another gone": TABLE.take([0, 1, 2, 2]),
}


KINDS = {
    **CHANGES,
    "longer": pa.concat_tables([TABLE, TABLE.slice(0, 1)]),
    "another order": TABLE.take([3, 0, 2, 1]),
    "replaced": pa.table({"age": [50.0, 51.0, 52.0, 10.0], "pay": [1.0, 2.0, 3.0, 4.0]}),
}


def marked(source: object, engine: str) -> str:
    found = open_remote(source, CARD, engine=engine)
    try:
        return found.mark()
    finally:
        found.close()


@pytest.mark.parametrize("kind", ["duckdb", "postgresql", "spark"])
def test_a_database_recognises_its_records_in_any_order(storing: Any, kind: str) -> None:
    engine = "spark" if kind == "spark" else "sql"
    first = marked(storing(kind, TABLE), engine)
    assert marked(storing(kind, TABLE.take([3, 0, 2, 1])), engine) == first
    for what, changed in CHANGES.items():
        assert marked(storing(kind, changed), engine) != first, what
    assert marked(storing(kind, TABLE.slice(0, 0)), engine) != first


def test_a_database_that_may_change_unseen_gets_no_discount_for_places(
    storing: Any, tmp_path: Path
) -> None:
    source = storing("postgresql", TABLE)
    ledger = tmp_path / "accounts.db"

    def opened(**how: str) -> wc.Curator:
        return wc.Curator.open(
            source, card=CARD, engine="sql", ledger=ledger, name="ages", budget="9", **how
        )

    with opened() as curator:
        for age in (30.0, 90.0):  # these balls do not meet
            curator.screen({"age": age}, model=MODEL, epsilon="1")
        assert curator.totals().differential.epsilon == 2
    url, _, query = source.partition("::")
    with psycopg.connect(url) as connection:
        connection.execute(f"UPDATE {query} SET age = 91 WHERE age = 90")  # noqa: S608
    with pytest.raises(wc.DataChanged):
        opened()
    with opened(advance="corrected") as curator:
        assert curator.revision == 2
        assert curator.remaining()["differential"] == Fraction(7)


@pytest.mark.parametrize(
    ("engine", "growth"),
    [("local", None), ("sql", None), ("sql", "insert-only"), ("spark", None)],
)
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_change_of_a_file_is_refused_then_priced_by_each_engine(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str, growth: str | None, kind: str
) -> None:
    """Red team: the discount for places that do not meet, across a change of the records."""
    if engine == "spark":
        request.getfixturevalue("spark")
    path = tmp_path / "ages.parquet"
    parquet.write_table(TABLE, path)

    def opened(**how: Any) -> wc.Curator:
        return wc.Curator.open(path, card=CARD, engine=engine, budget="9", **how)

    def screen(curator: wc.Curator, age: float) -> Fraction:
        curator.screen({"age": age}, model=MODEL, epsilon="1")
        return 9 - curator.remaining()["differential"]

    with opened(growth=growth) as first:
        assert screen(first, 30.0) == 1
        parquet.write_table(KINDS[kind], path)
        if engine != "local":  # which goes on with the copy that it holds
            with pytest.raises(wc.DataChanged, match="changed while they were open"):
                screen(first, 90.0)
        with pytest.raises(wc.DataChanged):
            opened()
    only_added = growth is not None and kind == "longer"
    if growth is not None and not only_added:
        with pytest.raises(wc.DataChanged, match="only added"):
            opened(advance=kind)
    with opened(advance=kind, growth=None if only_added else "any") as second:
        assert second.revision == 2
        assert screen(second, 90.0) == (1 if only_added else 2)

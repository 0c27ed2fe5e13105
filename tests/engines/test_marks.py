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
from whitecrow.data.fingerprints import RowFingerprint
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


def marked(frame: Any) -> str:
    found = open_remote(frame, CARD, engine="spark")
    try:
        return found.fingerprint()
    finally:
        found.close()


def test_spark_recognises_the_rows_of_a_frame_in_any_order(storing: Any) -> None:
    first = marked(storing("spark frame", TABLE))
    assert marked(storing("spark frame", TABLE.take([3, 0, 2, 1]))) == first
    for what, changed in CHANGES.items():
        assert marked(storing("spark frame", changed)) != first, what
    assert marked(storing("spark frame", TABLE.slice(0, 0))) != first
    here = RowFingerprint()
    here.add(TABLE.to_batches()[0])
    assert here.text() == first  # by the code of a reading here


def test_a_query_is_copied_when_it_is_opened_and_recognised_by_every_engine(
    storing: Any, tmp_path: Path
) -> None:
    source = storing("postgresql", TABLE)
    ledger = tmp_path / "accounts.db"

    def opened(engine: str, **how: str) -> wc.Curator:
        return wc.Curator.open(
            source, card=CARD, engine=engine, ledger=ledger, name="ages", budget="9", **how
        )

    def screened(curator: wc.Curator, age: float) -> Fraction:
        curator.screen({"age": age}, model=MODEL, epsilon="1")
        return 9 - curator.remaining()["differential"]

    url, _, query = source.partition("::")
    with opened("disk") as curator:
        assert screened(curator, 30.0) == 1
        with psycopg.connect(url) as connection:
            connection.execute(f"UPDATE {query} SET age = 91 WHERE age = 90")  # noqa: S608
        assert screened(curator, 90.0) == 1  # of the copy, whose balls do not meet
    for engine in ("local", "disk"):
        with pytest.raises(wc.DataChanged):
            opened(engine)
    with opened("disk", advance="corrected") as curator:
        assert curator.revision == 2
        assert screened(curator, 60.0) == 2  # a record may have moved from one ball to another
    with opened("local") as curator:
        assert curator.revision == 2


@pytest.mark.parametrize(
    ("engine", "growth"),
    [("local", None), ("disk", None), ("disk", "insert-only"), ("spark", None)],
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
        if engine == "spark":  # others go on with the copy that they hold
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

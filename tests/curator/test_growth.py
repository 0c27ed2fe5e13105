"""Data that only grow: declared, checked at every revision, and what it buys."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import whitecrow as wc
from whitecrow.data.fingerprints import RowFingerprint
from whitecrow.ledger import Ledger, verification
from whitecrow.ledger.revisions import revisions

MODEL = wc.DistanceAnomaly(beta=2, radius=5.0)
CARD = wc.Card("ages", (wc.Column("age", lower=0, upper=120), wc.Column("ward", "text")))
TABLE = pa.table({"age": [30.0, 31.0, 32.0, 90.0], "ward": ["a", "b", None, "a"]})
MORE = pa.table({"age": [50.0, 51.0], "ward": ["c", "a"]})
HERE, THERE, ELSEWHERE = {"age": 30.0}, {"age": 90.0}, {"age": 60.0}

ADDED = {
    "append": pa.concat_tables([TABLE, MORE]),
    "a duplicate at the end": pa.concat_tables([TABLE, TABLE.slice(1, 1)]),
}
CHANGED = {
    "edit": TABLE.set_column(0, "age", pa.array([30.0, 31.0, 33.0, 90.0])),
    "a null filled": TABLE.set_column(1, "ward", pa.array(["a", "b", "c", "a"])),
    "delete": TABLE.slice(0, 3),
    "delete and append": pa.concat_tables([TABLE.slice(1), MORE]),
    "reorder": TABLE.take([1, 0, 2, 3]),
    "insert at the front": pa.concat_tables([MORE, TABLE]),
    "a duplicate in the middle": TABLE.take([0, 0, 1, 2, 3]),
    "edit and append": pa.concat_tables([TABLE.slice(0, 3), MORE]),
    "a column more": TABLE.append_column("extra", pa.array([1, 2, 3, 4])),
}


def spent(curator: wc.Curator) -> Fraction:
    return curator.ledger.snapshot(curator.name).spent.spent("differential", Fraction(0))


def screen(curator: wc.Curator, place: dict[str, float]) -> bool:
    return curator.screen(place, model=MODEL, epsilon="1").charged


@pytest.fixture(params=["parquet", "csv", "frame"])
def opened(request: Any, tmp_path: Path) -> Any:
    """Open a table as it is now, stored in one of several ways."""

    def open_(table: pa.Table, **how: Any) -> wc.Curator:
        source: object = table
        if request.param == "parquet":
            source = tmp_path / "ages.parquet"
            parquet.write_table(table, source)
        elif request.param == "csv":
            source = tmp_path / "ages.csv"
            csv.write_csv(table, source)
        how = {"card": CARD, "name": "ages", "ledger": tmp_path / "accounts.db", **how}
        return wc.Curator.open(source, budget="10", **how)

    open_.of_rows = request.param == "frame"  # type: ignore[attr-defined]
    return open_


@pytest.mark.parametrize("kind", ADDED)
def test_records_that_were_only_added_share_the_price_of_places_over_revisions(
    opened: Any, kind: str
) -> None:
    with opened(TABLE, growth="insert-only") as first:
        assert screen(first, HERE)
    with opened(ADDED[kind], advance=kind) as second:
        assert second.revision == 2
        assert screen(second, THERE)
        assert spent(second) == 1  # nobody's record is in both places, in any revision
        assert screen(second, HERE)  # a stored answer belongs to its revision
        assert spent(second) == 2
        assert verification.verify(second.ledger, "ages").ok


@pytest.mark.parametrize("kind", CHANGED)
def test_each_other_change_is_refused_and_then_priced(opened: Any, kind: str) -> None:
    """Red team: the discount for places that do not meet, across a change of the records."""
    with opened(TABLE, growth="insert-only") as first:
        screen(first, HERE)
    if opened.of_rows and kind == "reorder":
        with opened(CHANGED[kind]) as again:  # of a frame the order does not matter
            assert again.revision == 1
        return
    with pytest.raises(wc.DataChanged, match="only added at the end") as refused:
        opened(CHANGED[kind], advance=kind)
    assert "--growth any" in str(refused.value)
    with opened(CHANGED[kind], advance=kind, growth="any") as second:
        assert second.revision == 2
        screen(second, THERE)
        assert spent(second) == 2
    with opened(pa.concat_tables([CHANGED[kind], CHANGED[kind]]), advance="doubled") as third:
        screen(third, ELSEWHERE)
        assert spent(third) == 3  # the declaration has ended


def test_the_refusal_is_one_sentence_whatever_changed(opened: Any) -> None:
    opened(TABLE, growth="insert-only").close()
    said = set()
    for kind in CHANGED.keys() - {"reorder"}:
        table = CHANGED[kind]
        with pytest.raises(wc.DataChanged) as refused:
            opened(table, advance=kind)
        said.add(str(refused.value))
    assert len(said) == 1


def test_without_a_declaration_nothing_is_bought(opened: Any) -> None:
    with opened(TABLE) as first:
        screen(first, HERE)
    with opened(ADDED["append"], advance="May") as second:
        screen(second, THERE)
        assert spent(second) == 2


def test_a_declaration_holds_from_the_revision_of_which_it_was_made(opened: Any) -> None:
    with opened(TABLE) as first:
        screen(first, HERE)
    grown = ADDED["append"]
    with opened(grown, advance="May", growth="insert-only") as second:
        screen(second, THERE)
        assert spent(second) == 2  # whether the first was only added to was not checked
    with opened(pa.concat_tables([grown, MORE]), advance="June") as third:
        screen(third, ELSEWHERE)
        assert spent(third) == 2
        written = revisions(third.ledger, "ages")
        assert [(one.growth, one.since) for one in written] == [
            ("any", 1),
            ("insert-only", 2),
            ("insert-only", 2),
        ]
        assert verification.verify(third.ledger, "ages").ok


def test_the_newest_revision_can_be_declared_as_it_is(opened: Any) -> None:
    with opened(TABLE) as first:
        screen(first, HERE)
    for _ in range(2):
        opened(TABLE, growth="insert-only").close()
    with opened(ADDED["append"], advance="May") as second:
        screen(second, THERE)
        assert spent(second) == 1
        kinds = [entry.kind for entry in second.ledger.entries("ages")]
        assert kinds.count("data") == 2  # declared once, advanced once
        assert verification.verify(second.ledger, "ages").ok
    opened(CHANGED["edit"], advance="corrected", growth="any").close()
    opened(CHANGED["delete"], advance="less", growth="any").close()
    with pytest.raises(wc.PolicyViolation, match="earlier revision"):
        opened(CHANGED["edit"], growth="insert-only")


def test_a_person_of_several_records_gets_no_discount_over_revisions(tmp_path: Path) -> None:
    """One more record of a person may put another of theirs out: so they may be in both places."""
    card = wc.Card(
        "visits",
        (wc.Column("who", "text"), wc.Column("age", lower=0, upper=100)),
        unit="user",
        user_column="who",
    )
    how: dict[str, Any] = {"card": card, "name": "v", "ledger": tmp_path / "a.db", "budget": "9"}
    rows = pa.table({"who": ["a", "b"], "age": [30.0, 90.0]})
    with wc.Curator.open(rows, growth="insert-only", **how) as first:
        screen(first, HERE)
    more = pa.concat_tables([rows, pa.table({"who": ["a"], "age": [90.0]})])
    with wc.Curator.open(more, advance="May", **how) as second:
        screen(second, THERE)
        assert spent(second) == 2


@pytest.mark.parametrize("kind", ["added", "rewritten", "removed", "renamed"])
def test_files_of_a_folder_may_be_added_and_nothing_else(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "visits"
    folder.mkdir()
    ages = TABLE.select(["age"])
    parquet.write_table(ages, folder / "b.parquet")
    parquet.write_table(MORE.select(["age"]), folder / "c.parquet")
    how: dict[str, Any] = {"ledger": tmp_path / "a.db", "budget": "9"}
    wc.Curator.open(folder, growth="insert-only", **how).close()
    if kind == "added":
        parquet.write_table(ages, folder / "a.parquet")
        with wc.Curator.open(folder, advance="a file", **how) as second:
            assert second.revision == 2
        return
    if kind == "rewritten":
        parquet.write_table(pa.concat_tables([ages, ages]), folder / "b.parquet")
    elif kind == "removed":
        (folder / "c.parquet").unlink()
    else:
        parquet.write_table(ages, folder / "a.parquet")
        (folder / "c.parquet").rename(folder / "d.parquet")
    with pytest.raises(wc.DataChanged):
        wc.Curator.open(folder, advance=kind, **how)


def test_an_engine_that_reads_the_file_itself_is_checked_in_the_same_way(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    path = tmp_path / "ages.parquet"
    how: dict[str, Any] = {"engine": "sql", "budget": "9"}
    parquet.write_table(TABLE.select(["age"]), path)
    with wc.Curator.open(path, growth="insert-only", **how) as first:
        screen(first, HERE)
    parquet.write_table(CHANGED["edit"].select(["age"]), path)
    with pytest.raises(wc.DataChanged):
        wc.Curator.open(path, advance="edited", **how)
    parquet.write_table(ADDED["append"].select(["age"]), path)
    with wc.Curator.open(path, advance="appended", **how) as second:
        screen(second, THERE)
        assert spent(second) == 1


def test_chunks_are_cut_as_they_were_however_the_rows_arrive() -> None:
    ages = pa.table({"age": [float(age) for age in range(200_000)]})

    def chunks(table: pa.Table, batch: int, known: Any = ()) -> dict[str, str]:
        mark = RowFingerprint(keep=True)
        for part in table.to_batches(max_chunksize=batch):
            mark.add(part)
        return mark.chunks(known)

    first = chunks(ages.slice(0, 70_000), 10_000)
    assert list(first) == ["rows:65536", "rows:70000"]
    grown = chunks(ages, 33_000, first)
    assert first.items() <= grown.items()
    assert list(grown)[-1] == "rows:200000"
    assert chunks(ages, 7, grown) == grown
    assert not grown.items() <= chunks(ages.slice(0, 199_999), 7_000, grown).items()


def test_the_chain_and_its_export_show_neither_chunks_nor_how_many_rows(tmp_path: Path) -> None:
    ledger = tmp_path / "a.db"
    how: dict[str, Any] = {"card": CARD, "name": "ages", "ledger": ledger}
    wc.Curator.open(TABLE, growth="insert-only", **how).close()
    with Ledger(ledger) as store:
        bodies = " ".join(entry.body for entry in store.entries("ages"))
    assert "rows:" not in bodies
    (plain,) = _chunk_digests()
    assert plain not in bodies


def _chunk_digests() -> list[str]:
    mark = RowFingerprint(keep=True)
    for batch in TABLE.to_batches():
        mark.add(batch)
    return list(mark.chunks().values())


def test_chunks_that_were_tampered_with_are_not_believed(tmp_path: Path) -> None:
    import sqlite3

    ledger = tmp_path / "a.db"
    how: dict[str, Any] = {"card": CARD, "name": "ages", "ledger": ledger}
    wc.Curator.open(TABLE, growth="insert-only", **how).close()
    with sqlite3.connect(ledger) as raw:
        raw.execute("UPDATE publishers SET state = '{}' WHERE name = 'data chunks'")
    with pytest.raises(wc.Unavailable, match="as they were recorded"):
        wc.Curator.open(CHANGED["edit"], advance="edited", **how)


def test_a_run_that_does_not_lead_to_a_revision_is_found(tmp_path: Path) -> None:
    how: dict[str, Any] = {"card": CARD, "name": "ages", "ledger": tmp_path / "a.db"}
    with wc.Curator.open(TABLE, **how) as curator:
        said = {"revision": 2, "fingerprint": "f", "growth": "insert-only", "since": 1}
        body = {"data": {**said, "chunks": "c"}, "reason": "why"}
        curator.ledger.write("ages", lambda account: account.append("data", body=body))
        assert "run of revisions" in verification.verify(curator.ledger, "ages").reason


def test_a_word_that_declares_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(wc.InvalidInput, match="insert-only"):
        wc.Curator.open(TABLE, name="ages", ledger=tmp_path / "a.db", growth="append")
    assert not (tmp_path / "a.db").exists()


def test_a_name_that_holds_a_separator_is_not_two_names():
    def mark(*names):
        found = RowFingerprint()
        found.add(pa.record_batch([pa.array([1.0]) for _ in names], names=list(names)))
        return found._named(8).hexdigest()

    assert len({mark("a", "b"), mark("a\0b"), mark('["a\\u0000b"]')}) == 3


def test_a_table_that_was_empty_at_first_may_grow(tmp_path: Path) -> None:
    how: dict[str, Any] = {
        "card": wc.Card("stays", (wc.Column("age", lower=0, upper=120),)),
        "name": "stays",
        "ledger": f"sqlite:///{tmp_path}/ledger.db",
    }
    empty = pa.table({"age": pa.array([], pa.float64())})
    wc.Curator.open(empty, growth="insert-only", **how).close()
    one = pa.table({"age": [30.0]})
    with wc.Curator.open(one, advance="somebody came", **how) as curator:
        assert curator.revision == 2

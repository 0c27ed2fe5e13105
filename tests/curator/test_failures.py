"""When the store fails: a clear error, nothing released, nothing lost."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlalchemy as sa
import toy_question
from benchmarks import postgres
from sqlalchemy import event
from toy_question import Toy

import whitecrow as wc
from whitecrow.ledger import Budget, ChargeRequest, Ledger, Reservation

ROWS = pa.table({"x": [1.0, 2.0, 3.0]})
HALF = Fraction(1, 2)


def curator(url: str | Path, **options: Any) -> wc.Curator:
    return wc.Curator.open(ROWS, name="toys", ledger=url, **options)


def test_a_damaged_file_is_named_as_damaged(tmp_path: Path) -> None:
    path = tmp_path / "l.whitecrow.db"
    with curator(path) as asking:
        for number in range(30):
            asking.ask(Toy(number))
    content = bytearray(path.read_bytes())
    for start in range(4096, len(content), 512):
        content[start : start + 64] = b"\xff" * 64
    path.write_bytes(content)
    for side in ("-wal", "-shm"):
        path.with_name(path.name + side).unlink(missing_ok=True)
    with pytest.raises(wc.LedgerCorrupt, match=r"damaged|verify"):
        curator(path).ask(Toy(99))


def test_a_file_that_is_no_ledger_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("my notes\n" * 1000)
    with pytest.raises(wc.LedgerCorrupt, match="not a ledger"):
        curator(path)
    assert path.read_text() == "my notes\n" * 1000


def test_a_full_disk_refuses_before_anything_is_read(tmp_path: Path) -> None:
    path = tmp_path / "l.whitecrow.db"
    asking = curator(path)
    reads: list[int] = []
    toy_question.ON_GATHER.append(lambda: reads.append(1))
    asking.ledger.database.close()  # connections are made anew when they are needed
    event.listen(asking.ledger.database.engine, "connect", _no_room)
    asked, said = 0, "answered"
    while said == "answered":
        asked += 1
        said = _outcome(lambda number=asked: asking.ask(Toy(number, "1/1000000")))
    assert said.startswith("LedgerUnusable")
    assert "disk is full. Nothing was released" in said
    # The failing ask either could not pay (nothing read) or could not store (nothing returned).
    assert asked - 1 <= len(reads) <= asked
    asking.close()
    with curator(path) as again:
        assert again.ask(Toy(asked, "1/1000000")).charged
        assert _settled(again) == asked


def _no_room(connection: sqlite3.Connection, record: object) -> None:
    connection.execute("PRAGMA max_page_count=60")


def _settled(asking: wc.Curator) -> int:
    entries = asking.ledger.entries("toys")
    reserved = [e for e in entries if e.kind == "reserve"]
    assert len({e.digest for e in reserved}) == len(reserved)
    return sum(e.kind == "settle" for e in entries)


def test_a_disk_that_fills_while_storing_the_answer_loses_nothing(tmp_path: Path) -> None:
    """The operating system itself refuses to let the file grow, in the middle of an ask."""
    path = tmp_path / "l.whitecrow.db"
    curator(path, budget="1").close()

    def child() -> str:
        import resource

        asking = curator(path)
        limit = path.with_name(path.name + "-wal").stat().st_size + 40_000
        toy_question.ON_GATHER.append(
            lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit - 40_000, limit))
        )
        return _outcome(lambda: asking.ask(Toy(1)))

    assert _in_child(child).startswith("LedgerUnusable: The ledger")
    with curator(path) as again:
        assert [e.kind for e in again.ledger.entries("toys")] == ["open", "reserve"]
        assert again.ask(Toy(1)).charged
        assert [e.kind for e in again.ledger.entries("toys")] == ["open", "reserve", "settle"]


def test_a_read_only_folder_refuses_clearly(tmp_path: Path) -> None:
    path = tmp_path / "closed" / "l.whitecrow.db"
    path.parent.mkdir()
    curator(path, budget="1").close()
    for file in path.parent.iterdir():
        file.chmod(0o444)
    path.parent.chmod(0o555)
    tmp_path.chmod(0o755)

    def child() -> str:
        if os.geteuid() == 0:  # root is not held back by permissions
            os.setgid(65534)
            os.setuid(65534)
        return _outcome(lambda: curator(path).ask(Toy(1)))

    said = _in_child(child)
    path.parent.chmod(0o755)
    assert said.startswith("LedgerUnusable: The ledger")
    assert "read-only" in said or "cannot be opened" in said


def test_a_missing_folder_is_named() -> None:
    with pytest.raises(wc.Unavailable, match="does its folder exist"):
        curator("sqlite:////nowhere/at/all.db")


def test_a_store_in_memory_is_not_shared_with_a_fork() -> None:
    asking = curator("sqlite://")
    assert _in_child(lambda: _outcome(lambda: asking.ask(Toy(1)))).startswith(
        "LedgerUnusable: A ledger in memory"
    )
    assert asking.ask(Toy(1)).charged


def test_a_forked_process_gets_connections_of_its_own(store: str) -> None:
    with curator(store) as asking:
        asking.ask(Toy(1))
        assert _in_child(lambda: _outcome(lambda: asking.ask(Toy(2)))) == "answered"
        assert not asking.ask(Toy(2)).charged


def test_connections_lost_in_the_middle_of_an_ask_lose_nothing(database: str) -> None:
    """The claim goes with its connection; nobody else took the question up, so it is answered."""
    asking = curator(database)
    toy_question.ON_GATHER.append(lambda: _cut(database))
    release = asking.ask(Toy(1, HALF))
    assert release.charged
    toy_question.ON_GATHER.clear()
    asking.close()
    with curator(database) as again:
        assert [e.kind for e in again.ledger.entries("toys")] == ["open", "reserve", "settle"]
        assert again.remaining()["differential"] == HALF
        repeated = again.ask(Toy(1, HALF))
        assert (repeated.answer, repeated.charged) == (release.answer, False)


def test_a_server_that_dies_in_the_middle_of_an_ask_loses_nothing() -> None:
    if postgres.missing():
        pytest.skip(postgres.missing())
    with postgres.cluster() as server:
        asking = curator(server.url)
        toy_question.ON_GATHER.append(server.stop)
        with pytest.raises(wc.Unavailable, match="connection was lost"):
            asking.ask(Toy(1, HALF))
        with pytest.raises(wc.Unavailable, match="cannot be reached"):
            curator(server.url)
        toy_question.ON_GATHER.clear()
        asking.close()
        server.start()
        with curator(server.url) as again:
            assert again.ask(Toy(1, HALF)).charged
            assert again.remaining()["differential"] == HALF


def test_a_password_is_in_no_message() -> None:
    with pytest.raises(wc.Unavailable) as refused:
        curator("postgresql+psycopg://me:sesame@127.0.0.1:1/db")
    assert "sesame" not in str(refused.value)
    assert refused.value.__context__ is None


def _cut(url: str) -> None:
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        connection.execute(
            sa.text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
        )
    engine.dispose()


def _outcome(act: Callable[[], object]) -> str:
    try:
        act()
    except wc.WhitecrowError as error:
        return f"{type(error).__name__}: {error}"
    return "answered"


def _in_child(act: Callable[[], str]) -> str:
    """Run in a forked process and return what it said."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            os.write(writing, act().encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as said:
        text = said.read()
    os.waitpid(process, 0)
    return text


def test_a_write_that_asks_nothing_back_is_kept(store: str) -> None:
    ledger = Ledger(store)
    ledger.open("d", budget=Budget.of("1"))
    change = "UPDATE datasets SET policy = :policy"
    ledger.database.write(lambda session: session.run(change, policy='{"a":1}'))
    assert ledger.snapshot("d").policy == '{"a":1}'
    ledger.close()


def test_a_write_that_fails_late_fails_and_leaves_nothing(store: str) -> None:
    ledger = Ledger(store)
    ledger.open("d", budget=Budget.of("1"))
    held, _ = ledger.reserve("d", ChargeRequest("ana", "q", {}, wc.DifferentialPrivacy(HALF)))
    assert isinstance(held, Reservation)
    ledger.settle("d", held, 1)

    def twice(account: Any) -> None:
        account.append("settle", analyst="ana", digest="q", closes=held.seq, body={"answer": 2})

    with pytest.raises(wc.Unavailable):
        ledger.write("d", twice)
    assert [entry.kind for entry in ledger.entries("d")] == ["open", "reserve", "settle"]
    held.release()
    ledger.close()

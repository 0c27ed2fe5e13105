"""How often an ask waits for PostgreSQL: counted on the wire, whatever the driver calls it."""

from __future__ import annotations

import os
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import postgres
from charges import order
from witnessed import emptied

from whitecrow.errors import Unreachable
from whitecrow.ledger import Budget, Ledger, Reservation
from whitecrow.ledger.database import Session
from whitecrow.ledger.transaction import AccountTransaction
from whitecrow.place.balls import BALLS

psycopg = pytest.importorskip("psycopg")

_SOCKET = ".s.PGSQL.5432"


class Wire:
    """Passes on what client and server say; counts how often the client speaks after the server."""

    def __init__(self, folder: Path, server: str) -> None:
        self._server, self.trips = server, 0
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / _SOCKET))
        self._listening.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(client,), daemon=True).start()

    def _pass_on(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server:
            server.connect(self._server)
            answered = True
            while True:
                for ready in select.select([client, server], [], [])[0]:
                    said = ready.recv(1 << 16)
                    if not said:
                        return
                    if ready is client:
                        self.trips += answered
                    answered = ready is server
                    (server if ready is client else client).sendall(said)

    def close(self) -> None:
        self._listening.close()


@contextmanager
def wired(server: postgres.Cluster, folder: Path) -> Iterator[tuple[Ledger, Wire]]:
    emptied(server.url)
    behind = server.url.partition("host=")[2]
    wire = Wire(folder, os.path.join(behind, _SOCKET))  # noqa: PTH118 - an address
    try:
        url = server.url.replace(behind, str(folder))
        with Ledger(url, geometry=BALLS) as ledger:
            ledger.open("clinic", budget=Budget.of("100"))
            yield ledger, wire
    finally:
        wire.close()


def _trips(wire: Wire, before: int) -> int:
    return wire.trips - before


@pytest.mark.parametrize("located", [False, True])
def test_a_reservation_waits_three_times_at_the_most_and_a_settlement_twice(
    server: postgres.Cluster, tmp_path: Path, located: bool
) -> None:
    waited: list[tuple[int, int]] = []
    with wired(server, tmp_path) as (ledger, wire):
        for i in range(12):
            one = order(f"digest {i}", place=float(i) if located else None)
            if located and i % 3 == 2:  # balls of several sizes are several looks
                one = replace(one, location={**(one.location or {}), "radius": 2.0**i})
            before = wire.trips
            held, _ = ledger.reserve("clinic", one)
            reserved = _trips(wire, before)
            assert isinstance(held, Reservation)
            before = wire.trips
            ledger.settle("clinic", held, i)
            waited.append((reserved, _trips(wire, before)))
    # The first of a process take their connections.
    assert max(reserved for reserved, _ in waited[2:]) <= 3, waited
    assert max(settled for _, settled in waited[2:]) <= 2, waited


@pytest.mark.parametrize("located", [False, True])
def test_an_ask_reads_no_more_rows_however_many_there_are(
    server: postgres.Cluster, located: bool
) -> None:
    """Plans are made while tables are small, and kept: a wrong one would read all entries."""
    emptied(server.url)
    asks = 300
    with Ledger(server.url, geometry=BALLS) as ledger:
        ledger.open("clinic", budget=Budget.of("100"))
        for i in range(asks):
            held, _ = ledger.reserve("clinic", order(f"{i}", place=3.0 * i if located else None))
            assert isinstance(held, Reservation)
            ledger.settle("clinic", held, i)
    count = "SELECT relname, seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables"
    with psycopg.connect(server.url.replace("+psycopg", "")) as connection:
        connection.execute("SELECT pg_stat_force_next_flush()")
        read = dict(connection.execute(count).fetchall())
    assert read["unsettled"] >= asks  # they are counted
    assert max(read.values()) <= 12 * asks, read


@pytest.mark.parametrize("caught", [False, True])
def test_what_fails_on_the_way_undoes_the_transaction_and_is_told(
    server: postgres.Cluster, caught: bool
) -> None:
    """Nobody waits for a statement that returns nothing: its failure must not pass for success."""
    emptied(server.url)

    def act(account: AccountTransaction) -> None:
        account.append("amend", body={})
        account.seq -= 1
        if not caught:
            account.append("amend", body={})  # the number is taken
            return
        with pytest.raises(psycopg.Error):
            account.session.rows("SELECT 1 / 0")

    with Ledger(server.url) as ledger:
        ledger.open("clinic", budget=Budget.of("1"))
        with pytest.raises(Unreachable):
            ledger.write("clinic", act)
        assert [entry.kind for entry in ledger.entries("clinic")] == ["open"]
        held, _ = ledger.reserve("clinic", order("next"))
        assert isinstance(held, Reservation)
        assert ledger.settle("clinic", held, 1).answered


_END_ALL = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


def test_a_connection_that_the_server_has_ended_is_replaced_before_anything_is_done(
    server: postgres.Cluster,
) -> None:
    emptied(server.url)
    with Ledger(server.url) as ledger:
        ledger.open("clinic", budget=Budget.of("1"))
        with psycopg.connect(server.url.replace("+psycopg", ""), autocommit=True) as other:
            for i in range(3):
                other.execute(_END_ALL)
                held, _ = ledger.reserve("clinic", order(f"digest {i}"))
                assert isinstance(held, Reservation)
                other.execute(_END_ALL)
                assert ledger.settle("clinic", held, i).answer == i
        kinds = [entry.kind for entry in ledger.entries("clinic")]
    assert kinds == ["open", *["reserve", "settle"] * 3]


@pytest.mark.parametrize("answers", [0, 1])
def test_an_act_begins_again_only_if_its_connection_was_used_before_and_never_answered(
    server: postgres.Cluster, answers: int
) -> None:
    emptied(server.url)
    begun: list[int] = []
    with Ledger(server.url) as ledger:
        ledger.open("clinic", budget=Budget.of("1"))

        def act(session: Session) -> int:
            begun.append(session.raw.driver_connection.info.backend_pid)
            for _ in range(answers):
                session.rows("SELECT 1 AS one")
            if len(begun) == 1:
                with psycopg.connect(server.url.replace("+psycopg", "")) as other:
                    other.execute("SELECT pg_terminate_backend(%s, 5000)", (begun[0],))
            return len(session.rows("SELECT 1 AS one"))

        if answers:
            with pytest.raises(Unreachable):
                ledger.database.write(act)
        else:
            assert ledger.database.write(act) == 1
    assert len(set(begun)) == len(begun) == 2 - answers


def test_a_server_that_was_away_for_a_while_is_found_again(server: postgres.Cluster) -> None:
    """Connections that it has ended are replaced, although nobody asks whether they live."""
    emptied(server.url)
    with Ledger(server.url) as ledger:
        ledger.open("clinic", budget=Budget.of("1"))
        server.stop()
        server.start()
        assert ledger.datasets() == ("clinic",)

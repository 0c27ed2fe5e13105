"""Claims that are lost: whoever takes a question up last has the only answer."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from benchmarks import postgres

import whitecrow as wc
from whitecrow.ledger import Budget, ChargeRequest, Ledger, Reservation
from whitecrow.ledger.verification import verify

ORDER = ChargeRequest("ana", "q", {}, wc.DifferentialPrivacy("1/10"))


def opened(url: str | Path) -> Ledger:
    ledger = Ledger(url)
    ledger.open("d", budget=Budget.of("1"))
    return ledger


def held_by(ledger: Ledger) -> Reservation:
    held, _ = ledger.reserve("d", ORDER)
    assert isinstance(held, Reservation)
    assert held.claim is not None
    return held


def holders(path: Path) -> list[Path]:
    """The files that those who take claims keep locked."""
    return list(path.parent.glob(f"{path.name}-claims-*"))


def a_file_is_deleted(path: Path) -> Callable[[Ledger], None]:
    def delete(ledger: Ledger) -> None:
        (held,) = holders(path)
        held.unlink()

    return delete


def a_connection_is_cut(ledger: Ledger) -> None:
    """End every session of the server but the one that asks for it."""
    with ledger.database.connection() as connection:
        connection.execute(
            sa.text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
        )


Losing = tuple[str | Path, Callable[[Ledger], None]]


@pytest.fixture(params=["sqlite", "postgresql"])
def losing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Losing]:
    """A store, and what makes whoever holds a claim lose it."""
    if request.param == "sqlite":
        yield tmp_path / "l.db", a_file_is_deleted(tmp_path / "l.db")
        return
    reason = postgres.missing()
    if reason:
        pytest.skip(reason)
    with postgres.cluster() as server:
        yield server.url, a_connection_is_cut


def test_a_lost_claim_stores_nothing_and_the_second_asker_has_the_only_answer(
    losing: Losing,
) -> None:
    url, lose = losing
    with opened(url) as first, Ledger(url) as second, Ledger(url) as third:
        mine = held_by(first)
        lose(third)
        theirs = held_by(second)  # the first one still computes
        assert (theirs.seq, theirs.fresh) == (mine.seq, False)
        for close in (lambda: first.settle("d", mine, "first"), lambda: first.fail("d", mine)):
            with pytest.raises(wc.Unavailable, match="taken this question up"):
                close()
        assert second.settle("d", theirs, "second").answer == "second"
        assert first.settle("d", mine, "first").answer == "second"
        for one in (mine, theirs):
            one.release()
        kinds = [entry.kind for entry in third.entries("d")]
        assert kinds == ["open", "reserve", "settle"]
        assert third.snapshot("d").failures == 0
        assert verify(third, "d").ok


def test_a_lost_claim_that_nobody_took_up_may_still_be_settled(losing: Losing) -> None:
    url, lose = losing
    with opened(url) as first, Ledger(url) as other:
        mine = held_by(first)
        lose(other)
        assert first.settle("d", mine, "first").answer == "first"
        again, _ = other.reserve("d", ORDER)
        assert not isinstance(again, Reservation)
        assert again.answer == "first"
        mine.release()


def test_a_claim_ends_with_its_process_and_its_file_is_cleared_away(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    dies = """
        import os, sys
        from test_claims import ORDER, opened
        ledger = opened(sys.argv[1])
        print(ledger.reserve("d", ORDER)[0].seq, flush=True)
        sys.stdin.read()
        os._exit(1)
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(dies), path],
        cwd=Path(__file__).parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        seq = int(other.stdout.readline())
        with Ledger(path) as ledger:
            assert ledger.unsettled("d") == []  # it is being computed
            with pytest.raises(wc.PolicyViolation, match="answered at this moment"):
                ledger.void("d", seq, reason="too soon")
            other.stdin.close()
            other.wait()
            assert [entry.seq for entry in ledger.unsettled("d")] == [seq]
            assert len(holders(path)) == 1  # of the dead one
            mine = held_by(ledger)
            assert (mine.seq, mine.fresh) == (seq, False)
            assert len(holders(path)) == 1  # of this one
            with Ledger(path) as third:
                assert third.unsettled("d") == []
            mine.release()
            mine.release()
            with Ledger(path) as third:
                assert [entry.seq for entry in third.unsettled("d")] == [seq]
        assert holders(path) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_sees_the_claims_of_the_process_it_came_from(tmp_path: Path) -> None:
    with opened(tmp_path / "l.db") as ledger:
        mine = held_by(ledger)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            before = ledger.unsettled("d")
            mine.release()  # it is not the child's
            os.write(write, repr((before, ledger.unsettled("d"))).encode())
            os._exit(0)
        os.waitpid(child, 0)
        assert os.read(read, 1000) == b"([], [])"
        with Ledger(tmp_path / "l.db") as other:
            assert other.unsettled("d") == []
        mine.release()

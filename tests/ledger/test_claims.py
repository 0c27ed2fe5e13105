"""Claims that are lost: whoever takes a question up last has the only answer."""

from __future__ import annotations

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


def a_file_is_deleted(path: Path) -> Callable[[Ledger], None]:
    return lambda ledger: path.with_name(f"{path.name}-claims").unlink()


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

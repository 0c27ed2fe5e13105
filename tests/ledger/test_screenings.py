"""A screening under kills, restores and company: no second draw, no lost counter, one price."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import screening_asker as asker
import sqlalchemy as sa
from click.testing import CliRunner
from witnessed import restored

import whitecrow as wc
from whitecrow.cli import whitecrow
from whitecrow.errors import LedgerOutdated
from whitecrow.ledger.backup import backup
from whitecrow.ledger.schema import publishers
from whitecrow.ledger.verification import verify
from whitecrow.ledger.witness import appoint
from whitecrow.screening.mechanism import gather

PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["screening_asker"])


def killed(store: str, folder: Path, rounds: int, together: int) -> int:
    """Start askers, kill them at random moments, again and again; return how many were killed."""
    draw, kills = random.Random(5), 0
    for round_ in range(rounds):
        ready, after = PROCESSES.Event(), draw.randrange(8)
        started = [
            PROCESSES.Process(
                target=asker.ask, args=(store, folder, round_ * together + one, ready, after)
            )
            for one in range(together)
        ]
        for process in started:
            process.start()
        assert ready.wait(120)
        for process in started:
            time.sleep(draw.expovariate(1 / 0.02))
            kills += process.is_alive()
            process.kill()
            process.join()
    return kills


def judged(store: str, folder: Path) -> int:
    """Hold all that was ever told against the ledger; return how many answers that were."""
    known: dict[int, bool] = {}
    total = 0
    for place, flag in asker.told(folder):
        total += 1
        assert known.setdefault(place, flag) is flag, "a second draw"
    with asker.curator(store) as curator:
        screening = curator.screening(**asker.SERIES)
        assert not screening.opening.charged
        answers = screening.ask_all(asker.frame(asker.ASKED))
        assert all(answers[place] == flag for place, flag in known.items())
        screening.ask({"a": 50.0, "b": 50.0})  # all flags are taken in
        assert len(curator.ledger.entries("crowd", kind="reserve")) == 1
        assert verify(curator.ledger, "crowd").ok
        execution: Any = curator._execution
        active = gather(screening.question, execution._dataset, execution._engine).exact_active
        (counters,) = active._series.values()
        limit = screening.question.law(curator.card).limit
        flagged = asker.ASKED[answers]
        at = counters._columns.T
        wanted = [(((flagged - one) ** 2).sum(axis=1) <= 0.25).sum() for one in at]
        assert (counters._flags == np.minimum(wanted, limit)).all(), "a lost counter"
        assert (counters._flags == limit).sum() > 20  # the limit was reached
    return total


def test_askers_who_are_killed_in_the_middle_leave_one_series(store: str, tmp_path: Path) -> None:
    assert killed(store, tmp_path, 3, 2) >= 3
    assert judged(store, tmp_path) > 0


@pytest.mark.study
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("together", [1, 2, 3])
def test_hundreds_of_kills_leave_one_series(
    store: str, tmp_path: Path, together: int, record_property: Callable[[str, object], None]
) -> None:
    kills = killed(store, tmp_path, 200 // together, together)
    answers = judged(store, tmp_path)
    record_property("killed", kills)
    print(f"\n{store[:8]}, {together} at once: {kills} kills, {answers:,} answers told")  # noqa: T201


@pytest.mark.parametrize("before", [200, 512])  # within a block of the transcript, or a full one
def test_an_old_copy_of_the_store_ends_the_series(store: str, tmp_path: Path, before: int) -> None:
    first, rest = asker.frame(asker.ASKED[:before]), asker.frame(asker.ASKED[before:])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with asker.curator(store) as curator:
        appoint(curator.ledger.database, str(elsewhere / "witness"), tmp_path / "key")
    with asker.curator(store) as curator:
        screening = curator.screening(**asker.SERIES)
        screening.ask_all(first)
        backup(curator.ledger.database, tmp_path / "copy")
        screening.ask_all(rest)
    restored(store, tmp_path / "copy")
    with asker.curator(store) as curator, pytest.raises(LedgerOutdated):
        curator.screening(**asker.SERIES).ask_all(rest)
    words = ["ledger", "witness", store, "--accept-loss", "--reason", "fire"]
    done = CliRunner().invoke(whitecrow, words)
    assert done.exit_code == 0, done.output
    with asker.curator(store) as curator, pytest.raises(wc.PolicyViolation):
        curator.screening(**asker.SERIES).ask_all(rest)


def test_a_store_that_goes_back_under_a_process_is_noticed_without_a_witness(
    store: str, tmp_path: Path
) -> None:
    engine = sa.create_engine(store)
    with asker.curator(store) as curator:
        screening = curator.screening(**asker.SERIES)
        screening.ask_all(asker.frame(asker.ASKED[:100]))
        with engine.begin() as connection:
            earlier = connection.execute(sa.select(publishers)).mappings().all()
        screening.ask_all(asker.frame(asker.ASKED[100:200]))
        with engine.begin() as connection:
            connection.execute(publishers.delete())
            connection.execute(publishers.insert(), [dict(row) for row in earlier])
        with pytest.raises(wc.PolicyViolation, match="older copy"):
            screening.ask_all(asker.frame(asker.ASKED[200:300]))
    engine.dispose()

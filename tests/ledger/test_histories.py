"""Random histories of asks, backups, restores, losses, dismissals, outages and forks."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import histories
import pytest
from benchmarks import postgres
from histories import PostgresStores, SqliteStores, World

from whitecrow.ledger import database, states
from whitecrow.ledger.transaction import AccountTransaction
from whitecrow.ledger.witness import Evidence, guard
from whitecrow.ledger.witness.guard import Head

QUICK = 60
"""Histories that the ordinary suite lives through; the study has thousands."""


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder without a disk behind it, where there is one: no history cuts the power."""
    where = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(prefix="whitecrow-", dir=where) as name:
        yield Path(name)


def lived(seed: int, memory: Path, *, place: str = "file") -> Counter[str]:
    """Live through one history on SQLite; say which, if the oracle is contradicted."""
    folder = memory / str(seed)
    folder.mkdir()
    where = {
        "file": lambda number: str(folder / f"witness{number}"),
        "database": lambda number: f"sqlite:///{folder / f'witness{number}.db'}",
    }
    try:
        return _run(World(seed, SqliteStores(folder), folder, where[place]), seed)
    finally:
        shutil.rmtree(folder)


def _run(world: World, seed: int) -> Counter[str]:
    try:
        world.run()
    except AssertionError as error:
        raise AssertionError(f"history {seed}: {error}: {', '.join(world.told)}") from error
    return world.seen


def _live(seeds: Iterable[int], memory: Path) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in seeds:
        seen += lived(seed, memory, place="database" if seed % 4 == 0 else "file")
    return seen


def test_in_no_history_is_anything_forgotten_or_drawn_twice(memory: Path) -> None:
    seen = _live(range(QUICK), memory)
    # The histories are not empty: answers leave, ledgers are refused, accounts are closed.
    least = {"answered": 200, "published": 50, "LedgerOutdated": 50, "closed": 10, "dismissed": 5}
    assert all(seen[name] >= number for name, number in least.items()), seen


@pytest.mark.study
@pytest.mark.timeout(3600)
def test_in_two_thousand_histories_nothing_is_forgotten_or_drawn_twice(memory: Path) -> None:
    assert _live(range(2000), memory)["answered"] > 10_000


@pytest.mark.study
@pytest.mark.timeout(3600)
def test_in_six_hundred_histories_on_postgresql_nothing_is_forgotten_or_drawn_twice(
    memory: Path,
) -> None:
    if reason := postgres.missing():
        pytest.skip(reason)
    seen: Counter[str] = Counter()
    with postgres.cluster(durable=False) as server:  # no history cuts the power
        for seed in range(600):
            stores = PostgresStores(server.url, f"h{seed}_")
            folder = memory / str(seed)
            folder.mkdir()
            try:
                seen += _run(World(seed, stores, folder), seed)
            finally:
                stores.close()
    assert seen["answered"] > 1_500


def _accept_nothing(self: guard.Guard, held: Evidence, otherwise: str) -> None:
    if held.fingerprint:
        _ADOPT(self, held, otherwise)
    else:
        self._held = held


_ADOPT = guard.Guard._adopt


def _dismiss_at_once(store: database.Database, *, not_restored: bool = False) -> None:
    store.write(lambda session: session.run("DELETE FROM witness"))


class _Constant:
    """In place of random numbers."""

    @staticmethod
    def token_hex(_: int) -> str:
        return ""


MUTANTS: dict[str, tuple[object, str, Callable[..., Any]]] = {
    "closed by a budget of 0 alone": (AccountTransaction, "must_be_open", lambda _: None),
    "an empty witness is a new one": (guard.Guard, "_adopt", _accept_nothing),
    "no compare-and-swap": (Evidence, "takes", lambda *_: True),
    "publications without fingerprints": (states, "secrets", _Constant),
    "stored answers are not compared": (guard, "head_of", lambda *_: Head(2**40)),
    "a dismissal that asks nobody": (histories, "dismiss", _dismiss_at_once),
}


RARE = ("publications without fingerprints", "stored answers are not compared")
"""They need several things in a row; test_restores.py has each of them as one short history."""


@pytest.mark.parametrize("name", [name for name in MUTANTS if name not in RARE])
def test_a_ledger_that_forgets_is_found(
    name: str, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _find(name, 4 * QUICK, memory, monkeypatch)


@pytest.mark.study
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", RARE)
def test_a_ledger_that_rarely_forgets_is_found(
    name: str, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _find(name, 2000, memory, monkeypatch)


def _find(name: str, most: int, memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*MUTANTS[name])
    with pytest.raises(AssertionError, match=r"twice|two draws|forgotten|closed, and answers"):
        _live(range(most), memory)

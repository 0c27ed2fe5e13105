"""Ledgers with a witness: begun, asked, and put back from a copy."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import sqlalchemy as sa

import whitecrow as wc
from whitecrow.ledger import Budget, ChargeRequest, Ledger, RecordedOutcome
from whitecrow.ledger.witness import Mark, appoint, setup_of


def emptied(url: str) -> None:
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("DROP SCHEMA public CASCADE"))
        connection.execute(sa.text("CREATE SCHEMA public"))
    engine.dispose()


def asked(ledger: Ledger, name: str, answer: int = 1) -> RecordedOutcome:
    order = ChargeRequest("ana", name, {}, wc.DifferentialPrivacy("1/100"))
    held, _ = ledger.reserve("clinic", order)
    if isinstance(held, RecordedOutcome):
        return held
    try:
        return ledger.settle("clinic", held, answer)
    finally:
        held.release()


def begun(store: str, place: str, folder: Path, *, seconds: int = 0) -> Ledger:
    with Ledger(store) as ledger:
        ledger.open("clinic", budget=Budget.of("1"))
        appoint(ledger.database, place, folder / "key", seconds=seconds)
    return Ledger(store)


def marks(ledger: Ledger) -> Mapping[str, Mark]:
    setup = setup_of(ledger.database)
    assert setup is not None
    return setup.read().marks


def restored(store: str, copy: Path) -> None:
    """Put a copy back in the place of the ledger, as an operator would."""
    if store.startswith("sqlite"):
        path = Path(store.removeprefix("sqlite:///"))
        for one in path.parent.glob(f"{path.name}-*"):
            one.unlink()
        shutil.copy(copy, path)
        return
    emptied(store)
    url = sa.make_url(store)
    host = str(url.query["host"])
    arguments = ["--host", host, "--username", str(url.username), "--dbname", str(url.database)]
    subprocess.run(["pg_restore", *arguments, "--clean", "--if-exists", str(copy)], check=True)

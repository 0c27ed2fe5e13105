"""The trail of what administrators did: who invited, deactivated, minted, removed, rotated.

Datasets have chains of their own. What is done about people, tokens and keys stands here, in the
transaction that does it; each row's hash covers the row before it.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, insert, select

from whitecrow_server._store import Store
from whitecrow_server._tables import trail

_LOCK = 748392017  # for PostgreSQL; SQLite lets one write at a time


@dataclass(frozen=True)
class Act:
    """What somebody did, about whom."""

    actor: str  # who, as signed: with whoever else could have acted in their name
    act: str  # what: a word such as ``invite``
    target: str  # about whom
    # More: a role, a token's id. Never a secret.
    detail: Mapping[str, Any] = field(default_factory=dict)


def record(connection: Connection, act: Act | None) -> None:
    """Write an act down, in the transaction that does it; None is not an administrator's act."""
    if act is None:
        return
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
    newest = select(trail.c.seq, trail.c.hash).order_by(trail.c.seq.desc()).limit(1)
    last = connection.execute(newest).one_or_none()
    row = {
        "seq": 1 if last is None else last.seq + 1,
        "at": time.time(),
        "actor": act.actor[:160],
        "act": act.act,
        "target": act.target,
        "detail": json.dumps(dict(act.detail), sort_keys=True),
    }
    row["hash"] = _hash("" if last is None else last.hash, row)
    connection.execute(insert(trail).values(row))


@dataclass(frozen=True)
class Trail:
    """Reads the trail."""

    _store: Store

    def page(self, *, after: int = 0, limit: int = 1000) -> list[dict[str, Any]]:
        """The acts after a number, the oldest first."""
        query = select(trail).where(trail.c.seq > after).order_by(trail.c.seq).limit(limit)
        rows = (row._mapping for row in self._store.rows(query))
        return [{**row, "detail": json.loads(row["detail"])} for row in rows]

    def broken(self) -> int | None:
        """The first number whose hash does not fit what is there; None if all do."""
        before, last = "", 0
        with self._store.transaction(write=False) as connection:
            for found in connection.execute(select(trail).order_by(trail.c.seq)):
                row = dict(found._mapping)
                if row["seq"] != last + 1 or row.pop("hash") != _hash(before, row):
                    return int(found.seq)
                before, last = found.hash, found.seq
        return None


def _hash(before: str, row: Mapping[str, Any]) -> str:
    # repr: the shortest text that reads back as the same float, in either database.
    parts = [before, *(repr(row[key]) for key in ("seq", "at", "actor", "act", "target", "detail"))]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

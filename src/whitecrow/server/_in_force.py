"""Since when reply times are what they are: a question that was asked before had others.

An answer that is there is told at once when its first reply was due. By reply times that an
operator has shortened since, it would be told earlier, at a moment that says how long it took.
"""

from __future__ import annotations

import hashlib
import time

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite

from whitecrow import __version__
from whitecrow.ledger.values import canonical
from whitecrow.server._settings import Settings
from whitecrow.server._store import Store
from whitecrow.server._tables import secrets

__all__ = ["in_force_since"]

_NAME = "reply times"


def in_force_since(store: Store, settings: Settings) -> float:
    """Return since when the reply times follow from the settings as they are now."""
    said = [dict(settings.deadlines), settings.by_cost, settings.records_at_most, __version__]
    value = hashlib.sha256(canonical(said).encode()).hexdigest()
    kept = select(secrets.c.value, secrets.c.created).where(secrets.c.name == _NAME)
    with store.transaction(write=False) as connection:
        row = connection.execute(kept).one_or_none()
    if row is not None and row.value == value:
        return float(row.created)
    since = time.time()
    now = {"value": value, "created": since}
    with store.transaction(counted=False) as connection:
        add = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
        connection.execute(
            add(secrets)
            .values(name=_NAME, **now)
            .on_conflict_do_update(index_elements=["name"], set_=now)
        )
    return since

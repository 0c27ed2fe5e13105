"""Replies that missed their deadline, counted for the custodian.

That a computation took longer than its deadline may tell something of the records. So the count is
in no metric and no log that others read.
"""

from __future__ import annotations

import time

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite

from whitecrow_server._store import Store
from whitecrow_server._tables import overruns


def overrun(store: Store, dataset: str, kind: str) -> None:
    """Count a reply that left at a later multiple of its deadline than the first."""
    now = time.time()
    with store.transaction(counted=False) as connection:
        add = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
        connection.execute(
            add(overruns)
            .values(dataset=dataset, kind=kind, number=1, newest=now)
            .on_conflict_do_update(
                index_elements=["dataset", "kind"],
                set_={"number": overruns.c.number + 1, "newest": now},
            )
        )


def counted(store: Store, dataset: str) -> dict[str, int]:
    """How many replies about a dataset were late, by kind."""
    query = select(overruns.c.kind, overruns.c.number).where(overruns.c.dataset == dataset)
    return {row.kind: row.number for row in store.rows(query)}

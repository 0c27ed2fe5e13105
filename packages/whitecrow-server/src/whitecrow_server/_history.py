"""What happened to a dataset, as far as it may be told: statement, timeline, next revision."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from whitecrow.curator.opening import Recognition
from whitecrow.data import Card
from whitecrow.ledger import Ledger
from whitecrow.neighbours import open_data
from whitecrow.report import account_page
from whitecrow_server._logs import told
from whitecrow_server._people import Person
from whitecrow_server._store import Store, put
from whitecrow_server._tables import overruns

if TYPE_CHECKING:
    from whitecrow_server._service import Service


class History:
    def __init__(self, service: Service) -> None:
        self._service, self.events = service, service.events

    def timeline(self, who: Person, name: str) -> dict[str, Any]:
        """Revisions, promises, publications, alarms and the budget over time.

        An analyst sees what is public, without the custodian's words, and their own part.
        """
        self._service.listing(who, name)
        mine = who.name if who.role == "analyst" else None
        return self._service.told.timeline(name, analyst=mine).to_json()

    def ended(self, who: Person, name: str) -> list[dict[str, Any]]:
        """Which questions ended a guarantee; for an analyst those of their own."""
        events = self.timeline(who, name)["events"]
        return [event for event in events if event["kind"] == "broken"]

    def statement(self, who: Person, name: str) -> dict[str, Any]:
        """What all answers so far promise together, for a custodian or an auditor to sign."""
        service = self._service
        service.listing(who, name, "custodian", "auditor")
        snapshot = service.ledger.snapshot(name)
        entries, head = service.told.end(name)
        asked = bool(service.told.entries(name, kind="reserve", limit=1))
        together = snapshot.spent.totals(snapshot.budget.delta).statements()
        return {"together": together if asked else [], "entries": entries, "head": head}

    @told("ledger.export", "dataset")
    def report(self, who: Person, name: str) -> str:
        """The account as one page that stands alone: questions, prices, released answers."""
        self._service.listing(who, name, "custodian", "auditor")
        return account_page(self._service.ledger, name, self._service.told.entries(name))

    @told("data.change", "dataset")
    def advance(
        self, who: Person, name: str, *, reason: str, growth: str | None = None
    ) -> dict[str, Any]:
        """Record the records as they are now as the account's next revision, and read them again.

        Until this is done, a dataset whose records are not those of its account waits. ``growth``
        declares that records are only ever added, or that this has ended.
        """
        service = self._service
        listing = service.listing(who, name, "custodian")
        revision = advanced(
            service.catalogue.records(listing.source),
            card=listing.card,
            engine=listing.engine,
            ledger=service.ledger,
            account=name,
            reason=reason,
            growth=growth,
            actor=who.signature,
        )
        service.catalogue.reload(name)
        return {"revision": revision}


# Replies that missed their deadline, counted for the custodian. That a computation took longer than
# its deadline may tell something of the records: the count is in no metric and no log that others
# read.


def overrun(store: Store, dataset: str, kind: str) -> None:
    """Count a reply that left at a later multiple of its deadline than the first."""
    now = time.time()
    first = {"dataset": dataset, "kind": kind, "number": 1, "newest": now}
    with store.transaction(counted=False) as connection:
        put(connection, overruns, first, {"number": overruns.c.number + 1, "newest": now})


def counted(store: Store, dataset: str) -> dict[str, int]:
    """How many replies about a dataset were late, by kind."""
    query = select(overruns.c.kind, overruns.c.number).where(overruns.c.dataset == dataset)
    return {row.kind: row.number for row in store.rows(query)}


def advanced(
    source: object,
    *,
    card: Card | None,
    engine: str,
    ledger: Ledger,
    account: str,
    reason: str,
    growth: str | None = None,
    actor: str = "",
) -> int:
    """Look at records and record them as the next revision of an account, without opening it.

    For a service, whose workers open the records themselves when told to. A file is only hashed;
    the rows of a query are read here once.
    """
    seen = Recognition(source, engine=engine, recording=True)
    with ExitStack() as opened_here:
        dataset = None
        if seen.files is None:
            watch = None if seen.rows is None else seen.rows.add
            dataset, _ = open_data(source, card, engine, watch=watch)
            opened_here.callback(dataset.close)
        fingerprint = seen.fingerprint(dataset, ledger, account)
    return seen.bound(
        ledger, account, fingerprint, card=card, advance=reason, growth=growth, actor=actor
    ).revision

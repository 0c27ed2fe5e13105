"""What happened to a dataset and to its records: the timeline, and the next revision.

Each act with its authorisation, as in :mod:`whitecrow_server._service`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whitecrow.curator.opening import advanced
from whitecrow_server._events import told
from whitecrow_server._people import Person, need

if TYPE_CHECKING:
    from whitecrow_server._service import Service


class History:
    """Revisions of the records, and all that happened.

    Parameters
    ----------
    service : Service
        Whose datasets they are about.
    """

    def __init__(self, service: Service) -> None:
        self._service, self.events = service, service.events

    def timeline(self, who: Person, name: str) -> dict[str, Any]:
        """Revisions, promises, publications, alarms and the budget over time.

        An analyst sees what is public, without the custodian's words, and their own part.
        """
        self._service.listing(who, name)
        mine = who.name if who.role == "analyst" else None
        return self._service.told.timeline(name, analyst=mine).to_json()

    @told("data.change", "dataset")
    def advance(
        self, who: Person, name: str, *, reason: str, growth: str | None = None
    ) -> dict[str, Any]:
        """Record the records as they are now as the account's next revision, and read them again.

        Until this is done, a dataset whose records are not those of its account waits. ``growth``
        declares that records are only ever added, or that this has ended.
        """
        need(who, "custodian")
        service = self._service
        listing = service.listing(who, name)
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

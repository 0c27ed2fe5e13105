"""When a reply may leave, what may leave at once, and what is made up: nothing here spends."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from whitecrow.curator import Curator
from whitecrow.detector import Detector
from whitecrow.errors import NotKnown, WhitecrowError
from whitecrow.ledger import Entry, Ledger, RecordedOutcome
from whitecrow.ledger.lookup import is_out
from whitecrow.ledger.transaction import AccountTransaction
from whitecrow.question import Release
from whitecrow.server import _views as views
from whitecrow.server._catalogue import Listing
from whitecrow.server._curator_pool import CuratorPool
from whitecrow.server._dummies import Dummies
from whitecrow.server._members import need
from whitecrow.server._people import Person
from whitecrow.server._settings import Settings
from whitecrow.server._strangers import Asked, question_from, well_formed

__all__ = ["Replies"]

_LONG_AGO = 7200.0
"""Seconds. No reply that was ready before waits any more: no deadline is longer than an hour."""

_ACTS = 100
"""Of so many acts of a custodian the newest change of the card is looked for."""


class Replies:
    """The part of a service that knows when an answer is out."""

    settings: Settings
    pool: CuratorPool
    dummies: Dummies
    ledger: Ledger
    reply_times_since: float

    if TYPE_CHECKING:

        def listing(self, who: Person, name: str) -> Listing: ...
        def curator(self, who: Person, name: str) -> Curator: ...

    def deadline(self, who: Person, name: str, written: Asked) -> float | None:
        """The published reply time of a question about a dataset."""
        listing = self.listing(who, name)
        card = views.card(listing, self.pool.state(listing))
        question = question_from(written)
        return well_formed(lambda: self.settings.deadline(question.kind, card, question))

    def stored(self, who: Person, name: str, written: Asked, deadline: float) -> Release | None:
        """Return an answer that is out already: public history, whose time need not be hidden."""
        need(who, "analyst", "custodian")
        curator, question = self.curator(who, name), question_from(written)
        since = self.reply_times_since

        def then(asked: datetime) -> float:
            return deadline if asked.timestamp() >= since else _LONG_AGO

        try:
            return curator.stored(question, analyst=who.name, deadline=then)
        except WhitecrowError:
            return None  # asking in the ordinary way says why, when that is due

    def dummy(self, who: Person, name: str, written: Mapping[str, Any]) -> Release:
        """Answer a question about made-up records: free, and no record of the data is near it."""
        need(who, "analyst", "custodian")
        listing = self.listing(who, name)
        card = views.card(listing, self.pool.state(listing))
        return self.dummies.answer(listing, card, written)

    def unchanged_since(self, name: str) -> float:
        """Since when the reply times of a dataset are what they are now: by settings and card."""
        acts = self.ledger.entries(name, kind="amend", newest_first=True, limit=_ACTS)
        cards = [datetime.fromisoformat(one.at) for one in acts if "card" in one.content]
        return max([self.reply_times_since, *(one.timestamp() for one in cards)])

    def told(
        self, who: Person, name: str, asked: Entry, closed: Entry | None, *, since: float
    ) -> Entry | None:
        """What became of a question, once its reply was due: not when its computation ended.

        ``since`` is when the reply times came into force; what was asked before had others, which
        are long over when the longest possible is.
        """
        now = datetime.now(UTC)
        if closed is None or (now - datetime.fromisoformat(closed.at)).total_seconds() > _LONG_AGO:
            return closed
        written = asked.content["question"]
        deadline = self.deadline(who, name, {"kind": written["kind"], **written["question"]})
        begun, ended = datetime.fromisoformat(asked.at), datetime.fromisoformat(closed.at)
        if begun.timestamp() < since:
            deadline = _LONG_AGO
        return closed if deadline is None or is_out(begun, ended, now, deadline) else None

    def detector(self, who: Person, name: str, entry: str) -> Detector:
        """A detector that this person learned, by its entry; public since it was released."""
        need(who, "analyst", "custodian")
        self.listing(who, name)

        def look(account: AccountTransaction) -> tuple[Any, Entry | None, Entry | None]:
            account.must_be_open()
            found = account.outcome(entry)
            if not isinstance(found, RecordedOutcome):
                return None, None, None
            return found.answer, account.entry(found.seq), account.entry(found.by)

        answer, asked, closed = self.ledger.read(name, look)
        if self.ledger.witness is not None:
            self.ledger.witness.tell(name, [closed])
        mine = asked is not None and asked.analyst == who.name
        if mine and isinstance(answer, dict) and "detector" in answer:
            assert asked is not None
            since = self.unchanged_since(name)
            if self.told(who, name, asked, closed, since=since) is not None:
                return Detector.from_json(answer)
        raise NotKnown(f"You learned no detector {entry[:80]!r} from this dataset.")

"""Prices and plans, when a reply may leave, what may leave at once: nothing here spends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from whitecrow.curator import Curator
from whitecrow.detector import Detector
from whitecrow.errors import InvalidInput, NotKnown
from whitecrow.ledger.account import ToldAt
from whitecrow.question import Description, Question, Release
from whitecrow_server import _padding as padding
from whitecrow_server import _views as views
from whitecrow_server._aside import Aside
from whitecrow_server._catalogue import Listing
from whitecrow_server._curator_pool import CuratorPool
from whitecrow_server._dummies import Dummies
from whitecrow_server._members import need
from whitecrow_server._people import Person
from whitecrow_server._settings import Settings
from whitecrow_server._told import Told
from whitecrow_server._untrusted_input import Asked, priced_question, question_from, well_formed

MOST_QUESTIONS = 2000
"""How long a plan may be."""

_FEW_QUESTIONS = 8
"""A plan of so few is quick: it needs no other process."""

_CLOCKS_SECONDS = 1.0
"""How much the clocks of several machines may differ."""


class Replies:
    """The part of a service that says what questions cost, and when their answers are out."""

    settings: Settings
    pool: CuratorPool
    dummies: Dummies
    aside: Aside
    told: Told

    if TYPE_CHECKING:

        def listing(self, who: Person, name: str) -> Listing: ...
        def curator(self, who: Person, name: str) -> Curator: ...

    def price(
        self, who: Person, name: str, written: Mapping[str, Any], public: Mapping[str, Any]
    ) -> Description:
        """Say what a question would cost and how accurate it would be."""
        need(who, "analyst", "custodian")
        curator = self.curator(who, name)
        return well_formed(lambda: curator.describe(question_from(written), **public))

    def plan(self, who: Person, name: str, written: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Say what a batch would cost together."""
        need(who, "analyst", "custodian")
        curator = self.curator(who, name)
        if len(written) > MOST_QUESTIONS:
            raise InvalidInput(f"A plan has at most {MOST_QUESTIONS} questions.")
        if len(written) <= _FEW_QUESTIONS:
            batch = [priced_question(curator, one) for one in written]
            return curator.plan(batch, analyst=who.name).to_json()
        return self.aside.plan(curator, who.name, list(written))

    def askable(self, who: Person, name: str, written: Asked) -> Question:
        """Read a question; refuse one that this person may not ask, or that is malformed."""
        need(who, "analyst", "custodian")
        self.listing(who, name)
        return question_from(written)

    def deadline(self, who: Person, name: str, written: Asked) -> float | None:
        """The published reply time of a question about a dataset."""
        listing = self.listing(who, name)
        card = views.card(listing, self.pool.state(listing))
        question = question_from(written)
        return well_formed(lambda: self.settings.deadline(question.kind, card, question))

    def told_at(self, who: Person, name: str, written: Asked, began: datetime) -> ToldAt | None:
        """From when on others may know what an ask leaves in the ledger; None: at once."""
        deadline = self.deadline(who, name, written)
        if deadline is None:
            return None
        # An SQLite file is read on one machine only, by one clock.
        margin = _CLOCKS_SECONDS if self.settings.ledger_file is None else 0.0
        return padding.told_at(began, deadline, margin)

    def stored(self, who: Person, name: str, written: Asked) -> Release | None:
        """Return an answer that is out already, or refuse what public facts refuse.

        Neither needs a slot, and neither need be hidden by a reply that waits.
        """
        need(who, "analyst", "custodian")
        curator, question = self.curator(who, name), question_from(written)
        return well_formed(lambda: curator.stored(question, analyst=who.name))

    def dummy(self, who: Person, name: str, written: Mapping[str, Any]) -> Release:
        """Answer a question about made-up records: free, and no record of the data is near it."""
        need(who, "analyst", "custodian")
        listing = self.listing(who, name)
        card = views.card(listing, self.pool.state(listing))
        return self.dummies.answer(listing, card, written)

    def detector(self, who: Person, name: str, entry: str) -> Detector:
        """A detector that this person learned, by its entry; public since it was released."""
        need(who, "analyst", "custodian")
        self.listing(who, name)
        analyst, answer = self.told.answer(name, entry) or ("", None)
        if analyst == who.name and isinstance(answer, dict) and "detector" in answer:
            return Detector.from_json(answer)
        raise NotKnown(f"You learned no detector {entry[:80]!r} from this dataset.")

"""Processes that answer about made-up records: one for each dataset whose dummy was asked lately.

They are begun when they are first asked, hold no record of the data, and the oldest ends when
another one is wanted.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from whitecrow.card import Card
from whitecrow.curator.dummy import DUMMY_RECORDS, accepted_profile, marked
from whitecrow.errors import NotReady
from whitecrow.ledger import Ledger
from whitecrow.limits import Limits
from whitecrow.privacy import Guarantee
from whitecrow.question import Release
from whitecrow.questions import type_of
from whitecrow_server._catalogue import Listing
from whitecrow_server._processes import DatasetProcess, LoadFailed, MadeUp
from whitecrow_server._settings import Settings
from whitecrow_server._untrusted_input import question_from, well_formed

_MOST = 4
_LONGEST_SECONDS = 60.0


class Dummies:
    """Answers about made-up records."""

    def __init__(self, ledger: Ledger, settings: Settings) -> None:
        seconds = min(settings.longest_seconds, _LONGEST_SECONDS)
        self._ledger, self._lent = ledger, Limits(seconds, settings.most_bytes)
        self._records_at_most = settings.records_at_most
        self._running: OrderedDict[tuple[str, str], DatasetProcess] = OrderedDict()
        self._lock = threading.Lock()

    def answer(self, listing: Listing, card: Card | None, written: Mapping[str, Any]) -> Release:
        """Answer a question about the dummy of a dataset."""
        if card is None:
            raise NotReady("This dataset is being loaded; ask again in a moment.")
        question = question_from(written)

        def priced() -> tuple[Guarantee, Limits]:
            question.check(card)
            few = replace(card, size_public=False, size=None, records_at_most=DUMMY_RECORDS)
            most = type_of(question).limits(question, few)
            return question.price(card), most.within(self._lent, question.kind)

        price, limits = well_formed(priced)
        profile = accepted_profile(card, self._ledger, listing.name)
        process = self._process(listing, card, None if profile is None else profile.to_json())
        found = process.answer(question, limits=lambda: limits, progress=None)
        return marked(question, price, None if found is None else found.value)

    def _process(
        self, listing: Listing, card: Card, profile: Mapping[str, Any] | None
    ) -> DatasetProcess:
        """The process of a dummy, begun if need be; one begins at a time."""
        key = listing.name, card.fingerprint()
        with self._lock:
            found = self._running.pop(key, None)
            if found is None or not found.alive:
                found = self._begun(replace(listing, card=card), profile)
            self._running[key] = found
            while len(self._running) > _MOST:
                self._running.popitem(last=False)[1].kill()
        return found

    def _begun(self, listing: Listing, profile: Mapping[str, Any] | None) -> DatasetProcess:
        process = DatasetProcess(
            replace(listing, engine="local", indexes=()),
            MadeUp(profile),
            log=None,
            longest=_LONGEST_SECONDS,
            records_at_most=self._records_at_most,
        )
        try:
            process.load(lambda stage, percent: None)
        except LoadFailed:
            raise NotReady("The made-up records could not be made; try again later.") from None
        return process

    def close(self) -> None:
        with self._lock:
            for process in self._running.values():
                process.kill()
            self._running.clear()

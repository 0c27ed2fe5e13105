"""Check an account from its entries alone: the chain, the order of events, the caps, the sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from whitecrow.errors import BudgetExhausted, WhitecrowError
from whitecrow.ledger.account import Account, Located, admit, guarantee
from whitecrow.ledger.acts import card_digest
from whitecrow.ledger.atlases import AtlasMaker, recount
from whitecrow.ledger.budget import Budget
from whitecrow.ledger.chain import GENESIS, Entry, canonical
from whitecrow.ledger.page import Page, Share, Standing
from whitecrow.ledger.revisions import Revision
from whitecrow.ledger.store import Ledger
from whitecrow.privacy import Guarantee

__all__ = ["Finding", "verify"]


@dataclass(frozen=True)
class Finding:
    """What a check of one dataset's account found.

    Parameters
    ----------
    dataset : str
        Whose account.
    entries : int
        How many entries were read.
    head : str
        The newest hash; compare it with one noted earlier.
    bad : int or None
        The first entry that is wrong, None if all are right (or if only the sums are wrong).
    reason : str
        What is wrong, in words; empty if nothing is.
    """

    dataset: str
    entries: int
    head: str
    bad: int | None = None
    reason: str = ""

    @property
    def ok(self) -> bool:
        """Whether all is right."""
        return not self.reason

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object."""
        return {**vars(self), "ok": self.ok}


class _Wrong(Exception):
    """An entry that cannot be."""


def verify(ledger: Ledger, dataset: str, *, atlas: AtlasMaker | None = None) -> Finding:
    """Recompute a dataset's chain and sums and name the first bad entry.

    Parameters
    ----------
    ledger, dataset : Ledger, str
        Which account.
    atlas : callable, optional
        Makes an empty atlas. With it, what located questions cost is computed anew from the
        questions; without, it is taken from the entries.
    """
    return ledger.read(dataset, lambda page: _checked(page, atlas))


def _checked(page: Page, atlas: AtlasMaker | None) -> Finding:
    standing = page.standing(page.shares())
    replay = _Replay(page.name, atlas)
    count = 0
    for entry in page.entries():
        count += 1
        try:
            replay.take(entry)
        except _Wrong as wrong:
            return Finding(page.name, count, standing.head, entry.seq, str(wrong))
        except (KeyError, ValueError, TypeError, WhitecrowError):
            return Finding(
                page.name, count, standing.head, entry.seq, "its content is not readable"
            )
    reason = replay.differs(standing)
    return Finding(page.name, count, standing.head, None, reason)


class _Replay:
    """The account as the entries make it, one after the other."""

    def __init__(self, dataset: str, atlas: AtlasMaker | None) -> None:
        self._dataset, self._atlas = dataset, atlas
        self._head, self._seq = GENESIS, 0
        self._budget, self._policy = Budget.of("0"), ""
        self._spent = Account()
        self._shares: dict[str, Share] = {}
        self._waiting: dict[int, Entry] = {}
        self._failed: dict[int, Entry] = {}
        self._unreviewed: set[int] = set()
        self._asked: dict[str, int] = {}
        self._fingerprints: list[str] = []
        self._spends: list[Entry] = []

    def take(self, entry: Entry) -> None:
        """Check one entry and apply it."""
        if entry.seq != self._seq + 1:
            raise _Wrong(f"entry {self._seq + 1} is missing")
        if entry.previous != self._head:
            raise _Wrong("it does not follow the entry before it")
        if entry.seal() != entry.hash:
            raise _Wrong("its content does not match its hash")
        steps = {
            "open": self._register,
            "amend": self._amend,
            "data": self._data,
            "allow": self._allow,
            "reserve": self._reserve,
            "settle": self._settle,
            "fail": self._fail,
            "void": self._void,
            "halt": self._halt,
            "review": self._review,
        }
        if entry.kind not in steps or (entry.kind == "open") != (entry.seq == 1):
            raise _Wrong(f"an entry of kind {entry.kind!r} cannot stand here")
        content = entry.content
        if "card" in content and content.get("card_digest") != card_digest(content["card"]):
            raise _Wrong("the card it keeps is not the one it names")
        steps[entry.kind](entry)
        self._head, self._seq = entry.hash, entry.seq

    def _register(self, entry: Entry) -> None:
        content = entry.content
        self._budget = Budget.of(content["budget"])
        self._policy = canonical(content["policy"])
        self._spent = Account(unit=content["unit"])
        if "data" in content:
            self._data(entry)

    def _amend(self, entry: Entry) -> None:
        content = entry.content
        if "budget" in content:
            self._budget = Budget.of(content["budget"])
        if "policy" in content:
            self._policy = canonical(content["policy"])

    def _data(self, entry: Entry) -> None:
        found = Revision.of(entry)
        if found is None:
            raise _Wrong("it names no records")
        if found.number != len(self._fingerprints) + 1:
            raise _Wrong("it skips a revision of the data")
        if found.fingerprint in self._fingerprints:
            raise _Wrong("it records a revision of the data that is known already")
        self._fingerprints.append(found.fingerprint)

    def _of_known_data(self, price: Guarantee, location: Mapping[str, Any] | None) -> None:
        """Check that zones and balls name a revision that was recorded before them."""
        named = [zone.card for zone in getattr(price, "zones", ())]
        named += [] if location is None else [str(location.get("card", ""))]
        for card in named:
            revision = card.partition("@")[2]
            if revision and int(revision) > len(self._fingerprints):
                raise _Wrong("it speaks of a revision of the data that was not recorded")

    def _allow(self, entry: Entry) -> None:
        written = entry.content["budget"]
        share = self._share(entry.analyst)
        budget = None if written is None else Budget.of(written)
        self._shares[entry.analyst] = Share(share.spent, budget)

    def _reserve(self, entry: Entry) -> None:
        if entry.digest in self._asked:
            raise _Wrong(f"its question was charged before, by entry {self._asked[entry.digest]}")
        content = entry.content
        price = guarantee(content["price"])
        self._of_known_data(price, content["location"])
        extra = own = None
        if content["location"] is not None:
            extra = Located.from_json(content["extra"]["dataset"])
            own = Located.from_json(content["extra"]["analyst"])
        share = self._share(entry.analyst)
        try:
            self._spent = admit(self._spent, self._budget, price, extra, whose="the dataset")
            grown = (
                share.spent.with_release(price, own)
                if share.budget is None
                else admit(share.spent, share.budget, price, own, whose="the analyst")
            )
        except BudgetExhausted as refused:
            raise _Wrong(f"it spends what was not there: {refused}") from None
        self._shares[entry.analyst] = Share(grown, share.budget)
        self._waiting[entry.seq] = entry
        self._asked[entry.digest] = entry.seq
        self._spends.append(entry)

    def _settle(self, entry: Entry) -> None:
        self._close(entry, self._waiting)

    def _fail(self, entry: Entry) -> None:
        reserved = self._close(entry, self._waiting)
        self._failed[entry.seq] = reserved
        self._unreviewed.add(entry.seq)

    def _halt(self, entry: Entry) -> None:
        self._unreviewed.add(entry.seq)

    def _review(self, entry: Entry) -> None:
        if entry.closes not in self._unreviewed:
            raise _Wrong(f"it reviews entry {entry.closes}, which waits for none")
        self._unreviewed.remove(entry.closes)
        if entry.closes in self._failed:  # what gives the spend back closes the review
            self._failed[entry.seq] = self._close(entry, self._failed)

    def _void(self, entry: Entry) -> None:
        known = self._waiting if entry.closes in self._waiting else self._failed
        reserved = self._close(entry, known)
        self._unreviewed.discard(int(entry.closes or 0))
        content = entry.content
        if content["reserve"] != reserved.seq:
            raise _Wrong("it gives back another spend than it closes")
        del self._asked[reserved.digest]
        self._spends.append(entry)
        share = self._share(reserved.analyst)
        located, own = self._spent.located, share.spent.located
        if reserved.content["location"] is not None:
            located = Located.from_json(content["located"]["dataset"])
            own = Located.from_json(content["located"]["analyst"])
        self._spent = replace(recount(self._spends, self._spent.unit), located=located)
        mine = [one for one in self._spends if one.analyst == reserved.analyst]
        left = replace(recount(mine, self._spent.unit), located=own)
        self._shares[reserved.analyst] = Share(left, share.budget)

    def _close(self, entry: Entry, known: dict[int, Entry]) -> Entry:
        reserved = known.pop(int(entry.closes or 0), None)
        if reserved is None or reserved.digest != entry.digest:
            raise _Wrong(f"it closes entry {entry.closes}, which is not open for it")
        return reserved

    def _share(self, analyst: str) -> Share:
        return self._shares.get(analyst, Share(Account(unit=self._spent.unit), None))

    def differs(self, standing: Standing) -> str:
        """Say where the stored sums differ from the entries, or nothing."""
        if (self._seq, self._head) != (standing.seq, standing.head):
            return f"the account ends at entry {standing.seq}, but the entries end at {self._seq}"
        if (self._budget, self._policy) != (standing.budget, standing.policy):
            return "the stored promise is not the one the entries say"
        if len(self._unreviewed) != standing.failures:
            return "the stored number of failures to review is not the one the entries say"
        if self._spent != standing.spent:
            return "the dataset's stored sums are not what the entries add up to"
        for analyst in sorted({*self._shares, *standing.shares}):
            if self._shares.get(analyst) != standing.shares.get(analyst):
                return f"the stored sums of analyst {analyst!r} are not what the entries add up to"
        return "" if self._atlas is None else self._misplaced(self._atlas)

    def _misplaced(self, atlas: AtlasMaker) -> str:
        """Say whose located questions cost something else than their places say, or nothing."""
        unit = self._spent.unit
        if recount(self._spends, unit, atlas).located != self._spent.located:
            return "what located questions cost is not what their places say"
        if len(self._shares) == 1 and all(entry.analyst in self._shares for entry in self._spends):
            return ""  # a sole analyst's account is the dataset's
        for analyst, share in self._shares.items():
            own = [entry for entry in self._spends if entry.analyst == analyst]
            if recount(own, unit, atlas).located != share.spent.located:
                return f"what analyst {analyst!r} has asked about places adds up to something else"
        return ""

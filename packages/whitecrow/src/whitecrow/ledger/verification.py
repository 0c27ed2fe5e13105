"""Check an account from its entries alone: the chain, the order of events, the caps, the sums.

A full check reads every entry. A *checkpoint* is an entry that keeps the state of the account just
before it, written after a check found everything right; the next check goes on from the newest one.
Checkpoints are part of the chain, and a full check recomputes each of them: what was changed before
a checkpoint, or in it, is found by a full check at the latest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol

from whitecrow.errors import WhitecrowError
from whitecrow.ledger.account import Entry, Located
from whitecrow.ledger.acts import acts_of, custodian_act
from whitecrow.ledger.replay import Replay, Wrong, fingerprint
from whitecrow.ledger.spatial import (
    ANYWHERE,
    AddUp,
    Ball,
    Geometry,
    Location,
    Sheets,
    SpatialIndex,
    rows,
    stored_sheets,
)
from whitecrow.ledger.store import Ledger
from whitecrow.ledger.transaction import AccountTransaction

CHECKPOINT_ENTRIES = 1000
"""How many entries a check must have read for a checkpoint to be worth its own entry."""


@dataclass(frozen=True)
class Finding:
    """What a check of one dataset's account found."""

    dataset: str  # whose account
    entries: int  # up to which entry it was read
    head: str  # the newest hash; compare it with one noted earlier
    # The first entry that is wrong, None if all are right (or if only the sums are wrong).
    bad: int | None = None
    reason: str = ""  # what is wrong, in words; empty if nothing is
    since: int = 0  # the checkpoint from which it was read; 0 if from the beginning

    @property
    def ok(self) -> bool:
        return not self.reason

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "ok": self.ok}


class Recountable(Geometry, Protocol):
    """A geometry that can also recompute the price of many balls, for a full check."""

    def recount(self) -> Recount:
        """Begin with no balls."""


class Recount(Protocol):
    """Balls in the order they were asked, and what they cost together at least."""

    @property
    def price(self) -> Fraction:
        """The cost so far."""

    def add(self, new: Location | None, epsilon: Fraction) -> Fraction:
        """Add a ball, or an amount that counts everywhere."""


def verify(
    ledger: Ledger, dataset: str, *, geometry: Recountable | None = None, full: bool = False
) -> Finding:
    """Recompute a dataset's chain and sums and name the first bad entry.

    A ``full`` check begins with the first entry, not with the newest checkpoint. With a geometry it
    also computes anew what located questions cost; without, that is taken from the entries.
    """
    return ledger.read(dataset, lambda account: _checked(account, geometry, full)[0])


def checkpoint(
    ledger: Ledger,
    dataset: str,
    *,
    geometry: Recountable | None = None,
    actor: str = "",
    full: bool = False,
    least: int = CHECKPOINT_ENTRIES,
) -> Finding:
    """Check an account and, if all is right, write a checkpoint from which the next check begins.

    An account that has grown by fewer than ``least`` entries since its newest checkpoint gets no
    other. The chain keeps who had it checked.
    """
    finding, replay = ledger.read(dataset, lambda account: _checked(account, geometry, full))
    if not finding.ok:
        return finding

    def act(account: AccountTransaction) -> Finding:
        newest = newest_checkpoint(account)
        if account.seq - (0 if newest is None else newest.seq) < least:
            return finding
        # Only what came since the check is read here, while nobody else can write.
        replay.account = account
        forward = _brought_forward(account, replay, finding.since)
        if forward.ok:
            body = {**custodian_act(actor=actor), "state": replay.state()}
            account.append("checkpoint", body=body)
        return forward

    return ledger.write(dataset, act)


def _checked(
    account: AccountTransaction, geometry: Recountable | None, full: bool
) -> tuple[Finding, Replay]:
    start = None if full else newest_checkpoint(account)
    since = 0 if start is None else start.seq
    replay, wrong = Replay(account), ""
    if start is not None and start.seal() != start.hash:
        wrong = "its content does not match its hash"
    else:
        try:
            replay = Replay(account, start)
        except _UNREADABLE:
            wrong = "its content is not readable"
    if wrong:
        return Finding(account.name, since, account.head, since, wrong, since), replay
    finding = _brought_forward(account, replay, since)
    if finding.ok and start is None:
        finding = replace(finding, reason=_misplaced(account, replay, geometry))
    return finding, replay


_UNREADABLE = (KeyError, ValueError, TypeError, AttributeError, WhitecrowError)
"""What an entry raises whose content is not that of its kind."""


def _brought_forward(account: AccountTransaction, replay: Replay, since: int) -> Finding:
    """Take the entries that follow, and compare the sums."""
    for entry in account.entries(replay.seq):
        try:
            replay.take(entry)
        except (Wrong, *_UNREADABLE) as failure:
            wrong = str(failure) if isinstance(failure, Wrong) else "its content is not readable"
            return Finding(account.name, entry.seq, account.head, entry.seq, wrong, since)
    reason = replay.differs(account.snapshot(account.shares()))
    return Finding(account.name, replay.seq, account.head, None, reason, since)


def newest_checkpoint(account: AccountTransaction) -> Entry | None:
    return next(iter(acts_of(account, "checkpoint", newest=True)), None)


def _misplaced(account: AccountTransaction, replay: Replay, geometry: Recountable | None) -> str:
    """Say what is wrong with the spatial index and with what places cost, or nothing."""
    index = SpatialIndex(account.session, account.id, geometry or AddUp())
    analysts = set(account.shares())
    places = _Places(geometry, several=len(analysts) > 1, lines=replay.for_some)
    sheets, stored = Sheets(), 0
    for ball, place, depths in rows(index):
        stored += fingerprint(ball)
        if geometry is not None and place[0] != ANYWHERE and place != index.place(ball):
            return f"the ball of entry {ball.seq} is not where it should be in the spatial index"
        places.add(ball, place[0])
        # Without a geometry it is not known how large a ball is.
        sheets.add(ball, place, depths, 1 if geometry is None else index.part(ball))
    if stored % 2**256 != replay.balls:
        return "the balls in the spatial index are not those the entries say"
    snapshot = account.snapshot(account.shares())
    charged = {"": snapshot.spent.located}
    charged |= {analyst: share.spent.located for analyst, share in snapshot.shares.items()}
    indexed = stored_sheets(index)
    priced: dict[str, Located] = {}
    for (_, analyst), (price, _) in indexed.items():
        priced[analyst] = priced.get(analyst, Located()) + price
    for analyst, located in charged.items():
        least = priced.get(analyst, Located())
        if _less(located, least) or _less(located, places.cost(analyst)):
            whose = f" of analyst {analyst!r}" if analyst else ""
            return f"what located questions{whose} cost is less than their places say"
    if sheets.differ(indexed) or places.exceed(indexed):
        return "what the spatial index keeps of its sheets is not what their balls make"
    return ""


def _less(located: Located, cost: Located) -> bool:
    return located.differential < cost.differential or located.sensitive < cost.sensitive


class _Places:
    """What balls cost at least, recomputed from where they lie; nothing without a geometry."""

    def __init__(self, geometry: Recountable | None, *, several: bool, lines: bool) -> None:
        self._geometry, self._several, self._lines = geometry, several, lines
        self._recounts: dict[tuple[str, int, str], Recount] = {}

    def add(self, ball: Ball, sheet: str) -> None:
        """Add a ball; of one whose place is not known only the amount counts."""
        if self._geometry is None:
            return
        location = None if sheet == ANYWHERE else ball.location
        for whose in ("", ball.analyst) if self._several else ("",):
            for line in (0, 1) if self._lines else (1,):
                if line == 1 or ball.everyone:
                    key = whose, line, sheet
                    if key not in self._recounts:
                        self._recounts[key] = self._geometry.recount()
                    self._recounts[key].add(location, ball.epsilon)

    def cost(self, analyst: str) -> Located:
        sheets = {sheet for _, _, sheet in self._recounts}
        return sum((self._on(sheet, analyst) for sheet in sheets), Located())

    def exceed(self, held: Mapping[tuple[str, str], tuple[Located, object]]) -> bool:
        """Whether the balls of a sheet cost more than what is kept of it."""
        return any(
            _less(price, self._on(sheet, analyst)) for (sheet, analyst), (price, _) in held.items()
        )

    def _on(self, sheet: str, analyst: str) -> Located:
        whose = analyst if self._several else ""  # a sole analyst's balls are the dataset's
        both = self._price(whose, 1, sheet)
        return Located(self._price(whose, 0, sheet) if self._lines else both, both)

    def _price(self, whose: str, line: int, sheet: str) -> Fraction:
        recount = self._recounts.get((whose, line, sheet))
        return Fraction(0) if recount is None else recount.price

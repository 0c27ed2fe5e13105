"""An account as its entries make it, one after the other: the rules that every entry must keep."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from whitecrow.errors import AccountConflict, BudgetExhausted, LedgerUnusable
from whitecrow.ledger.account import (
    GENESIS,
    Account,
    AccountSnapshot,
    AnalystAccount,
    Entry,
    Located,
    admit,
)
from whitecrow.ledger.acts import card_digest, close, in_force, nothing_left
from whitecrow.ledger.database import Session
from whitecrow.ledger.spatial import AddUp, Ball, Geometry, SpatialIndex
from whitecrow.ledger.transaction import AccountTransaction, joint_terms, names, terms_of
from whitecrow.privacy import Guarantee, guarantee
from whitecrow.terms import Budget, canonical

_MODULUS = 2**256
_NEVER_AGAIN = ("reserve", "settle", "fail", "void", "closure")
_PROMISE = {"budget", "policy"}
"""What no entry does, and what no amendment holds, after an account was closed for good."""


class Wrong(Exception):
    """An entry that cannot be."""


class Replay:
    """The state of an account, brought forward entry by entry, from the first or from a checkpoint.

    Earlier entries are looked up where the replay did not begin with them.
    """

    def __init__(self, account: AccountTransaction, checkpoint: Entry | None = None) -> None:
        self.account = account
        self.head, self.seq = GENESIS, 0
        self._budget, self._policy = Budget.of("0"), ""
        self._closure = 0
        self.spent = Account()
        self.shares: dict[str, AnalystAccount] = {}
        self._waiting: dict[int, int] = {}
        self._failed: dict[int, int] = {}
        self._unreviewed: set[int] = set()
        self._fingerprints: list[str] = []
        self._runs: dict[str, int] = {}
        self._terms: dict[str, Counter[str]] = {}
        self._open: dict[int, Entry] = {}
        self._asked: dict[str, int] | None = {}
        self.balls = 0
        """A sum of fingerprints: which balls stand, whatever their order."""
        self.for_some = False
        """Whether a located release did not protect everyone."""
        if checkpoint is not None:
            self._begin(checkpoint)

    # Checkpoints

    def state(self) -> dict[str, Any]:
        """All that a replay needs to go on from here, as plain JSON."""
        return {
            "budget": self._budget.to_json(),
            "policy": self._policy,
            "spent": self.spent.to_json(),
            "shares": {analyst: share.to_json() for analyst, share in self.shares.items()},
            "waiting": sorted(self._waiting),
            "failed": {str(closed): seq for closed, seq in self._failed.items()},
            "unreviewed": sorted(self._unreviewed),
            "fingerprints": list(self._fingerprints),
            "terms": {
                analyst: {term: count for term, count in counted.items() if count}
                for analyst, counted in self._terms.items()
                if +counted
            },
            "balls": f"{self.balls:064x}",
            "for_some": self.for_some,
            **({"runs": dict(self._runs)} if self._runs else {}),
            **({"closure": self._closure} if self._closure else {}),
        }

    def _begin(self, checkpoint: Entry) -> None:
        state = checkpoint.content["state"]
        self.head, self.seq = checkpoint.hash, checkpoint.seq
        self._budget, self._policy = Budget.of(state["budget"]), state["policy"]
        self.spent = Account.from_json(state["spent"])
        shares = state["shares"].items()
        self.shares = {analyst: AnalystAccount.from_json(share) for analyst, share in shares}
        self._waiting = {seq: seq for seq in state["waiting"]}
        self._failed = {int(closed): seq for closed, seq in state["failed"].items()}
        self._unreviewed = set(state["unreviewed"])
        self._fingerprints = list(state["fingerprints"])
        self._runs = dict(state.get("runs", {}))
        self._closure = state.get("closure", 0)
        self._terms = {analyst: Counter(counted) for analyst, counted in state["terms"].items()}
        self._asked = None  # looked up in the store
        self.balls = int(state["balls"], 16)
        self.for_some = state["for_some"]

    # Entries

    def take(self, entry: Entry) -> None:
        if entry.seq != self.seq + 1:
            raise Wrong(f"entry {self.seq + 1} is missing")
        if entry.previous != self.head:
            raise Wrong("it does not follow the entry before it")
        if entry.seal() != entry.hash:
            raise Wrong("its content does not match its hash")
        step = _STEPS.get(entry.kind)
        if step is None or (entry.kind == "open") != (entry.seq == 1):
            raise Wrong(f"an entry of kind {entry.kind!r} cannot stand here")
        content = entry.content
        promises = entry.kind == "amend" and not _PROMISE.isdisjoint(content)
        if self._closure and (promises or entry.kind in _NEVER_AGAIN):
            raise Wrong(f"entry {self._closure} has closed the account for good")
        if "card" in content and content.get("card_digest") != card_digest(content["card"]):
            raise Wrong("the card it keeps is not the one it names")
        step(self, entry, content)
        self.head, self.seq = entry.hash, entry.seq

    def _checkpoint(self, entry: Entry, content: Mapping[str, Any]) -> None:
        if content["state"] != self.state():
            raise Wrong("the state it keeps is not what the entries before it make")

    def _close_for_good(self, entry: Entry, content: Mapping[str, Any]) -> None:
        self._closure, self._budget = entry.seq, nothing_left(self._budget)
        if Budget.of(content["budget"]) != self._budget:
            raise Wrong("it closes the account and leaves it a budget")

    def _register(self, entry: Entry, content: Mapping[str, Any]) -> None:
        self._budget = Budget.of(content["budget"])
        self._policy = canonical(content["policy"])
        self.spent = Account(unit=content["unit"]).counting(self._budget, entry.seq)
        if "data" in content:
            self._data(entry, content)

    def _data(self, entry: Entry, content: Mapping[str, Any]) -> None:
        data = content.get("data")
        if data is None:
            raise Wrong("it names no records")
        number = data["revision"]
        declares = "fingerprint" not in data  # of the newest revision, that it will only grow
        if number < 1 or number != len(self._fingerprints) + (not declares):
            raise Wrong("it skips a revision of the data")
        if not declares:
            if data["fingerprint"] in self._fingerprints:
                raise Wrong("it records a revision of the data that is known already")
            self._fingerprints.append(data["fingerprint"])
        since = data.get("since", number)
        if since != number and (declares or self._runs.get(str(number - 1)) != since):
            raise Wrong("it goes on with a run of revisions that does not lead to it")
        if "growth" in data:
            self._runs[str(number)] = since

    def _check_revisions(self, price: Guarantee, location: Mapping[str, Any] | None) -> None:
        """Check that zones and balls name a revision that was recorded before them."""
        named = [zone.card for zone in getattr(price, "zones", ())]
        named += [] if location is None else [str(location.get("card", ""))]
        for card in named:
            revision = card.partition("@")[2]
            if revision and int(revision) > len(self._fingerprints):
                raise Wrong("it speaks of a revision of the data that was not recorded")

    def _amend(self, entry: Entry, content: Mapping[str, Any]) -> None:
        if "budget" in content:
            self.spent, self._budget = _in_force(self.spent, content["budget"], entry.seq)
        if "policy" in content:
            self._policy = canonical(content["policy"])

    def _allow(self, entry: Entry, content: Mapping[str, Any]) -> None:
        spent, budget = self._share(entry.analyst).spent, None
        if content["budget"] is not None:
            spent, budget = _in_force(spent, content["budget"], entry.seq)
        self.shares[entry.analyst] = AnalystAccount(spent, budget)

    def _reserve(self, entry: Entry, content: Mapping[str, Any]) -> None:
        before = self._charged_before(entry)
        if before is not None:
            raise Wrong(f"its question was charged before, by entry {before}")
        price = guarantee(content["price"])
        self._check_revisions(price, content["location"])
        extra, own = _located(content, content.get("extra"))
        share = self._share(entry.analyst)
        try:
            self.spent = admit(self.spent, self._budget, price, extra, whose="the dataset")
            grown = (
                share.spent.with_release(price, own)
                if share.budget is None
                else admit(share.spent, share.budget, price, own, whose="the analyst")
            )
        except BudgetExhausted as refused:
            raise Wrong(f"it spends what was not there: {refused}") from None
        self.shares[entry.analyst] = AnalystAccount(grown, share.budget)
        self._waiting[entry.seq] = entry.seq
        self._open[entry.seq] = entry
        if self._asked is not None:
            self._asked[entry.digest] = entry.seq
        self._count(entry.analyst, price, 1)
        self._move_ball(entry, content, price, 1)

    def _charged_before(self, entry: Entry) -> int | None:
        if self._asked is not None:
            return self._asked.get(entry.digest)
        outcome = self.account.outcome(entry.digest, before=entry.seq)
        return None if outcome is None else outcome.seq

    def _settle(self, entry: Entry, content: Mapping[str, Any]) -> None:
        self._open.pop(self._close(entry, self._waiting).seq, None)

    def _fail(self, entry: Entry, content: Mapping[str, Any]) -> None:
        self._failed[entry.seq] = self._close(entry, self._waiting).seq
        self._unreviewed.add(entry.seq)

    def _halt(self, entry: Entry, content: Mapping[str, Any]) -> None:
        self._unreviewed.add(entry.seq)

    def _alarm(self, entry: Entry, content: Mapping[str, Any]) -> None:
        series = content["series"]
        charged = self._asked is not None and series in self._asked
        if not charged and self.account.outcome(series, before=entry.seq) is None:
            raise Wrong("it is the alarm of a series that was not charged")

    def _review(self, entry: Entry, content: Mapping[str, Any]) -> None:
        if entry.closes not in self._unreviewed:
            raise Wrong(f"it reviews entry {entry.closes}, which waits for none")
        self._unreviewed.remove(entry.closes)
        if entry.closes in self._failed:  # what gives the spend back closes the review
            self._failed[entry.seq] = self._close(entry, self._failed).seq

    def _void(self, entry: Entry, content: Mapping[str, Any]) -> None:
        among = self._waiting if entry.closes in self._waiting else self._failed
        reserved = self._close(entry, among)
        self._unreviewed.discard(int(entry.closes or 0))
        if content["reserve"] != reserved.seq:
            raise Wrong("it gives back another spend than it closes")
        if self._asked is not None:
            del self._asked[reserved.digest]
        self._open.pop(reserved.seq, None)
        asked = reserved.content
        price, analyst = guarantee(asked["price"]), reserved.analyst
        self._count(analyst, price, -1)
        self._move_ball(reserved, asked, price, -1)
        share = self._share(analyst)
        located, own = _located(asked, content.get("located"))
        everybody = [term for counted in self._terms.values() for term in +counted]
        mine = list(+self._terms.get(analyst, Counter()))
        self.spent = _given_back(self.spent, price, located, everybody, reserved.seq)
        left = _given_back(share.spent, price, own, mine, reserved.seq)
        self.shares[analyst] = AnalystAccount(left, share.budget)

    def _close(self, entry: Entry, among: dict[int, int]) -> Entry:
        seq = among.pop(int(entry.closes or 0), None)
        reserved = None
        if seq is not None:
            reserved = self._open.get(seq) or self.account.entry(seq)
        if reserved is None or reserved.digest != entry.digest:
            raise Wrong(f"it closes entry {entry.closes}, which is not open for it")
        return reserved

    def _count(self, analyst: str, price: Guarantee, step: int) -> None:
        for _, term in terms_of(price):
            self._terms.setdefault(analyst, Counter())[term] += step

    def _move_ball(
        self, entry: Entry, content: Mapping[str, Any], price: Guarantee, step: int
    ) -> None:
        if content["location"] is not None:
            ball = Ball.of(content["location"], price, entry.analyst, entry.seq)
            self.balls = (self.balls + step * fingerprint(ball)) % _MODULUS
            self.for_some = self.for_some or not ball.everyone

    def _share(self, analyst: str) -> AnalystAccount:
        return self.shares.get(analyst, AnalystAccount(Account(unit=self.spent.unit), None))

    # The end

    def differs(self, snapshot: AccountSnapshot) -> str:
        """Say where the stored sums differ from the entries, or nothing."""
        if (self.seq, self.head) != (snapshot.seq, snapshot.head):
            return f"the account ends at entry {snapshot.seq}, but the entries end at {self.seq}"
        if (self._budget, self._policy) != (snapshot.budget, snapshot.policy):
            return "the stored promise is not the one the entries say"
        if self._closure != snapshot.closure:
            return "whether the account is closed for good is not what the entries say"
        if len(self._unreviewed) != snapshot.failures:
            return "the stored number of failures to review is not the one the entries say"
        if self.spent != snapshot.spent:
            return "the dataset's stored sums are not what the entries add up to"
        for analyst in sorted({*self.shares, *snapshot.shares}):
            if self.shares.get(analyst) != snapshot.shares.get(analyst):
                return f"the stored sums of analyst {analyst!r} are not what the entries add up to"
        unreviewed = {seq for closed, seq in self._failed.items() if closed in self._unreviewed}
        if self.account.open_reservations() != unreviewed.union(self._waiting):
            return "the stored list of spends without an answer is not the one the entries say"
        if self.account.all_terms() != self.state()["terms"]:
            return "the stored terms of the promises are not those the entries say"
        return ""


_STEPS: dict[str, Callable[[Replay, Entry, Mapping[str, Any]], None]] = {
    "open": Replay._register,
    "amend": Replay._amend,
    "data": Replay._data,
    "allow": Replay._allow,
    "reserve": Replay._reserve,
    "settle": Replay._settle,
    "fail": Replay._fail,
    "void": Replay._void,
    "halt": Replay._halt,
    "alarm": Replay._alarm,
    "review": Replay._review,
    "checkpoint": Replay._checkpoint,
    "closure": Replay._close_for_good,
}


def _located(asked: Mapping[str, Any], costs: Any) -> tuple[Located | None, Located | None]:
    """Read what balls cost, the dataset's and the analyst's, where a question has a place."""
    if asked["location"] is None:
        return None, None
    return Located.from_json(costs["dataset"]), Located.from_json(costs["analyst"])


def _in_force(spent: Account, content: Mapping[str, Any], seq: int) -> tuple[Account, Budget]:
    """Return an account and the budget that an entry puts in force."""
    try:
        named = Budget.of(content)
        counting, budget = in_force(spent, named, seq)
    except AccountConflict as refused:
        raise Wrong(f"it counts by what is spent: {refused}") from None
    if budget != named:
        raise Wrong("it stops counting by either rule")
    return counting, budget


def _given_back(
    account: Account, price: Guarantee, located: Located | None, terms: list[str], seq: int
) -> Account:
    less = None if located is None else Located()
    left = account.without_release(price, less, *joint_terms(terms), seq)
    return left if located is None else replace(left, located=located)


def fingerprint(ball: Ball) -> int:
    """A number for a ball; the sum over all balls tells whether any was changed."""
    content = [ball.seq, ball.analyst, ball.everyone, str(ball.epsilon), ball.location]
    return int.from_bytes(hashlib.sha256(canonical(content).encode("ascii")).digest(), "big")


# What a store lacks that an older version wrote: what entries imply, and closures

_DERIVED = "0003"  # the version from which on a store has what is derived from its entries

_CLOSED = "0005"
"""The version from which on an account that lost entries is closed by an entry of its own."""


def rebuild_all(session: Session, geometry: Geometry, older: str) -> None:
    """Rebuild every account of a store of an older version, in the transaction that migrates it."""
    for dataset in names(session):
        account = AccountTransaction(session, dataset)
        if older < _DERIVED:
            _rebuild(account, geometry)
        if older < _CLOSED:
            _close_lost(account)


def _close_lost(account: AccountTransaction) -> None:
    """Close what an older version gave a budget of 0 when its entries were lost in a restore."""
    for entry in account.some_entries(kind="amend"):
        content = entry.content
        lost = str(content.get("reason", "")).startswith("entries were lost: ")
        if lost and "budget" in content and Budget.of(content["budget"]) == Budget.of("0"):
            close(account, {"reason": content["reason"]})


def _rebuild(account: AccountTransaction, geometry: Geometry) -> None:
    """Fill the tables of open reservations, terms and balls from an account's entries.

    The sums too are made anew: version 0.1 rounded odd fractions up in another place than today's
    check, which would not find them. They become no larger by it.
    """
    index = SpatialIndex(account.session, account.id, geometry)
    standing = {}
    waiting: dict[int, int] = {}
    failed: dict[int, int] = {}
    for entry in account.entries():
        if entry.kind == "reserve":
            standing[entry.seq] = entry
            waiting[entry.seq] = entry.seq
        elif entry.kind == "settle":
            del waiting[int(entry.closes or 0)]
        elif entry.kind == "review":
            waiting.pop(failed.get(int(entry.closes or 0), 0), None)
        elif entry.kind == "fail":
            failed[entry.seq] = int(entry.closes or 0)
        elif entry.kind == "void":
            seq = entry.content["reserve"]
            del standing[seq]
            waiting.pop(seq, None)
    for seq in waiting:
        account.open_reservation(seq)
    for seq, entry in standing.items():
        content = entry.content
        price = guarantee(content["price"])
        account.add_terms(entry.analyst, price)
        if content["location"] is not None:
            if isinstance(geometry, AddUp):
                raise LedgerUnusable(
                    "The ledger was written by an older version of whitecrow and keeps places; "
                    "open it once with a curator or with 'whitecrow ledger show'."
                )
            ball = Ball.of(content["location"], price, entry.analyst, seq)
            index.add(ball, index.weigh(ball))
    replay = Replay(account)
    try:
        for entry in account.entries():
            replay.take(entry)
    except Wrong:  # as it was found: a check says which entry
        return
    account.spent = replay.spent
    account.write_sums()
    for analyst, share in replay.shares.items():
        account.write_share(analyst, share)

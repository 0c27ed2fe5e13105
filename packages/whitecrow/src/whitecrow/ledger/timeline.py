"""What happened to a dataset, in order: revisions, promises, publications, alarms, and the budget.

Everything is read from the chain. A custodian or an auditor sees all of it. An analyst sees what is
public (revisions and the dataset's promise, without the custodian's words) and their own part: how
often and when others asked is not theirs to know, not even by how long it takes to look.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from whitecrow.ledger.account import Account, Entry, Located
from whitecrow.ledger.acts import acts_of
from whitecrow.ledger.revisions import INSERT_ONLY
from whitecrow.ledger.store import Ledger
from whitecrow.ledger.transaction import AccountTransaction
from whitecrow.ledger.verification import newest_checkpoint
from whitecrow.privacy import guarantee
from whitecrow.terms import COVERS, LINES, Budget

LASTING = ("learn", "monitor", "profile", "publish")
"""Questions whose answers are looked at long afterwards: they are events of their own."""

MOST_POINTS = 400
_MOST_WALKED = 20_000  # an account with more entries is drawn from its newest checkpoint on


@dataclass(frozen=True)
class Event:
    """Something that happened."""

    at: str  # when, in UTC
    kind: str
    says: str  # what, in words
    # analyst, reason, actor: Whom it concerns; why, and who acted. Empty for those who may not
    # know.
    analyst: str = ""
    reason: str = ""
    actor: str = ""

    def to_json(self) -> dict[str, str]:
        return {name: value for name, value in vars(self).items() if value}


@dataclass(frozen=True)
class Point:
    """A budget at a moment: by line, None where no finite bound holds."""

    at: str
    amounts: dict[str, Fraction | None]

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object; amounts are exact fractions as text."""
        amounts = {
            line: None if amount is None else str(amount) for line, amount in self.amounts.items()
        }
        return {"at": self.at, **amounts}


@dataclass(frozen=True)
class Timeline:
    """The history of a dataset as one person may see it."""

    dataset: str
    events: tuple[Event, ...]  # the oldest first
    # spent, budget: What was spent after each spend (an analyst's own, or everybody's), and the
    # cap.
    spent: tuple[Point, ...]
    budget: tuple[Point, ...]
    whole: bool = True  # whether ``spent`` begins with the account

    def to_json(self) -> dict[str, Any]:
        return {
            **vars(self),
            "events": [event.to_json() for event in self.events],
            "spent": [point.to_json() for point in self.spent],
            "budget": [point.to_json() for point in self.budget],
        }


def timeline(ledger: Ledger, dataset: str, *, analyst: str | None = None) -> Timeline:
    """Return the history of a dataset.

    For an analyst, others' questions and the custodian's words are left out.
    """
    return ledger.read(dataset, lambda account: _told(account, analyst))


def _told(account: AccountTransaction, analyst: str | None) -> Timeline:
    acts = [entry for entry in acts_of(account, *_ACTS) if entry.told]
    caps = [
        (entry.at, Budget.of(entry.content["budget"]))
        for entry in acts
        if entry.kind in ("open", "amend", "closure") and "budget" in entry.content
    ]
    start, walked = _walked(account, analyst)
    asked = [entry for entry in walked if entry.kind == "reserve"]
    curve = _curve(start, walked, analyst, caps[-1][1].delta if caps else Fraction(0))
    events = sorted(
        (
            *(event for entry in (*acts, *asked) for event in _events(entry, analyst)),
            *_broken(start, walked, analyst),
        ),
        key=lambda event: event.at,
    )
    budget = [Point(at, {line: cap.cap(line) for line in LINES}) for at, cap in caps]
    return Timeline(
        account.name,
        tuple(events),
        _thinned(curve),
        tuple(budget),
        start == Account(unit=start.unit),
    )


def _walked(account: AccountTransaction, analyst: str | None) -> tuple[Account, list[Entry]]:
    """Return the spends and what gave them back, and what was spent before the first of them."""
    unit = account.spent.unit
    if analyst is not None:
        moves = [
            entry
            for kind in ("reserve", "void", "allow")
            for entry in account.some_entries(analyst=analyst, kind=kind)
        ]
        return Account(unit=unit), sorted(moves, key=lambda entry: entry.seq)
    start, after = Account(unit=unit), 0
    if account.seq > _MOST_WALKED:
        checkpoint = newest_checkpoint(account)
        if checkpoint is not None:
            start, after = Account.from_json(checkpoint.content["state"]["spent"]), checkpoint.seq
    return start, [entry for entry in account.entries(after) if entry.kind in _MOVES]


_ACTS = ("open", "amend", "data", "alarm", "halt", "closure")
_MOVES = ("reserve", "void", "open", "amend")
"""What changes the sums of an account, or how they are counted."""


def _curve(
    start: Account, moves: Sequence[Entry], analyst: str | None, delta: Fraction
) -> Iterator[Point]:
    """What was spent after each spend and after each that was given back."""
    whose = "dataset" if analyst is None else "analyst"
    reserved = {entry.seq: entry for entry in moves if entry.kind == "reserve"}
    spent = start
    for entry in moves:
        content = entry.content
        if entry.kind not in ("reserve", "void"):
            if content.get("budget") is not None:
                spent = spent.counting(Budget.of(content["budget"]), entry.seq)
            continue
        if entry.kind == "reserve":
            extra = None
            if content["location"] is not None:
                extra = Located.from_json(content["extra"][whose])
            spent = spent.with_release(guarantee(content["price"]), extra)
        elif (asked := reserved.get(content["reserve"])) is not None:
            price = guarantee(asked.content["price"])
            located = content["located"]
            less = None if located is None else Located()
            terms = spent.zones, spent.conditions
            spent = spent.without_release(price, less, *terms, content["reserve"])
            if located is not None:
                spent = replace(spent, located=Located.from_json(located[whose]))
        yield Point(entry.at, {line: spent.spent(line, delta) for line in LINES})


def _broken(start: Account, moves: Sequence[Entry], analyst: str | None) -> Iterator[Event]:
    """Say which questions ended a guarantee: it does not cover all answers together any more."""
    weaker: dict[str, set[int]] = {line: {0} if start.unbounded(line) else set() for line in LINES}
    for entry in moves:
        content = entry.content
        if entry.kind == "void":
            for standing in weaker.values():
                standing.discard(content["reserve"])
        if entry.kind != "reserve":
            continue
        alone = Account(unit=start.unit).with_release(guarantee(content["price"]))
        for line in (line for line in LINES if alone.unbounded(line)):
            kind = content["question"]["kind"]
            says, whose = f"the guarantee for {COVERS[line]} ended: {kind} covers fewer", ""
            if analyst is None:  # the numbers of entries count other people's questions
                says, whose = f"{says} (entry {entry.seq})", entry.analyst
            if not weaker[line]:
                yield Event(entry.at, "broken", says, whose)
            weaker[line].add(entry.seq)


def _thinned(points: Iterable[Point]) -> tuple[Point, ...]:
    curve = list(points)
    step = -(-len(curve) // MOST_POINTS) or 1
    return tuple(curve[::-1][::step][::-1])


def _events(entry: Entry, analyst: str | None) -> Iterator[Event]:
    """Say what an entry tells, to whoever may know."""
    content, mine = entry.content, analyst in (None, entry.analyst)
    words: dict[str, str] = {}
    if analyst is None:  # a reason may speak of records
        words = {"reason": str(content.get("reason", "")), "actor": str(content.get("actor", ""))}
        words["analyst"] = entry.analyst
    data = content.get("data")
    if entry.kind == "open":
        yield Event(entry.at, "opened", "the account was opened", **words)
    if data is not None:
        yield _revision(entry.at, data, words)
    elif entry.kind == "amend" and not {"budget", "policy", "card"}.isdisjoint(content):
        changed = [name for name in ("budget", "policy", "card") if name in content]
        yield Event(entry.at, "promise", f"promised anew: {', '.join(changed)}", **words)
    elif entry.kind == "alarm" and mine:
        yield Event(entry.at, "alarm", f"{content['period']}: {content['says']}", **words)
    elif entry.kind == "closure":
        says = "entries were lost in a restore; the account is closed for good"
        yield Event(entry.at, "closed", says, **words)
    elif entry.kind == "halt" and analyst is None:
        yield Event(entry.at, "closed", "an update failed; the dataset was closed", **words)
    elif entry.kind == "reserve" and mine:
        kind = content["question"]["kind"]
        if kind in LASTING:
            yield Event(entry.at, "publication", f"{kind} was asked", **words)


def _revision(at: str, data: dict[str, Any], words: dict[str, str]) -> Event:
    number = data["revision"]
    if "fingerprint" not in data:
        text = f"revision {number}: declared that records are only added from here on"
        return Event(at, "declared", text, **words)
    text = f"revision {number} of the records"
    if data.get("growth") == INSERT_ONLY:
        text += ", declared insert-only"
        if data["since"] != number:
            text += f": records were only added since revision {data['since']}"
    return Event(at, "revision", text, **words)

"""What each role is shown of a dataset and its account."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from whitecrow.card import Card
from whitecrow.ledger import AccountSnapshot, Entry
from whitecrow.terms import Policy
from whitecrow_server._catalogue import Listing
from whitecrow_server._curator_pool import CHANGED, State
from whitecrow_server._people import Person


def line(listing: Listing, state: State) -> dict[str, Any]:
    found = {"name": listing.name, "ready": state.stage == "ready"}
    return {**found, "state": CHANGED} if state.stage == "changed" else found


def card(listing: Listing, state: State) -> Card | None:
    """The public facts: those written down, else those of the schema once it is read."""
    if listing.card is not None:
        return listing.card
    return None if state.curator is None else state.curator.card


def policy(rules: Policy, who: Person) -> dict[str, Any]:
    """The policy; an analyst sees of its list of analysts only what concerns them."""
    found = rules.to_json()
    if who.role == "analyst" and "analysts" in found:
        mine = found["analysts"].get(who.name, found["analysts"].get("*", []))
        found["analysts"] = {who.name: mine}
    return found


def balance(snapshot: AccountSnapshot, analyst: str) -> dict[str, Any]:
    """What was spent of the dataset's budget, and what remains for one more question."""
    mine, left = snapshot.shares.get(analyst), snapshot.remaining(analyst)
    return {
        "budget": snapshot.budget.to_json(),
        "allowance": None if mine is None or mine.budget is None else mine.budget.to_json(),
        "spent": snapshot.spent.shown(snapshot.budget),
        "remaining": left.to_json(),
        "unbounded": list(left.unbounded),
    }


def shares(snapshot: AccountSnapshot) -> dict[str, Any]:
    """Every analyst's own account, for custodians and auditors."""
    return {
        analyst: {
            "allowance": None if share.budget is None else share.budget.to_json(),
            "spent": share.spent.shown(share.budget or snapshot.budget),
        }
        for analyst, share in snapshot.shares.items()
    }


def own(history: Iterable[tuple[Entry, Entry | None]]) -> list[dict[str, Any]]:
    """An analyst's own questions and what became of them, in the order given.

    No entry numbers, hashes or located costs: numbers would count other people's questions, hashes
    would let a guess at them be checked, and located costs depend on where they lie.
    """
    outcomes = {"settle": "answered", "fail": "failed", "void": "void"}
    found = []
    for reserved, closed in history:
        content = reserved.content
        asked = content["question"]
        found.append(
            {
                "at": reserved.at,
                "question": {"kind": asked["kind"], **asked["question"]},
                "price": content["price"],
                "outcome": "open" if closed is None else outcomes[closed.kind],
                "answer": None if closed is None else closed.content.get("answer"),
                # Whoever else could have asked it in this analyst's name.
                "acting": content.get("actor", ""),
            }
        )
    return found

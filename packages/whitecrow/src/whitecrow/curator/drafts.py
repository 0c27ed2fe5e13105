"""Cards that a profile drafted: a custodian edits and accepts them, and the chain keeps that."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from whitecrow.data import Card
from whitecrow.errors import InvalidInput
from whitecrow.histogram.table import PROFILE_FORM, TableProfile
from whitecrow.ledger import Entry, Ledger
from whitecrow.ledger.transaction import AccountTransaction

_BOUGHT = "priced question"


@dataclass(frozen=True)
class Draft:
    """A profile that was released, and the card it drafted."""

    profile: TableProfile
    # at, analyst: When it was released, and who asked for it.
    at: str
    analyst: str

    def to_json(self) -> dict[str, Any]:
        return {
            "draft": self.profile.draft(),
            "at": self.at,
            "analyst": self.analyst,
            "records": self.profile.records,
            "statement": self.profile.statement,
        }


@dataclass(frozen=True)
class Accepted:
    """A card that may be put in force."""

    card: Card
    # The columns whose lines differ from what was bought; they are the custodian's word now.
    edited: tuple[str, ...]
    entry: str  # which profile drafted it

    def reason(self, more: str = "") -> str:
        """Say for the chain what was accepted, and what the custodian added to that."""
        words = f"Accepted the card that profile {self.entry} drafted"
        if self.edited:
            words += f", edited: {', '.join(self.edited)}"
        return f"{words}. {more}".strip()


def accept_draft(
    draft: TableProfile | Mapping[str, Any] | str, ledger: Ledger, account: str, *, reason: str = ""
) -> Accepted:
    """Accept a draft, as JSON or TOML whose lines may have been edited; the chain keeps that."""
    accepted = reviewed(draft, ledger, account)
    ledger.amend(account, reason=accepted.reason(reason), card=accepted.card.to_json())
    return accepted


def reviewed(
    draft: TableProfile | Mapping[str, Any] | str, ledger: Ledger, account: str
) -> Accepted:
    """Compare a draft with the profile that was paid for; nothing is written yet."""
    if isinstance(draft, TableProfile):
        drafted = draft.draft()
    elif isinstance(draft, Mapping):
        drafted = dict(draft)
    else:
        try:
            drafted = tomllib.loads(draft)
        except tomllib.TOMLDecodeError as error:
            raise InvalidInput(f"The draft is not valid TOML: {error}.") from None
    entry = drafted.pop("draft", None)
    if not isinstance(entry, str):
        raise InvalidInput("This card is no draft, so there is nothing to accept.")
    profile = released_profile(ledger, account, entry)
    bought = {column.name: column for column in profile.card().columns}
    card, columns, edited = Card.from_json(drafted), [], []
    for column in card.columns:
        if column != bought.get(column.name):
            edited.append(column.name)
            if column.source == _BOUGHT:  # a line that was changed is no longer what was bought
                column = replace(column, source="expert")
        columns.append(column)
    return Accepted(replace(card, columns=tuple(columns)), tuple(edited), entry)


def drafts(
    ledger: Ledger, account: str, *, analyst: str | None = None, limit: int = 20
) -> list[Draft]:
    """Return the profiles of an account, or those that one analyst asked for, the newest first."""
    profiles = _profiles(ledger, account, PROFILE_FORM, analyst=analyst)
    return [Draft(profile, entry.at, entry.analyst) for entry, profile in profiles[:limit]]


def released_profile(ledger: Ledger, account: str, entry: str) -> TableProfile:
    """Return the profile of an account that an entry, named by its digest, released."""
    # What is no digest cannot be looked for: it would be a pattern.
    for _, profile in _profiles(ledger, account, entry) if entry.isalnum() else ():
        if profile.entry == entry:
            return profile
    raise InvalidInput(
        f"No profile of the account {account!r} drafted this card: the ledger has none with the "
        f"entry {entry[:80]!r}. Name the ledger in which it was paid for."
    )


def _profiles(
    ledger: Ledger, account: str, word: str, *, analyst: str | None = None
) -> list[tuple[Entry, TableProfile]]:
    """Profiles among the answers that may be told and hold a word: the database looks for it."""

    def peek(transaction: AccountTransaction) -> list[Entry]:
        if analyst is None:
            return transaction.some_entries(newest_first=True, kind="settle", holding=word)
        asked = transaction.some_entries(
            newest_first=True, kind="reserve", analyst=analyst, holding='"kind":"profile"'
        )
        answers = [entry for entry in transaction.last_words(asked) if entry and word in entry.body]
        return sorted(answers, key=lambda entry: entry.seq, reverse=True)

    answers = ((entry, entry.content.get("answer")) for entry in ledger.read(account, peek))
    return [
        (entry, TableProfile.from_json(answer))
        for entry, answer in answers
        if isinstance(answer, Mapping) and answer.get("form") == PROFILE_FORM and entry.told
    ]

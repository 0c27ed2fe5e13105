"""Cards that a profile drafted: a custodian edits and accepts them, and the chain keeps that."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from whitecrow.data import Card, Column
from whitecrow.errors import InvalidInput
from whitecrow.histogram.table import TableProfile
from whitecrow.ledger import Ledger

__all__ = ["Accepted", "accept_draft"]

_BOUGHT = "priced question"


@dataclass(frozen=True)
class Accepted:
    """A card that is in force.

    Parameters
    ----------
    card : Card
    edited : tuple of str
        The columns whose lines differ from what was bought; they are the custodian's word now.
    """

    card: Card
    edited: tuple[str, ...]


def accept_draft(written: str, ledger: Ledger, account: str, *, reason: str = "") -> Accepted:
    """Accept a drafted card and write that into the account's chain.

    Parameters
    ----------
    written : str
        The draft, as TOML; its lines may have been edited.
    ledger : Ledger
        Where the profile was paid for.
    account : str
        Whose account.
    reason : str, optional
        Why it is accepted, or what was changed.

    Raises
    ------
    InvalidInput
        It is no draft, or no profile of this account drafted it.
    """
    try:
        said: dict[str, Any] = tomllib.loads(written)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"The draft is not valid TOML: {error}.") from None
    entry = said.pop("draft", None)
    if not isinstance(entry, str):
        raise InvalidInput("This card is no draft, so there is nothing to accept.")
    bought = {column.name: column for column in _released(ledger, account, entry).card().columns}
    card = Card.from_json(said)
    edited = tuple(column.name for column in card.columns if column != bought.get(column.name))
    card = replace(card, columns=tuple(_owned(column, edited) for column in card.columns))
    words = f"Accepted the card that profile {entry} drafted"
    if edited:
        words += f", edited: {', '.join(edited)}"
    ledger.amend(account, reason=f"{words}. {reason}".strip(), card=card.to_json())
    return Accepted(card, edited)


def _owned(column: Column, edited: tuple[str, ...]) -> Column:
    """A line that was changed is no longer what was bought."""
    if column.name in edited and column.source == _BOUGHT:
        return replace(column, source="expert")
    return column


def _released(ledger: Ledger, account: str, entry: str) -> TableProfile:
    for settled in ledger.entries(account, newest_first=True, kind="settle"):
        answer = settled.content.get("answer")
        if isinstance(answer, Mapping) and answer.get("entry") == entry and "form" in answer:
            return TableProfile.from_json(answer)
    raise InvalidInput(
        f"No profile of the account {account!r} drafted this card: the ledger has none with the "
        f"entry {entry!r}. Name the ledger in which it was paid for."
    )

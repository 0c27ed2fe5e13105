"""What both formats share: what was carried, what was not, and reading untrusted JSON."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from whitecrow.card import Card, Column
from whitecrow.errors import InvalidInput

SOURCE = "public data"
"""Where the limits of an imported card come from: whoever published the metadata."""

_EXPORTED_ALWAYS = ("name", "type", "columns")
_CARD = Card("default", (Column("default"),))
_COLUMN = Column("default", source=SOURCE)

T = TypeVar("T")


@dataclass(frozen=True)
class Carried(Generic[T]):
    """The result of an import or export, and what the other side has no place for, in words."""

    result: T
    lost: tuple[str, ...]


@dataclass
class Losses:
    """Collects what is not carried: by what it is, where it stood."""

    where: dict[str, list[str]] = field(default_factory=dict)

    def add(self, what: str, column: str = "") -> None:
        """Note one thing that is not carried."""
        self.where.setdefault(what, []).append(column)

    def words(self) -> tuple[str, ...]:
        """One line for each thing, with the columns that had it."""
        named = {what: [name for name in columns if name] for what, columns in self.where.items()}
        return tuple(
            f"{what} ({', '.join(dict.fromkeys(columns))})" if columns else what
            for what, columns in sorted(named.items())
        )


def losses_of(card: Card, *, carried: set[str]) -> Losses:
    """Return what a card says beyond its names and types and the keys that are carried."""
    lost = Losses()
    for key in _stated(card, _CARD) - carried:
        lost.add(key)
    for column in card.columns:
        for key in _stated(column, _COLUMN) - carried:
            lost.add(key, column.name)
    return lost


def _stated(given: Card | Column, default: Card | Column) -> set[str]:
    usual = vars(default)
    told = {key for key, value in vars(given).items() if key in usual and value != usual[key]}
    return told.difference(_EXPORTED_ALWAYS)


def day_text(column: Column, value: float | str) -> float | str:
    """Write a value of a column: a date as ISO text, others as they are."""
    if column.type != "date" or isinstance(value, str):
        return value
    return (datetime.date(1970, 1, 1) + datetime.timedelta(days=int(value))).isoformat()


def parsed(text: str) -> Mapping[str, Any]:
    """Read a JSON object.

    Raises
    ------
    InvalidInput
        It is none.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise InvalidInput("The metadata are not a JSON object; give a CSVW or a Croissant file.")
    return content


def objects(value: object, what: str) -> list[Mapping[str, Any]]:
    """Return a list of objects; one object alone stands for a list of one."""
    listed: list[Any] = value if isinstance(value, list) else [value]
    if not all(isinstance(entry, dict) for entry in listed):
        raise InvalidInput(f"{what} of the metadata must be an object or a list of objects.")
    return listed


def texts(value: object) -> list[str]:
    """Return the texts that a property holds: one, a list, or by language."""
    if isinstance(value, dict):
        value = value.get("und", next(iter(value.values()), []))
    listed = value if isinstance(value, list) else [value]
    return [entry for entry in listed if isinstance(entry, str)]

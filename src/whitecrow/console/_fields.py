"""Fields of a form, and reading what was typed into them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from whitecrow.console._site import Form
from whitecrow.data import Card, Column
from whitecrow.errors import InvalidInput

__all__ = [
    "Field",
    "Group",
    "choices",
    "decimal",
    "given",
    "record",
    "record_fields",
    "whole",
]


@dataclass(frozen=True)
class Field:
    """One field.

    Parameters
    ----------
    name, label : str
        What it is called, by the form and by people.
    help : str
        What to write there.
    type : str
        ``text``, ``number``, ``date``, ``select`` or ``checks`` (several boxes).
    options : tuple
        Value and words, for ``select`` and ``checks``.
    default : str
        What stands there at first.
    required : bool
        Whether it must be filled in.
    wide : bool
        Whether it takes a whole line.
    """

    name: str
    label: str
    help: str = ""
    type: str = "text"
    options: tuple[tuple[str, str], ...] = ()
    default: str = ""
    required: bool = False
    wide: bool = False


@dataclass(frozen=True)
class Group:
    """Fields that belong together; ``folded`` ones are for those who look."""

    legend: str
    fields: tuple[Field, ...]
    help: str = ""
    folded: bool = False


def choices(values: Iterable[str], first: str = "") -> tuple[tuple[str, str], ...]:
    """Options whose words are their values; ``first`` names the empty one."""
    found = tuple((value, value) for value in values)
    return (("", first), *found) if first else found


# What was typed


def given(form: Form, name: str, label: str) -> str:
    """A field that must not be empty."""
    found = form.one(name)
    if not found:
        raise InvalidInput(f"{label}: this is missing.")
    return found


def whole(text: str, label: str) -> int:
    """A whole number."""
    try:
        return int(text)
    except ValueError:
        raise InvalidInput(f"{label}: write a whole number, not {text[:50]!r}.") from None


def decimal(text: str, label: str) -> int | float:
    """A number: whole if it is written so."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        found = float(text)
    except ValueError:
        found = float("nan")
    if found - found != 0:  # neither infinities nor what is no number
        raise InvalidInput(f"{label}: write a number, not {text[:50]!r}.")
    return found


# Records


def record_fields(card: Card) -> tuple[Field, ...]:
    """A field for each column that a record may have a value of."""
    return tuple(_field(column) for column in card.columns if column.type != "text")


def _field(column: Column) -> Field:
    name = f"record.{column.name}"
    if column.categories is not None:
        return Field(name, column.name, type="select", options=choices(column.categories, "–"))
    if column.type == "date":
        return Field(name, column.name, type="date")
    help = ""
    if column.lower is not None and column.upper is not None:
        help = f"{column.lower:g} to {column.upper:g}"
    return Field(name, column.name, help, type="number")


def record(form: Form, card: Card) -> dict[str, Any]:
    """The record that was described: columns left empty are left out."""
    found: dict[str, Any] = {}
    for column in card.columns:
        text = form.one(f"record.{column.name}")
        if not text:
            continue
        numeric = column.type in ("number", "integer")
        found[column.name] = decimal(text, column.name) if numeric else text
    if not found:
        raise InvalidInput("Describe the record: at least one column needs a value.")
    return found

"""Fields of a form, and reading what was typed into them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from whitecrow.data import Card, Column
from whitecrow.errors import InvalidInput
from whitecrow_server.console._site import Form


@dataclass(frozen=True)
class Field:
    """One field."""

    # name, label: What it is called, by the form and by people.
    name: str
    label: str
    help: str = ""  # what to write there
    # ``text``, ``number``, ``date``, ``password``, ``select`` or ``checks`` (several boxes).
    type: str = "text"
    options: tuple[tuple[str, str], ...] = ()  # value and words, for ``select`` and ``checks``
    default: str = ""  # what stands there at first
    required: bool = False  # whether it must be filled in
    wide: bool = False  # whether it takes a whole line


@dataclass(frozen=True)
class Group:
    """Fields that belong together; ``folded`` ones are for those who look."""

    legend: str
    fields: tuple[Field, ...]
    help: str = ""
    folded: bool = False

    def changed(self, typed: Form) -> bool:
        """Whether something other than the defaults was typed: then a fold stands open."""
        return any(
            typed.all(field.name)
            if field.type == "checks"
            else typed.one(field.name, field.default) != field.default
            for field in self.fields
        )


def choices(values: Iterable[str], first: str = "") -> tuple[tuple[str, str], ...]:
    """Options whose words are their values; ``first`` names the empty one."""
    found = tuple((value, value) for value in values)
    return (("", first), *found) if first else found


# What is wrong, and where


_PARAMETER = re.compile(r"^The '([^']+)' parameter of .+?(?= must )")
_MISSING = re.compile(r"^\w+ needs '([^']+)'(?=: )")


def labels_of(groups: Iterable[Group]) -> dict[str, str]:
    return {field.name: field.label for group in groups for field in group.fields}


def mistake(error: Exception, labels: Mapping[str, str]) -> dict[str, str]:
    """What a page shows of an error: the words, in terms of its fields, and the field if it is one.

    Examples
    --------
    >>> from whitecrow.errors import invalid
    >>> mistake(invalid("Count", "beta", "at least 1", 0), {"beta": "Most neighbours"})
    {'wrong': 'Most neighbours must be at least 1. Got 0 instead.', 'wrong_at': 'beta'}
    >>> mistake(InvalidInput("The two differ."), {})
    {'wrong': 'The two differ.', 'wrong_at': ''}
    """
    words, named = str(error), getattr(error, "parameter", "")
    at = next((name for name in (named, f"record.{named}") if name in labels), "")
    if at:
        for pattern, instead in ((_PARAMETER, labels[at]), (_MISSING, f"{labels[at]} is missing")):
            found = pattern.match(words)
            if found is not None and found[1] == named:
                words = f"{instead}{words[found.end() :]}"
    return {"wrong": words, "wrong_at": at}


# What was typed


def given(form: Form, name: str, label: str) -> str:
    """A field that must not be empty."""
    found = form.one(name)
    if not found:
        raise InvalidInput(f"{label}: this is missing.", parameter=name)
    return found


def whole(text: str, label: str, name: str = "") -> int:
    """A whole number; ``name`` is its field."""
    try:
        return int(text)
    except ValueError:
        raise InvalidInput(
            f"{label}: write a whole number, not {text[:50]!r}.", parameter=name
        ) from None


def decimal(text: str, label: str, name: str = "") -> int | float:
    """A number: whole if it is written so; ``name`` is its field."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        found = float(text)
    except ValueError:
        found = float("nan")
    if found - found != 0:  # neither infinities nor what is no number
        raise InvalidInput(f"{label}: write a number, not {text[:50]!r}.", parameter=name)
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
        found[column.name] = decimal(text, column.name, column.name) if numeric else text
    if not found:
        raise InvalidInput(
            "Describe the record: at least one column needs a value.",
            parameter=next((c.name for c in card.columns if c.type != "text"), ""),
        )
    return found

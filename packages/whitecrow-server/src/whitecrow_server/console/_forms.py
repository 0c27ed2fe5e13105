"""Forms: fields, what was typed into them, and a form for every question by its declaration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from whitecrow.data import Card, Column
from whitecrow.declaration import Declared, Input, assembled, inputs
from whitecrow.errors import InvalidInput
from whitecrow.question import Question
from whitecrow_server.console._site import Form


@dataclass(frozen=True)
class Field:
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
    """Fields that belong together; ``folded`` ones start closed."""

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
    options = tuple((value, value) for value in values)
    return (("", first), *options) if first else options


def labels_of(groups: Iterable[Group]) -> dict[str, str]:
    return {field.name: field.label for group in groups for field in group.fields}


# What was typed


def given(form: Form, name: str, label: str) -> str:
    """A field that must not be empty."""
    text = form.one(name)
    if not text:
        raise InvalidInput(f"{label}: this is missing.", parameter=name)
    return text


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
        number = float(text)
    except ValueError:
        number = float("nan")
    if number - number != 0:  # neither infinities nor what is no number
        raise InvalidInput(f"{label}: write a number, not {text[:50]!r}.", parameter=name)
    return number


# Records


def _record_field(column: Column) -> Field:
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
    values: dict[str, Any] = {}
    for column in card.columns:
        text = form.one(f"record.{column.name}")
        if not text:
            continue
        numeric = column.type in ("number", "integer")
        values[column.name] = decimal(text, column.name, column.name) if numeric else text
    if not values:
        raise InvalidInput(
            "Describe the record: at least one column needs a value.",
            parameter=next((c.name for c in card.columns if c.type != "text"), ""),
        )
    return values


# Questions

_LEGENDS = {
    "question": ("What is asked", "", False),
    "model": (
        "What is an anomaly",
        "Choose these from expert knowledge or public data, never by looking at private records.",
        False,
    ),
    "price": ("Promise and price", "", False),
    "details": ("Details", "", True),
}
"""For each group of parameters: its legend, its help, and whether it is folded."""

_GUESSES = "It makes the expected error more telling. It changes nothing else."


def question_groups(question: type[Question], card: Card) -> Iterator[Group]:
    """Return the form of a question about a dataset with this card."""
    asked = [*inputs(question), *inputs(question.shortcuts)]
    for part in asked:
        if part.parameter.control == "record" and part.parameter.required:
            caveat = question.caveat or "Columns left empty are not compared."
            fields = tuple(_record_field(c) for c in card.columns if c.type != "text")
            yield Group("The record", fields, f"{part.parameter.help} {caveat}")
    for name, (legend, words, folded) in _LEGENDS.items():
        fields = tuple(
            _field(part, card)
            for part in asked
            if part.parameter.group == name and part.parameter.control not in ("record", "records")
        )
        if fields:
            yield Group(legend, fields, words, folded)
    names = {part.name for part in asked}
    guesses = tuple(_field(g, card) for g in inputs(question.guesses) if g.name not in names)
    if guesses:
        yield Group("A public guess (optional)", guesses, _GUESSES, folded=True)


def _field(entry: Input, card: Card) -> Field:
    parameter = entry.parameter
    default = "" if parameter.required else parameter.dump_default()
    declared: dict[str, Any] = {
        "name": entry.name,
        "label": parameter.label,
        "help": parameter.help,
        "required": entry.required,
        "default": "" if default is None else parameter.to_text(default),
    }
    if parameter.control == "flag":
        declared["default"] = str(default).lower()
        return Field(**declared, type="select", options=(("false", "no"), ("true", "yes")))
    if parameter.control == "names":
        return Field(**declared, type="checks", options=choices(_columns(entry, card)))
    if parameter.control == "select":
        named = getattr(parameter, "choices", None)
        options = tuple(named.items()) if named else choices(_columns(entry, card))
        optional = parameter.default is None and "" not in dict(options)
        empty = (("", "–"),) if optional else ()
        wide = any(len(words) > 40 for _, words in options)
        return Field(**declared, type="select", options=(*empty, *options), wide=wide)
    return Field(**declared, type="number" if parameter.control == "number" else "text")


def _columns(entry: Input, card: Card) -> list[str]:
    types: tuple[str, ...] = getattr(entry.parameter, "types", ())
    return [column.name for column in card.columns if not types or column.type in types]


def read_question_form(
    question: type[Question], form: Form, card: Card
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read what was typed: the question's JSON, and public guesses for its expected error."""
    typed = _typed(question, form, card)
    shortcuts = question.shortcuts.from_json(_typed(question.shortcuts, form, card))
    asked = shortcuts.expand(typed)
    question.from_json(asked)
    return asked, _typed(question.guesses, form, card)


def _typed(declared: type[Declared], form: Form, card: Card) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for entry in inputs(declared):
        parameter = entry.parameter
        if parameter.control == "record":
            # A series is opened here; records are asked about on its own page.
            given[entry.name] = record(form, card) if parameter.required else None
        elif parameter.control == "names":
            given[entry.name] = form.all(entry.name) or None
        elif text := form.one(entry.name):
            given[entry.name] = parameter.from_text(text, declared.__name__)
    return assembled(declared, given)

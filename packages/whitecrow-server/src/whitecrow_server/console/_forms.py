"""A form for every question, made from the question's declaration, and the reading of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from whitecrow.data import Card
from whitecrow.declaration import Declared, Input, assembled, inputs
from whitecrow.question import Question
from whitecrow_server.console._fields import Field, Group, choices, record, record_fields
from whitecrow_server.console._site import Form

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


@dataclass(frozen=True)
class Asked:
    """What a form describes: a question, and public guesses for its expected error."""

    question: dict[str, Any]
    public: dict[str, Any]


def question_groups(question: type[Question], card: Card) -> Iterator[Group]:
    """Return the form of a question about a dataset with this card."""
    asked = [*inputs(question), *inputs(question.shortcuts)]
    for one in asked:
        if one.parameter.control == "record" and one.parameter.required:
            caveat = question.caveat or "Columns left empty are not compared."
            yield Group("The record", record_fields(card), f"{one.parameter.help} {caveat}")
    for name, (legend, words, folded) in _LEGENDS.items():
        fields = tuple(
            _field(one, card)
            for one in asked
            if one.parameter.group == name and one.parameter.control not in ("record", "records")
        )
        if fields:
            yield Group(legend, fields, words, folded)
    known = {one.name for one in asked}
    guesses = tuple(_field(one, card) for one in inputs(question.guesses) if one.name not in known)
    if guesses:
        yield Group("A public guess (optional)", guesses, _GUESSES, folded=True)


def _field(one: Input, card: Card) -> Field:
    parameter = one.parameter
    default = "" if parameter.required else parameter.dump_default()
    found: dict[str, Any] = {
        "name": one.name,
        "label": parameter.label,
        "help": parameter.help,
        "required": one.required,
        "default": "" if default is None else parameter.to_text(default),
    }
    if parameter.control == "flag":
        found["default"] = str(default).lower()
        return Field(**found, type="select", options=(("false", "no"), ("true", "yes")))
    if parameter.control == "names":
        return Field(**found, type="checks", options=choices(_columns(one, card)))
    if parameter.control == "select":
        named = getattr(parameter, "choices", None)
        options = tuple(named.items()) if named else choices(_columns(one, card))
        optional = parameter.default is None and "" not in dict(options)
        empty = (("", "–"),) if optional else ()
        wide = any(len(words) > 40 for _, words in options)
        return Field(**found, type="select", options=(*empty, *options), wide=wide)
    return Field(**found, type="number" if parameter.control == "number" else "text")


def _columns(one: Input, card: Card) -> list[str]:
    types: tuple[str, ...] = getattr(one.parameter, "types", ())
    return [column.name for column in card.columns if not types or column.type in types]


def read_question_form(question: type[Question], form: Form, card: Card) -> Asked:
    """Read what was typed: the question's JSON and the public guesses."""
    typed = _typed(question, form, card)
    shortcuts = question.shortcuts.from_json(_typed(question.shortcuts, form, card))
    asked = shortcuts.expand(typed)
    question.from_json(asked)
    return Asked(asked, _typed(question.guesses, form, card))


def _typed(declared: type[Declared], form: Form, card: Card) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for one in inputs(declared):
        parameter = one.parameter
        if parameter.control == "record":
            # A series is opened here; records are asked about on its own page.
            given[one.name] = record(form, card) if parameter.required else None
        elif parameter.control == "names":
            given[one.name] = form.all(one.name) or None
        elif text := form.one(one.name):
            given[one.name] = parameter.from_text(text, declared.__name__)
    return assembled(declared, given)

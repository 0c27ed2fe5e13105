"""What a person is asked for: the parameters of a question, those of its parts included.

Terminals and forms have flat lists of inputs; a question has a model inside. Here the one becomes
the other: :func:`inputs` lists what to ask for, :func:`assembled` puts what was typed back
together as the question's JSON, :func:`typed` takes a question's JSON apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from whitecrow.declaration.declared import Declared
from whitecrow.declaration.parameter import Nested, Parameter


@dataclass(frozen=True)
class Input:
    """One thing to ask for."""

    name: str  # what the terminal and forms call it
    parameter: Parameter[Any, Any]  # what it is
    inside: str = ""  # the parameter that it is a part of; empty for one of the question's own
    # Whether it must be given; parts need not, where another object may be given instead.
    required: bool = False


def inputs(declared: type[Declared]) -> Iterator[Input]:
    """List what a person is asked for, in the declaration's order."""
    for name, parameter in declared.parameters.items():
        if not isinstance(parameter, Nested):
            yield Input(name, parameter, required=parameter.required)
            continue
        for part, one in parameter.parts.items():
            yield Input(part, one, name, one.required and not parameter.others)
        if parameter.others:
            yield Input(name, parameter)


def assembled(declared: type[Declared], given: Mapping[str, Any]) -> dict[str, Any]:
    """Put values by input name together as the JSON of the question; None is left out."""
    found: dict[str, Any] = {}
    for one in inputs(declared):
        value = given.get(one.name)
        if value is None:
            continue
        if one.inside:
            found.setdefault(one.inside, {})[one.name] = value
        elif one.name in found:  # an object of another class, with parts that were typed apart
            found[one.name] = {**value, **found[one.name]}
        else:
            found[one.name] = value
    return found


def typed(declared: type[Declared], written: Mapping[str, Any]) -> dict[str, tuple[Input, Any]]:
    """Take a question's JSON apart: for each input that it says, the value."""
    found = {}
    for one in inputs(declared):
        part = written.get(one.inside) if one.inside else written
        value = part.get(one.name) if isinstance(part, Mapping) else None
        if isinstance(one.parameter, Nested) and isinstance(value, Mapping):
            value = {key: each for key, each in value.items() if key not in one.parameter.parts}
        if value or value in (0, False):
            found[one.name] = (one, value)
    return found

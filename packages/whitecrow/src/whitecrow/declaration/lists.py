"""Parameters of several values: records, lists of numbers, lists of lists of names."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from typing import Any

from whitecrow.declaration.parameter import FARTHEST, Names, Parameter
from whitecrow.errors import InvalidInput, invalid

Value = int | float | str
"""A value of a record as JSON: a number, a category, or a date as ISO text."""


class Record(Parameter[Mapping[str, Value], Mapping[str, Any]]):
    """A record: columns and their values, in one canonical spelling."""

    control = "record"
    written = "mapping of column to value"

    def parse(self, value: object, owner: str) -> Mapping[str, Value]:
        return canonical(value, owner=owner, parameter=self.name)

    def dump(self, value: Mapping[str, Value]) -> dict[str, Value]:
        return dict(value)

    def schema(self) -> dict[str, Any]:
        values = {"type": ["string", "number", "boolean"]}
        return {"type": "object", "minProperties": 1, "additionalProperties": values}

    def from_text(self, text: str, owner: str) -> object:
        return json_object(text, self.flag)

    def to_text(self, written: Any) -> str:
        return json.dumps(written, ensure_ascii=False)


class RecordList(Parameter[tuple[Mapping[str, Value], ...], Sequence[Mapping[str, Any]]]):
    """Several records."""

    control = "object"
    written = "sequence of mappings of column to value"

    def __init__(self, *, most: int, **words: Any) -> None:
        super().__init__(**words)
        self.most = most

    def parse(self, value: object, owner: str) -> tuple[Mapping[str, Value], ...]:
        if isinstance(value, str) or not isinstance(value, Sequence) or not value:
            raise invalid(owner, self.name, "a list of records", value)
        if len(value) > self.most:
            raise invalid(owner, self.name, f"at most {self.most:,} records", len(value))
        return tuple(canonical(one, owner=owner, parameter=self.name) for one in value)

    def dump(self, value: tuple[Mapping[str, Value], ...]) -> list[dict[str, Value]]:
        return [dict(one) for one in value]

    def schema(self) -> dict[str, Any]:
        inner = Record(help="").schema()
        return {"type": "array", "items": inner, "minItems": 1, "maxItems": self.most}

    def from_text(self, text: str, owner: str) -> object:
        try:
            return json.loads(text)
        except ValueError:
            raise invalid(owner, self.name, "a JSON list of records", text) from None

    def to_text(self, written: Any) -> str:
        return json.dumps(written, ensure_ascii=False)


def canonical(record: object, *, owner: str, parameter: str = "record") -> dict[str, Value]:
    """Return a record with plain values, in the order in which they are given.

    Examples
    --------
    >>> canonical({"bmi": 24.0, "seen": datetime.date(2024, 1, 31)}, owner="Identify")
    {'bmi': 24, 'seen': '2024-01-31'}
    """
    if not isinstance(record, Mapping) or not record:
        raise invalid(owner, parameter, "a mapping of at least one column to its value", record)
    for name in record:
        if not isinstance(name, str):
            raise invalid(owner, parameter, "a mapping whose keys are column names", name)
    return {name: _plain(value, name, owner, parameter) for name, value in record.items()}


def _plain(value: object, name: str, owner: str, parameter: str) -> Value:
    if hasattr(value, "item") and hasattr(value, "dtype"):  # a number of numpy's
        value = value.item()
    if isinstance(value, datetime.date):
        return value.isoformat()[:10]
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        return value
    if not isinstance(value, int | float) or not abs(value) <= FARTHEST:
        hint = f"That is its value for {name!r}; every value must be known."
        raise invalid(owner, parameter, "finite numbers, texts and dates", value, hint)
    # 61 and 61.0 are one number, and so are 0.0 and -0.0.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def json_object(text: str, option: str) -> dict[str, Any]:
    """Read an option that is a JSON object."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidInput(
            f'{option} must be a JSON object such as \'{{"age": 61, "bmi": 24.1}}\' '
            "(or @FILE that holds one)."
        )
    return found


class Numbers(Parameter[tuple[float, ...], Sequence[float]]):
    """Numbers, each once, from the smallest to the largest."""

    written = "sequence of float"

    def parse(self, value: object, owner: str) -> tuple[float, ...]:
        if isinstance(value, str) or not isinstance(value, Sequence) or not value:
            raise invalid(owner, self.name, "a list of numbers", value)
        for one in value:
            numeric = isinstance(one, int | float) and not isinstance(one, bool)
            if not numeric or not 0 < one <= FARTHEST:
                raise invalid(owner, self.name, "finite numbers above 0", one)
        return tuple(sorted({float(one) for one in value}))

    def dump(self, value: tuple[float, ...]) -> list[float]:
        return list(value)

    def schema(self) -> dict[str, Any]:
        inner = {"type": "number", "exclusiveMinimum": 0}
        return {"type": "array", "items": inner, "minItems": 1}

    def from_text(self, text: str, owner: str) -> object:
        try:
            return [float(one) for one in text.split(",")]
        except ValueError:
            raise invalid(owner, self.name, "numbers with commas, such as 1,2,4", text) from None

    def to_text(self, written: Any) -> str:
        return ",".join(map(repr, written))


class Weights(Parameter[Mapping[str, float], Mapping[str, float]]):
    """A positive number for each of some columns, typed as ``age=2,pay=0.5``."""

    written = "mapping of column to number"
    _most = 1_000_000

    def parse(self, value: object, owner: str) -> Mapping[str, float]:
        if not isinstance(value, Mapping) or not value:
            raise invalid(owner, self.name, "a mapping of columns to numbers", value)
        found = canonical(value, owner=owner, parameter=self.name)
        for weight in found.values():
            if isinstance(weight, str) or not 0 < weight <= self._most:
                must = f"numbers above 0 and up to {self._most:,}"
                raise invalid(owner, self.name, must, weight)
        return {
            name: weight for name, weight in sorted(found.items()) if not isinstance(weight, str)
        }

    def dump(self, value: Mapping[str, float]) -> dict[str, float]:
        return dict(value)

    def schema(self) -> dict[str, Any]:
        values = {"type": "number", "exclusiveMinimum": 0, "maximum": self._most}
        return {"type": "object", "minProperties": 1, "additionalProperties": values}

    def from_text(self, text: str, owner: str) -> object:
        try:
            pairs = [one.rpartition("=") for one in text.split(",")]
            return {name.strip(): float(number) for name, _, number in pairs if name.strip()}
        except ValueError:
            raise invalid(owner, self.name, "such as age=2,pay=0.5", text) from None

    def to_text(self, written: Any) -> str:
        return ",".join(f"{name}={weight!r}" for name, weight in written.items())


class NameLists(Parameter[tuple[tuple[str, ...], ...], Sequence[Sequence[str]]]):
    """Several sets of columns, each once."""

    written = "sequence of sequences of str"

    def parse(self, value: object, owner: str) -> tuple[tuple[str, ...], ...]:
        if isinstance(value, str) or not isinstance(value, Sequence) or not value:
            raise invalid(owner, self.name, "a list of lists of column names", value)
        inner = Names(help="").called(self.name)
        found = sorted({inner.parse(one, owner) for one in value})
        if len(found) < len(value):
            raise InvalidInput(f"{owner} lists the same subspace twice; list it once.")
        return tuple(found)

    def dump(self, value: tuple[tuple[str, ...], ...]) -> list[list[str]]:
        return [list(one) for one in value]

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": Names(help="").schema(), "minItems": 1}

    def from_text(self, text: str, owner: str) -> object:
        return [[one.strip() for one in part.split(",")] for part in text.split(";")]

    def to_text(self, written: Any) -> str:
        return ";".join(",".join(one) for one in written)

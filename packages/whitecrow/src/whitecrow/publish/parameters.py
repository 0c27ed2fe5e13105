"""Parameters that only a publication has: moments, periods, clips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from whitecrow.declaration import Choice, Exact, Parameter
from whitecrow.errors import InvalidInput, invalid
from whitecrow.privacy.numbers import signed
from whitecrow.publish.clip import PrivateClip
from whitecrow.publish.counters import RETIRED
from whitecrow.publish.periods import CALENDAR_PERIODS

Interval = tuple[Fraction, Fraction]


class Moment(Parameter[str, Any]):
    """A date or a number; the calendar of the question makes it canonical."""

    written = "str or number"

    def parse(self, value: object, owner: str) -> Any:
        return value

    def schema(self) -> dict[str, Any]:
        words = [*CALENDAR_PERIODS, "7"] if self.name == "period" else ["2024-01-01", "0"]
        return {"type": ["string", "number"], "examples": words}


class Mechanism(Choice[str]):
    """A counter; those of earlier releases are read, and offered to nobody."""

    def parse(self, value: object, owner: str) -> str:
        return str(value) if value in RETIRED else super().parse(value, owner)


class Ends(Parameter[tuple[str, ...], Any]):
    """Two numbers, as text: the smallest and the largest end."""

    written = "(smallest, largest)"

    def parse(self, value: object, owner: str) -> tuple[str, ...]:
        if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
            raise invalid(owner, self.name, "two numbers with a comma, such as 1,1000", value)
        return tuple(str(signed(end, owner=owner, parameter=self.name)) for end in value)

    def dump(self, value: tuple[str, ...]) -> list[str]:
        return list(value)

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}

    def from_text(self, text: str, owner: str) -> object:
        return [end.strip() for end in text.split(",")]

    def to_text(self, written: Any) -> str:
        return ",".join(written)


class Clip(Parameter[Interval | PrivateClip, Any]):
    """A public interval, or how the upper end is chosen privately."""

    written = "(lower, upper) or PrivateClip"

    def parse(self, value: object, owner: str) -> Interval | PrivateClip:
        if isinstance(value, PrivateClip):
            return value
        if isinstance(value, Mapping):
            try:
                return PrivateClip(**value)
            except TypeError:
                raise InvalidInput("These are not the parameters of PrivateClip.") from None
        if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
            raise invalid(owner, self.name, "a pair (lower, upper) or a PrivateClip", value)
        lower, upper = (signed(bound, owner=owner, parameter=self.name) for bound in value)
        if lower >= upper:
            raise invalid(owner, self.name, "a pair with lower below upper", value)
        return lower, upper

    def dump(self, value: Interval | PrivateClip) -> Any:
        if isinstance(value, PrivateClip):
            return value.to_json()
        return [str(bound) for bound in value]

    def schema(self) -> dict[str, Any]:
        bound = Exact(help="").schema()
        pair = {"type": "array", "items": bound, "minItems": 2, "maxItems": 2}
        chosen = {
            "type": "object",
            "title": "PrivateClip",
            "required": ["smallest", "largest"],
            "properties": {
                **dict.fromkeys(("smallest", "largest", "lower", "quantile", "share"), bound),
                "method": {"type": "string", "enum": ["quantile", "sparse_vector"]},
                "above": {"type": "integer", "minimum": 0},
                "periods": {"type": "integer", "minimum": 1},
            },
            "additionalProperties": False,
        }
        return {"anyOf": [pair, chosen]}

    def from_text(self, text: str, owner: str) -> object:
        ends = [end.strip() for end in text.split(",")]
        if len(ends) != 2 or not all(ends):
            raise InvalidInput("--clip must be two numbers with a comma, such as 0,100.")
        return ends

    def to_text(self, written: Any) -> str:
        return ",".join(written)

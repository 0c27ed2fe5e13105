"""One column of a card: its type and the public limits of its values."""

from __future__ import annotations

import datetime
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from whitecrow.errors import InvalidInput, invalid

TYPES = ("number", "integer", "category", "date", "text")
SOURCES = ("expert", "public data", "priced question", "schema")
MISSING = ("reject", "fill", "value")
MISSING_CATEGORY = "missing"
"""Listed among the categories, it stands for values that are missing."""
OUTSIDE = ("reject", "clip", "missing")
FORMATS = {
    "number": ("", "amount", "amount, decimal comma"),
    "integer": ("", "amount"),
    "date": ("", "day first", "month first"),
    "category": ("", "kind"),
    "text": ("",),
}
"""How texts stand for values; what each reads is said in data/formats.py."""

LEAST_SCALE, MOST_SCALE = 1e-100, 1e100
"""Quotients by these are ordinary doubles."""

Bound = float | int
T = TypeVar("T")

_EPOCH = datetime.date(1970, 1, 1).toordinal()
ABSENT_NUMBER = -sys.float_info.max
ABSENT_DAY = datetime.date.min.toordinal() - _EPOCH - 1


@dataclass(frozen=True)
class Column:
    """One column: its type and the public limits of its values.

    Parameters
    ----------
    name : str
        As in the data.
    type : {"number", "integer", "category", "date", "text"}
        How values are read.
    lower, upper : number, optional
        Public bounds of a number, an integer or (as ISO text) a date.
    categories : tuple of str, optional
        Every value a category may take, whether or not it occurs in the data.
    edges : tuple of float, optional
        Public cuts that turn a number into intervals, for contexts.
    resolution : float, optional
        The public step on which values are rounded where whole numbers are needed.
    missing : {"reject", "fill", "value"}, optional
        What happens to a record whose value is missing, NaN or of the wrong type: it is left out,
        or ``fill`` takes the value's place, or being missing is a value of its own, which ``learn``
        can tell from others. By default it is left out; a column of categories that lists
        ``"missing"`` is filled with that.
    outside : {"reject", "clip", "missing"}
        What happens to a value outside the bounds (or infinite), or to one that is not among the
        categories: the record is left out, or the value is moved to the nearest bound (of
        categories there is none: the record is left out), or the value counts as missing.
    fill : number or str, optional
        The public value that stands for a missing one.
    source : str, optional
        Where the limits came from: "expert", "public data" or "priced question".
    scale : float, optional
        The difference that counts as 1 in the metrics with scales; two categories that differ are
        ``1 / scale`` apart.
    format : str, optional
        How texts stand for values, where that is not the plain way: "amount" takes currency and
        percent signs and marks between thousands; "amount, decimal comma" is the same with the
        comma before decimals; "day first" and "month first" take dates such as 31/12/2024.
    """

    name: str
    type: str = "number"
    lower: Bound | None = None
    upper: Bound | None = None
    categories: tuple[str, ...] | None = None
    edges: tuple[float, ...] | None = None
    resolution: float | None = None
    missing: str = ""
    outside: str = "reject"
    fill: float | str | None = None
    source: str = "expert"
    scale: float | None = None
    format: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise invalid("a column", "name", "a non-empty text", self.name)
        _check_characters("a column", "name", self.name)
        owner = f"column '{self.name}'"
        if self.missing == "":
            self._settle_missing()
        for parameter, allowed in (
            ("type", TYPES),
            ("missing", MISSING),
            ("outside", OUTSIDE),
            ("source", SOURCES),
            ("format", FORMATS.get(self.type, ("",))),
        ):
            if getattr(self, parameter) not in allowed:
                choice = f"one of {', '.join(repr(word) for word in allowed)}"
                raise invalid(owner, parameter, choice, getattr(self, parameter))
        self._check_bounds(owner)
        self._check_categories(owner)
        self._check_edges(owner)
        self._check_fill(owner)
        if self.scale is not None:
            scale = _number(owner, "scale", self.scale)
            if self.type == "text":
                raise invalid(owner, "scale", "left out of a text column", scale)
            if not LEAST_SCALE <= scale <= MOST_SCALE:
                must = f"a number between {LEAST_SCALE:g} and {MOST_SCALE:g}"
                raise invalid(owner, "scale", must, scale)

    def _settle_missing(self) -> None:
        """Nothing is made up for a number, a date or a text; a category may have a name for it."""
        listed = self.categories if isinstance(self.categories, list | tuple) else ()
        named = self.type == "category" and MISSING_CATEGORY in listed
        object.__setattr__(self, "missing", "fill" if named and not self.fill else "reject")
        if self.missing == "fill":
            object.__setattr__(self, "fill", MISSING_CATEGORY)

    def _check_bounds(self, owner: str) -> None:
        if self.type == "date":
            for parameter in ("lower", "upper"):
                object.__setattr__(
                    self, parameter, _day(owner, parameter, getattr(self, parameter))
                )
        for parameter in ("lower", "upper"):
            value = getattr(self, parameter)
            if value is None:
                continue
            if self.type not in ("number", "integer", "date"):
                hint = "Only numbers, integers and dates have bounds."
                raise invalid(owner, parameter, f"left out of a {self.type} column", value, hint)
            self._checked(owner, parameter, value)
        if (self.lower is None) != (self.upper is None):
            absent = "lower" if self.lower is None else "upper"
            raise InvalidInput(
                f"The {owner} has only one bound: '{absent}' is missing. "
                "Give both bounds, from knowledge or public data, or neither."
            )
        if self.lower is not None and self.upper is not None and self.lower >= self.upper:
            raise InvalidInput(
                f"The bounds of {owner} are reversed or equal: lower {self.lower:g}, "
                f"upper {self.upper:g}. Write the smaller one as 'lower'."
            )
        if self.outside == "clip" and self.lower is None and self.type != "category":
            raise InvalidInput(
                f"The {owner} asks to clip values but has no bounds to clip to. "
                "Give 'lower' and 'upper', or say outside = \"reject\"."
            )
        if self.resolution is not None:
            _number(owner, "resolution", self.resolution)
            if self.resolution <= 0:
                raise invalid(owner, "resolution", "a number above 0", self.resolution)

    def _checked(self, owner: str, parameter: str, value: object) -> float:
        number = _number(owner, parameter, value)
        if self.type == "integer" and number != math.floor(number):
            raise invalid(owner, parameter, "a whole number, as the column is", value)
        return number

    def _check_categories(self, owner: str) -> None:
        if self.categories is None:
            if self.type == "category":
                raise InvalidInput(
                    f"The {owner} is a category without 'categories'. List every value it may "
                    "take, from knowledge and not from the data."
                )
            return
        if self.type != "category":
            hint = 'Say type = "category" if the column is one.'
            raise invalid(
                owner, "categories", f"left out of a {self.type} column", self.categories, hint
            )
        values = tuple(str(value) for value in _sequence(owner, "categories", self.categories))
        if not values:
            raise invalid(owner, "categories", "a list of at least one value", list(values))
        for value in values:
            _check_characters(owner, "categories", value)
        twice = first_repeated(values)
        if twice is not None:
            raise InvalidInput(f"The {owner} lists the category {twice!r} twice; list it once.")
        object.__setattr__(self, "categories", values)

    def _check_edges(self, owner: str) -> None:
        if self.edges is None:
            return
        edges = tuple(_sequence(owner, "edges", self.edges))
        if self.type not in ("number", "integer"):
            raise invalid(owner, "edges", f"left out of a {self.type} column", list(edges))
        for edge in edges:
            _number(owner, "edges", edge)
        if any(a >= b for a, b in pairwise(edges)):
            raise invalid(owner, "edges", "strictly increasing numbers", list(edges))
        object.__setattr__(self, "edges", tuple(float(edge) for edge in edges))

    def _check_fill(self, owner: str) -> None:
        if (self.missing == "fill") != (self.fill is not None):
            raise InvalidInput(
                f"The {owner} must have 'fill' exactly when it says missing = \"fill\"; "
                "the fill is a public value that stands for a missing one."
            )
        if self.missing == "value" and self.type == "text":
            raise invalid(owner, "missing", "'reject' or 'fill' in a column of text", self.missing)
        if self.fill is None:
            return
        _check_characters(owner, "fill", str(self.fill))
        if self.type == "category" and self.fill not in (self.categories or ()):
            raise invalid(owner, "fill", "one of the categories", self.fill)
        if self.type == "date":
            object.__setattr__(self, "fill", _day(owner, "fill", self.fill))
        if self.type in ("number", "integer", "date"):
            value = self._checked(owner, "fill", self.fill)
            lower, upper = self.lower, self.upper
            if lower is not None and upper is not None and not lower <= value <= upper:
                raise invalid(owner, "fill", "between the bounds", self.fill)

    @property
    def absent(self) -> float | None:
        """The number that stands for a missing value where that is a value of its own.

        It is none that a value can have: for a category one more than the last code, for a date the
        day before the first, for a number the least there is.
        """
        if self.missing != "value":
            return None
        if self.type == "category":
            return float(len(self.categories or ()))
        return float(ABSENT_DAY) if self.type == "date" else ABSENT_NUMBER

    @property
    def bounded(self) -> bool:
        """Whether public bounds are known."""
        return self.lower is not None

    @property
    def numeric(self) -> bool:
        """Whether values are numbers (so that distances and sums make sense)."""
        return self.type in ("number", "integer")

    def to_json(self) -> dict[str, object]:
        """Return what the card's TOML says of this column, defaults left out."""
        found: dict[str, object] = {"name": self.name, "type": self.type}
        for parameter in ("lower", "upper", "resolution", "scale", "fill"):
            if getattr(self, parameter) is not None:
                found[parameter] = getattr(self, parameter)
        for parameter in ("categories", "edges"):
            if getattr(self, parameter) is not None:
                found[parameter] = list(getattr(self, parameter))
        for parameter, default in (
            ("missing", "reject"),
            ("outside", "reject"),
            ("source", "expert"),
            ("format", ""),
        ):
            if getattr(self, parameter) != default:
                found[parameter] = getattr(self, parameter)
        return found


def _number(owner: str, parameter: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise invalid(owner, parameter, "a finite number", value)
    return float(value)


def _day(owner: str, parameter: str, value: object) -> int | None:
    """Read a date bound as a day number, so that bounds of dates compare like numbers."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    found = day_number(value)
    if found is None:
        raise invalid(owner, parameter, "a date such as '2024-01-31'", value)
    return found


def date_text(days: float) -> str:
    """Write a number of days since 1970-01-01 as a date; beyond the calendar, its first or last."""
    first, last = datetime.date.min.toordinal(), datetime.date.max.toordinal()
    return datetime.date.fromordinal(int(min(max(round(days) + _EPOCH, first), last))).isoformat()


def day_number(value: object) -> int | None:
    """Return the number of a day, written in ISO's way or a date; None if it is neither."""
    if isinstance(value, str):
        try:
            value = datetime.date.fromisoformat(value)
        except ValueError:
            return None
    return value.toordinal() - _EPOCH if isinstance(value, datetime.date) else None


def _check_characters(owner: str, parameter: str, value: str) -> None:
    """Refuse a text that no file could hold: no record has it, and no library takes it."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise invalid(owner, parameter, "text without halves of characters", ascii(value)) from None


def _sequence(owner: str, parameter: str, value: Sequence[T]) -> Sequence[T]:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise invalid(owner, parameter, "a list", value)
    return value


def first_repeated(values: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None

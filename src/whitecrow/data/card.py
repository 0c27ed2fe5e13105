"""Dataset cards: the public facts of a dataset, and nothing read from its records.

A card says what the columns are, between which bounds or among which categories their values lie,
what one unit of privacy is, and where every number on it came from. It is written by people
(TOML), checked here, and trusted by everything else.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from whitecrow.errors import InvalidInput, invalid

__all__ = ["Card", "Column"]

TYPES = ("number", "integer", "category", "date", "text")
SOURCES = ("expert", "public data", "priced question", "schema")
UNITS = ("record", "user")
MISSING = ("reject", "fill")
OUTSIDE = ("reject", "clip")
_SIZES = ("size_public", "size", "records_at_most")
_PUBLIC_EXTRAS = ("name", "sources", *_SIZES)
_RULES = {"reading": 2}
_USER_RULES = {"identity": "exact text or whole number, 1", "selection": "by value, 1"}
"""What the card does not say but decides which records there are; see selection.py."""

Bound = float | int
T = TypeVar("T")


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
    missing : {"reject", "fill"}
        What happens to a record whose value is missing, NaN or of the wrong type: it is left out,
        or ``fill`` takes the value's place.
    outside : {"reject", "clip"}
        What happens to a value outside the bounds (or infinite): the record is left out, or the
        value is moved to the nearest bound. A value outside the categories is always rejected.
    fill : number or str, optional
        The public value that stands for a missing one.
    source : str, optional
        Where the limits came from: "expert", "public data" or "priced question".
    """

    name: str
    type: str = "number"
    lower: Bound | None = None
    upper: Bound | None = None
    categories: tuple[str, ...] | None = None
    edges: tuple[float, ...] | None = None
    resolution: float | None = None
    missing: str = "reject"
    outside: str = "reject"
    fill: float | str | None = None
    source: str = "expert"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise invalid("a column", "name", "a non-empty text", self.name)
        owner = f"column '{self.name}'"
        for parameter, allowed in (
            ("type", TYPES),
            ("missing", MISSING),
            ("outside", OUTSIDE),
            ("source", SOURCES),
        ):
            if getattr(self, parameter) not in allowed:
                choice = f"one of {', '.join(repr(word) for word in allowed)}"
                raise invalid(owner, parameter, choice, getattr(self, parameter))
        self._check_bounds(owner)
        self._check_categories(owner)
        self._check_edges(owner)
        self._check_fill(owner)

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
        twice = _first_repeated(values)
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
        if self.fill is None:
            return
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
        for parameter in ("lower", "upper", "resolution", "fill"):
            if getattr(self, parameter) is not None:
                found[parameter] = getattr(self, parameter)
        for parameter in ("categories", "edges"):
            if getattr(self, parameter) is not None:
                found[parameter] = list(getattr(self, parameter))
        for parameter, default in (
            ("missing", "reject"),
            ("outside", "reject"),
            ("source", "expert"),
        ):
            if getattr(self, parameter) != default:
                found[parameter] = getattr(self, parameter)
        return found


@dataclass(frozen=True)
class Card:
    """The public facts of a dataset.

    Parameters
    ----------
    name : str
        How people call the dataset.
    columns : tuple of Column
        What each record has.
    unit : {"record", "user"}
        Whether one record or all records of one person are protected together.
    user_column : str, optional
        Which column names the person, when ``unit`` is "user".
    contribution : int
        How many records one person has at the most (enforced at load).
    size_public : bool
        Whether the number of records is public.
    size : int, optional
        That number, when it is.
    records_at_most : int, optional
        A public bound on the number of records, where the number itself is private; far above
        it, for it is checked at load. Limits of time and memory come from it.
    sources : mapping
        Where the parameters of models (beta, radius) came from, by name, in words.

    Examples
    --------
    >>> card = Card("clinic", (Column("age", lower=0, upper=120),))
    >>> card.column("age").upper
    120
    """

    name: str
    columns: tuple[Column, ...]
    unit: str = "record"
    user_column: str | None = None
    contribution: int = 1
    size_public: bool = False
    size: int | None = None
    records_at_most: int | None = None
    sources: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise invalid("the card", "name", "a non-empty text", self.name)
        object.__setattr__(self, "columns", tuple(self.columns))
        names = [column.name for column in self.columns]
        if not names:
            raise InvalidInput("The card lists no columns; add a [[columns]] table for each.")
        twice = _first_repeated(names)
        if twice is not None:
            raise InvalidInput(f"The card lists the column {twice!r} twice; list it once.")
        if self.unit not in UNITS:
            raise invalid("the card", "unit", "'record' or 'user'", self.unit)
        if (self.unit == "user") != (self.user_column is not None):
            raise InvalidInput(
                "The card must name a 'user_column' exactly when its unit of privacy is \"user\"."
            )
        if self.user_column is not None and self.user_column not in names:
            raise invalid("the card", "user_column", "one of its columns", self.user_column)
        if self.user_column is not None:
            _check_user_column(self.column(self.user_column))
        if isinstance(self.contribution, bool) or not isinstance(self.contribution, int):
            raise invalid("the card", "contribution", "a whole number", self.contribution)
        if self.contribution < 1 or (self.unit == "record" and self.contribution != 1):
            raise invalid(
                "the card", "contribution", "1, or more with unit 'user'", self.contribution
            )
        if (self.size is not None) != bool(self.size_public):
            raise InvalidInput(
                "The card must give 'size' exactly when size_public is true: a public size is "
                "written down, a private one is not."
            )
        if self.size is not None and (isinstance(self.size, bool) or self.size < 0):
            raise invalid("the card", "size", "a whole number of at least 0", self.size)
        most = self.records_at_most
        if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
            raise invalid("the card", "records_at_most", "a whole number of at least 1", most)
        if most is not None and self.size is not None:
            raise InvalidInput(
                "The card gives both 'size' and 'records_at_most': a public size needs no bound."
            )

    @property
    def most_records(self) -> int | None:
        """The public bound on the number of records, which is the size where that is public."""
        return self.records_at_most if self.size is None else self.size

    def check_size(self, records: int) -> None:
        """Refuse to load more records than the card says there are; for the custodian.

        Raises
        ------
        InvalidInput
            Guarantees rest on a public size, and limits of time and memory on a public bound.
        """
        if self.size is not None and records > self.size:
            raise InvalidInput(
                "The data hold more records than the size on the card. Guarantees that rest on a "
                "public size would be wrong: write the true size, or leave it out."
            )
        if self.records_at_most is not None and records > self.records_at_most:
            raise InvalidInput(
                "The data hold more records than 'records_at_most' on the card allows. Limits of "
                "time and memory rest on that bound: write a larger one."
            )

    def column(self, name: str) -> Column:
        """Return the column of that name, or say which there are."""
        for column in self.columns:
            if column.name == name:
                return column
        known = ", ".join(column.name for column in self.columns)
        raise InvalidInput(f"The data have no column {name!r}; the card lists {known}.")

    @property
    def names(self) -> tuple[str, ...]:
        """The column names, in the card's order."""
        return tuple(column.name for column in self.columns)

    @classmethod
    def load(cls, path: str | Path) -> Card:
        """Read a card from a TOML file."""
        try:
            written = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"The card {str(path)!r} cannot be read: {error}.") from None
        return cls.parse(written, path=str(path))

    @classmethod
    def parse(cls, written: str, *, path: str = "the card") -> Card:
        """Read a card from TOML text."""
        try:
            data = tomllib.loads(written)
        except tomllib.TOMLDecodeError as error:
            raise InvalidInput(f"{path} is not valid TOML: {error}.") from None
        return cls.from_json(data)

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Card:
        """Build a card from the object its TOML says."""
        known = {
            "name",
            "columns",
            "unit",
            "user_column",
            "contribution",
            "size_public",
            "size",
            "records_at_most",
        }
        if "draft" in data:
            raise InvalidInput(
                "This card is a draft. Read it, change what you know better, and accept it: "
                "whitecrow card accept DRAFT DATA --out CARD."
            )
        _only(data, known | {"sources"}, "the card")
        if "name" not in data:
            raise InvalidInput("The card has no 'name'; give the dataset one.")
        listed = data.get("columns", [])
        if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
            raise InvalidInput(
                "The card's columns must be [[columns]] tables, one for each column."
            )
        columns = tuple(_column(item) for item in listed)
        rest = {key: value for key, value in data.items() if key not in ("columns", "sources")}
        sources = data.get("sources", {})
        if not isinstance(sources, dict):
            raise invalid("the card", "sources", "a table of texts", sources)
        return cls(columns=columns, sources=dict(sources), **rest)  # type: ignore[arg-type]

    def fingerprint(self) -> str:
        """Return a digest of what the card says of records: two readings of one dataset differ.

        Another order of categories, another clip, another contribution bound or another rule of
        selection makes other records of the same file; the name, the size and the sources do not.
        """
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        said = {key: value for key, value in self.to_json().items() if key not in _PUBLIC_EXTRAS}
        said["rules"] = _RULES | (_USER_RULES if self.unit == "user" else {})
        written = json.dumps(said, sort_keys=True, default=str)
        return hashlib.sha256(written.encode()).hexdigest()[:32]

    def to_json(self) -> dict[str, object]:
        """Return what the card's TOML says."""
        found: dict[str, object] = {"name": self.name, "unit": self.unit}
        if self.unit == "user":
            found["user_column"] = self.user_column
            found["contribution"] = self.contribution
        found["size_public"] = self.size_public
        if self.size is not None:
            found["size"] = self.size
        if self.records_at_most is not None:
            found["records_at_most"] = self.records_at_most
        if self.sources:
            found["sources"] = dict(self.sources)
        found["columns"] = [column.to_json() for column in self.columns]
        return found


def _check_user_column(column: Column) -> None:
    """Refuse what would make one person of two: ids are exact, or the record is left out."""
    owner = f"the user column '{column.name}'"
    if column.type not in ("text", "integer"):
        raise invalid(owner, "type", "'text' or 'integer'", column.type)
    for parameter, value in (("missing", column.missing), ("outside", column.outside)):
        if value != "reject":
            raise invalid(
                owner, parameter, "'reject'", value, "Another value would make two people one."
            )


def _column(item: Mapping[str, object]) -> Column:
    name = item.get("name")
    if name is None:
        raise InvalidInput("A [[columns]] table of the card has no 'name'.")
    _only(item, set(Column.__dataclass_fields__), f"column '{name}'")
    if "type" not in item:
        raise InvalidInput(
            f"The column '{name}' has no 'type'; write one of {', '.join(map(repr, TYPES))}."
        )
    return Column(**item)  # type: ignore[arg-type]


def _only(data: Mapping[str, object], known: set[str], owner: str) -> None:
    for key in data:
        if key not in known:
            raise InvalidInput(
                f"The key {key!r} of {owner} is not known; the keys are {', '.join(sorted(known))}."
            )


def _number(owner: str, parameter: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise invalid(owner, parameter, "a finite number", value)
    return float(value)


def _day(owner: str, parameter: str, value: object) -> int | None:
    """Read a date bound as a day number, so that bounds of dates compare like numbers."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, str):
        try:
            value = datetime.date.fromisoformat(value)
        except ValueError:
            raise invalid(owner, parameter, "a date such as '2024-01-31'", value) from None
    if not isinstance(value, datetime.date):
        raise invalid(owner, parameter, "a date such as '2024-01-31'", value)
    return value.toordinal() - datetime.date(1970, 1, 1).toordinal()


def _sequence(owner: str, parameter: str, value: Sequence[T]) -> Sequence[T]:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise invalid(owner, parameter, "a list", value)
    return value


def _first_repeated(values: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None

"""Dataset cards: the public facts of a dataset, and nothing read from its records.

A card says what the columns are, between which bounds or among which categories their values lie,
what one unit of privacy is, and where every number on it came from. It is written by people
(TOML), checked here, and trusted by everything else.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from whitecrow.declaration import Number, whole
from whitecrow.errors import InvalidInput, invalid
from whitecrow.rendering import bound, notebook

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
"""How texts stand for values; what each reads is said in data/values.py."""

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
            _check_choice(owner, parameter, getattr(self, parameter), allowed)
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
        for parameter in ("lower", "upper"):
            value = getattr(self, parameter)
            if self.type == "date":
                value = _day(owner, parameter, value)
                object.__setattr__(self, parameter, value)
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
        if self.type == "integer" and not number.is_integer():
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
        _check_once(f"The {owner} lists the category", values)
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
    def rejects(self) -> bool:
        """Whether some value of this column leaves its record out."""
        return self.missing == "reject" or (self.type != "text" and self.outside == "reject")

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
        column: dict[str, object] = {"name": self.name, "type": self.type}
        for parameter, default in _DEFAULTS.items():
            value = getattr(self, parameter)
            if value != default:
                column[parameter] = list(value) if isinstance(value, tuple) else value
        return column


_DEFAULTS = {
    **dict.fromkeys(("lower", "upper", "resolution", "scale", "fill", "categories", "edges")),
    "missing": "reject",
    "outside": "reject",
    "source": "expert",
    "format": "",
}  # what a column says by saying nothing, in the order in which the rest is written


def _check_choice(owner: str, parameter: str, value: object, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise invalid(owner, parameter, f"one of {', '.join(map(repr, allowed))}", value)


def _number(owner: str, parameter: str, value: object) -> float:
    return Number(help="").called(parameter).parse(value, owner)


def _day(owner: str, parameter: str, value: object) -> int | None:
    """Read a date bound as a day number, so that bounds of dates compare like numbers."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    number = day_number(value)
    if number is None:
        raise invalid(owner, parameter, "a date such as '2024-01-31'", value)
    return number


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


def _check_once(subject: str, values: Sequence[str]) -> None:
    for value, times in Counter(values).items():
        if times > 1:
            raise InvalidInput(f"{subject} {value!r} twice; list it once.")


UNITS = ("record", "user")
_SIZES = ("size_public", "size", "records_at_most")
_PUBLIC_EXTRAS = ("name", "sources", *_SIZES)
_MOST_LINES = 1000
_LISTED = 5
_RULES: dict[str, object] = {"reading": 3}
_LEFT_OUT: dict[str, object] = {"left out": "by the columns asked about, 1"}
_USER_RULES: dict[str, object] = {
    "identity": "exact text or whole number, 1",
    "selection": "by value, 1",
}  # what the card does not say but decides which records there are; see data/columns.py


@dataclass(frozen=True)
class CsvFormat:
    """How a CSV file is written: declared, never guessed from its values.

    Parameters
    ----------
    delimiter : {",", ";", "tab", "|"}
        Between two fields.
    encoding : {"utf-8", "latin-1", "cp1252", "utf-16"}
        Of the text.
    decimal : {".", ","}
        The mark of decimals in columns of numbers. Marks between thousands are not read.
    lines_per_record : int, default=1
        How many lines a record may have at most. With 1 a line end ends the record, whatever its
        quotes say; with more, quoted fields may hold line ends.
    """

    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    lines_per_record: int = 1

    def __post_init__(self) -> None:
        for parameter, allowed in CSV_CHOICES.items():
            _check_choice("the card's [csv]", parameter, getattr(self, parameter), allowed)
        if self.delimiter == self.decimal:
            raise invalid("the card's [csv]", "decimal", "another mark than the delimiter", ",")
        whole(self.lines_per_record, "the card's [csv]", "lines_per_record", most=_MOST_LINES)

    def to_json(self) -> dict[str, object]:
        """Return what the card's TOML says."""
        form = dict(vars(self))
        return form if self.lines_per_record > 1 else {k: form[k] for k in CSV_CHOICES}


CSV_CHOICES = {
    "delimiter": (",", ";", "tab", "|"),
    "encoding": ("utf-8", "latin-1", "cp1252", "utf-16"),
    "decimal": (".", ","),
}


@dataclass(frozen=True)
class TableChoice:
    """Which table or version is meant, where a file or folder holds several.

    Parameters
    ----------
    name : str, optional
        The table of a DuckDB file.
    version : int, optional
        The version of a Delta table, or the snapshot of an Iceberg table. By default the newest.
    """

    name: str = ""
    version: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise invalid("the card's [table]", "name", "a text", self.name)
        if self.version is not None:
            whole(self.version, "the card's [table]", "version", least=0)

    def to_json(self) -> dict[str, object]:
        """Return what the card's TOML says."""
        return {key: value for key, value in vars(self).items() if value not in ("", None)}


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
    csv : CsvFormat, optional
        How the data's CSV file is written, where that is not the usual way.
    table : TableChoice, optional
        Which table of a DuckDB file, or which version of a Delta or Iceberg table.
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
    csv: CsvFormat = CsvFormat()
    table: TableChoice = TableChoice()
    sources: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise invalid("the card", "name", "a non-empty text", self.name)
        object.__setattr__(self, "columns", tuple(self.columns))
        names = [column.name for column in self.columns]
        if not names:
            raise InvalidInput("The card lists no columns; add a [[columns]] table for each.")
        _check_once("The card lists the column", names)
        if self.unit not in UNITS:
            raise invalid("the card", "unit", "'record' or 'user'", self.unit)
        if (self.unit == "user") != (self.user_column is not None):
            raise InvalidInput(
                "The card must name a 'user_column' exactly when its unit of privacy is \"user\"."
            )
        if self.user_column is not None:
            if self.user_column not in names:
                raise invalid("the card", "user_column", "one of its columns", self.user_column)
            _check_user_column(self.column(self.user_column))
        if whole(self.contribution, "the card", "contribution") > 1 and self.unit == "record":
            must = "1, or more with unit 'user'"
            raise invalid("the card", "contribution", must, self.contribution)
        if (self.size is not None) != bool(self.size_public):
            raise InvalidInput(
                "The card must give 'size' exactly when size_public is true: a public size is "
                "written down, a private one is not."
            )
        for parameter, least in (("size", 0), ("records_at_most", 1)):
            given = getattr(self, parameter)
            if given is not None:
                number = int(given) if isinstance(given, float) and given.is_integer() else given
                whole(number, "the card", parameter, least=least)
        if self.size is not None and self.records_at_most is not None:
            raise InvalidInput(
                "The card gives both 'size' and 'records_at_most': a public size needs no bound."
            )

    def _repr_html_(self) -> str:
        rows = []
        for column in self.columns:
            if column.categories:
                values = ", ".join(column.categories)
            elif column.lower is not None and column.upper is not None:
                values = f"{bound(column.lower, column.type)} to {bound(column.upper, column.type)}"
            else:
                values = "not bounded"
            rows.append((column.name, column.type, values))
        size = f"{self.size:,} records" if self.size is not None else "size not public"
        head = ("column", "type", "values")
        return notebook(f"Card of {self.name}: one {self.unit}, {size}", rows, head=head)

    def deciding(self, columns: Iterable[str]) -> tuple[str, ...]:
        """Return the columns by which records are left out where some are asked about.

        These columns alone: what a record holds elsewhere is not looked at. Under a public size all
        columns of the card: guarantees that rest on it speak of one number of records, whatever is
        asked.
        """
        return self.names if self.size_public else tuple(columns)

    def left_out_words(self, columns: Iterable[str]) -> str:
        """Say which rows are left out where these columns are asked about; nothing if none is."""
        names = [name for name in self.deciding(columns) if self.column(name).rejects]
        if not names:
            return ""
        listed = ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")
        return (
            f"Rows whose {listed} {'is' if len(names) == 1 else 'are'} missing, or not what the "
            'card allows, are left out; missing = "value" and outside = "missing" on the card '
            "would keep them for detectors."
        )

    @property
    def most_records(self) -> int | None:
        """The public bound on the number of records, which is the size where that is public."""
        return self.records_at_most if self.size is None else self.size

    def check_size(self, records: int) -> None:
        """Refuse to load more records than the card says there are; for the custodian.

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
        listed = ", ".join(self.names)
        raise InvalidInput(f"The data have no column {name!r}; the card lists {listed}.")

    def encode(self, record: Mapping[str, object], *, owner: str) -> list[float]:
        """Return a record as the data hold it: codes for categories, day numbers for dates."""
        where = f"the record of {owner}"
        return [_coordinate(value, self.column(name), where) for name, value in record.items()]

    @property
    def names(self) -> tuple[str, ...]:
        """The column names, in the card's order."""
        return tuple(column.name for column in self.columns)

    @classmethod
    def load(cls, path: str | Path) -> Card:
        """Read a card from a TOML file."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"The card {str(path)!r} cannot be read: {error}.") from None
        return cls.parse(text, path=str(path))

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
        if "draft" in data:
            raise InvalidInput(
                "This card is a draft. Read it, change what you know better, and accept it: "
                "whitecrow card accept DRAFT DATA --out CARD."
            )
        _only(data, cls, "the card")
        if "name" not in data:
            raise InvalidInput("The card has no 'name'; give the dataset one.")
        listed = data.get("columns", [])
        if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
            raise InvalidInput("The card's columns must be [[columns]] tables, one each.")
        sources = data.get("sources", {})
        if not isinstance(sources, dict):
            raise invalid("the card", "sources", "a table of texts", sources)
        parts: dict[str, Any] = {
            "columns": tuple(_column(item) for item in listed),
            "sources": dict(sources),
            "csv": _part(data, "csv", CsvFormat),
            "table": _part(data, "table", TableChoice),
        }
        return cls(**{**data, **parts})

    def fingerprint(self) -> str:
        """Return a digest of what the card says of records: two readings of one dataset differ.

        Another order of categories, another clip, another contribution bound or another rule of
        selection makes other records of the same file, and so does whether the size is public; the
        name, the size itself and the sources do not.
        """
        return self._fingerprints[0]

    def values_fingerprint(self) -> str:
        """Return a digest of what the card says of values, whoever is left out.

        For what is handed its values one by one, and reads no records.
        """
        return self._fingerprints[1]

    @cached_property
    def _fingerprints(self) -> tuple[str, str]:
        facts = {key: value for key, value in self.to_json().items() if key not in _PUBLIC_EXTRAS}
        rules = _RULES | (_USER_RULES if self.unit == "user" else {})
        of_records = rules if self.size_public else rules | _LEFT_OUT
        of_both = (
            json.dumps({**facts, "rules": ruled}, sort_keys=True, default=str).encode()
            for ruled in (of_records, rules)
        )
        records, values = (hashlib.sha256(encoded).hexdigest()[:32] for encoded in of_both)
        return records, values

    def to_json(self) -> dict[str, object]:
        """Return what the card's TOML says."""
        card: dict[str, object] = {"name": self.name, "unit": self.unit}
        if self.unit == "user":
            card |= {"user_column": self.user_column, "contribution": self.contribution}
        optional = {
            "size_public": self.size_public,
            "size": self.size,
            "records_at_most": self.records_at_most,
            "csv": None if self.csv == CsvFormat() else self.csv.to_json(),
            "table": self.table.to_json() or None,
            "sources": dict(self.sources) or None,
            "columns": [column.to_json() for column in self.columns],
        }
        return card | {key: value for key, value in optional.items() if value is not None}


def _coordinate(value: Any, column: Column, where: str) -> float:
    if column.type == "category":
        categories = column.categories or ()
        if str(value) not in categories:
            raise invalid(where, column.name, "one of the card's categories", value)
        return float(categories.index(str(value)))
    if column.type == "date" and isinstance(value, str):
        day = day_number(value)
        if day is None:
            raise invalid(where, column.name, "a date such as '2024-01-31'", value)
        value = day
    if isinstance(value, str) or column.type == "text":
        text = column.type == "text"
        must = "left out, for text has no distances" if text else "a number"
        raise invalid(where, column.name, must, value)
    if column.type in ("integer", "date") and not isinstance(value, int):
        raise invalid(where, column.name, "a whole number", value)
    lower, upper = column.lower, column.upper
    if lower is not None and upper is not None and not lower <= value <= upper:
        must = f"between the card's bounds {lower:g} and {upper:g}"
        raise invalid(where, column.name, must, value)
    try:
        return float(value)
    except OverflowError:
        must, got = "a finite number", "a number too large for the data"
        raise invalid(where, column.name, must, got) from None


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
    _only(item, Column, f"column '{name}'")
    if "type" not in item:
        raise InvalidInput(
            f"The column '{name}' has no 'type'; write one of {', '.join(map(repr, TYPES))}."
        )
    return Column(**item)  # type: ignore[arg-type]


def _part(data: Mapping[str, object], key: str, kind: Callable[..., T]) -> T:
    part = data.get(key, {})
    if not isinstance(part, dict):
        raise invalid("the card", key, "a table", part)
    _only(part, kind, f"the card's [{key}]")
    return kind(**part)


def _only(data: Mapping[str, object], kind: Any, owner: str) -> None:
    keys = kind.__dataclass_fields__
    for key in data:
        if key not in keys:
            raise InvalidInput(
                f"The key {key!r} of {owner} is not known; the keys are {', '.join(sorted(keys))}."
            )

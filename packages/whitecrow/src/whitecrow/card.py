"""Dataset cards: the public facts of a dataset, and nothing read from its records.

A card says what the columns are, between which bounds or among which categories their values lie,
what one unit of privacy is, and where every number on it came from. It is written by people
(TOML), checked here, and trusted by everything else.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from whitecrow.column import TYPES, Column, day_number, first_repeated
from whitecrow.errors import InvalidInput, invalid
from whitecrow.rendering import bound, notebook

__all__ = ["CSV_CHOICES", "Card", "Column", "CsvFormat", "TableChoice"]

UNITS = ("record", "user")
_SIZES = ("size_public", "size", "records_at_most")
_PUBLIC_EXTRAS = ("name", "sources", *_SIZES)
_MOST_LINES = 1000
_RULES = {"reading": 3}
_USER_RULES = {"identity": "exact text or whole number, 1", "selection": "by value, 1"}
"""What the card does not say but decides which records there are; see data/_selection.py."""


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
            if getattr(self, parameter) not in allowed:
                choice = f"one of {', '.join(map(repr, allowed))}"
                raise invalid("the card's [csv]", parameter, choice, getattr(self, parameter))
        if self.delimiter == self.decimal:
            raise invalid("the card's [csv]", "decimal", "another mark than the delimiter", ",")
        lines = self.lines_per_record
        if isinstance(lines, bool) or not isinstance(lines, int) or not 1 <= lines <= _MOST_LINES:
            must = f"a whole number from 1 to {_MOST_LINES}"
            raise invalid("the card's [csv]", "lines_per_record", must, lines)

    def to_json(self) -> dict[str, object]:
        """Return what the card's TOML says."""
        said = dict(vars(self))
        return said if self.lines_per_record > 1 else {k: said[k] for k in CSV_CHOICES}


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
        number = self.version
        if number is not None and (
            isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 1 << 63
        ):
            raise invalid("the card's [table]", "version", "a whole number of at least 0", number)

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
        twice = first_repeated(names)
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

    def _repr_html_(self) -> str:
        rows = []
        for one in self.columns:
            if one.categories:
                values = ", ".join(one.categories)
            elif one.lower is not None and one.upper is not None:
                values = f"{bound(one.lower, one.type)} to {bound(one.upper, one.type)}"
            else:
                values = "not bounded"
            rows.append((one.name, one.type, values))
        size = f"{self.size:,} records" if self.size is not None else "size not public"
        head = ("column", "type", "values")
        return notebook(f"Card of {self.name}: one {self.unit}, {size}", rows, head=head)

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

    def encode(self, record: Mapping[str, object], *, owner: str) -> list[float]:
        """Return a record as the data hold it: codes for categories, day numbers for dates.

        Raises
        ------
        InvalidInput
            A column is unknown, or a value is not one that the card allows.
        """
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
        _only(data, known | {"sources", "csv", "table"}, "the card")
        if "name" not in data:
            raise InvalidInput("The card has no 'name'; give the dataset one.")
        listed = data.get("columns", [])
        if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
            raise InvalidInput(
                "The card's columns must be [[columns]] tables, one for each column."
            )
        columns = tuple(_column(item) for item in listed)
        tables = ("columns", "sources", "csv", "table")
        rest = {key: value for key, value in data.items() if key not in tables}
        written = _part(data, "csv", {*CSV_CHOICES, "lines_per_record"})
        chosen = _part(data, "table", {"name", "version"})
        sources = data.get("sources", {})
        if not isinstance(sources, dict):
            raise invalid("the card", "sources", "a table of texts", sources)
        return cls(
            columns=columns,
            sources=dict(sources),
            csv=CsvFormat(**written),
            table=TableChoice(**chosen),
            **rest,  # type: ignore[arg-type]
        )

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
        if self.csv != CsvFormat():
            found["csv"] = self.csv.to_json()
        if self.table != TableChoice():
            found["table"] = self.table.to_json()
        if self.sources:
            found["sources"] = dict(self.sources)
        found["columns"] = [column.to_json() for column in self.columns]
        return found


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
    _only(item, set(Column.__dataclass_fields__), f"column '{name}'")
    if "type" not in item:
        raise InvalidInput(
            f"The column '{name}' has no 'type'; write one of {', '.join(map(repr, TYPES))}."
        )
    return Column(**item)  # type: ignore[arg-type]


def _part(data: Mapping[str, object], key: str, known: set[str]) -> dict[str, Any]:
    written = data.get(key, {})
    if not isinstance(written, dict):
        raise invalid("the card", key, "a table", written)
    _only(written, known, f"the card's [{key}]")
    return written


def _only(data: Mapping[str, object], known: set[str], owner: str) -> None:
    for key in data:
        if key not in known:
            raise InvalidInput(
                f"The key {key!r} of {owner} is not known; the keys are {', '.join(sorted(known))}."
            )

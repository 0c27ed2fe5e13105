"""A card as rows of a form, one a column, and the reading of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from whitecrow.card import CSV_CHOICES, MISSING, OUTSIDE, TYPES, Card, Column, date_text
from whitecrow.errors import InvalidInput
from whitecrow_server.console._forms import Field, choices, decimal, whole
from whitecrow_server.console._site import Form

_DATES = ("lower", "upper", "fill")
_CARRIED = ("edges", "resolution", "format")
"""What the rows do not show stays as it was."""

_SHOWN = {
    "delimiter": (("tab", "tab"), (",", "comma ,"), (";", "semicolon ;"), ("|", "bar |")),
    "decimal": ((".", "point 1.5"), (",", "comma 1,5")),
}


def _csv(name: str, label: str) -> Field:
    usual, options = CSV_CHOICES[name][0], _SHOWN.get(name) or choices(CSV_CHOICES[name])
    return Field(f"csv.{name}", label, type="select", options=options, default=usual)


CSV_FIELDS = (
    _csv("delimiter", "Between fields"),
    _csv("encoding", "Encoding"),
    _csv("decimal", "Decimal mark"),
    Field(
        "csv.lines_per_record",
        "Lines of one record, at most",
        "More than 1 only if quoted fields hold line ends.",
        type="number",
        default="1",
    ),
)
"""How a CSV file is written: declared, since a guess would change with one value."""

TABLE_FIELDS = (
    Field("table.name", "Table of a DuckDB file", "Where the file has more than one."),
    Field("table.version", "Version of a Delta or Iceberg table", "The newest, unless given."),
)

_UNIT_FIELDS = (
    Field(
        "unit",
        "Protected together",
        type="select",
        options=(("record", "one record"), ("user", "all records of one person")),
        default="record",
    ),
    Field("user_column", "Column that names the person", "Only where persons are protected."),
    Field("contribution", "Records of one person, at most", "", type="number", default="1"),
)
_SIZE_FIELDS = (
    Field("size", "Public number of records", "Leave empty if it is not public.", type="number"),
    Field(
        "records_at_most",
        "A public bound on it",
        "Far above the number; limits of time and memory come from it.",
        type="number",
    ),
)


def card_page(typed: Form, notes: Mapping[str, str] | None = None) -> dict[str, Any]:
    return {
        "typed": typed,
        "rows": [(f"c{row}", name) for row, name in enumerate(typed.all("column"))],
        "notes": notes or {},
        "types": choices(TYPES),
        "missing": {"reject": "leave out", "fill": "fill in", "value": "keep as a value"},
        "outside": {"reject": "leave out", "clip": "move to bound", "missing": "treat as missing"},
        "unit_fields": _UNIT_FIELDS,
        "size_fields": _SIZE_FIELDS,
        "csv_fields": CSV_FIELDS,
        "table_fields": TABLE_FIELDS,
    }


# A card as fields


def form_of(card: Card) -> Form:
    facts: dict[str, Any] = card.to_json()
    fields_of_card = {
        "unit": card.unit,
        "user_column": card.user_column or "",
        "contribution": str(card.contribution),
        "size": "" if card.size is None else str(card.size),
        "records_at_most": "" if card.records_at_most is None else str(card.records_at_most),
        **{f"csv.{name}": str(value) for name, value in vars(card.csv).items()},
        **{f"table.{name}": str(value) for name, value in facts.get("table", {}).items()},
    }
    for row, column in enumerate(card.columns):
        fields_of_card |= {f"c{row}.{name}": text for name, text in _fields_of(column)}
    fields = {name: [text] for name, text in fields_of_card.items()}
    return Form({**fields, "column": list(card.names)})


def _fields_of(column: Column) -> Iterator[tuple[str, str]]:
    facts = column.to_json()
    yield from (("on", "yes"), ("type", column.type))
    yield from (("missing", column.missing), ("outside", column.outside))
    for name in ("lower", "upper", "scale", "fill"):
        value: Any = facts.get(name)
        if value is None:
            continue
        if column.type == "date" and name in _DATES:
            yield name, date_text(value)
        else:
            yield name, f"{value:.17g}" if isinstance(value, float) else str(value)
    if column.categories is not None:
        yield "categories", _joined(column.categories)


def _joined(values: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(values)
    return line.getvalue()


# Fields as a card


def read_card(form: Form, name: str, base: Card | None = None) -> dict[str, Any]:
    """Read the rows: a card as JSON.

    ``base`` is the card that stood in the fields: what the rows do not show stays as it says, and
    lines that are as they were keep their source.
    """
    card: dict[str, Any] = {"name": name if base is None else base.name}
    card |= {part: value for part, value in read_format(form).items() if value}
    if base is not None and base.sources:
        card["sources"] = dict(base.sources)
    if form.one("unit") == "user":
        card["unit"] = "user"
        card["user_column"] = form.one("user_column")
        card["contribution"] = whole(form.one("contribution") or "1", "Records of one person")
    if form.one("size"):
        card |= {"size_public": True, "size": whole(form.one("size"), "Public number of records")}
    if form.one("records_at_most"):
        card["records_at_most"] = whole(form.one("records_at_most"), "A public bound")
    were = {} if base is None else {column.name: column for column in base.columns}
    card["columns"] = [
        _column(form, f"c{row}", column, were.get(column))
        for row, column in enumerate(form.all("column"))
        if form.one(f"c{row}.on")
    ]
    return card


def read_format(form: Form) -> dict[str, dict[str, Any]]:
    """Read how a source is written, and which table of it is meant."""
    format: dict[str, Any] = {
        field.name.removeprefix("csv."): form.one(field.name) for field in CSV_FIELDS
    }
    if lines := format.pop("lines_per_record"):
        format["lines_per_record"] = whole(lines, "Lines of one record")
    table: dict[str, Any] = {"name": form.one("table.name")}
    if form.one("table.version"):
        table["version"] = whole(form.one("table.version"), "Version")
    return {
        "csv": {name: text for name, text in format.items() if text},
        "table": {name: value for name, value in table.items() if value != ""},
    }


def _column(form: Form, row: str, name: str, was: Column | None) -> dict[str, Any]:
    """Read one row; fields that the column's type has no place for are not looked at."""
    kind = _one_of(form.one(f"{row}.type"), TYPES, f"{name}: type")
    column: dict[str, Any] = {"name": name, "type": kind}
    ordered = kind in ("number", "integer", "date")
    for part in ("lower", "upper") if ordered else ():
        if text := form.one(f"{row}.{part}"):
            column[part] = text if kind == "date" else decimal(text, f"{name}: {part} bound")
    if kind == "category":
        column["categories"] = _split(form.one(f"{row}.categories"), name)
    if kind != "text" and (text := form.one(f"{row}.scale")):
        column["scale"] = decimal(text, f"{name}: scale")
    column["missing"] = _one_of(form.one(f"{row}.missing") or "reject", MISSING, f"{name}: missing")
    if column["missing"] == "fill":
        text = form.one(f"{row}.fill")
        if not text:
            raise InvalidInput(f"{name}: give the value that replaces a missing one.")
        numeric = kind in ("number", "integer")
        column["fill"] = decimal(text, f"{name}: filled in") if numeric else text
    if ordered:
        outside = form.one(f"{row}.outside") or "reject"
        column["outside"] = _one_of(outside, OUTSIDE, f"{name}: outside the bounds")
    if was is not None and was.type == kind:
        carried = _CARRIED if ordered else (*_CARRIED, "outside")
        column |= {part: value for part, value in was.to_json().items() if part in carried}
        if Column(**{**column, "source": was.source}) == was:
            column["source"] = was.source
    return column


def _one_of(text: str, allowed: Iterable[str], label: str) -> str:
    if text not in allowed:
        raise InvalidInput(f"{label}: one of {', '.join(allowed)}, not {text[:50]!r}.")
    return text


def _split(text: str, name: str) -> list[str]:
    """Values with commas between them; one that has a comma itself stands in quotes."""
    try:
        lines = list(csv.reader(io.StringIO(text), skipinitialspace=True, strict=True))
    except csv.Error:
        lines = []
    categories = [value.strip() for line in lines for value in line if value.strip()]
    if not categories:
        raise InvalidInput(
            f"{name}: list the categories, with commas between them. If they are unknown, "
            "choose text: a profile with a δ finds the common ones."
        )
    return categories

"""CSV on the Web: metadata of a CSV file, as the W3C's vocabulary writes it.

It has names, types, inclusive bounds, what an empty field stands for, which words stand for
nothing, and how the file is written. A list of categories is a regular expression of alternatives.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from whitecrow.card import Card, Column, CsvFormat
from whitecrow.errors import InvalidInput
from whitecrow_metadata._carried import SOURCE, Carried, Losses, day_text, losses_of, objects, texts

_CONTEXT = "http://www.w3.org/ns/csvw"
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_]*", re.ASCII)
_SPECIAL = frozenset("^$\\.*+?()[]{}|/")
_NUMBERS = {"number", "double", "float", "decimal"}
_INTEGERS = {
    *("integer", "long", "int", "short", "byte", "nonNegativeInteger", "positiveInteger"),
    *("unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte"),
    *("nonPositiveInteger", "negativeInteger"),
}
_DATES = {"date", "datetime", "dateTime", "dateTimeStamp"}
_TEXTS = {"string", "normalizedString", "token", "anyAtomicType", "any"}
_TYPES = {"number": "number", "integer": "integer", "date": "date"}
_ENCODINGS = {"iso-8859-1": "latin-1", "latin1": "latin-1", "windows-1252": "cp1252"}
_INHERITED = ("datatype", "default", "null", "required", "separator")
_MISSING = frozenset(
    {
        *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND"),
        *("1.#QNAN", "N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"),
    }
)
"""What counts as missing in every CSV file that whitecrow reads."""


def is_csvw(meta: Mapping[str, Any]) -> bool:
    """Whether a JSON object is CSVW metadata."""
    context = meta.get("@context")
    listed = context if isinstance(context, list) else [context]
    return _CONTEXT in listed and ("tableSchema" in meta or "tables" in meta)


def to_csvw(card: Card, *, file: str = "") -> Carried[dict[str, Any]]:
    """Return the CSVW metadata of a card, and what they have no place for."""
    lost = losses_of(card, carried={"csv", "lower", "upper", "categories", "fill", "missing"})
    for column in card.columns:
        if column.missing == "value":
            lost.add('missing = "value"', column.name)
    form = card.csv
    if form.lines_per_record > 1:
        lost.add("lines_per_record")
    meta: dict[str, Any] = {
        "@context": _CONTEXT,
        "url": file or f"{card.name}.csv",
        "dc:title": card.name,
        "dialect": {
            "delimiter": "\t" if form.delimiter == "tab" else form.delimiter,
            "encoding": {"latin-1": "iso-8859-1", "cp1252": "windows-1252"}.get(
                form.encoding, form.encoding
            ),
            "header": True,
        },
        "tableSchema": {"columns": [_column_json(column, form) for column in card.columns]},
    }
    return Carried(meta, lost.words())


def _column_json(column: Column, form: CsvFormat) -> dict[str, Any]:
    kind: dict[str, Any] = {"base": _TYPES.get(column.type, "string")}
    if column.lower is not None and column.upper is not None:
        kind["minimum"] = day_text(column, column.lower)
        kind["maximum"] = day_text(column, column.upper)
    if column.categories is not None:
        kind["format"] = f"^({'|'.join(map(_escaped, column.categories))})$"
    if column.type == "date":
        kind["format"] = "yyyy-MM-dd"
    if column.numeric and form.decimal != ".":
        kind["format"] = {"decimalChar": form.decimal}
    described: dict[str, Any] = {"titles": column.name, "datatype": kind, "null": sorted(_MISSING)}
    if _PLAIN.fullmatch(column.name):
        described = {"name": column.name, **described}
    if column.fill is not None:
        filled = str(day_text(column, column.fill))
        described["default"] = filled.replace(".", form.decimal) if column.numeric else filled
    return described


def from_csvw(meta: Mapping[str, Any]) -> Carried[Card]:
    """Return the card of a CSVW description, and what a card has no place for."""
    tables = objects(meta["tables"], "'tables'") if "tables" in meta else [meta]
    if len(tables) != 1:
        raise InvalidInput(
            f"The metadata describe {len(tables)} tables, and a card describes one: keep the table "
            "that is meant."
        )
    table = tables[0]
    schema = table.get("tableSchema", meta.get("tableSchema"))
    if not isinstance(schema, dict) or not schema.get("columns"):
        raise InvalidInput("The metadata have no columns in a 'tableSchema' (a link to one is no).")
    lost = Losses()
    decimals: set[str] = set()
    columns = []
    for position, entry in enumerate(objects(schema["columns"], "'columns'"), start=1):
        inherited = {
            key: level[key] for level in (meta, table, schema) for key in _INHERITED if key in level
        }
        column = _column({**inherited, **entry}, position, lost, decimals)
        if column is not None:
            columns.append(column)
    if len(decimals) > 1:
        raise InvalidInput("The columns have different decimal marks; a card declares one.")
    dialect = table.get("dialect", meta.get("dialect", {}))
    form = _form(dialect if isinstance(dialect, dict) else {}, decimals, lost)
    for key in ("primaryKey", "foreignKeys", "rowTitles", "aboutUrl"):
        if key in schema:
            lost.add(key)
    return Carried(Card(_title(table, meta), tuple(columns), csv=form), lost.words())


def _title(table: Mapping[str, Any], meta: Mapping[str, Any]) -> str:
    for level in (table, meta):
        for key in ("dc:title", "dcterms:title", "title"):
            named = texts(level.get(key))
            if named:
                return named[0]
    url = table.get("url")
    return PurePosixPath(url).stem if isinstance(url, str) and url else "imported"


def _form(dialect: Mapping[str, Any], decimals: set[str], lost: Losses) -> CsvFormat:
    delimiter = dialect.get("delimiter", ",")
    encoding = str(dialect.get("encoding", "utf-8")).lower()
    usual = {"quoteChar": '"', "doubleQuote": True, "header": True, "headerRowCount": 1}
    usual |= {"skipRows": 0, "skipColumns": 0, "skipInitialSpace": False}
    for key, value in dialect.items():
        if key not in ("delimiter", "encoding", "@type") and usual.get(key) != value:
            lost.add(f"dialect {key}")
    return CsvFormat(
        "tab" if delimiter == "\t" else delimiter,
        _ENCODINGS.get(encoding, encoding),
        next(iter(decimals), "."),
    )


def _column(
    field: Mapping[str, Any], position: int, lost: Losses, decimals: set[str]
) -> Column | None:
    named = texts(field.get("titles")) or texts(field.get("name"))
    if not named:
        raise InvalidInput(f"Column {position} of the metadata has neither 'titles' nor a 'name'.")
    name = named[0]
    if field.get("virtual") is True:
        lost.add("virtual columns", name)
        return None
    kind = field.get("datatype", "string")
    kind = {"base": kind} if isinstance(kind, str) else kind
    if not isinstance(kind, dict):
        raise InvalidInput(f"The datatype of column {name!r} must be a text or an object.")
    facts = _typed(kind, name, lost, decimals)
    facts |= _bounds(kind, str(facts["type"]), name, lost)
    for key in ("required", "separator", "propertyUrl", "valueUrl"):
        if field.get(key):
            lost.add(key, name)
    unknown = [value for value in texts(field.get("null", "")) if value not in _MISSING]
    if unknown:
        lost.add(f"null {', '.join(map(repr, unknown))}: such fields are not missing here", name)
    if field.get("default"):
        facts |= _filled(field["default"], str(facts["type"]), name, next(iter(decimals), "."))
    return Column(name, source=SOURCE, **facts)


def _typed(kind: Mapping[str, Any], name: str, lost: Losses, decimals: set[str]) -> dict[str, Any]:
    base, form = kind.get("base", "string"), kind.get("format")
    if not isinstance(base, str):
        raise InvalidInput(f"The datatype of column {name!r} must name its base.")
    if base in _NUMBERS or base in _INTEGERS:
        decimal = form.get("decimalChar", ".") if isinstance(form, dict) else "."
        if form is not None and (not isinstance(form, dict) or set(form) != {"decimalChar"}):
            lost.add("format", name)
        if base in _NUMBERS or decimal != ".":
            decimals.add(decimal)
        return {"type": "number" if base in _NUMBERS else "integer"}
    if base in _DATES:
        if form not in (None, "yyyy-MM-dd") and not str(form).startswith("yyyy-MM-ddT"):
            lost.add("format: dates are read as yyyy-MM-dd", name)
        return {"type": "date"}
    if base == "boolean":
        words = str(form).split("|") if form else ["true", "false"]
        return {"type": "category", "categories": tuple(words)}
    if base not in _TEXTS:
        lost.add(f"datatype {base}: read as text", name)
    listed = _alternatives(form) if isinstance(form, str) else None
    if listed is not None:
        return {"type": "category", "categories": listed}
    if form is not None:
        lost.add("format", name)
    return {"type": "text"}


def _bounds(kind: Mapping[str, Any], type_: str, name: str, lost: Losses) -> dict[str, Any]:
    for key in ("minExclusive", "maxExclusive", "length", "minLength", "maxLength"):
        if key in kind:
            lost.add(key, name)
    lower = kind.get("minimum", kind.get("minInclusive"))
    upper = kind.get("maximum", kind.get("maxInclusive"))
    if lower is None and upper is None:
        return {}
    if lower is None or upper is None or type_ not in ("number", "integer", "date"):
        lost.add("a bound without the other, or of a type that has none", name)
        return {}
    return {"lower": _value(lower, type_, name), "upper": _value(upper, type_, name)}


def _filled(default: object, type_: str, name: str, decimal: str) -> dict[str, Any]:
    if not isinstance(default, str):
        raise InvalidInput(f"The default of column {name!r} must be a text.")
    plain = default.replace(decimal, ".") if type_ in ("number", "integer") else default
    return {"missing": "fill", "fill": _value(plain, type_, name)}


def _value(value: object, type_: str, name: str) -> Any:
    """Read a number that may be written as text; a date keeps its day."""
    if type_ == "date" and isinstance(value, str):
        return value.partition("T")[0]
    if type_ in ("number", "integer") and isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            pass
        try:
            return float(value)
        except ValueError:
            raise InvalidInput(
                f"The limit {value[:50]!r} of column {name!r} of the metadata is no number."
            ) from None
    return value


def _escaped(text: str) -> str:
    return "".join(f"\\{character}" if character in _SPECIAL else character for character in text)


def _ends(form: str, decimal: str) -> bool:
    """Whether an expression ends with a mark that no backslash makes a plain character."""
    before = form.removesuffix(decimal)
    return before != form and (len(before) - len(before.rstrip("\\"))) % 2 == 0


def _alternatives(form: str) -> tuple[str, ...] | None:
    """Return the words of a regular expression that lists words and says nothing else."""
    body = form.removeprefix("^")
    body = body[:-1] if _ends(body, "$") else body
    if body.startswith("(") and _ends(body, ")"):
        body = body[1:-1].removeprefix("?:")
    words, escaped = [""], False
    for character in body:
        if escaped:
            if character not in _SPECIAL and character != "-":
                return None  # a class, such as \d
            words[-1] += character
            escaped = False
        elif character == "\\":
            escaped = True
        elif character == "|":
            words.append("")
        elif character in _SPECIAL:
            return None
        else:
            words[-1] += character
    return None if escaped else tuple(words)

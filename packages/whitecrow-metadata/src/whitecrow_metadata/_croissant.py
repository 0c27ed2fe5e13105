"""Croissant: metadata of datasets for machine learning, as MLCommons' vocabulary writes them.

It has names and types, and lists of categories as record sets of their own. It has no bounds, no
rule for missing values and no form of a CSV file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from whitecrow.card import Card, Column
from whitecrow.errors import InvalidInput
from whitecrow_metadata._carried import SOURCE, Carried, Losses, losses_of, objects, texts

_CONFORMS = "http://mlcommons.org/croissant/1.0"
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "field": "cr:field",
    "key": "cr:key",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
}
_TYPES = {"number": "sc:Float", "integer": "sc:Integer", "date": "sc:Date"}
_READ = {
    **dict.fromkeys(("Float", "Number", "Float16", "Float32", "Float64"), "number"),
    **dict.fromkeys(("Integer", "Int8", "Int16", "Int32", "Int64"), "integer"),
    **dict.fromkeys(("UInt8", "UInt16", "UInt32", "UInt64"), "integer"),
    **dict.fromkeys(("Date", "DateTime"), "date"),
    "Text": "text",
    "Boolean": "boolean",
}
_LAST = re.compile(r"[^:/#]*$")


def is_croissant(meta: Mapping[str, Any]) -> bool:
    """Whether a JSON object is Croissant metadata."""
    return _get(meta, "recordSet") is not None and "Dataset" in map(_last, texts(meta.get("@type")))


def to_croissant(card: Card) -> Carried[dict[str, Any]]:
    """Return the Croissant metadata of a card, and what they have no place for.

    No file is named: Croissant wants its checksum, and that is a fact of the records.
    """
    lost = losses_of(card, carried={"categories"})
    listed = [column for column in card.columns if column.categories is not None]
    fields = [_field(column) for column in card.columns]
    meta: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": _CONFORMS,
        "name": card.name,
        "recordSet": [
            *map(_enumeration, listed),
            {"@type": "cr:RecordSet", "@id": "records", "name": "records", "field": fields},
        ],
    }
    return Carried(meta, lost.words())


def _field(column: Column) -> dict[str, Any]:
    field: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"records/{column.name}",
        "name": column.name,
        "dataType": _TYPES.get(column.type, "sc:Text"),
    }
    if column.categories is not None:
        field["references"] = {"field": {"@id": f"categories/{column.name}/name"}}
    return field


def _enumeration(column: Column) -> dict[str, Any]:
    identifier = f"categories/{column.name}"
    name = f"{identifier}/name"
    return {
        "@type": "cr:RecordSet",
        "@id": identifier,
        "name": identifier,
        "dataType": "sc:Enumeration",
        "key": {"@id": name},
        "field": [{"@type": "cr:Field", "@id": name, "name": "name", "dataType": "sc:Text"}],
        "data": [{name: category} for category in column.categories or ()],
    }


def from_croissant(meta: Mapping[str, Any]) -> Carried[Card]:
    """Return the card of a Croissant description, and what a card has no place for."""
    sets = objects(_get(meta, "recordSet"), "'recordSet'")
    lists = [entry for entry in sets if "Enumeration" in _types(entry)]
    tables = [entry for entry in sets if entry not in lists]
    if len(tables) != 1:
        raise InvalidInput(
            f"The metadata describe {len(tables)} record sets beside lists of categories, and a "
            "card describes one: keep the one that is meant."
        )
    lost = Losses()
    columns = []
    for position, entry in enumerate(objects(_get(tables[0], "field") or [], "'field'"), start=1):
        column = _column(entry, position, _categories(lists), lost)
        if column is not None:
            columns.append(column)
    for key in ("key", "data", "examples"):
        if _get(tables[0], key) is not None:
            lost.add(key)
    name = (texts(meta.get("name")) or ["imported"])[0]
    return Carried(Card(name, tuple(columns)), lost.words())


def _categories(lists: list[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Return the values of every field of the lists, by its identifier."""
    categories: dict[str, list[str]] = {}
    for entry in lists:
        for row in objects(_get(entry, "data") or [], "'data'"):
            for field, value in row.items():
                if not isinstance(value, str | int | float) or isinstance(value, bool):
                    raise InvalidInput(f"The list {field!r} of the metadata holds no plain values.")
                categories.setdefault(field, []).append(str(value))
    return {field: tuple(values) for field, values in categories.items()}


def _column(
    field: Mapping[str, Any], position: int, categories: Mapping[str, tuple[str, ...]], lost: Losses
) -> Column | None:
    source = _get(field, "source")
    extract = _get(source, "extract") if isinstance(source, dict) else None
    stored = _get(extract, "column") if isinstance(extract, dict) else None
    named = texts(stored) or texts(field.get("name"))
    if not named:
        raise InvalidInput(f"Field {position} of the metadata has no 'name'.")
    name = named[0]
    if _get(field, "subField") or _get(field, "repeated") or _get(field, "isArray"):
        lost.add("fields of several values: left out", name)
        return None
    listed = _listed(field, categories)
    if listed is not None:
        return Column(name, "category", categories=listed, source=SOURCE)
    if _get(field, "references") is not None:
        lost.add("references", name)
    kinds = [_READ[type_] for type_ in _types(field) if type_ in _READ]
    if not kinds:
        lost.add(f"dataType {', '.join(_types(field)) or '(none)'}: read as text", name)
    kind = (kinds or ["text"])[0]
    if kind == "boolean":
        return Column(name, "category", categories=("true", "false"), source=SOURCE)
    return Column(name, kind, source=SOURCE)


def _listed(
    field: Mapping[str, Any], categories: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...] | None:
    references = _get(field, "references")
    if not isinstance(references, dict):
        return None
    target = _get(references, "field") or references
    identifier = target.get("@id") if isinstance(target, dict) else target
    return categories.get(identifier) if isinstance(identifier, str) else None


def _types(field: Mapping[str, Any]) -> list[str]:
    value = _get(field, "dataType")
    listed = value if isinstance(value, list) else [value]
    plain = [entry.get("@id") if isinstance(entry, dict) else entry for entry in listed]
    return [_last(entry) for entry in plain if isinstance(entry, str)]


def _last(name: str) -> str:
    match = _LAST.search(name)
    return match[0] if match else name


def _get(node: Mapping[str, Any], key: str) -> Any:
    """Return a property by its short name, or with its prefix."""
    return node.get(key, node.get(f"cr:{key}", node.get(f"sc:{key}")))

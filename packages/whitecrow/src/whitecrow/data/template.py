"""A card to start from: column names and types, and questions where people must answer."""

from __future__ import annotations

import json
import re

from whitecrow.card import Card, Column, date_text
from whitecrow.data.reading import drafted_card

_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_HEAD = """\
# The card of a dataset: public facts only. Nothing here may be read from the records: bounds and
# categories come from knowledge, public data, or a priced question. Fill in what is marked.

name = {name}
unit = "record"          # or "user": then name the user_column and the contribution bound
size_public = false      # true only if everyone may know how many records there are; then add size
# records_at_most = 1000000   # a public bound, far above; limits of time and memory come from it

# Where the parameters of your questions came from, for the record.
[sources]
# radius = "expert"
"""

_LIMITS = {
    "number": "# lower = ?\n# upper = ?",
    "integer": "# lower = ?\n# upper = ?",
    "date": '# lower = "2020-01-01"\n# upper = "2030-12-31"',
    "text": '# For a category: type = "category" and categories = ["every", "possible", "value"]',
}


def template(source: object) -> str:
    """Return the TOML of a new card for a file or frame: names and types only.

    The types of a CSV are guesses, marked as such, for the custodian to check.

    Examples
    --------
    >>> import pyarrow
    >>> print(template(pyarrow.table({"age": [30.5]})).splitlines()[-4])
    name = "age"
    """
    card, guessed = drafted_card(source)
    comment = "  # guessed from the first rows: check" if guessed else ""
    parts = [_HEAD.format(name=json.dumps(card.name))]
    for column in card.columns:
        kind = f'type = "{column.type}"{comment}'
        lines = ["[[columns]]", f"name = {json.dumps(column.name)}", kind]
        parts.append("\n".join([*lines, _LIMITS[column.type]]) + "\n")
    return "\n".join(parts).rstrip("\n") + "\n"


def card_toml(card: Card, *, draft: str = "", note: str = "") -> str:
    """Return the TOML of a card, with a note at its head.

    A ``draft`` names the priced question that drafted it; such a card is refused until a custodian
    accepts it.

    Examples
    --------
    >>> print(card_toml(Card("toy", (Column("age", lower=0, upper=120),))))
    name = "toy"
    unit = "record"
    size_public = false
    <BLANKLINE>
    [[columns]]
    name = "age"
    type = "number"
    lower = 0
    upper = 120
    <BLANKLINE>
    """
    facts = card.to_json()
    lines = [f"# {line}" for line in note.splitlines()]
    if draft:
        lines.append(f"draft = {_value(draft)}")
    lines += [
        f"{key} = {_value(value)}"
        for key, value in facts.items()
        if key not in ("columns", "sources")
    ]
    if card.sources:
        lines += ["", "[sources]"]
        lines += [f"{_key(key)} = {_value(text)}" for key, text in card.sources.items()]
    for column in card.columns:
        lines += ["", "[[columns]]"]
        lines += [f"{key} = {_value(value)}" for key, value in _facts(column).items()]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name)


def _facts(column: Column) -> dict[str, object]:
    facts = column.to_json()
    if column.type == "date":
        for key in {"lower", "upper", "fill"} & set(facts):
            days = facts[key]
            assert isinstance(days, int)
            facts[key] = date_text(days)
    return facts


def _value(value: object) -> str:
    """Write a value: JSON's texts, lists and numbers are TOML's too, but for DEL."""
    if isinstance(value, list):
        return f"[{', '.join(_value(item) for item in value)}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_key(key)} = {_value(item)}' for key, item in value.items())} }}"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")

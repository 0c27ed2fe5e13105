"""A card to start from: column names and types, and questions where people must answer."""

from __future__ import annotations

import json

from whitecrow.data.reading import bare_card, schema_of

__all__ = ["template"]

_HEAD = """\
# The card of a dataset: public facts only. Nothing here may be read from the records: bounds and
# categories come from knowledge, public data, or a priced question. Fill in what is marked.

name = {name}
unit = "record"          # or "user": then name the user_column and the contribution bound
size_public = false      # true only if everyone may know how many records there are; then add size

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

    Examples
    --------
    >>> import pyarrow
    >>> print(template(pyarrow.table({"age": [30.5]})).splitlines()[-4])
    name = "age"
    """
    name, schema = schema_of(source)
    parts = [_HEAD.format(name=json.dumps(name))]
    for column in bare_card(schema, name).columns:
        lines = ["[[columns]]", f"name = {json.dumps(column.name)}", f'type = "{column.type}"']
        parts.append("\n".join([*lines, _LIMITS[column.type]]) + "\n")
    return "\n".join(parts).rstrip("\n") + "\n"

"""The process that looks at a source nobody has described yet, and at no other time than that.

Names and types of columns may have to be guessed from rows, and a file may be anything: both stay
away from the process that talks to the network. It is told of one source on its standard input,
writes a card to its standard output and ends; it has a limit on time and one on memory.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

from whitecrow.card import Card, Column, CsvFormat, TableChoice
from whitecrow.data import SqlQuery
from whitecrow.data.reading import drafted_card, schema_card
from whitecrow.errors import WhitecrowError


def main() -> None:
    """Read what to look at, write what was seen."""
    asked = json.load(sys.stdin)
    os.umask(0o077)
    seconds, octets = int(asked["seconds"]), int(asked["bytes"])
    for which, most in (
        (resource.RLIMIT_CORE, 0),  # a core dump would hold records
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_DATA, octets),
    ):
        resource.setrlimit(which, (most, most))
    try:
        source, csv, table = _source(asked["source"]), asked["csv"], asked["table"]
        how = Card("new", (Column("none"),), csv=CsvFormat(**csv), table=TableChoice(**table))
        if asked["guess"]:
            card, guessed = drafted_card(source, csv=how.csv, table=how.table)
        else:
            card, guessed = schema_card(source, how if csv or table else None), False
        said = {"card": card.to_json(), "guessed": guessed}
    except WhitecrowError as error:
        said = {"refused": str(error), "parameter": getattr(error, "parameter", "")}
    json.dump(said, sys.stdout)


def _source(place: dict[str, Any]) -> Path | SqlQuery:
    return Path(place["path"]) if "path" in place else SqlQuery(place["url"], place["query"])


if __name__ == "__main__":
    main()

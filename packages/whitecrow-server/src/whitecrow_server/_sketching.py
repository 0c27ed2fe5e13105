"""Looking at a source that nobody has described yet, in a process that does nothing else.

Names and types of columns may have to be guessed from rows, and a file may be anything: both stay
away from the process that talks to the network. It is told of one source on its standard input,
writes a card to its standard output and ends; it has a limit on time and one on memory.
"""

from __future__ import annotations

import difflib
import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from whitecrow.card import Card, Column, CsvFormat, TableChoice
from whitecrow.data import SqlQuery
from whitecrow.data.reading import drafted_card, schema_card
from whitecrow.errors import InvalidInput, WhitecrowError
from whitecrow_server._children import environment
from whitecrow_server._messages import source_from_json, source_to_json

_SKETCH_SECONDS, _SKETCH_BYTES = 20, 2 << 30
_SKETCHES = threading.BoundedSemaphore(2)
"""How many sources are looked at at once: each may take its share of memory."""


def sketched(
    source: Path | SqlQuery, *, csv: Mapping[str, Any], table: Mapping[str, Any], guess: bool = True
) -> tuple[Card, bool]:
    """Let a process of its own look at a source.

    With ``guess``, types that the source does not say are guessed from rows.
    """
    asked = {"source": source_to_json(source), "csv": csv, "table": table, "guess": guess}
    limits = {"seconds": _SKETCH_SECONDS, "bytes": _SKETCH_BYTES}
    with _SKETCHES:
        try:
            done = subprocess.run(
                [sys.executable, "-m", "whitecrow_server._sketching"],
                input=json.dumps({**asked, **limits}).encode(),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # the traceback of a crash may quote records
                env=environment(),
                timeout=2 * _SKETCH_SECONDS,
                check=True,
            )
            reply = json.loads(done.stdout)
        except (subprocess.SubprocessError, ValueError):
            reply = None
    if reply is None:
        raise InvalidInput(
            "The source could not be read within the limits on time and memory. Describe its "
            "columns in a card instead (whitecrow card new drafts one where the file lies)."
        )
    if "refused" in reply:
        raise InvalidInput(reply["refused"], parameter=reply["parameter"])
    return Card.from_json(reply["card"]), reply["guessed"]


def check_columns(file: Path, card: Card) -> None:
    """Refuse a card with a column that the file has not: loading it would fail, later and unseen.

    The names of columns are no records: they may be told to whoever registers the file.
    """
    try:
        sketch, _ = sketched(file, csv=vars(card.csv), table=vars(card.table), guess=False)
    except InvalidInput:  # what is wrong with the file itself shows when it is loaded
        return
    for column in card.columns:
        if column.name not in sketch.names:
            near = difflib.get_close_matches(column.name, sketch.names, n=1)
            listed = ", ".join(sketch.names[:20])
            hint = f" Did you mean {near[0]!r}?" if near else f" It has {listed}."
            raise InvalidInput(
                f"The card has a column {column.name!r}, and the file has none of that name.{hint}",
                parameter="card",
            )


# In the process


def main() -> None:
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
        source, csv, table = source_from_json(asked["source"]), asked["csv"], asked["table"]
        how = Card("new", (Column("none"),), csv=CsvFormat(**csv), table=TableChoice(**table))
        if asked["guess"]:
            card, guessed = drafted_card(source, csv=how.csv, table=how.table)
        else:
            card, guessed = schema_card(source, how if csv or table else None), False
        reply = {"card": card.to_json(), "guessed": guessed}
    except WhitecrowError as error:
        reply = {"refused": str(error), "parameter": getattr(error, "parameter", "")}
    json.dump(reply, sys.stdout)


if __name__ == "__main__":
    main()

"""``whitecrow plan``: what would a batch of questions cost together?"""

from __future__ import annotations

import json
from typing import IO, Any

import click

from whitecrow.cli.common import Asking, ledger_option, opened, server_option
from whitecrow.cli.screen_output import Output
from whitecrow.errors import InvalidInput


@click.command(
    "plan",
    epilog="Example: whitecrow plan patients.parquet questions.json --card patients.toml",
)
@click.argument("data")
@click.argument("questions", type=click.File(encoding="utf-8"))
@click.option("--card", help="The dataset's card (TOML).")
@ledger_option
@click.option("--name", help="Whose account it is (default: the name of the file).")
@click.option("--analyst", default="owner", show_default=True, help="Who would ask.")
@click.option("--budget", help="The dataset's whole budget, when its account is opened new.")
@server_option
@click.pass_obj
def command(
    output: Output,
    data: str,
    questions: IO[str],
    card: str | None,
    ledger: str | None,
    name: str | None,
    analyst: str,
    budget: str | None,
    server: str | None,
) -> None:
    """Say what a batch of questions about DATA would cost together; ask none of them.

    QUESTIONS is a file (or - for standard input) with a JSON list, or one JSON object a line:
    {"kind": "identify", "record": {...}, "model": {"beta": 18, "radius": 0.148}, "k": 2,
    "epsilon": "0.1"}. Questions about places that do not meet share one price.
    """
    from whitecrow.questions import read_question

    batch = [read_question(item) for item in _objects(questions.read())]
    given = Asking(
        output, data, card, ledger, name, analyst, "local", None, budget, None, None, True, server
    )
    plan = opened(given).plan(batch)
    output.show(plan.to_json(), str(plan))


def _objects(written: str) -> list[dict[str, Any]]:
    """Read a JSON list, or one JSON object a line."""
    try:
        lines = [line for line in written.splitlines() if line.strip()]
        found = (
            json.loads(written)
            if written.lstrip().startswith("[")
            else list(map(json.loads, lines))
        )
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise InvalidInput(
            "The questions must be a JSON list of objects, or one JSON object a line, each with a "
            '"kind" such as "identify".'
        )
    return found

"""``whitecrow data``: say that the records of an account have changed."""

from __future__ import annotations

from typing import Any

import click

from whitecrow.cli.screen_output import Output
from whitecrow.errors import InvalidInput


@click.group("data")
def command() -> None:
    """The records that an account is for. Opened with others, an account refuses."""


@command.command(
    "advance",
    epilog='Example: whitecrow data advance patients.parquet --reason "May was appended"',
)
@click.argument("data")
@click.option("--reason", required=True, help="Why the records changed; the chain keeps it.")
@click.option("--card", help="The dataset's card (TOML).")
@click.option("--ledger", help="Where the account is kept (default: a file beside the data).")
@click.option("--name", help="Whose account it is (default: the name of the file).")
@click.option("--engine", default="local", show_default=True, help="Who counts neighbours.")
@click.option("--spark-master", help="For spark: local[2], spark://host:7077, sc://host, ...")
@click.pass_obj
def advance(output: Output, /, data: str, reason: str, **how: Any) -> None:
    """Record DATA, as it is now, as the next revision of its account.

    Do this when the same data grew or were corrected. What was spent goes on adding up; stored
    answers, and the discount for places that do not meet, belong to the revision they were asked
    of. Other data get an account of their own: --name.
    """
    from whitecrow.curator import Curator

    given = {option: value for option, value in how.items() if value is not None}
    if not reason.strip():
        raise InvalidInput("The custodian's acts need a reason, in words; the chain keeps it.")
    with output.progress() as progress:
        opened = Curator.open(data, **given, advance=reason, progress=progress)
    with opened as curator:
        output.show(
            {"account": curator.name, "revision": curator.revision},
            f"{curator.name}: these records are revision {curator.revision}.",
        )

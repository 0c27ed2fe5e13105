"""``whitecrow data``: which records an account is for, and what happened to them."""

from __future__ import annotations

from typing import Any

import click

from whitecrow.cli.opened import chosen, opened_ledger
from whitecrow.cli.screen_output import Output
from whitecrow.errors import InvalidInput

GROWTH = ("insert-only", "any")
_LINES = ("differential", "sensitive", "conditional")


@click.group("data")
def command() -> None:
    """The records that an account is for. Opened with others, an account refuses."""


@command.command(
    "advance",
    epilog='Example: whitecrow data advance patients.parquet --reason "May was appended"',
)
@click.argument("data")
@click.option("--reason", required=True, help="Why the records changed; the chain keeps it.")
@click.option(
    "--growth",
    type=click.Choice(GROWTH),
    help="Declare that records are only ever added at the end, or that this has ended; the last "
    "declaration holds unless given.",
)
@click.option("--card", help="The dataset's card (TOML).")
@click.option("--ledger", help="Where the account is kept (default: a file next to the data).")
@click.option("--name", help="Whose account it is (default: the name of the file).")
@click.option("--engine", default="local", show_default=True, help="Who counts neighbours.")
@click.option("--spark-master", help="For spark: local[2], spark://host:7077, sc://host, ...")
@click.pass_obj
def advance(output: Output, /, data: str, reason: str, **how: Any) -> None:
    """Record DATA, as it is now, as the next revision of its account.

    Do this when the same data grew or were corrected. What was spent goes on adding up; stored
    answers, and the discount for places that do not meet, belong to the revision they were asked
    of. Other data get an account of their own: --name.

    With --growth insert-only every next revision is checked: it must hold the records of this one,
    unchanged and at the front. Places that do not meet then share their price over these revisions.
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


@command.command("timeline", epilog="Example: whitecrow data timeline patients.parquet --out t.svg")
@click.argument("source", metavar="SOURCE")
@click.option("--dataset", help="Which account, if the ledger holds several.")
@click.option("--out", type=click.Path(dir_okay=False), help="Draw the budget over time (SVG).")
@click.pass_obj
def timeline(output: Output, source: str, dataset: str | None, out: str | None) -> None:
    """What happened to a dataset: revisions, promises, publications, alarms, and what was spent.

    SOURCE is a data file (its ledger lies beside it), a ledger file, or a database URL.
    """
    from whitecrow.ledger.timeline import timeline as told
    from whitecrow.rendering.chart import Picture
    from whitecrow.rendering.timeline import history

    with opened_ledger(source) as ledger:
        found = told(ledger, chosen(ledger, dataset)).to_json()
    lines = [_line(event) for event in found["events"]]
    if found["spent"]:
        last = found["spent"][-1]
        amounts = ", ".join(f"{one} {last[one] or 'unbounded'}" for one in _LINES)
        lines.append(f"{last['at'][:16].replace('T', ' ')}  spent        ε {amounts}")
    if out is not None:
        Picture(history(found)).save(out)
        lines.append(f"Drawn to {out}.")
    output.show(found, "\n".join(lines) or "Nothing has happened yet.")


def _line(event: dict[str, str]) -> str:
    moment = event["at"][:16].replace("T", " ")
    who = f"{event['analyst']}: " if "analyst" in event else ""
    why = f' "{event["reason"]}"' if event.get("reason") else ""
    return f"{moment}  {event['kind']:<11}  {who}{event['says']}{why}"

"""``whitecrow card``: write, check, accept, import and export dataset cards."""

from __future__ import annotations

import click

from whitecrow.cli.files import check_absent, read_text, write_new
from whitecrow.cli.packaged import PackagedGroup
from whitecrow.cli.screen_output import Output


@click.group("card", cls=PackagedGroup)
def command() -> None:
    """Write, check, accept, import and export dataset cards: the public facts of a dataset."""


@command.command("new", epilog="Example: whitecrow card new patients.parquet --out patients.toml")
@click.argument("file")
@click.option("--out", type=click.Path(dir_okay=False), help="Where to write it (default: print).")
@click.pass_obj
def new(output: Output, file: str, out: str | None) -> None:
    """Make a card template from a file's column names and types, and nothing else of it."""
    from whitecrow.data import template

    written = template(file)
    if out is None:
        output.show({"card": written}, written.rstrip("\n"), raw=True)
        return
    write_new(out, written)
    output.show({"written": out}, f"Wrote {out}. Fill in what is marked, then: card check {out}")


@command.command("check", epilog="Example: whitecrow card check patients.toml")
@click.argument("card")
@click.pass_obj
def check(output: Output, card: str) -> None:
    """Say whether a card is whole and what it states."""
    from whitecrow.data import Card

    found = Card.load(card)
    lines = [f"{found.name}: one {found.unit} is protected; {len(found.columns)} columns"]
    for column in found.columns:
        limits = "no bounds"
        if column.categories is not None:
            limits = f"{len(column.categories)} categories"
        elif column.bounded:
            limits = f"{column.lower:g} to {column.upper:g}"
        lines.append(f"  {column.name}: {column.type}, {limits} ({column.source})")
    bare = [c.name for c in found.columns if c.type != "text" and not (c.bounded or c.categories)]
    if bare:
        lines.append(
            f"Without bounds: {', '.join(bare)}. Questions that need them will refuse; delete the "
            "columns that nobody will ask about."
        )
    output.show({"ok": True, "card": found.to_json()}, "\n".join(lines))


@command.command(
    "accept", epilog="Example: whitecrow card accept draft.toml patients.csv --out patients.toml"
)
@click.argument("draft")
@click.argument("source", metavar="SOURCE")
@click.option("--dataset", help="Which account, if the ledger holds several.")
@click.option("--out", type=click.Path(dir_okay=False), required=True, help="Where to write it.")
@click.option("--reason", default="", help="Why, in words; the chain keeps it.")
@click.pass_obj
def accept(
    output: Output, draft: str, source: str, dataset: str | None, out: str, reason: str
) -> None:
    """Put a card in force that a profile drafted, as it is or edited.

    SOURCE is the data file (its ledger lies beside it), a ledger file, or a database URL. Lines
    that were changed become the custodian's own word; the account's chain keeps the card.
    """
    from whitecrow.cli.opened import chosen, opened_ledger
    from whitecrow.curator.drafts import accept_draft
    from whitecrow.data.template import written

    check_absent(out)
    text = read_text(draft, "draft")
    with opened_ledger(source) as ledger:
        found = accept_draft(text, ledger, chosen(ledger, dataset), reason=reason)
    write_new(out, written(found.card))
    edited = f" Edited: {', '.join(found.edited)}." if found.edited else ""
    output.show(
        {"written": out, "card": found.card.to_json(), "edited": list(found.edited)},
        f"Wrote {out}; the ledger keeps it.{edited}",
    )

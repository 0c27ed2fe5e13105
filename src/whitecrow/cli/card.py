"""``whitecrow card``: write, check, accept, import and export dataset cards."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from whitecrow.cli.screen_output import Output
from whitecrow.errors import InvalidInput


@click.group("card")
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
    _write(out, written)
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
    from whitecrow.data._template import written

    _absent(out)
    text = _text(draft, "draft")
    with opened_ledger(source) as ledger:
        found = accept_draft(text, ledger, chosen(ledger, dataset), reason=reason)
    _write(out, written(found.card))
    edited = f" Edited: {', '.join(found.edited)}." if found.edited else ""
    output.show(
        {"written": out, "card": found.card.to_json(), "edited": list(found.edited)},
        f"Wrote {out}; the ledger keeps it.{edited}",
    )


@command.command("import", epilog="Example: whitecrow card import metadata.json --out card.toml")
@click.argument("file")
@click.option("--out", type=click.Path(dir_okay=False), help="Where to write it (default: print).")
@click.pass_obj
def import_(output: Output, file: str, out: str | None) -> None:
    """Make a card of CSVW or Croissant metadata.

    What a card has no place for is listed on standard error.
    """
    from whitecrow.data._template import written
    from whitecrow.data.metadata import imported

    found = imported(_text(file, "file"))
    card = written(found.result, note=_IMPORTED)
    _not_carried(output, found.lost, "a card")
    if out is not None:
        _write(out, card)
    said = card.rstrip("\n") if out is None else f"Wrote {out}. Then: card check {out}"
    result = {"card": found.result.to_json(), "not_carried": list(found.lost), "written": out}
    output.show(result, said, raw=out is None)


@command.command("export", epilog="Example: whitecrow card export clinic.toml --format csvw")
@click.argument("card")
@click.option(
    "--format", "form", type=click.Choice(("csvw", "croissant")), required=True, help="Which one."
)
@click.option("--file", default="", help="CSVW: the CSV file described (default: NAME.csv).")
@click.option("--out", type=click.Path(dir_okay=False), help="Where to write it (default: print).")
@click.pass_obj
def export(output: Output, card: str, form: str, file: str, out: str | None) -> None:
    """Write a card as CSVW or Croissant metadata.

    What they have no place for is listed on standard error.
    """
    from whitecrow.data import Card
    from whitecrow.data.metadata import exported

    found = exported(Card.load(card), form, file=file)
    text = json.dumps(found.result, indent=2, ensure_ascii=False)
    _not_carried(output, found.lost, form)
    if out is not None:
        _write(out, f"{text}\n")
    result = {"metadata": found.result, "not_carried": list(found.lost), "written": out}
    output.show(result, text if out is None else f"Wrote {out}.", raw=out is None)


_IMPORTED = """\
Imported. A card holds public facts only: make sure that nobody read these bounds and categories off
the records, and add the unit of privacy (unit, user_column, contribution) if it is not a record."""


def _not_carried(output: Output, lost: Sequence[str], where: str) -> None:
    if lost:
        output.say("\n".join([f"Not carried, for {where} has no place for it:", *_listed(lost)]))


def _listed(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _text(file: str, what: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InvalidInput(f"The {what} {file!r} cannot be read.") from None


def _absent(out: str) -> None:
    if Path(out).exists():
        raise InvalidInput(f"{out!r} exists already; name another file or remove it first.")


def _write(out: str, text: str) -> None:
    _absent(out)
    Path(out).write_text(text, encoding="utf-8")

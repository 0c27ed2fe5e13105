"""``whitecrow card import`` and ``whitecrow card export``."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from whitecrow.cli.files import read_text, write_new
from whitecrow.cli.screen_output import Output
from whitecrow.data import Card
from whitecrow.data.template import card_toml
from whitecrow_metadata import exported, imported


@click.command("import", epilog="Example: whitecrow card import metadata.json --out card.toml")
@click.argument("file")
@click.option("--out", type=click.Path(dir_okay=False), help="Where to write it (default: print).")
@click.pass_obj
def card_import(output: Output, file: str, out: str | None) -> None:
    """Make a card of CSVW or Croissant metadata.

    What a card has no place for is listed on standard error.
    """
    carried = imported(read_text(file, "file"))
    card = card_toml(carried.result, note=_IMPORTED)
    _not_carried(output, carried.lost, "a card")
    if out is not None:
        write_new(out, card)
    text = card.rstrip("\n") if out is None else f"Wrote {out}. Then: card check {out}"
    result = {"card": carried.result.to_json(), "not_carried": list(carried.lost), "written": out}
    output.show(result, text, raw=out is None)


@click.command("export", epilog="Example: whitecrow card export clinic.toml --format csvw")
@click.argument("card")
@click.option(
    "--format", "form", type=click.Choice(("csvw", "croissant")), required=True, help="Which one."
)
@click.option("--file", default="", help="CSVW: the CSV file described (default: NAME.csv).")
@click.option("--out", type=click.Path(dir_okay=False), help="Where to write it (default: print).")
@click.pass_obj
def card_export(output: Output, card: str, form: str, file: str, out: str | None) -> None:
    """Write a card as CSVW or Croissant metadata.

    What they have no place for is listed on standard error.
    """
    carried = exported(Card.load(card), form, file=file)
    text = json.dumps(carried.result, indent=2, ensure_ascii=False)
    _not_carried(output, carried.lost, form)
    if out is not None:
        write_new(out, f"{text}\n")
    result = {"metadata": carried.result, "not_carried": list(carried.lost), "written": out}
    output.show(result, text if out is None else f"Wrote {out}.", raw=out is None)


_IMPORTED = """\
Imported. A card holds public facts only: make sure that nobody read these bounds and categories off
the records, and add the unit of privacy (unit, user_column, contribution) if it is not a record."""


def _not_carried(output: Output, lost: Sequence[str], where: str) -> None:
    if lost:
        output.say("\n".join([f"Not carried, for {where} has no place for it:", *_listed(lost)]))


def _listed(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]

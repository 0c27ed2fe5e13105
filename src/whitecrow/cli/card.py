"""``whitecrow card``: write and check dataset cards."""

from __future__ import annotations

from pathlib import Path

import click

from whitecrow.cli.screen_output import Output
from whitecrow.errors import InvalidInput


@click.group("card")
def command() -> None:
    """Write and check dataset cards: the public facts of a dataset."""


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
    if Path(out).exists():
        raise InvalidInput(f"{out!r} exists already; name another file or remove it first.")
    Path(out).write_text(written, encoding="utf-8")
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

"""``whitecrow ledger witness`` and ``backup``: what keeps an account from being forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whitecrow.cli.opened import opened_ledger
from whitecrow.cli.screen_output import Output
from whitecrow.errors import InvalidInput, LedgerUnusable

if TYPE_CHECKING:
    from whitecrow.ledger import Ledger
    from whitecrow.ledger.witness import Mark, Setup

_SOURCE = click.argument("source", metavar="SOURCE")
_NO_WITNESS = (
    "The ledger has no witness. A restored backup would forget what was answered since; "
    "'whitecrow ledger witness SOURCE --to PLACE' appoints one."
)


@click.command(
    "witness", epilog="Example: whitecrow ledger witness patients.parquet --to /mnt/b/crow.witness"
)
@_SOURCE
@click.option(
    "--to",
    "place",
    help="Appoint one: a file elsewhere, another database's URL, or another instance (https://...).",
)
@click.option(
    "--key",
    type=click.Path(dir_okay=False),
    help="The file of the signing key; made if it is not there (default: beside the ledger).",
)
@click.option(
    "--every",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Write it every so many seconds; 0: before an answer leaves.",
)
@click.option("--dismiss", is_flag=True, help="Take the witness away, if it says all is there.")
@click.option(
    "--not-restored",
    is_flag=True,
    help="For --dismiss, where the witness is gone: you vouch that the ledger is no older copy.",
)
@click.option(
    "--accept-loss", is_flag=True, help="After a restore: close what lost entries, and go on."
)
@click.option("--reason", help="Why, for --accept-loss and --not-restored; the chain keeps it.")
@click.pass_obj
def witness(
    output: Output,
    source: str,
    place: str | None,
    key: str | None,
    every: int,
    dismiss: bool,
    not_restored: bool,
    accept_loss: bool,
    reason: str | None,
) -> None:
    """Keep the heads of all accounts, signed, where a restored backup cannot take them back.

    Without options: compare the ledger with its witness.
    """
    from whitecrow.ledger import witness as witnesses

    with opened_ledger(source) as ledger:
        if place is not None:
            file = Path(key) if key else _beside(ledger)
            made = witnesses.appoint(ledger.database, place, file, seconds=every)
            _show(output, made, {}, f"The key is in {made.key}; keep a copy of it elsewhere.")
            return
        setup = witnesses.setup_of(ledger.database)
        if setup is None:
            output.show({"witness": None}, _NO_WITNESS)
            return
        if dismiss:
            _dismiss(ledger, not_restored, reason)
            output.show({"witness": None}, "The ledger has no witness any more.")
            return
        if accept_loss:
            why = _needed(reason, "Say why the loss is accepted: --reason.")
            closed = witnesses.accept(ledger.database, setup, reason=why)
            names = ", ".join(map(_label, closed)) or "none"
            said = f"Closed for good, since they lost entries: {names}. The others go on."
            output.show({"closed": list(closed)}, said)
            return
        try:
            lost = witnesses.lost(ledger.database, setup)
        except LedgerUnusable as away:  # whoever is to bring it back must know where it was
            raise LedgerUnusable(f"Witness {witnesses.shown(setup.address)}. {away}") from None
        _show(output, setup, lost, "")


@click.command("backup", epilog="Example: whitecrow ledger backup patients.parquet copy.db")
@_SOURCE
@click.argument("out", type=click.Path(dir_okay=False))
@click.pass_obj
def backup(output: Output, source: str, out: str) -> None:
    """Copy the ledger into the file OUT while others go on asking."""
    from whitecrow.ledger.backup import backup as copied
    from whitecrow.ledger.witness import setup_of

    with opened_ledger(source) as ledger:
        copied(ledger.database, Path(out))
        heads = {name: ledger.snapshot(name) for name in ledger.datasets()}
        watched = setup_of(ledger.database) is not None
    told = {name: {"entries": one.seq, "head": one.head} for name, one in heads.items()}
    words = [f"Wrote {out}: {len(told)} accounts."]
    words += [] if watched else [_NO_WITNESS]
    output.show({"written": out, "accounts": told, "witness": watched}, "\n".join(words))


def _beside(ledger: Ledger) -> Path:
    path = ledger.database.path
    if path is None:
        raise InvalidInput("Say where the signing key is to be kept: --key FILE.")
    return path.with_name(f"{path.name}.witness.key")


def _needed(reason: str | None, otherwise: str) -> str:
    if not reason:
        raise InvalidInput(otherwise)
    return reason


def _dismiss(ledger: Ledger, not_restored: bool, reason: str | None) -> None:
    """Dismiss the witness; where it could not be asked, every chain keeps that and why."""
    from whitecrow.ledger import witness as witnesses

    why = _needed(reason, "Say how you know it: --reason.") if not_restored else ""
    witnesses.dismiss(ledger.database, not_restored=not_restored)
    for name in ledger.datasets() if not_restored else ():
        ledger.amend(name, reason=f"the witness was dismissed, and did not confirm: {why}")


def _label(name: str) -> str:
    return name.replace("\n", ", publication ")


def _show(output: Output, setup: Setup, lost: dict[str, tuple[Mark, int]], more: str) -> None:
    from whitecrow.ledger.witness import shown

    where = shown(setup.address)
    when = f"every {setup.seconds} s" if setup.seconds else "before an answer leaves"
    words = [f"Witness {where}, written {when}, key {setup.public[:16]}."]
    missing: dict[str, Any] = {}
    for name, (mark, seq) in sorted(lost.items()):
        missing[name] = {"witnessed": mark.seq, "entries": seq}
        words.append(
            f"  {_label(name)}: OLDER than its witness, entry {seq} of {mark.seq} or another one"
        )
    words.append("The ledger answers nothing: restore a newer copy." if lost else more)
    said = {"place": where, "seconds": setup.seconds, "public": setup.public, "older": missing}
    output.show({"witness": said}, "\n".join(one for one in words if one))

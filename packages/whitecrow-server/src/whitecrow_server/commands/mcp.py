"""``whitecrow mcp``: let an assistant ask, with every price confirmed by a person."""

from __future__ import annotations

import os
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whitecrow.cli.screen_output import Output
from whitecrow.cli.secrets import token
from whitecrow.errors import InvalidInput, NotAllowed

if TYPE_CHECKING:
    from whitecrow.client import Client


@click.command("mcp", epilog="Example: whitecrow mcp --server https://crow.example.org")
@click.option("--server", help="The service's address; WHITECROW_TOKEN says who asks.")
@click.option(
    "--at-most",
    multiple=True,
    metavar="[epsilon=|delta=|rho=]NUMBER",
    help="What all questions of the session may cost together: 1/2 (epsilon), delta=1e-9, rho=1/8; "
    "repeatable. Once given, what it does not name may not be spent.",
)
@click.option(
    "--approvals",
    type=click.Path(file_okay=False),
    help="The folder of what a person has approved (default: in the user's state folder).",
)
@click.option(
    "--approve",
    metavar="CODE",
    help="Show what an assistant wants to ask and its price; approve it.",
)
@click.pass_obj
def command(
    output: Output,
    server: str | None,
    at_most: tuple[str, ...],
    approvals: str | None,
    approve: str | None,
) -> None:
    """Serve the Model Context Protocol on standard input and output, for an assistant.

    It lists datasets, prices questions and answers about synthetic records, free. A question of the
    data is asked when a person has confirmed its price: in the assistant's program where that can
    ask its user, else with --approve at another terminal. What can be spent at the most is what the
    custodian allows the analyst whose token it is.
    """
    from whitecrow.client import Client
    from whitecrow_server.mcp import Approvals, Assistant, serve

    store = Approvals(Path(approvals) if approvals else _state_folder())
    if approve is not None:
        spend = store.requested(approve)
        click.echo(str(spend), err=True)
        if not click.confirm("Spend it?", default=False, err=True):
            raise NotAllowed("Not approved; nothing is spent.")
        store.approve(spend)
        output.show({"approved": approve}, f"Approved {approve}; the assistant may ask it once.")
        return
    if server is None:
        raise InvalidInput("Name the service to ask: --server URL.")
    secret, url = token(), server

    def client(dataset: str | None) -> Client:
        return Client(url, secret, dataset=dataset)

    most = _caps(at_most) if at_most else None
    for stream in (sys.stdin, sys.stdout):
        # A byte that is no text must not end the session; JSON says where it stands.
        stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    serve(Assistant(client, store, most=most), sys.stdin, sys.stdout)


def _caps(given: tuple[str, ...]) -> dict[str, Fraction]:
    from whitecrow_server.mcp.approvals import AMOUNTS

    caps: dict[str, Fraction] = {}
    for assignment in given:
        name, _, number = assignment.rpartition("=")
        name = name or "epsilon"
        try:
            amount = Fraction(number)
        except (ValueError, ZeroDivisionError):
            amount = Fraction(-1)
        if name not in AMOUNTS or name in caps or amount <= 0:
            raise InvalidInput(
                f"--at-most is a number above 0 such as 1/2, or names what it caps, each once: "
                f"{', '.join(f'{amount_name}=1/8' for amount_name in AMOUNTS)}; got {assignment!r}."
            )
        caps[name] = amount
    return caps


def _state_folder() -> Path:
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "whitecrow" / "approvals"

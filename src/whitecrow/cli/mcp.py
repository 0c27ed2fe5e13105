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
from whitecrow.errors import InvalidInput

if TYPE_CHECKING:
    from whitecrow.client import Client


@click.command("mcp", epilog="Example: whitecrow mcp --server https://crow.example.org")
@click.option("--server", help="The service's address; WHITECROW_TOKEN says who asks.")
@click.option("--at-most", help="What all questions of the session may cost together: 1/2.")
@click.option(
    "--approvals",
    type=click.Path(file_okay=False),
    help="The folder of what a person has approved (default: in the user's state folder).",
)
@click.option("--approve", metavar="CODE", help="Say yes to a price that the assistant showed.")
@click.pass_obj
def command(
    output: Output,
    server: str | None,
    at_most: str | None,
    approvals: str | None,
    approve: str | None,
) -> None:
    """Serve the Model Context Protocol on standard input and output, for an assistant.

    It lists datasets, prices questions and answers about made-up records, free. A question of the
    data is asked when a person has confirmed its price: in the assistant's program where that can
    ask its user, else with --approve at another terminal. What can be spent at the most is what the
    custodian allows the analyst whose token it is.
    """
    from whitecrow.client import Client
    from whitecrow.mcp import Approvals, Assistant, serve

    known = Approvals(Path(approvals) if approvals else _state_folder())
    if approve is not None:
        known.approve(approve)
        output.show({"approved": approve}, f"Approved {approve}; the assistant may ask it once.")
        return
    if server is None:
        raise InvalidInput("Say which service is asked: --server URL.")
    secret, url = token(), server

    def client(dataset: str | None) -> Client:
        return Client(url, secret, dataset=dataset)

    most = None if at_most is None else _amount(at_most)
    serve(Assistant(client, known, most=most), sys.stdin, sys.stdout)


def _amount(written: str) -> Fraction:
    try:
        found = Fraction(written)
    except (ValueError, ZeroDivisionError):
        found = Fraction(-1)
    if found <= 0:
        raise InvalidInput(f"--at-most is a number above 0 such as 1/2; got {written!r}.")
    return found


def _state_folder() -> Path:
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "whitecrow" / "approvals"

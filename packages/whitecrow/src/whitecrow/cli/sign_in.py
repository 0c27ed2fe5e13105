"""``whitecrow sign-in``: a token for the terminal, through the provider of single sign-on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whitecrow.cli.secrets import kept_token
from whitecrow.errors import InvalidInput

if TYPE_CHECKING:
    from whitecrow.cli.screen_output import Output


@click.command("sign-in", epilog="Example: whitecrow sign-in --server https://crow.example.org")
@click.option("--server", required=True, envvar="WHITECROW_SERVER", help="The service's address.")
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False),
    help="Where the token is kept, for you alone (default: in your configuration folder).",
)
@click.pass_obj
def command(output: Output, server: str, token_file: str | None) -> None:
    """Sign in to a service through your organisation.

    You type a code at another screen; the token that comes of it lasts for a working day and is
    used by every command with --server.
    """
    from whitecrow.client import device_token

    file = kept_token() if token_file is None else Path(token_file)
    written = device_token(server, tell=output.say)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            file.chmod(0o600)  # of an older file too
            opened.write(written)
    except OSError:
        raise InvalidInput(f"The token cannot be written to {str(file)!r}.") from None
    hint = "" if token_file is None else f" Put WHITECROW_TOKEN_FILE={file} before your commands."
    output.show({"token_file": str(file)}, f"Signed in.{hint}")

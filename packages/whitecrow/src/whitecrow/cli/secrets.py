"""Secrets reach a command through files or the environment: every user sees a command line."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from whitecrow.errors import InvalidInput

_PASSWORD = re.compile(r"://[^:/@\s]*:(?!\d+(?:/|$))[^@\s]+@|[?&;](?:ssl)?password=[^&\s]", re.I)
"""A URL with a password, before its host or among its parameters."""


def check_argv(given: Sequence[str]) -> None:
    """Refuse a command line that holds a password."""
    if any(map(_PASSWORD.search, given)):
        raise InvalidInput(
            "A password stands on the command line, where every user of this machine can read it. "
            "Leave it out of the address: PostgreSQL takes it from ~/.pgpass, PGPASSFILE or "
            "PGPASSWORD. Or give the whole address through WHITECROW_LEDGER, WHITECROW_DATABASE "
            "(serve), or a file (--ledger-file, --database-file). Change the password: it has "
            "been seen."
        )


def read_secret(file: str) -> str:
    """What a file holds, without the line's end."""
    try:
        text = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        text = ""
    if not text:
        raise InvalidInput(f"The file {file!r} cannot be read, or it is empty.")
    return text


def secret(variable: str) -> str | None:
    """A secret from an environment variable, or from the file that ``VARIABLE_FILE`` names."""
    file = os.environ.get(f"{variable}_FILE", "")
    return read_secret(file) if file else os.environ.get(variable) or None


def ledger_address(ledger: str | None, ledger_file: str | None) -> str:
    """The address of the accounts, as given or as a file says it."""
    if ledger_file is not None:
        if ledger is not None:
            raise InvalidInput("Say it once: --ledger or --ledger-file.")
        ledger = read_secret(ledger_file)
    if ledger is None:
        raise InvalidInput("Say where the accounts are kept: --ledger FILE or URL.")
    return ledger if "://" in ledger else f"sqlite:///{Path(ledger).resolve()}"


def named(files: Sequence[str]) -> tuple[str, ...]:
    """The NAME=URL lines of files; empty lines and those that begin with # do not count."""
    lines = [line.strip() for file in files for line in read_secret(file).splitlines()]
    return tuple(line for line in lines if line and not line.startswith("#"))


def stored_token() -> Path:
    home = os.environ.get("XDG_CONFIG_HOME", "") or Path.home() / ".config"
    return Path(home) / "whitecrow" / "token"


def token() -> str:
    """Return the token for a service: from the environment, a file it names, or of a sign-in."""
    bearer = secret("WHITECROW_TOKEN")
    if bearer is None and stored_token().is_file():
        bearer = read_secret(str(stored_token()))
    if not bearer:
        raise InvalidInput(
            "--server needs a token: put it into the variable WHITECROW_TOKEN, or the name of a "
            "file with it into WHITECROW_TOKEN_FILE; or run whitecrow sign-in, where the service "
            "has single sign-on."
        )
    return bearer

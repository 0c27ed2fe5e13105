"""A copy of a ledger, taken while others write, that is one moment of it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from pathlib import Path

from whitecrow.errors import InvalidInput, LedgerUnusable, MissingExtra
from whitecrow.ledger.database import Database

_PAGES = 1024  # how many pages are copied between two looks at whether somebody wants to write


def backup(database: Database, path: Path) -> None:
    """Copy a ledger, and the service's tables beside it, into a new file.

    An SQLite ledger becomes an SQLite file, which is a ledger itself. Of a PostgreSQL database it
    is what ``pg_dump --format=custom`` writes, for ``pg_restore``. A copy never replaces another.
    """
    if path.exists():
        raise InvalidInput(f"{str(path)!r} exists; a copy never replaces another one.")
    if database.in_memory:
        raise InvalidInput("A ledger in memory ends with its process; there is nothing to keep.")
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        if database.is_sqlite:
            _copied(str(database.path), path)
        else:
            _dumped(database, path)
        with path.open("r+b") as file:
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _copied(source: str, path: Path) -> None:
    try:
        old, new = sqlite3.connect(source), sqlite3.connect(path)
        try:
            old.backup(new, pages=_PAGES)
            sound = new.execute("PRAGMA quick_check").fetchone()[0]
        finally:
            new.close()
            old.close()
    except sqlite3.Error:
        raise LedgerUnusable("The ledger could not be copied; is there room for it?") from None
    if sound != "ok":
        raise LedgerUnusable("The copy is damaged, and was thrown away. Check the disks.")


def _dumped(database: Database, path: Path) -> None:
    program = shutil.which("pg_dump")
    if program is None:
        raise MissingExtra(
            "A copy of a PostgreSQL ledger is made by pg_dump, which is not installed here "
            "(Debian: apt-get install postgresql-client)."
        )
    url = database.url
    given = {key: str(value) for key, value in url.query.items()}
    host, port = url.host or given.get("host"), url.port or given.get("port")
    arguments = ["--format=custom", f"--file={path}", "--no-password"]
    arguments += [f"--host={host}"] if host else []
    arguments += [f"--port={port}"] if port else []
    arguments += [f"--username={url.username}"] if url.username else []
    shown = dict(os.environ)
    if url.password:  # never on a command line
        shown["PGPASSWORD"] = str(url.password)
    done = subprocess.run(
        [program, *arguments, str(url.database)], env=shown, capture_output=True, check=False
    )
    if done.returncode:
        raise LedgerUnusable(
            "pg_dump could not copy the ledger; run it by hand to see why. Nothing was kept."
        )

"""Where a witness is kept on this machine or its network: a file that grows, or a second database.

Every place compares and swaps: it takes a statement only if that extends the newest one it holds,
in one step. Whoever is told that a statement was kept may rely on it after a power cut.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import MetaData, Table, and_, bindparam, insert, select, update
from sqlalchemy.schema import PrimaryKeyConstraint

from whitecrow.errors import LedgerCorrupt, LedgerUnusable, WhitecrowError
from whitecrow.ledger.columns import text, whole
from whitecrow.ledger.database import Database, Session, locked
from whitecrow.ledger.witness.statement import Evidence, Mark, Statement

_TO_WRITE = os.O_CREAT | os.O_RDWR | getattr(os, "O_BINARY", 0)

_LARGE = 1 << 20
"""Bytes of a file after which it is written anew with what still matters."""


class Place(Protocol):
    """Keeps statements of a ledger; those that were not signed by ``public`` are an error."""

    def read(self) -> Evidence:
        """All that it holds of the ledger."""

    def keep(self, statement: Statement) -> bool:
        """Keep a statement durably if it extends what is held; False if something else is held."""

    def close(self) -> None:
        """Give connections back."""


def checked(written: Iterable[str], ledger: str, public: str) -> list[Statement]:
    """Read statements of a ledger and refuse those that somebody else wrote."""
    found = [Statement.from_text(one) for one in written]
    mine = [one for one in found if one.ledger == ledger]
    if any(not one.is_signed_by(public) for one in mine):
        raise LedgerCorrupt(
            "The witness holds a statement that this ledger did not sign. Nothing is answered "
            "until somebody has looked at it."
        )
    return mine


class FilePlace:
    """A file on another disk or machine, one statement a line; several processes may append.

    The first statement of a chain makes the file, and nothing else.
    """

    def __init__(self, path: Path, ledger: str, public: str) -> None:
        self._path, self._ledger, self._public = path, ledger, public
        self._seen = (0, 0)  # which file, and how much of it was read
        self._last: dict[str, Statement] = {}
        self._held = Evidence({})

    def read(self) -> Evidence:
        if not self._path.exists():  # it is not made here: an empty file would look like a new one
            return Evidence({})
        with self._locked() as file:
            self._catch_up(file)
            return self._held

    def keep(self, statement: Statement) -> bool:
        """Append a statement that extends what the file holds, and flush it to the disk."""
        if statement.extends and not self._path.exists():
            return False
        with self._locked() as file:
            self._catch_up(file)
            if not self._held.takes(statement):
                return False
            # A line that a power cut has left unfinished was never acknowledged.
            os.ftruncate(file, self._seen[1])
            line = f"{statement.to_text()}\n".encode()
            os.lseek(file, 0, os.SEEK_END)
            _write_all(file, line)
            os.fsync(file)
            self._learn([statement])
            self._seen = (self._seen[0], self._seen[1] + len(line))
            if self._seen[1] > _LARGE:
                self._compact(file)
            return True

    def close(self) -> None:
        """Nothing is held."""

    @contextmanager
    def _locked(self) -> Iterator[int]:
        try:
            new = not self._path.exists()
            with closing(locked(self._path.with_name(f"{self._path.name}.lock"))):
                file = os.open(self._path, _TO_WRITE, 0o600)
                try:
                    if new:
                        _flush_folder(self._path.parent)
                    yield file
                finally:
                    os.close(file)
        except (OSError, sqlite3.Error):
            raise LedgerUnusable(
                "The witness of this ledger cannot be read or written; does its folder exist, and "
                "is there room? No answer leaves without it; nothing is lost: ask again."
            ) from None

    def _catch_up(self, file: int) -> None:
        """Read what others have appended, or the whole file if it was written anew."""
        status = os.fstat(file)
        if status.st_ino != self._seen[0] or status.st_size < self._seen[1]:
            self._seen, self._last, self._held = (status.st_ino, 0), {}, Evidence({})
        if status.st_size == self._seen[1]:
            return
        os.lseek(file, self._seen[1], os.SEEK_SET)
        text = _read_all(file)
        whole = text[: text.rfind(b"\n") + 1]
        lines = whole.decode("utf-8", errors="replace").splitlines()
        self._learn(checked(lines, self._ledger, self._public))
        self._seen = (status.st_ino, self._seen[1] + len(whole))

    def _learn(self, statements: list[Statement]) -> None:
        marks = dict(self._held.marks)
        for statement in statements:
            for name, mark in statement.accounts.items():
                if mark >= marks.get(name, mark):
                    marks[name], self._last[name] = mark, statement
            # The newest one stays even if no account rests on it: the next one extends it.
            if statement.number >= self._last.get(_NEWEST, statement).number:
                self._last[_NEWEST] = statement
        if statements:
            self._held = Evidence.up_to(self._last[_NEWEST], marks)

    def _compact(self, file: int) -> None:
        """Write the file anew with the statements that still matter, and all of other ledgers."""
        os.lseek(file, 0, os.SEEK_SET)
        lines = _read_all(file).decode("utf-8", errors="replace").splitlines()
        others = [line for line in lines if Statement.from_text(line).ledger != self._ledger]
        kept = dict.fromkeys([*others, *(one.to_text() for one in self._last.values())])
        new = self._path.with_name(f"{self._path.name}.new")
        text = "".join(f"{one}\n" for one in kept).encode()
        file = os.open(new, _TO_WRITE | os.O_TRUNC, 0o600)
        try:
            _write_all(file, text)
            os.fsync(file)
            self._seen = (os.fstat(file).st_ino, len(text))
        finally:
            os.close(file)
        new.replace(self._path)
        _flush_folder(self._path.parent)


_NEWEST = "\n"
"""In place of an account's name, which it cannot be: the newest statement."""


def _read_all(file: int) -> bytes:
    parts = []
    while part := os.read(file, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _write_all(file: int, text: bytes) -> None:
    while text:
        text = text[os.write(file, text) :]


def _flush_folder(folder: Path) -> None:
    if os.name == "nt":  # where a folder is flushed with what it holds, and cannot be opened
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


_TABLE = Table(
    "whitecrow_witness",
    MetaData(),
    text("ledger", 64),
    text("dataset", 200),
    whole("era"),
    whole("seq"),
    # The signed statement that says so.
    text("statement"),
    PrimaryKeyConstraint("ledger", "dataset"),
)
_OF_LEDGER = _TABLE.c.ledger == bindparam("whose")
_OWN = and_(_OF_LEDGER, _TABLE.c.dataset == bindparam("of"))
_ALL = select(_TABLE.c.statement).where(_OF_LEDGER)
_ONE = select(_TABLE.c.statement).where(_OWN)
_LOCK = _ONE.with_for_update()
_ROW: dict[str, Any] = {
    "era": bindparam("new_era"),
    "seq": bindparam("new_seq"),
    "statement": bindparam("written"),
}
_ADD = insert(_TABLE).values(ledger=bindparam("whose"), dataset=bindparam("of"), **_ROW)
_MOVE = update(_TABLE).where(_OWN).values(_ROW)


class DatabasePlace:
    """A table in a second database, SQLite's or PostgreSQL's.

    The row of the newest statement is what a writer locks before it compares.
    """

    def __init__(self, address: str, ledger: str, public: str) -> None:
        self._ledger, self._public = ledger, public
        self._database = Database(address)
        self._database.label = "of the witness"
        with self._database.connection() as connection:
            if connection.dialect.name == "postgresql":
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(748392017)")
            _TABLE.create(connection, checkfirst=True)

    def read(self) -> Evidence:
        return self._database.read(self._held)

    def _held(self, session: Session) -> Evidence:
        rows = session.rows(_ALL, whose=self._ledger)
        # A statement that moved several accounts stands in the row of each.
        texts = dict.fromkeys(row.statement for row in rows)
        return Evidence.of(checked(texts, self._ledger, self._public))

    def keep(self, statement: Statement) -> bool:
        """Move the marks of a statement that extends what the table holds, in one transaction."""
        written = statement.to_text()

        def act(session: Session) -> bool:
            newest = session.one(_LOCK, whose=self._ledger, of=_NEWEST)
            if newest is None:  # nothing was told yet, or by an older version alone
                held = self._held(session)
            else:
                held = Evidence.of(checked([newest.statement], self._ledger, self._public))
            if not held.takes(statement):
                return False
            moved = {**statement.accounts, _NEWEST: Mark(0, statement.number, "")}
            for name, mark in sorted(moved.items()):
                known = session.one(_ONE, whose=self._ledger, of=name)
                session.run(
                    _ADD if known is None else _MOVE,
                    whose=self._ledger,
                    of=name,
                    new_era=mark.era,
                    new_seq=mark.seq,
                    written=written,
                )
            return True

        try:
            return self._database.write(act)
        except WhitecrowError:
            # Two added the newest row at once, or the connection was lost and nobody knows whether
            # this one was kept: now it is there to be compared.
            return self._database.write(act)

    def close(self) -> None:
        self._database.close()

"""Where a witness is kept on this machine or its network: a file that grows, or a second database.

Every place only goes forward: what it holds for an account is never replaced by less. Whoever is
told that a statement was kept may rely on it after a power cut.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import MetaData, Table, and_, bindparam, insert, or_, select, update
from sqlalchemy.schema import PrimaryKeyConstraint

from whitecrow.errors import LedgerCorrupt, LedgerUnusable, WhitecrowError
from whitecrow.ledger.columns import text, whole
from whitecrow.ledger.database import Database, Session
from whitecrow.ledger.witness.statement import Mark, Statement, newest

__all__ = ["DatabasePlace", "FilePlace", "Place", "checked"]

_LARGE = 1 << 20
"""Bytes of a file after which it is written anew with what still matters."""


class Place(Protocol):
    """Keeps statements of a ledger; those that were not signed by ``public`` are an error."""

    def read(self) -> dict[str, Mark]:
        """The furthest mark of every account."""

    def keep(self, statement: Statement) -> dict[str, Mark]:
        """Keep a statement durably; return the furthest marks, which others may have moved."""

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

    Parameters
    ----------
    path : Path
        The file; it is made when it is first written.
    ledger, public : str
        Whose statements, and who signs them.
    """

    def __init__(self, path: Path, ledger: str, public: str) -> None:
        self._path, self._ledger, self._public = path, ledger, public
        self._seen = (0, 0)  # which file, and how much of it was read
        self._marks: dict[str, Mark] = {}
        self._last: dict[str, Statement] = {}

    def read(self) -> dict[str, Mark]:
        """The furthest mark of every account."""
        with self._locked() as file:
            self._catch_up(file)
            return dict(self._marks)

    def keep(self, statement: Statement) -> dict[str, Mark]:
        """Append a statement and flush it to the disk."""
        with self._locked() as file:
            self._catch_up(file)
            # A line that a power cut has left unfinished was never acknowledged.
            os.ftruncate(file, self._seen[1])
            line = f"{statement.to_text()}\n".encode()
            os.lseek(file, 0, os.SEEK_END)
            _write_all(file, line)
            os.fsync(file)
            self._learn([statement])
            self._seen = (self._seen[0], self._seen[1] + len(line))
            if self._seen[1] > _LARGE:
                self._compact()
            return dict(self._marks)

    def close(self) -> None:
        """Nothing is held."""

    @contextmanager
    def _locked(self) -> Iterator[int]:
        try:
            new = not self._path.exists()
            lock = os.open(f"{self._path}.lock", os.O_CREAT | os.O_RDWR, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                file = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
                try:
                    if new:
                        _flush_folder(self._path.parent)
                    yield file
                finally:
                    os.close(file)
            finally:
                os.close(lock)
        except OSError:
            raise LedgerUnusable(
                "The witness of this ledger cannot be read or written; does its folder exist, and "
                "is there room? No answer leaves without it; nothing is lost: ask again."
            ) from None

    def _catch_up(self, file: int) -> None:
        """Read what others have appended, or the whole file if it was written anew."""
        status = os.fstat(file)
        if status.st_ino != self._seen[0] or status.st_size < self._seen[1]:
            self._seen, self._marks, self._last = (status.st_ino, 0), {}, {}
        if status.st_size == self._seen[1]:
            return
        os.lseek(file, self._seen[1], os.SEEK_SET)
        text = _read_all(file)
        whole = text[: text.rfind(b"\n") + 1]
        lines = whole.decode("utf-8", errors="replace").splitlines()
        self._learn(checked(lines, self._ledger, self._public))
        self._seen = (status.st_ino, self._seen[1] + len(whole))

    def _learn(self, statements: list[Statement]) -> None:
        for one in statements:
            for name, mark in one.accounts.items():
                if mark >= self._marks.get(name, mark):
                    self._marks[name], self._last[name] = mark, one

    def _compact(self) -> None:
        """Write the file anew with the statements that still matter; ours alone are in it."""
        kept = {one.to_text(): None for one in self._last.values()}
        new = self._path.with_name(f"{self._path.name}.new")
        text = "".join(f"{one}\n" for one in kept).encode()
        file = os.open(new, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        try:
            _write_all(file, text)
            os.fsync(file)
            self._seen = (os.fstat(file).st_ino, len(text))
        finally:
            os.close(file)
        new.replace(self._path)
        _flush_folder(self._path.parent)


def _read_all(file: int) -> bytes:
    parts = []
    while part := os.read(file, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _write_all(file: int, text: bytes) -> None:
    while text:
        text = text[os.write(file, text) :]


def _flush_folder(folder: Path) -> None:
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
_OWN = and_(_TABLE.c.ledger == bindparam("whose"), _TABLE.c.dataset == bindparam("of"))
_ALL = select(_TABLE.c.statement).where(_TABLE.c.ledger == bindparam("whose"))
_ONE = select(_TABLE.c.statement).where(_OWN)
_ADD = insert(_TABLE).values(
    ledger=bindparam("whose"),
    dataset=bindparam("of"),
    era=bindparam("new_era"),
    seq=bindparam("new_seq"),
    statement=bindparam("written"),
)
_MOVE = (
    update(_TABLE)
    .where(
        _OWN,
        or_(
            _TABLE.c.era < bindparam("new_era"),
            and_(_TABLE.c.era == bindparam("new_era"), _TABLE.c.seq < bindparam("new_seq")),
        ),
    )
    .values(era=bindparam("new_era"), seq=bindparam("new_seq"), statement=bindparam("written"))
)


class DatabasePlace:
    """A table in a second database, SQLite's or PostgreSQL's.

    Parameters
    ----------
    address : str
        Its URL.
    ledger, public : str
        Whose statements, and who signs them.
    """

    def __init__(self, address: str, ledger: str, public: str) -> None:
        self._ledger, self._public = ledger, public
        self._database = Database(address)
        self._database.label = "of the witness"
        with self._database.connection() as connection:
            if connection.dialect.name == "postgresql":
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(748392017)")
            _TABLE.create(connection, checkfirst=True)

    def read(self) -> dict[str, Mark]:
        """The furthest mark of every account."""
        rows = self._database.read(lambda session: session.rows(_ALL, whose=self._ledger))
        return newest(checked([row.statement for row in rows], self._ledger, self._public))

    def keep(self, statement: Statement) -> dict[str, Mark]:
        """Move the marks of a statement forward, in one transaction."""
        written = statement.to_text()

        def act(session: Session) -> None:
            # In one order, so that two that move the same rows cannot wait for each other.
            for name, mark in sorted(statement.accounts.items()):
                given: Mapping[str, Any] = {
                    "whose": self._ledger,
                    "of": name,
                    "new_era": mark.era,
                    "new_seq": mark.seq,
                    "written": written,
                }
                known = session.one(_ONE, whose=self._ledger, of=name)
                session.run(_ADD if known is None else _MOVE, **given)

        try:
            self._database.write(act)
        except WhitecrowError:
            self._database.write(act)  # two added the same row; now it is there
        return self.read()

    def close(self) -> None:
        """Give connections back."""
        self._database.close()

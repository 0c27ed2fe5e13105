"""Where a witness is kept: a file that grows, a second database, or an instance of the service.

Every place compares and swaps: it takes a statement only if that extends the newest one it holds,
in one step. Whoever is told that a statement was kept may rely on it after a power cut.
"""

from __future__ import annotations

import http.client
import json
import os
import sqlite3
import ssl
import threading
import urllib.parse
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from sqlalchemy import MetaData, Table
from sqlalchemy.schema import PrimaryKeyConstraint

from whitecrow.errors import InvalidInput, LedgerCorrupt, LedgerUnusable, WhitecrowError
from whitecrow.ledger.database import Database, Session, locked
from whitecrow.ledger.engine import parsed
from whitecrow.ledger.schema import text, whole
from whitecrow.ledger.witness.statement import Evidence, Mark, SigningKey, Statement

KEY_FILE = "WHITECROW_WITNESS_KEY_FILE"
"""The environment variable that says where the key is on this machine."""

TOKEN = "WHITECROW_WITNESS_TOKEN"  # noqa: S105 - the name of a variable
"""The environment variable with the token for the instance; TOKEN_FILE names a file with it."""

_LARGE = 1 << 20  # bytes of a file after which it is written anew with what still matters


class Place(Protocol):
    """Keeps statements of a ledger; those that were not signed by ``public`` are an error."""

    def read(self) -> Evidence:
        """All that it holds of the ledger."""

    def keep(self, statement: Statement) -> bool:
        """Keep a statement durably if it extends what is held; False if something else is held."""

    def close(self) -> None:
        """Give connections back."""


def checked(texts: Iterable[str], ledger: str, public: str) -> list[Statement]:
    """Read statements of a ledger and refuse those that somebody else wrote."""
    statements = map(Statement.from_text, texts)
    mine = [statement for statement in statements if statement.ledger == ledger]
    if not all(statement.is_signed_by(public) for statement in mine):
        raise LedgerCorrupt(
            "The witness holds a statement that this ledger did not sign. Nothing is answered "
            "until somebody has looked at it."
        )
    return mine


_SETUP = "SELECT * FROM witness ORDER BY ledger"
_INSTANCE = ("https://", "http://")


@dataclass(frozen=True)
class Setup:
    """Which witness a ledger has; kept in the ledger, so that a copy of it knows its witness."""

    ledger: str  # the ledger's own random name
    address: str  # where the witness is kept: a file, a database URL, or an instance of the service
    key: str  # the file with the key that signs; the environment may name another
    public: str  # the public key
    # 0: the witness is written before an answer leaves. Else in this interval: what was answered
    # since may be forgotten by a restore.
    seconds: int = 0

    def signing_key(self) -> SigningKey:
        """Read the key, which must be the one that the ledger knows."""
        key = SigningKey(Path(os.environ.get(KEY_FILE) or self.key))
        if key.public != self.public:
            raise InvalidInput("The key that was given is not the one that this ledger signs with.")
        return key

    def place(self) -> Place:
        return place_of(self.address, self.ledger, self.public)

    def read(self) -> Evidence:
        with closing(self.place()) as place:
            return place.read()


def setup_of(database: Database) -> Setup | None:
    row = database.read(lambda session: session.one(_SETUP))
    return None if row is None else Setup(**row._asdict())


def place_of(address: str, ledger: str, public: str) -> Place:
    """Open the place of a witness: a file, a database URL, or another instance of the service."""
    if address.startswith(_INSTANCE):
        return InstancePlace(address, ledger, public)
    if "://" in address:
        return DatabasePlace(address, ledger, public)
    return FilePlace(Path(address), ledger, public)


def shown(address: str) -> str:
    """How to call a place in messages; without a password."""
    if "://" not in address or address.startswith(_INSTANCE):
        return address
    return parsed(address).render_as_string(hide_password=True)


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
            file.truncate(self._seen[1])
            line = f"{statement.to_text()}\n".encode()
            _write(file, line)
            self._learn([statement])
            self._seen = (self._seen[0], self._seen[1] + len(line))
            if self._seen[1] > _LARGE:
                self._compact(file)
            return True

    def close(self) -> None:
        """Nothing is held."""

    @contextmanager
    def _locked(self) -> Iterator[BinaryIO]:
        try:
            new = not self._path.exists()
            with (
                closing(locked(self._path.with_name(f"{self._path.name}.lock"))),
                open(self._path, "a+b", opener=_OWN) as file,
            ):
                if new:
                    _flush_folder(self._path.parent)
                yield file
        except (OSError, sqlite3.Error):
            raise LedgerUnusable(
                "The witness of this ledger cannot be read or written; does its folder exist, and "
                "is there room? No answer leaves without it; nothing is lost: ask again."
            ) from None

    def _catch_up(self, file: BinaryIO) -> None:
        """Read what others have appended, or the whole file if it was written anew."""
        status = os.fstat(file.fileno())
        if status.st_ino != self._seen[0] or status.st_size < self._seen[1]:
            self._seen, self._last, self._held = (status.st_ino, 0), {}, Evidence({})
        if status.st_size == self._seen[1]:
            return
        file.seek(self._seen[1])
        text = file.read()
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

    def _compact(self, file: BinaryIO) -> None:
        """Write the file anew with the statements that still matter, and all of other ledgers."""
        file.seek(0)
        lines = file.read().decode("utf-8", errors="replace").splitlines()
        others = [line for line in lines if Statement.from_text(line).ledger != self._ledger]
        last = [statement.to_text() for statement in self._last.values()]
        text = "".join(f"{line}\n" for line in dict.fromkeys([*others, *last])).encode()
        new = self._path.with_name(f"{self._path.name}.new")
        with open(new, "wb", opener=_OWN) as compact:
            _write(compact, text)
            self._seen = (os.fstat(compact.fileno()).st_ino, len(text))
        new.replace(self._path)
        _flush_folder(self._path.parent)


_NEWEST = "\n"  # in place of an account's name, which it cannot be: the newest statement


_OWN = partial(os.open, mode=0o600)  # opens a file that nobody else may read


def _write(file: BinaryIO, text: bytes) -> None:
    """Write at the end, down to the disk."""
    file.write(text)
    file.flush()
    os.fsync(file.fileno())


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
_ALL = "SELECT statement FROM whitecrow_witness WHERE ledger = :ledger"
_NEWEST_ROW = f"{_ALL} AND dataset = :dataset FOR UPDATE"
_ADD = """
INSERT INTO whitecrow_witness (ledger, dataset, era, seq, statement)
VALUES (:ledger, :dataset, :era, :seq, :statement)
"""
_KEEP = f"""
{_ADD} ON CONFLICT (ledger, dataset) DO UPDATE SET era = excluded.era, seq = excluded.seq,
    statement = excluded.statement
"""


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
        rows = session.rows(_ALL, ledger=self._ledger)
        # A statement that moved several accounts stands in the row of each.
        texts = dict.fromkeys(row.statement for row in rows)
        return Evidence.of(checked(texts, self._ledger, self._public))

    def keep(self, statement: Statement) -> bool:
        """Move the marks of a statement that extends what the table holds, in one transaction."""
        text = statement.to_text()

        def act(session: Session) -> bool:
            newest = session.one(_NEWEST_ROW, ledger=self._ledger, dataset=_NEWEST)
            if newest is None:  # nothing was told yet, or by an older version alone
                held = self._held(session)
            else:
                held = Evidence.of(checked([newest.statement], self._ledger, self._public))
            if not held.takes(statement):
                return False
            moved = {**statement.accounts, _NEWEST: Mark(0, statement.number, "")}
            for name, mark in sorted(moved.items()):
                row = {"dataset": name, "era": mark.era, "seq": mark.seq, "statement": text}
                # Of two who add the newest row at once, one fails.
                first = newest is None and name == _NEWEST
                session.run(_ADD if first else _KEEP, ledger=self._ledger, **row)
            return True

        try:
            return self._database.write(act)
        except WhitecrowError:
            # Two added the newest row at once, or the connection was lost and nobody knows whether
            # this one was kept: now it is there to be compared.
            return self._database.write(act)

    def close(self) -> None:
        self._database.close()


_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_SECONDS = 20.0
_AWAY = (
    "The witness of this ledger cannot be reached, or does not take its statements{why}. No answer "
    "leaves without it; nothing is lost: ask again."
)


class InstancePlace:
    """Another instance of the service, ours or somebody else's: statements travel over HTTP.

    The instance keeps a statement durably before it replies. Of two processes that write one ledger
    the slower is refused although it is honest: it reads what the faster one told, and goes on from
    there. Plain ``http`` is for this machine alone: the token would travel in the open.
    """

    def __init__(self, address: str, ledger: str, public: str) -> None:
        url = urllib.parse.urlsplit(address)
        if not url.hostname or url.username or url.query or url.fragment:
            raise InvalidInput(
                "The address of a witness is one such as https://witness.example.org; its token "
                f"comes from {TOKEN} or the file that {TOKEN}_FILE names."
            )
        if url.scheme == "http" and url.hostname not in _LOOPBACK:
            raise InvalidInput(f"The token would travel to {url.hostname} in the open; use https.")
        self._url, self._ledger, self._public = url, ledger, public
        self._path = f"{url.path.rstrip('/')}/v1/witness/{ledger}"
        self._headers = _headers()
        self._lock = threading.Lock()
        self._connection: http.client.HTTPConnection | None = None

    def read(self) -> Evidence:
        status, reply = self._call("GET")
        if status == 404:  # it knows nothing of this ledger
            return Evidence({})
        _refuse_unless_ok(status, reply)
        return Evidence.of(checked(map(str, reply["statements"]), self._ledger, self._public))

    def keep(self, statement: Statement) -> bool:
        """Send a statement; return when the instance has it on disk, or something else."""
        body = {"public": self._public, "statement": statement.to_text()}
        status, reply = self._call("PUT", json.dumps(body).encode("ascii"))
        if status in (404, 409):
            return False
        _refuse_unless_ok(status, reply)
        return True

    def close(self) -> None:
        with self._lock:
            self._hang_up()

    def _call(self, method: str, body: bytes | None = None) -> tuple[int, Any]:
        with self._lock:
            for attempt in (1, 2):  # a connection that was kept may have ended meanwhile
                reused = self._connection is not None
                try:
                    return self._sent(method, body)
                except (OSError, http.client.HTTPException, ValueError):
                    self._hang_up()
                    if attempt == 2 or not reused:
                        break
        raise LedgerUnusable(_AWAY.format(why=""))

    def _sent(self, method: str, body: bytes | None) -> tuple[int, Any]:
        if self._connection is None:
            address = str(self._url.hostname), self._url.port
            if self._url.scheme == "https":
                trusted = ssl.create_default_context()
                self._connection = http.client.HTTPSConnection(
                    *address, timeout=_SECONDS, context=trusted
                )
            else:
                self._connection = http.client.HTTPConnection(*address, timeout=_SECONDS)
        self._connection.request(method, self._path, body, self._headers)
        response = self._connection.getresponse()
        reply = json.loads(response.read())
        if response.status == 401:  # the file with the token may hold a newer one by now
            self._headers = _headers()
        return response.status, reply

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _refuse_unless_ok(status: int, reply: Any) -> None:
    if status != 200 or not isinstance(reply, dict):
        words = reply.get("error", reply.get("refused")) if isinstance(reply, dict) else None
        reason = words.get("reason") if isinstance(words, dict) else None
        why = f" (it says: {str(reason)[:200]})" if reason else f" (HTTP {status})"
        raise LedgerUnusable(_AWAY.format(why=why))


def _headers() -> dict[str, str]:
    file = os.environ.get(f"{TOKEN}_FILE", "")
    try:
        token = Path(file).read_text(encoding="ascii").strip() if file else os.environ.get(TOKEN)
    except (OSError, ValueError):
        token = None
    if not token or not token.isascii() or not token.isprintable():
        raise InvalidInput(
            f"The witness at another instance wants a token: put it into {TOKEN}, or the name of a "
            f"file with it into {TOKEN}_FILE. A custodian or auditor there makes one of scope "
            "witness."
        )
    return {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

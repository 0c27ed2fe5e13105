"""Structured logs, one JSON object a line, on standard error: who called what, and what came of it.

A line holds public things only: route, status, person, duration as the caller saw it. Never a
question's values, an answer, a token, a fact or the words of an unexpected exception. Security
events (who came in, who was refused, who changed what) have a schema of their own, and sinks.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import logging
import logging.handlers
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import structlog

from whitecrow.custodian import CUSTODIAN_LOG
from whitecrow.errors import InvalidInput, WhitecrowError, public_name
from whitecrow_server._people import Person, need
from whitecrow_server._settings import Settings

LOG: Any = structlog.get_logger("whitecrow_server")

_ENCODE = json.JSONEncoder(sort_keys=True, default=repr).encode


def _as_json(value: Any, **options: Any) -> str:
    """Write a line; made once, for an encoder costs more than what it writes."""
    return _ENCODE(value)


def configure(*, level: str = "info") -> None:
    """Set up the format; called once by each process."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(_as_json),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelName(level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )


def append(path: Path, text: str) -> None:
    """Add to a file that its owner alone may read, and create it if need be."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "a", encoding="utf-8") as file:
        file.write(text)


class _PrivateFile(logging.Handler):
    """Appends to a file that its owner alone may read; the first message creates it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.setFormatter(logging.Formatter("%(asctime)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(OSError):  # a full disk: nothing more can be done about it here
            append(self.path, f"{self.format(record)}\n")


_ATTACHING = threading.Lock()


def keep_for_custodian(settings: Settings) -> None:
    """Send what the custodian alone may see to their file, once a process.

    What is written beside an SQLite ledger goes there without this, by whoever writes it down.
    """
    if settings.beside_ledger is not None:
        return
    with _ATTACHING:
        held = {log.path for log in CUSTODIAN_LOG.handlers if isinstance(log, _PrivateFile)}
        if settings.log_file not in held:
            CUSTODIAN_LOG.addHandler(_PrivateFile(settings.log_file))


# Security events are made of public things: names, roles, routes, the class of an error. No
# question, answer, price or time of a computation is in them, so the same acts leave the same
# events whatever the records are. Failures of computations, which may depend on records, are none.

SCHEMA = "whitecrow.security/1"

EVENTS = {
    "sign-in": "somebody signed in, or tried to: with a password, or through the provider",
    "sign-out": "a session was ended by its owner",
    "refusal": "a request was refused: not signed in, not allowed, over budget or too often",
    "people.invite": "a person was added",
    "people.invitation": "an invitation was made",
    "people.accept": "an invitation was accepted",
    "people.activation": "somebody was deactivated or activated again",
    "people.remove": "somebody was removed",
    "people.password": "somebody's password was replaced by a custodian",
    "people.second-factor": "somebody's second factor was taken away",
    "token.issue": "a token was made",
    "token.revoke": "a token, or all of somebody's, were revoked",
    "session.end": "sessions were ended",
    "keys.rotate": "cookies are signed with a new key",
    "dataset.register": "a dataset was listed",
    "dataset.remove": "a dataset was taken off the list",
    "policy.change": "what may be asked about a dataset was changed",
    "budget.change": "the budget of a dataset was changed",
    "allowance.change": "what one analyst may spend was changed",
    "card.change": "the public facts of a dataset were changed",
    "access.change": "who may know of a dataset was changed",
    "data.change": "the records of a dataset changed, and a custodian said so",
    "spend.void": "a spend without an answer was given back",
    "failure.review": "a failure was reviewed",
    "ledger.export": "entries of an account were read by a custodian or auditor",
    "trail.export": "the trail of administrators was read",
    "facts.view": "a custodian looked at facts: the privacy map, or what became of rows at load",
}
"""Every event there is, and what it says."""

F = TypeVar("F", bound=Callable[..., Any])

Sink = Callable[[dict[str, Any]], None]
"""Takes one event."""


class Events:
    """Sends events to the sinks.

    Examples
    --------
    >>> kept = []
    >>> Events([kept.append]).tell("sign-in", actor="ana", outcome="refused", reason="NotSignedIn")
    >>> kept[0]["event"], kept[0]["outcome"], kept[0]["actor"]
    ('sign-in', 'refused', 'ana')
    """

    def __init__(self, sinks: list[Sink]) -> None:
        self._sinks = sinks

    def add(self, sink: Sink) -> None:
        self._sinks.append(sink)

    def tell(self, event: str, *, outcome: str = "success", **more: str) -> None:
        """Log an event; ``more`` are fields of the schema, the empty ones are left out."""
        if not self._sinks:
            return
        assert event in EVENTS
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        about = {key: value[:200] for key, value in more.items() if value}
        for sink in self._sinks:
            sink({"schema": SCHEMA, "at": now, "event": event, "outcome": outcome, **about})

    def close(self) -> None:
        for sink in self._sinks:
            if isinstance(sink, _Syslog):
                sink.close()

    @contextmanager
    def during(self, *events: str, **more: str) -> Iterator[dict[str, str]]:
        """Log the outcome of a block, which may add fields."""
        details = dict(more)
        try:
            yield details
        except WhitecrowError as error:
            for event in events:
                self.tell(event, outcome="refused", reason=public_name(error), **details)
            raise
        for event in events:
            self.tell(event, **details)


def told(event: str, about: str = "target", *, roles: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Log the outcome of a method; its first argument is who acts, its second on what.

    With ``roles`` nobody else may.
    """

    def decorated(method: F) -> F:
        @wraps(method)
        def telling(self: Any, who: Person, /, *args: Any, **options: Any) -> Any:
            first = args[0] if args else ""
            more = {"actor": who.name, "acting": who.acting}
            more[about] = first if isinstance(first, str) else ""
            with self.events.during(event, **more):
                if roles:
                    need(who, *roles)
                return method(self, who, *args, **options)

        return cast("F", telling)

    return decorated


# Sinks


def sinks_of(names: tuple[str, ...]) -> list[Sink]:
    """Open the sinks that an operator names: ``-``, ``syslog``, ``syslog://host:port``, a file."""
    return [_sink(name) for name in names]


def _sink(name: str) -> Sink:
    if name == "syslog" or name.startswith("syslog://"):
        return _Syslog(name)
    if name == "-":
        return lambda event: print(_line(event), file=sys.stderr, flush=True)  # noqa: T201
    path, lock = Path(name), threading.Lock()
    try:
        append(path, "")
    except OSError:
        raise InvalidInput(f"The file of security events {name!r} cannot be written.") from None

    def write(event: dict[str, Any]) -> None:
        with lock:  # opened each time: whoever rotates the file needs not tell us
            append(path, f"{_line(event)}\n")

    return write


def _line(event: dict[str, Any]) -> str:
    return json.dumps(event, sort_keys=True)


class _Syslog:
    """The machine's own log, or a collector at host:port (UDP), with the facility authpriv."""

    def __init__(self, destination: str) -> None:
        host, _, port = destination.removeprefix("syslog").removeprefix("://").partition(":")
        address: Any = (host, int(port) if port.isdigit() else 514) if host else "/dev/log"
        try:
            self._handler = logging.handlers.SysLogHandler(address, facility="authpriv")
        except OSError:
            raise InvalidInput(f"No log of the system answers at {address!r}.") from None
        self._handler.ident = "whitecrow: "
        self.close = self._handler.close

    def __call__(self, event: dict[str, Any]) -> None:
        record = logging.LogRecord("whitecrow", logging.INFO, "", 0, _line(event), None, None)
        self._handler.emit(record)

"""Security events: who came in, who was refused, who changed what. One schema, several sinks.

An event is made of public things: names, roles, routes, the class of an error. No question, answer,
price or time of a computation is in it, so the same acts leave the same events whatever the records
are. Failures of computations, which may depend on records, are no security events.
"""

from __future__ import annotations

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
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from whitecrow.errors import InvalidInput, WhitecrowError, public_name

SCHEMA = "whitecrow.security/1"

EVENTS = {
    "sign-in": "somebody signed in, or tried to: with a password, or through the provider",
    "sign-out": "a session was ended by its owner",
    "refusal": "a request was refused: not signed in, not allowed, over budget or too often",
    "people.invite": "somebody was made known",
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
    "failure.review": "a failure was looked at",
    "ledger.export": "entries of an account were read by a custodian or auditor",
    "trail.export": "the trail of administrators was read",
    "facts.view": "a custodian looked at facts: the privacy map, or what became of rows at load",
}
"""Every event there is, and what it says."""

P = ParamSpec("P")
S = TypeVar("S", bound="_Telling")
T = TypeVar("T")


class _Person(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def acting(self) -> str: ...


class _Telling(Protocol):
    events: Events


Sink = Callable[[dict[str, Any]], None]
"""Takes one event."""


class Events:
    """Tells the sinks.

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
        """Tell what happened; ``more`` are fields of the schema, the empty ones are left out."""
        if not self._sinks:
            return
        assert event in EVENTS
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        said = {"schema": SCHEMA, "at": now, "event": event, "outcome": outcome}
        found = {**said, **{key: value[:200] for key, value in more.items() if value}}
        for sink in self._sinks:
            sink(found)

    def close(self) -> None:
        for sink in self._sinks:
            if isinstance(sink, _Syslog):
                sink.close()

    @contextmanager
    def during(self, *events: str, **more: str) -> Iterator[dict[str, str]]:
        """Tell what becomes of what is done inside; more may be learnt on the way."""
        said = dict(more)
        try:
            yield said
        except WhitecrowError as error:
            for event in events:
                self.tell(event, outcome="refused", reason=public_name(error), **said)
            raise
        for event in events:
            self.tell(event, **said)


def told(
    event: str, about: str = "target"
) -> Callable[[Callable[Concatenate[S, Any, P], T]], Callable[Concatenate[S, Any, P], T]]:
    """Tell what becomes of a method whose first argument is who acts, the second about what."""

    def decorated(
        method: Callable[Concatenate[S, Any, P], T],
    ) -> Callable[Concatenate[S, Any, P], T]:
        @wraps(method)
        def telling(self: S, who: Any, /, *args: P.args, **options: P.kwargs) -> T:
            first = args[0] if args else ""
            more = {"actor": who.name, "acting": who.acting}
            more[about] = first if isinstance(first, str) else ""
            with self.events.during(event, **more):
                return method(self, who, *args, **options)

        return telling

    return decorated


# Sinks


def sinks_of(written: tuple[str, ...]) -> list[Sink]:
    """Open the sinks that an operator names: ``-``, ``syslog``, ``syslog://host:port``, a file."""
    return [_sink(one) for one in written]


def _sink(written: str) -> Sink:
    if written == "-":
        return _lines(lambda line: print(line, file=sys.stderr, flush=True))  # noqa: T201
    if written == "syslog" or written.startswith("syslog://"):
        return _Syslog(written)
    return _file(Path(written))


def _lines(write: Callable[[str], None]) -> Sink:
    return lambda event: write(json.dumps(event, sort_keys=True))


def _file(path: Path) -> Sink:
    """Lines appended to a file that its owner alone may read."""
    lock = threading.Lock()

    def write(line: str) -> None:
        # Opened each time: whoever rotates the file needs not tell us.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        with lock, os.fdopen(os.open(path, flags, 0o600), "a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    try:
        os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600))
    except OSError:
        raise InvalidInput(
            f"The file of security events {str(path)!r} cannot be written."
        ) from None
    return _lines(write)


class _Syslog:
    """The machine's own log, or a collector at host:port (UDP), with the facility authpriv."""

    def __init__(self, written: str) -> None:
        host, _, port = written.removeprefix("syslog").removeprefix("://").partition(":")
        address: Any = (host, int(port) if port.isdigit() else 514) if host else "/dev/log"
        try:
            self._handler = logging.handlers.SysLogHandler(address, facility="authpriv")
        except OSError:
            raise InvalidInput(f"No log of the system answers at {address!r}.") from None
        self._handler.ident = "whitecrow: "
        self.close = self._handler.close

    def __call__(self, event: dict[str, Any]) -> None:
        line = json.dumps(event, sort_keys=True)
        said = logging.LogRecord("whitecrow", logging.INFO, "", 0, line, None, None)
        self._handler.emit(said)

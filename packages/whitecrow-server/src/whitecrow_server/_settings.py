"""How a service is set up; written once, read by every worker."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from whitecrow.errors import InvalidInput, invalid
from whitecrow.question import Question
from whitecrow.questions import kinds, question_type
from whitecrow_server._provider import Provider
from whitecrow_server._proxies import networks

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Addresses that only this machine reaches."""


def default_deadlines() -> dict[str, float]:
    """The least reply times in seconds by kind; ``"*"`` stands for any other kind."""
    known = {kind: question_type(kind).question.reply_seconds for kind in kinds()}
    return {**known, "*": Question.reply_seconds}


_AT_LEAST_1 = (
    *("token_days", "longest_token_days", "session_hours", "invitation_days"),
    *("lock_after", "lock_minutes", "asks_at_once", "slots", "asks_waiting"),
    "records_at_most",
)


@dataclass(frozen=True)
class Settings:
    """Everything a worker needs to know.

    Parameters
    ----------
    database : str
        The ledger's address; the service keeps its own tables in the same database.
    data : str or None
        The folder whose files may be registered as datasets. None: no files.
    databases : mapping
        The databases that may be registered as sources, by name: ``{"warehouse": URL}``.
        Custodians name them; addresses and passwords stay in the settings.
    deadlines : mapping
        Reply times of asks in seconds, by kind. A reply leaves at the first multiple of its
        deadline after the answer is there. Empty: as soon as it is there. They hold for datasets
        of up to ten million values (records times columns, by the card); larger ones get a
        multiple.
    by_cost : bool
        Whether replies to other kinds are padded too, each question to a time that follows from
        its parameters and the card (:mod:`whitecrow_server._scheduling`).
    hosts : tuple of str
        The host names this service answers to; empty: any.
    secure : bool
        Whether people reach it through TLS: cookies are then marked so.
    token_days, session_hours : int
        How long tokens and sign-ins last, unless said otherwise.
    invitation_days : int
        How long an invitation can be accepted.
    longest_token_days : int
        How long a token may last at the most.
    rate, burst : float, int
        Requests a second and at once, per person (or address, before sign-in), over all workers.
        A rate of 0 sets no limit.
    limits : str or None
        The file through which the workers share these limits; with one worker none is needed.
    lock_after, lock_minutes : int
        Sign-in is refused for a while after so many failures.
    asks_at_once : int
        How many asks about single places a worker has under way for a dataset while replies are
        not padded.
    slots : int
        How many while they are: each deadline must cover so many computations.
    asks_waiting : int
        How many asks of one person, and how many about one dataset, may wait for a slot.
    largest_body, largest_question : int
        In bytes: of any body, and of one that holds a single question or a few fields.
    body_seconds : float
        How long a body may take to arrive.
    largest_upload, upload_seconds : int, float
        The same for a data file that a custodian sends; 0 bytes: none is taken in.
    proxies : tuple of str
        Addresses and networks of proxies in front: only from them is ``X-Forwarded-For`` believed.
    custodian_log : str or None
        The file with the causes of faults, for the custodian alone. None: beside an SQLite
        ledger, else ``whitecrow-custodian.log`` where the service was started.
    patience : float
        How many seconds a request waits for a dataset that is being loaded.
    longest_seconds, most_bytes : float
        The time of one processor and the memory that are lent to a question. One that may need
        more, by public facts, is refused when it is priced; the kernel keeps what each may need.
    records_at_most : int
        The public bound on the number of records of a dataset whose card gives none: the limits of
        a question come from it, and a dataset that holds more is not loaded.
    console : bool
        Whether the web pages are served beside the interface for programs.
    provider : Provider or None
        The provider of single sign-on.
    events : tuple of str
        Where security events go: files, ``-`` (standard error), ``syslog``, ``syslog://host:port``.
    telemetry : str or None
        The address of an OpenTelemetry collector (OTLP over HTTP).
    telemetry_headers : mapping
        What is sent to it along: a token, perhaps.
    local_accounts : bool
        Whether people may sign in with passwords kept here.
    second_factor : tuple of str
        The roles whose local accounts need a second factor: until they have set one up, a sign-in
        with a password leads to setting it up and to nothing else.
    """

    database: str = field(repr=False)
    data: str | None = None
    databases: Mapping[str, str] = field(default_factory=dict, repr=False)
    deadlines: Mapping[str, float] = field(default_factory=dict)
    by_cost: bool = False
    hosts: tuple[str, ...] = ()
    secure: bool = False
    token_days: int = 90
    longest_token_days: int = 365
    invitation_days: int = 7
    session_hours: int = 8
    rate: float = 50.0
    burst: int = 100
    limits: str | None = None
    lock_after: int = 5
    lock_minutes: int = 15
    asks_at_once: int = 32
    slots: int = 1
    asks_waiting: int = 64
    largest_body: int = 1_000_000
    largest_question: int = 65_536
    body_seconds: float = 10.0
    largest_upload: int = 200_000_000
    upload_seconds: float = 600.0
    patience: float = 10.0
    longest_seconds: float = 600.0
    most_bytes: float = 8e9
    records_at_most: int = 100_000
    console: bool = True
    proxies: tuple[str, ...] = ()
    custodian_log: str | None = None
    provider: Provider | None = None
    local_accounts: bool = True
    second_factor: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    telemetry: str | None = None
    telemetry_headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for kind, seconds in self.deadlines.items():
            if isinstance(seconds, bool) or not 0 < seconds <= 3600:
                raise invalid(
                    "Settings", f"deadlines[{kind!r}]", "a number of seconds up to 3600", seconds
                )
        for name in _AT_LEAST_1:
            if getattr(self, name) < 1:
                raise invalid("Settings", name, "a whole number of at least 1", getattr(self, name))
        if self.token_days > self.longest_token_days:
            raise invalid(
                "Settings", "token_days", "at most longest_token_days", str(self.token_days)
            )
        object.__setattr__(self, "hosts", tuple(self.hosts))
        object.__setattr__(self, "proxies", tuple(self.proxies))
        object.__setattr__(self, "events", tuple(self.events))
        object.__setattr__(self, "second_factor", tuple(self.second_factor))
        networks(self.proxies)
        if not self.local_accounts and self.provider is None:
            raise InvalidInput("Without local accounts nobody could sign in: name a provider.")

    @property
    def folder(self) -> Path | None:
        """The folder of files that may be registered."""
        return None if self.data is None else Path(self.data).resolve()

    @property
    def ledger_file(self) -> Path | None:
        """The file of an SQLite ledger; None for others."""
        scheme, _, path = self.database.partition(":///")
        return Path(path.partition("?")[0]) if scheme.startswith("sqlite") and path else None

    @property
    def log_file(self) -> Path:
        """Where the custodian finds the causes of faults."""
        if self.custodian_log is not None:
            return Path(self.custodian_log)
        beside = self.ledger_file
        if beside is None:
            return Path("whitecrow-custodian.log")
        return beside.with_name(f"{beside.name}-custodian.log")

    @property
    def beside_ledger(self) -> Path | None:
        """The custodian's file where it lies beside the ledger; None where it is elsewhere."""
        if self.custodian_log is not None or self.ledger_file is None:
            return None
        return self.log_file

    def to_text(self) -> str:
        """Write the settings for another process. It may hold passwords: it is not for logs."""
        return json.dumps({**dataclasses.asdict(self), "databases": dict(self.databases)})

    @classmethod
    def from_text(cls, written: str) -> Settings:
        """Read what :meth:`to_text` wrote."""
        found: dict[str, Any] = json.loads(written)
        if found["provider"] is not None:
            found["provider"] = Provider.from_json(found["provider"])
        return cls(**found)

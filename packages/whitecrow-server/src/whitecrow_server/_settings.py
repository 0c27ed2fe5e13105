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
from whitecrow.questions import loaded
from whitecrow_server._provider import Provider
from whitecrow_server._proxies import networks

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Addresses that only this machine reaches."""


def default_deadlines() -> dict[str, float]:
    """The least reply times in seconds by kind; ``"*"`` stands for any other kind."""
    known = {kind: one.question.reply_seconds for kind, one in loaded().items()}
    return {**known, "*": Question.reply_seconds}


def _set(default: Any, words: str, least: float | None = None, **how: Any) -> Any:
    """Declare a setting: what it is, and its bound; with ``secret`` it is not shown."""
    said = {"words": words, "least": least, "option": False, **how}
    if isinstance(default, dict):
        return field(default_factory=dict, repr=not how.get("secret"), metadata=said)
    return field(default=default, repr=not how.get("secret"), metadata=said)


def _option(default: Any, words: str, least: float | None = None, **how: Any) -> Any:
    """Declare a setting that an option of ``serve`` sets.

    ``how``: ``flag`` (if the option is not called as the setting is); ``most``; ``many`` (it is
    repeatable); ``off`` (``--no-`` says no); ``value`` (what it takes, in a word); ``choices``;
    ``file`` (what it names must be there); ``env`` (the variable that sets it, if not
    ``WHITECROW_SERVE_...``); ``usual`` (what it says unless given).
    """
    return _set(default, words, least, option=True, **how)


def flags_of(setting: dataclasses.Field[Any]) -> list[str]:
    """The flag of a setting's option, and the one that says no; none where it has no option."""
    said = setting.metadata
    if not said["option"]:
        return []
    flag = said.get("flag", "--" + setting.name.replace("_", "-"))
    return [flag, f"--no-{flag[2:]}"] if said.get("off") else [flag]


@dataclass(frozen=True)
class Launch:
    """How ``whitecrow serve`` begins; what a worker has to know is in :class:`Settings`."""

    demo: bool = _option(False, "Bundled data, and tokens for a custodian and analyst.")
    ledger: str | None = _option(
        None,
        "Where accounts, people and tokens are kept: a file or database URL.",
        env="WHITECROW_LEDGER",
    )
    ledger_file: str | None = _option(
        None,
        "A file that holds what --ledger would say, password and all.",
        file=False,
        env="WHITECROW_LEDGER_FILE",
    )
    named: tuple[str, ...] = _option(
        (),
        "A SQL source; repeatable.",
        flag="--database",
        many=True,
        value="NAME=URL",
        env="WHITECROW_DATABASE",
    )
    named_in: tuple[str, ...] = _option(
        (),
        "A file of lines NAME=URL, passwords and all.",
        flag="--database-file",
        many=True,
        file=False,
        env="WHITECROW_DATABASE_FILE",
    )
    host: str = _option("127.0.0.1", "The address to listen on.")
    port: int = _option(8765, "The port to listen on; 0 takes a free one.", 0, most=65535)
    workers: int = _option(1, "How many processes answer.", 1, most=64)
    tls_certificate: str | None = _option(None, "The certificate (PEM), with --tls-key.", file=True)
    tls_key: str | None = _option(None, "The certificate's key (PEM).", file=True)
    behind_tls_proxy: bool = _option(False, "A proxy in front ends TLS.")
    public_without_tls: bool = _option(False, "Listen beyond this machine without TLS.")


@dataclass(frozen=True)
class Settings:
    """Everything a worker needs to know; each field says what it is in its declaration."""

    database: str = _set(
        dataclasses.MISSING,
        "The ledger's address; the service's own tables are in the same database.",
        secret=True,
    )
    data: str | None = _option(
        None, "The folder whose files may be registered as datasets; none: no files.", file=True
    )
    databases: Mapping[str, str] = _set(
        {}, "The databases that may be registered as sources, by name.", secret=True
    )
    deadlines: Mapping[str, float] = _option(
        {},
        "When replies to one kind of question leave: at multiples of so many seconds, "
        "longer for datasets above ten million values; repeatable.",
        flag="--deadline",
        value="KIND=SECONDS",
    )
    by_cost: bool = _option(
        False,
        "Reply at fixed moments, so that time tells nothing.",
        flag="--pad",
        off=True,
        usual=True,
    )
    hosts: tuple[str, ...] = _option(
        (), "A name people reach it by; repeatable. None: any.", flag="--hostname", many=True
    )
    secure: bool = _set(False, "Whether people reach it through TLS: cookies are marked so.")
    token_days: int = _set(90, "How long a token lives unless said otherwise.", least=1)
    longest_token_days: int = _option(
        365, "How many days a token may live.", 1, flag="--longest-token", most=3650
    )
    invitation_days: int = _set(7, "How long an invitation can be accepted.", least=1)
    session_hours: int = _set(8, "How long a sign-in lasts.", least=1)
    rate: float = _option(50.0, "Requests a second that one person may make; 0: no limit.", 0)
    burst: int = _set(100, "How many requests they may make at once.")
    limits: str | None = _set(None, "The file through which several workers share these limits.")
    lock_after: int = _set(5, "After how many failures sign-in is refused for a while.", least=1)
    lock_minutes: int = _set(15, "For how long.", least=1)
    asks_at_once: int = _option(
        32, "How many questions a worker answers at a time.", 1, most=1000, usual=16
    )
    slots: int = _option(
        1,
        "Questions about places computed at once for a dataset, while replies are padded.",
        1,
        most=64,
    )
    asks_waiting: int = _set(
        64, "How many asks of one person, and how many about one dataset, may wait.", least=1
    )
    largest_body: int = _set(1_000_000, "The largest body, in bytes.")
    largest_question: int = _set(65_536, "The largest body that holds a single question.")
    body_seconds: float = _set(10.0, "How long a body may take to arrive.")
    largest_upload: int = _set(200_000_000, "The largest file that is sent, in bytes; 0: none.")
    upload_seconds: float = _set(600.0, "How long it may take to arrive.")
    patience: float = _set(10.0, "How long a request waits for a dataset that is being loaded.")
    longest_seconds: float = _set(600.0, "The processor time that is lent to a question.")
    most_bytes: float = _set(8e9, "The memory that is lent to a question.")
    records_at_most: int = _option(
        100_000, "The bound on the number of records where a card gives none.", 1
    )
    console: bool = _option(True, "The web pages.", off=True)
    proxies: tuple[str, ...] = _option(
        (),
        "A proxy (or network of them) whose X-Forwarded-For counts; repeatable. Behind a "
        "proxy on this machine: loopback.",
        flag="--trusted-proxy",
        many=True,
        value="ADDRESS",
    )
    custodian_log: str | None = _option(
        None,
        "Where causes of failures are written, for the custodian (default: beside the ledger).",
        file=False,
    )
    provider: Provider | None = _option(  # noqa: RUF009 - declares a field
        None, "The provider of single sign-on: a TOML file.", file=True, env="WHITECROW_PROVIDER"
    )
    local_accounts: bool = _option(
        True, "Whether people may sign in with passwords kept here.", off=True
    )
    second_factor: tuple[str, ...] = _option(
        (),
        "A role whose local accounts need a second factor; repeatable.",
        many=True,
        choices=("custodian", "auditor", "analyst"),
    )
    events: tuple[str, ...] = _option(
        (),
        "Where security events go: a file, - for standard error, syslog, or "
        "syslog://host:port; repeatable.",
        many=True,
        value="SINK",
    )
    telemetry: str | None = _option(
        None,
        "An OpenTelemetry collector (OTLP over HTTP): traces, metrics, security events.",
        value="URL",
    )
    telemetry_headers: Mapping[str, str] = _set(
        {}, "What is sent to it along: a token, perhaps.", secret=True
    )

    def __post_init__(self) -> None:
        for kind, seconds in self.deadlines.items():
            if isinstance(seconds, bool) or not 0 < seconds <= 3600:
                raise invalid(
                    "Settings", f"deadlines[{kind!r}]", "a number of seconds up to 3600", seconds
                )
        for one in dataclasses.fields(self):
            least, value = one.metadata["least"], getattr(self, one.name)
            if least is not None and value < least:
                raise invalid("Settings", one.name, f"a number of at least {least}", value)
            if one.metadata.get("many"):
                object.__setattr__(self, one.name, tuple(value))
        if self.token_days > self.longest_token_days:
            raise invalid(
                "Settings", "token_days", "at most longest_token_days", str(self.token_days)
            )
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
        found: dict[str, Any] = json.loads(written)
        if found["provider"] is not None:
            found["provider"] = Provider.from_json(found["provider"])
        return cls(**found)


def reference() -> list[tuple[str, str, str]]:
    """Every setting for the documentation: its option or name, its default, what it is."""
    rows = []
    for one in (*dataclasses.fields(Launch), *dataclasses.fields(Settings)):
        said = one.metadata
        name = ", ".join(f"`{flag}`" for flag in flags_of(one) or [one.name])
        usual = said.get("usual", one.default)
        plain = isinstance(usual, int | float | str) and not isinstance(usual, bool) and usual != ""
        rows.append((name, f"{usual}" if plain else "", said["words"]))
    return rows

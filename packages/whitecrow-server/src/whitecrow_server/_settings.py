"""How a service is set up; written once, read by every worker."""

from __future__ import annotations

import dataclasses
import json
import tomllib
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from whitecrow.errors import InvalidInput, invalid
from whitecrow.limits import Limits
from whitecrow.question import Question
from whitecrow.questions import loaded
from whitecrow_server._people import ROLES
from whitecrow_server._proxies import networks


def default_deadlines() -> dict[str, float]:
    """The least reply times in seconds by kind; ``"*"`` stands for any other kind."""
    seconds = {kind: type_.question.reply_seconds for kind, type_ in loaded().items()}
    return {**seconds, "*": Question.reply_seconds}


def _set(default: Any, words: str, least: float | None = None, **how: Any) -> Any:
    """Declare a setting: what it is, and its bound; with ``secret`` it is not shown."""
    declared = {"words": words, "least": least, "option": False, **how}
    usual: Any = {"default_factory": dict} if isinstance(default, dict) else {"default": default}
    return field(**usual, repr=not how.get("secret"), metadata=declared)


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
    declared = setting.metadata
    if not declared["option"]:
        return []
    flag = declared.get("flag", "--" + setting.name.replace("_", "-"))
    return [flag, f"--no-{flag[2:]}"] if declared.get("off") else [flag]


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
        "A file that holds the value of --ledger, with its password.",
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
        "A file of lines NAME=URL, with their passwords.",
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
    behind_tls_proxy: bool = _option(False, "A proxy in front terminates TLS.")
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
        "Reply to one kind of question at multiples of so many seconds, "
        "more for datasets above ten million values; repeatable.",
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
        (), "A host name of the service; repeatable. None: any.", flag="--hostname", many=True
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
        64, "How many questions of one person, and about one dataset, may wait.", least=1
    )
    largest_body: int = _set(1_000_000, "The largest body, in bytes.")
    largest_question: int = _set(65_536, "The largest body that holds a single question.")
    body_seconds: float = _set(10.0, "How long a body may take to arrive.")
    largest_upload: int = _set(200_000_000, "The largest file that is sent, in bytes; 0: none.")
    upload_seconds: float = _set(600.0, "How long it may take to arrive.")
    patience: float = _set(10.0, "How long a request waits for a dataset that is being loaded.")
    longest_seconds: float = _set(600.0, "The processor time that a question may take.")
    most_bytes: float = _set(8e9, "The memory that a question may take.")
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
    telemetry_headers: Mapping[str, str] = _set({}, "Headers for it, such as a token.", secret=True)

    def __post_init__(self) -> None:
        for kind, seconds in self.deadlines.items():
            if isinstance(seconds, bool) or not 0 < seconds <= 3600:
                raise invalid(
                    "Settings", f"deadlines[{kind!r}]", "a number of seconds up to 3600", seconds
                )
        for option in dataclasses.fields(self):
            least, value = option.metadata["least"], getattr(self, option.name)
            if least is not None and value < least:
                raise invalid("Settings", option.name, f"a number of at least {least}", value)
            if option.metadata.get("many"):
                object.__setattr__(self, option.name, tuple(value))
        if self.token_days > self.longest_token_days:
            raise invalid(
                "Settings", "token_days", "at most longest_token_days", str(self.token_days)
            )
        networks(self.proxies)
        if not self.local_accounts and self.provider is None:
            raise InvalidInput("Without local accounts nobody could sign in: name a provider.")

    @property
    def lent(self) -> Limits:
        """Time and memory that are lent to a question."""
        return Limits(self.longest_seconds, self.most_bytes)

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
    def from_text(cls, text: str) -> Settings:
        settings: dict[str, Any] = json.loads(text)
        if settings["provider"] is not None:
            settings["provider"] = Provider.from_json(settings["provider"])
        return cls(**settings)


def reference() -> list[tuple[str, str, str]]:
    """Every setting for the documentation: its option or name, its default, what it is."""
    rows = []
    for option in (*dataclasses.fields(Launch), *dataclasses.fields(Settings)):
        declared = option.metadata
        name = ", ".join(f"`{flag}`" for flag in flags_of(option) or [option.name])
        usual = declared.get("usual", option.default)
        plain = isinstance(usual, int | float | str) and not isinstance(usual, bool) and usual != ""
        rows.append((name, f"{usual}" if plain else "", declared["words"]))
    return rows


# The provider of single sign-on: one TOML file. Whoever can write it decides who is custodian. Its
# secret may lie in a file of its own.

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Addresses that only this machine reaches."""


def is_safe(url: str) -> bool:
    """Whether secrets may travel to an address: through TLS, or on this machine.

    Examples
    --------
    >>> is_safe("https://id.example.org"), is_safe("http://127.0.0.1:4593"), is_safe("http://x.org")
    (True, True, False)
    """
    parts = urllib.parse.urlsplit(url)
    near = parts.scheme == "http" and parts.hostname in LOOPBACK
    return bool(parts.hostname) and (parts.scheme == "https" or near)


@dataclass(frozen=True)
class Provider:
    """An OpenID Connect provider, and what its groups may do here."""

    issuer: str  # its address, as its tokens name it
    client_id: str  # as whom this service is known there
    url: str  # at which people reach this service: the provider sends them back there
    roles: Mapping[str, str]  # from group to role; of a person's groups the first listed counts
    client_secret: str = field(default="", repr=False)  # none: a public client
    programs: Mapping[str, str] = field(default_factory=dict)  # from a program's client id to role
    # From a program's client id to the subject of its service account, where the provider gives it
    # one that is not the client id and says nothing else of the grant (Keycloak).
    subjects: Mapping[str, str] = field(default_factory=dict)
    audience: str = ""  # what programs' tokens must be made for; empty: no program is admitted
    groups: str = "groups"  # the claim with a person's groups
    name: str = "preferred_username"  # the claim with their name here
    scopes: tuple[str, ...] = ("openid", "profile")  # what is asked for
    skew: int = 60  # by how many seconds the provider's clock may differ
    # Whether a first sign-in takes over a local account of the same name. Only where the provider's
    # names are the names here.
    adopt: bool = False
    authority: str = ""  # a file with its certificate authority (PEM); empty: the system's
    label: str = "your organisation"  # what the sign-in page calls it

    def __post_init__(self) -> None:
        for what in ("issuer", "url"):
            if not is_safe(getattr(self, what)):
                raise invalid("Provider", what, "an https address", getattr(self, what))
        object.__setattr__(self, "scopes", tuple(self.scopes))
        object.__setattr__(self, "url", self.url.rstrip("/"))
        if "openid" not in self.scopes:
            raise invalid("Provider", "scopes", "a list with 'openid'", self.scopes)
        for group, role in (*self.roles.items(), *self.programs.items()):
            if role not in ROLES:
                raise invalid("Provider", f"role of {group!r}", f"one of {ROLES}", role)
        for program, subject in self.subjects.items():
            if program not in self.programs or not isinstance(subject, str) or not subject:
                raise invalid("Provider", "subjects", "the subjects of its programs", program)
        if not 0 <= self.skew <= 600:
            raise invalid("Provider", "skew", "from 0 to 600 seconds", self.skew)
        if self.programs and self.audience in ("", self.client_id):
            # A token made for this service's sign-in must not pass for a program's.
            raise InvalidInput(
                "Programs need their own audience: set 'audience' to that of their tokens, not to "
                "the client_id."
            )

    @property
    def redirect(self) -> str:
        """Where the provider sends people back to."""
        return f"{self.url}/console/sign-in/provider/back"

    def role_of(self, groups: object) -> str | None:
        """The role of somebody in these groups; None if no group has one.

        Examples
        --------
        >>> provider = Provider("https://id.org", "crow", "https://crow.org",
        ...                     {"dp-officers": "custodian", "researchers": "analyst"})
        >>> provider.role_of(["researchers", "staff"]), provider.role_of("staff")
        ('analyst', None)
        """
        held = [groups] if isinstance(groups, str) else groups
        if not isinstance(held, list):
            return None
        return next((role for group, role in self.roles.items() if group in held), None)

    @classmethod
    def from_file(cls, path: str) -> Provider:
        """Read a TOML file; ``client_secret_file`` in it names a file with the secret."""
        try:
            entries = tomllib.loads(Path(path).read_text(encoding="utf-8"))
            secret = entries.pop("client_secret_file", None)
            if secret is not None:
                entries["client_secret"] = Path(secret).read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            raise InvalidInput(
                f"The provider's file {path!r}, or the secret file it names, cannot be read as "
                "TOML. docs/single-sign-on.md has an example."
            ) from None
        return cls.from_json(entries)

    @classmethod
    def from_json(cls, entries: Mapping[str, Any]) -> Provider:
        names = {option.name for option in fields(cls)}
        unknown = sorted(set(entries) - names)
        missing = sorted({"issuer", "client_id", "url", "roles"} - set(entries))
        if unknown or missing:
            words = [f"does not know {', '.join(unknown)}"] if unknown else []
            words += [f"lacks {', '.join(missing)}"] if missing else []
            raise InvalidInput(f"The provider's file {' and '.join(words)}.")
        for name in ("issuer", "client_id", "url", "client_secret", "audience", "groups", "name"):
            if not isinstance(entries.get(name, ""), str):
                raise invalid("Provider", name, "a text", entries[name])
        for name in ("roles", "programs", "subjects"):
            if not isinstance(entries.get(name, {}), Mapping):
                raise invalid("Provider", name, "a table of names and texts", entries[name])
        return cls(**entries)

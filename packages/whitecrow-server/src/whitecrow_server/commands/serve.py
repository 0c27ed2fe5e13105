"""``whitecrow serve``: the curator as a service for many analysts."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whitecrow.cli.secrets import ledger_address, named, secret
from whitecrow.errors import InvalidInput, NoTls
from whitecrow_server.commands._listening import bound, run, shared_folder

if TYPE_CHECKING:
    from fastapi import FastAPI

    from whitecrow.cli.screen_output import Output
    from whitecrow_server import Settings

SETTINGS = "WHITECROW_SETTINGS"
"""The environment variable through which the workers receive their settings."""

_Option = Callable[[Callable[..., Any]], Callable[..., Any]]


def application() -> FastAPI:
    """Build the application in a worker process, from the settings in the environment."""
    from whitecrow_server import Settings, create_app
    from whitecrow_server._logs import configure

    configure()
    # Threads that compute let those that reply go on after a millisecond, not after five.
    sys.setswitchinterval(0.001)
    settings = Settings.from_text(os.environ[SETTINGS])
    pages: Any = None
    if settings.console and importlib.util.find_spec("whitecrow_server.console") is not None:
        pages = importlib.import_module("whitecrow_server.console").mount
    return create_app(settings, pages=pages)


def _whole(flag: str, default: int, help: str, least: int, most: int | None = None) -> _Option:
    """An option that is a whole number within bounds."""
    bounds = click.IntRange(least, most)
    return click.option(flag, default=default, show_default=True, type=bounds, help=help)


@click.command(
    "serve",
    epilog="Example: whitecrow serve --demo",
)
@click.option("--demo", is_flag=True, help="Bundled data, and tokens for a custodian and analyst.")
@click.option(
    "--ledger",
    envvar="WHITECROW_LEDGER",
    help="Where accounts, people and tokens are kept: a file or database URL.",
)
@click.option(
    "--ledger-file",
    envvar="WHITECROW_LEDGER_FILE",
    type=click.Path(dir_okay=False),
    help="A file that holds what --ledger would say, password and all.",
)
@click.option("--data", type=click.Path(exists=True, file_okay=False), help="Folder of data files.")
@click.option(
    "--database",
    "databases",
    envvar="WHITECROW_DATABASE",
    multiple=True,
    metavar="NAME=URL",
    help="A SQL source; repeatable.",
)
@click.option(
    "--database-file",
    "database_files",
    envvar="WHITECROW_DATABASE_FILE",
    multiple=True,
    type=click.Path(dir_okay=False),
    help="A file of lines NAME=URL, passwords and all.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@_whole("--port", 8765, "The port to listen on; 0 takes a free one.", 0, 65535)
@_whole("--workers", 1, "How many processes answer.", 1, 64)
@click.option("--hostname", "hosts", multiple=True, help="A name people reach it by; repeatable.")
@click.option(
    "--tls-certificate",
    type=click.Path(exists=True, dir_okay=False),
    help="The certificate (PEM), with --tls-key.",
)
@click.option(
    "--tls-key", type=click.Path(exists=True, dir_okay=False), help="The certificate's key (PEM)."
)
@click.option("--behind-tls-proxy", is_flag=True, help="A proxy in front ends TLS.")
@click.option(
    "--trusted-proxy",
    "proxies",
    multiple=True,
    metavar="ADDRESS",
    help="A proxy (or network of them) whose X-Forwarded-For counts; repeatable. Behind a proxy on "
    "this machine: loopback.",
)
@click.option("--public-without-tls", is_flag=True, help="Listen beyond this machine without TLS.")
@click.option(
    "--pad/--no-pad",
    default=True,
    show_default=True,
    help="Reply at fixed moments, so that time tells nothing.",
)
@click.option(
    "--deadline",
    "deadlines",
    multiple=True,
    metavar="KIND=SECONDS",
    help="When replies to one kind of question leave; repeatable.",
)
@_whole("--asks-at-once", 16, "How many questions a worker answers at a time.", 1, 1000)
@click.option(
    "--rate", default=50.0, show_default=True, help="Requests a second that one person may make."
)
@_whole("--longest-token", 365, "How many days a token may live.", 1, 3650)
@click.option(
    "--custodian-log",
    type=click.Path(dir_okay=False),
    help="Where causes of failures are written, for the custodian (default: beside the ledger).",
)
@_whole(
    "--slots",
    1,
    "Questions about places computed at once for a dataset, while replies are padded.",
    1,
    64,
)
@_whole(
    "--records-at-most", 100_000, "The bound on the number of records where a card gives none.", 1
)
@click.option(
    "--provider",
    envvar="WHITECROW_PROVIDER",
    type=click.Path(exists=True, dir_okay=False),
    help="The provider of single sign-on: a TOML file.",
)
@click.option(
    "--local-accounts/--no-local-accounts",
    default=True,
    show_default=True,
    help="Whether people may sign in with passwords kept here.",
)
@click.option(
    "--second-factor",
    type=click.Choice(["custodian", "auditor", "analyst"]),
    multiple=True,
    help="A role whose local accounts need a second factor; repeatable.",
)
@click.option(
    "--events",
    multiple=True,
    metavar="SINK",
    help="Where security events go: a file, - for standard error, syslog, or syslog://host:port; "
    "repeatable.",
)
@click.option(
    "--telemetry",
    metavar="URL",
    help="An OpenTelemetry collector (OTLP over HTTP): traces, metrics, security events.",
)
@click.option("--console/--no-console", default=True, show_default=True, help="The web pages.")
@click.pass_obj
def command(
    output: Output,
    demo: bool,
    ledger: str | None,
    ledger_file: str | None,
    data: str | None,
    databases: tuple[str, ...],
    database_files: tuple[str, ...],
    host: str,
    port: int,
    workers: int,
    hosts: tuple[str, ...],
    tls_certificate: str | None,
    tls_key: str | None,
    behind_tls_proxy: bool,
    proxies: tuple[str, ...],
    public_without_tls: bool,
    pad: bool,
    deadlines: tuple[str, ...],
    asks_at_once: int,
    rate: float,
    longest_token: int,
    custodian_log: str | None,
    slots: int,
    records_at_most: int,
    provider: str | None,
    local_accounts: bool,
    second_factor: tuple[str, ...],
    events: tuple[str, ...],
    telemetry: str | None,
    console: bool,
) -> None:
    """Serve datasets to many analysts, over HTTP.

    Listens on this machine only. To be reached from elsewhere it needs TLS: a certificate, or a
    proxy that has one (--behind-tls-proxy), or your word that it may do without.
    """
    from whitecrow_server import Provider, Settings

    if (tls_certificate is None) != (tls_key is None):
        raise InvalidInput("TLS needs both: --tls-certificate and --tls-key.")
    secure = tls_certificate is not None or behind_tls_proxy
    check_exposure(host, tls_certificate is not None, public_without_tls)
    times = {kind: seconds(value) for kind, value in pairs(deadlines)}
    with contextlib.ExitStack() as stack:
        if demo:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="whitecrow-demo-"))
            ledger = ledger or str(Path(folder) / "demo.db")
            from whitecrow.demo import DATA

            data = str(DATA.parent)
        settings = Settings(
            database=ledger_address(ledger, ledger_file),
            data=data,
            databases=dict(pairs((*databases, *named(database_files)))),
            deadlines=times,
            by_cost=pad,
            hosts=known_hosts(host, hosts),
            secure=secure,
            asks_at_once=asks_at_once,
            slots=slots,
            records_at_most=records_at_most,
            rate=rate,
            console=console,
            provider=None if provider is None else Provider.from_file(provider),
            local_accounts=local_accounts,
            second_factor=second_factor,
            events=events,
            telemetry=telemetry,
            telemetry_headers=_headers(),
            proxies=trusted(host, behind_tls_proxy, proxies),
            longest_token_days=longest_token,
            token_days=min(Settings.token_days, longest_token),
            custodian_log=None if custodian_log is None else str(Path(custodian_log).resolve()),
        )
        check_log(settings.log_file)
        scheme = "https" if tls_certificate else "http"
        listening = [
            stack.enter_context(contextlib.closing(one)) for one in bound(host, port, workers)
        ]
        port = listening[0].getsockname()[1]
        invite(output, settings, demo=demo, url=f"{scheme}://{host}:{port}")
        shared = stack.enter_context(shared_folder(workers))
        if shared is not None:
            settings = dataclasses.replace(settings, limits=str(shared / "limits"))
        os.environ[SETTINGS] = settings.to_text()
        run(listening, tls_certificate, tls_key)


def check_exposure(host: str, tls: bool, explicit: bool) -> None:
    """Refuse to listen beyond this machine in the open, unless told to."""
    from whitecrow_server._settings import LOOPBACK

    if host not in LOOPBACK and not tls and not explicit:
        raise NoTls(
            f"Listening on {host} without TLS would send tokens and answers in the open. Give "
            "--tls-certificate and --tls-key, or listen on 127.0.0.1 behind a proxy that has a "
            "certificate (--behind-tls-proxy), or say --public-without-tls."
        )


def trusted(host: str, behind: bool, given: tuple[str, ...]) -> tuple[str, ...]:
    """The proxies whose word on a caller's address counts."""
    from whitecrow_server._settings import LOOPBACK

    if given or not behind:
        return given
    if host not in LOOPBACK:
        raise InvalidInput(
            "Behind a proxy that is not on this machine all callers seem to have its address, and "
            "one who fails to sign in locks out all others. Say which proxy is to be believed: "
            "--trusted-proxy 172.17.0.1 (an address or a network)."
        )
    return ("127.0.0.0/8", "::1")


def check_log(file: Path) -> None:
    """Refuse to start where the causes of faults could not be written down."""
    try:
        os.close(os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600))
    except OSError:
        raise InvalidInput(
            f"The custodian's log {str(file)!r} cannot be written; say --custodian-log FILE."
        ) from None


def known_hosts(host: str, given: tuple[str, ...]) -> tuple[str, ...]:
    """The host names to answer to: any if it listens widely and none was named."""
    from whitecrow_server._settings import LOOPBACK

    if host not in LOOPBACK and not given:
        return ()
    return tuple({*(name.lower() for name in given), *LOOPBACK})


def pairs(given: tuple[str, ...]) -> list[tuple[str, str]]:
    """Read NAME=VALUE options."""
    found = []
    for one in given:
        name, equals, value = one.partition("=")
        if not (name and equals and value):
            # An address is not repeated: it may hold a password.
            raise InvalidInput(f"Write NAME=VALUE, not {'URL' if '://' in one else repr(one)}.")
        found.append((name, value))
    return found


def _headers() -> dict[str, str]:
    """What the collector wants to be sent along: lines NAME=VALUE, for they are secrets."""
    given = secret("WHITECROW_TELEMETRY_HEADERS") or ""
    return dict(pairs(tuple(line.strip() for line in given.splitlines() if line.strip())))


def seconds(value: str) -> float:
    """Read a number of seconds."""
    try:
        return float(value)
    except ValueError:
        raise InvalidInput(f"{value!r} is not a number of seconds.") from None


def invite(output: Output, settings: Settings, *, demo: bool, url: str) -> None:
    """Make the first people of an empty service known, and hand out their secrets once."""
    from whitecrow_server import Service

    service = Service(settings)
    try:
        if service.people.all():
            output.show({"url": url}, f"whitecrow listens on {url}")
            return
        name = os.environ.get("WHITECROW_CUSTODIAN", "") or "custodian"
        custodian = service.people.add(name, "custodian")
        chosen = secret("WHITECROW_CUSTODIAN_PASSWORD")
        # Passwords first: a new one ends the tokens that were made before it.
        if chosen is not None:
            # Whoever set it knows it: nothing secret is printed, where logs would keep it.
            service.sessions.set_password(name, chosen, by="operator")
            output.show({"url": url}, f"whitecrow listens on {url}")
            return
        passwords = {name: service.sessions.new_password(name)}
        made = {name: service.members.issue(custodian, name, label="first")[0]}
        if demo:
            from whitecrow.demo import CARD, DATA

            service.members.invite(custodian, "analyst", "analyst")
            passwords["analyst"] = service.sessions.new_password("analyst")
            analyst = service.people.get("analyst")
            made["analyst"] = service.members.issue(analyst, "analyst", label="demo")[0]
            service.register(
                custodian,
                "clinic",
                {"file": DATA.name},
                card=CARD.read_text(encoding="utf-8"),
                policy={"notions": ["differential", "concentrated", "sensitive", "conditional"]},
                budget="8",
                readers=["analyst"],
            )
    finally:
        service.close()
    lines = ["Tokens, shown once:"]
    lines += [f"  {name:<10} {token}" for name, token in made.items()]
    lines += ["", "Passwords for the web pages, shown once:"]
    lines += [f"  {name:<10} {password}" for name, password in passwords.items()]
    listens = f"whitecrow listens on {url}"
    file = os.environ.get("WHITECROW_FIRST_SIGN_IN", "")
    if not file and not demo and not output.as_json and not sys.stdout.isatty():
        file = str(settings.log_file.with_name("first-sign-in.txt"))  # output goes to some log
    if file:
        _hand_over(Path(file), lines)
        said = f"{listens}\nThe first password and token are in {file}: read it, then delete it."
        output.show({"url": url, "first_sign_in": file}, said)
        return
    if demo:
        lines += ["", *_example(url, made["analyst"])]
    output.show(
        {"url": url, "tokens": made, "passwords": passwords}, "\n".join([listens, "", *lines])
    )


def _hand_over(file: Path, lines: list[str]) -> None:
    """Write secrets where the service's user alone can read them."""
    try:
        file.unlink(missing_ok=True)  # of an earlier, emptied database; its mode may be another
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
        with os.fdopen(os.open(file, flags, 0o600), "w", encoding="utf-8") as written:
            written.write("\n".join(lines) + "\n")
    except OSError:
        raise InvalidInput(
            f"The first password cannot be written to {str(file)!r}: name another file in "
            "WHITECROW_FIRST_SIGN_IN, or give one by WHITECROW_CUSTODIAN_PASSWORD_FILE."
        ) from None


def _example(url: str, token: str) -> list[str]:
    return [
        f"Open {url}/console in a browser, or ask in Python:",
        "  import whitecrow as wc",
        f'  client = wc.Client("{url}", "{token}")',
        '  detector = client.learn(["age", "bmi", "systolic"], epsilon="1/2").answer',
        '  detector.scores({"age": 74, "bmi": 44.0, "systolic": 222})',
    ]

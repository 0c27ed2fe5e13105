"""``whitecrow serve``: the curator as a service for many analysts."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whitecrow.cli.screen_output import FoldedCommand
from whitecrow.cli.secrets import ledger_address, named, secret
from whitecrow.errors import InvalidInput, NoTls
from whitecrow_server._logs import append
from whitecrow_server._settings import LOOPBACK, Launch, Provider, Settings, flags_of

if TYPE_CHECKING:
    from fastapi import FastAPI

    from whitecrow.cli.screen_output import Output

SETTINGS = "WHITECROW_SETTINGS"
"""The environment variable through which the workers receive their settings."""

_SHOWN = (
    *("demo", "ledger", "data", "named", "host", "port", "workers", "hosts"),
    *("tls_certificate", "tls_key", "behind_tls_proxy", "by_cost", "console"),
)
"""Options that help always shows."""

_Option = Callable[[Callable[..., Any]], Callable[..., Any]]


def application() -> FastAPI:
    """Build the application in a worker process, from the settings in the environment."""
    from whitecrow_server import create_app
    from whitecrow_server._logs import configure

    configure()
    # Threads that compute let those that reply go on after a millisecond, not after five.
    sys.setswitchinterval(0.001)
    settings = Settings.from_text(os.environ[SETTINGS])
    if not settings.console:
        return create_app(settings)
    from whitecrow_server.console import mount

    return create_app(settings, pages=mount)


def _option(setting: dataclasses.Field[Any]) -> _Option:
    declared = setting.metadata
    flags = flags_of(setting)
    variable = f"WHITECROW_SERVE_{flags[0].removeprefix('--').replace('-', '_').upper()}"
    how: dict[str, Any] = {"help": declared["words"], "envvar": declared.get("env", variable)}
    names = ["/".join(flags), setting.name]
    if isinstance(setting.default, bool):
        how |= {"is_flag": True, "default": declared.get("usual", setting.default)}
        how["show_default"] = len(flags) > 1
    elif isinstance(setting.default, int | float):
        number = click.IntRange if isinstance(setting.default, int) else click.FloatRange
        how |= {"default": declared.get("usual", setting.default), "show_default": True}
        how["type"] = number(declared["least"], declared.get("most"))
    elif "choices" in declared:
        how["type"] = click.Choice(declared["choices"])
    elif "file" in declared:
        folder = setting.name == "data"
        how["type"] = click.Path(exists=declared["file"], file_okay=not folder, dir_okay=folder)
    if isinstance(setting.default, str):
        how |= {"default": setting.default, "show_default": True}
    if "value" in declared:
        how["metavar"] = declared["value"]
    if declared.get("many") or setting.name == "deadlines":
        how["multiple"] = True
    return click.option(*names, **how)


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of all settings that declare one."""
    declared = (*dataclasses.fields(Launch), *dataclasses.fields(Settings))
    for setting in reversed([setting for setting in declared if flags_of(setting)]):
        command = _option(setting)(command)
    return command


@click.command("serve", cls=FoldedCommand, shown=_SHOWN, epilog="Example: whitecrow serve --demo")
@_options
@click.pass_obj
def command(output: Output, /, **given: Any) -> None:
    """Serve datasets to many analysts, over HTTP.

    Listens on this machine only. To be reached from elsewhere it needs TLS: a certificate, or a
    proxy that has one (--behind-tls-proxy), or your word that it may do without. The environment
    sets an option, too: WHITECROW_SERVE_RATE, say.
    """
    from whitecrow_server._listening import bound, run, shared_folder

    launch = Launch(**{field.name: given.pop(field.name) for field in dataclasses.fields(Launch)})
    tls, host = launch.tls_certificate is not None, launch.host
    if tls != (launch.tls_key is not None):
        raise InvalidInput("TLS needs both: --tls-certificate and --tls-key.")
    check_exposure(host, tls, launch.public_without_tls)
    with contextlib.ExitStack() as stack:
        if launch.demo:
            from whitecrow.demo import DATA

            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="whitecrow-demo-"))
            launch = dataclasses.replace(launch, ledger=launch.ledger or f"{folder}/demo.db")
            given["data"] = f"{folder}/files"  # a copy: what is sent from a browser is kept there
            shutil.copytree(DATA.parent, given["data"], ignore=shutil.ignore_patterns("*.py", "_*"))
        given |= {
            "deadlines": {kind: seconds(value) for kind, value in pairs(given["deadlines"])},
            "hosts": known_hosts(host, given["hosts"]),
            "proxies": trusted(host, launch.behind_tls_proxy, given["proxies"]),
            "token_days": min(Settings.token_days, given["longest_token_days"]),
        }
        if given["provider"] is not None:
            given["provider"] = Provider.from_file(given["provider"])
        if given["custodian_log"] is not None:
            given["custodian_log"] = str(Path(given["custodian_log"]).resolve())
        settings = Settings(
            database=ledger_address(launch.ledger, launch.ledger_file),
            databases=dict(pairs((*launch.named, *named(launch.named_in)))),
            secure=tls or launch.behind_tls_proxy,
            telemetry_headers=_headers(),
            **given,
        )
        try:
            append(settings.log_file, "")
        except OSError:
            log = str(settings.log_file)
            raise InvalidInput(
                f"The custodian's log {log!r} cannot be written; give --custodian-log FILE."
            ) from None
        say_broken(output)
        listening = [
            stack.enter_context(contextlib.closing(listener))
            for listener in bound(host, launch.port, launch.workers)
        ]
        port = listening[0].getsockname()[1]
        url = f"{'https' if tls else 'http'}://{host}:{port}"
        invite(output, settings, demo=launch.demo, url=url)
        shared = stack.enter_context(shared_folder(launch.workers))
        if shared is not None:
            settings = dataclasses.replace(settings, limits=str(shared / "limits"))
        os.environ[SETTINGS] = settings.to_text()
        run(listening, launch.tls_certificate, launch.tls_key)


def say_broken(output: Output) -> None:
    """Name plug-ins that are left out, and why: they do not stop the service."""
    from whitecrow.questions import broken

    for kind, cause in broken().items():
        output.say(f"note: the question {kind!r} is left out. {cause}")


def check_exposure(host: str, tls: bool, explicit: bool) -> None:
    """Refuse to listen beyond this machine in the open, unless told to."""
    if host not in LOOPBACK and not tls and not explicit:
        raise NoTls(
            f"Listening on {host} without TLS would send tokens and answers in the open. Give "
            "--tls-certificate and --tls-key, or listen on 127.0.0.1 behind a proxy that has a "
            "certificate (--behind-tls-proxy), or give --public-without-tls."
        )


def trusted(host: str, behind: bool, given: tuple[str, ...]) -> tuple[str, ...]:
    """The proxies that are trusted for a caller's address."""
    if given or not behind:
        return given
    if host not in LOOPBACK:
        raise InvalidInput(
            "Behind a proxy that is not on this machine all callers seem to have its address, and "
            "one who fails to sign in locks out all others. Name the proxy to trust: "
            "--trusted-proxy 172.17.0.1 (an address or a network)."
        )
    return ("127.0.0.0/8", "::1")


def known_hosts(host: str, given: tuple[str, ...]) -> tuple[str, ...]:
    """The host names to answer to: any if it listens widely and none was named."""
    if host not in LOOPBACK and not given:
        return ()
    return tuple({*(name.lower() for name in given), *LOOPBACK})


def pairs(given: tuple[str, ...]) -> list[tuple[str, str]]:
    named_values = []
    for entry in given:
        name, equals, value = entry.partition("=")
        if not (name and equals and value):
            # An address is not repeated: it may hold a password.
            raise InvalidInput(f"Write NAME=VALUE, not {'URL' if '://' in entry else repr(entry)}.")
        named_values.append((name, value))
    return named_values


def _headers() -> dict[str, str]:
    """The collector's headers, as lines NAME=VALUE in a variable: they are secrets."""
    given = secret("WHITECROW_TELEMETRY_HEADERS") or ""
    return dict(pairs(tuple(line.strip() for line in given.splitlines() if line.strip())))


def seconds(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise InvalidInput(f"{value!r} is not a number of seconds.") from None


def invite(output: Output, settings: Settings, *, demo: bool, url: str) -> None:
    """Add the first people of an empty service, and hand out their secrets once."""
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
        invitation = (
            f"{listens}\nThe first password and token are in {file}: read it, then delete it."
        )
        output.show({"url": url, "first_sign_in": file}, invitation)
        return
    if demo:
        lines += [
            "",
            f"Open {url}/console in a browser, or ask in Python:",
            "  import whitecrow as wc",
            f'  client = wc.Client("{url}", "{made["analyst"]}")',
            '  detector = client.learn(["age", "bmi", "systolic"], epsilon="1/2").answer',
            '  detector.scores({"age": 74, "bmi": 44.0, "systolic": 222})',
        ]
    output.show(
        {"url": url, "tokens": made, "passwords": passwords}, "\n".join([listens, "", *lines])
    )


def _hand_over(file: Path, lines: list[str]) -> None:
    """Write secrets where the service's user alone can read them."""
    try:
        file.unlink(missing_ok=True)  # of an earlier, emptied database; its mode may be another
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
        with os.fdopen(os.open(file, flags, 0o600), "w", encoding="utf-8") as handle:
            handle.write("\n".join(lines) + "\n")
    except OSError:
        raise InvalidInput(
            f"The first password cannot be written to {str(file)!r}: name another file in "
            "WHITECROW_FIRST_SIGN_IN, or give one by WHITECROW_CUSTODIAN_PASSWORD_FILE."
        ) from None

"""``whitecrow people``: what an operator does on the machine when nobody can sign in."""

from __future__ import annotations

import contextlib
import datetime
import getpass
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from whitecrow.cli.secrets import ledger_address

if TYPE_CHECKING:
    from whitecrow.cli.screen_output import Output
    from whitecrow_server import Service


@click.group("people", epilog="Example: whitecrow people --ledger accounts.db reset carla")
@click.option("--ledger", envvar="WHITECROW_LEDGER", help="Where the service keeps its accounts.")
@click.option(
    "--ledger-file",
    envvar="WHITECROW_LEDGER_FILE",
    type=click.Path(dir_okay=False),
    help="A file that holds the value of --ledger.",
)
@click.pass_context
def command(context: click.Context, ledger: str | None, ledger_file: str | None) -> None:
    """See to the people of a service from its machine.

    For operators: whoever may write the database needs no password. What is done stands in the
    trail as the operator's.
    """
    context.meta["whitecrow.service"] = (ledger, ledger_file)


@contextlib.contextmanager
def _service() -> Iterator[tuple[Service, str]]:
    """The service's own tables, and who signs for what is done to them."""
    from whitecrow_server import Service, Settings

    ledger, file = click.get_current_context().meta["whitecrow.service"]
    service = Service(Settings(database=ledger_address(ledger, file)))
    try:
        yield service, f"operator {getpass.getuser()}"
    finally:
        service.close()


@command.command("list", epilog="Example: whitecrow people --ledger accounts.db list")
@click.pass_obj
def list_(output: Output) -> None:
    """Everybody, with role and state."""
    with _service() as (service, _):
        people = service.people.all()
    state = {True: "deactivated", False: "active"}
    lines = [f"{person.name:<24} {person.role:<10} {state[person.disabled]}" for person in people]
    output.show({"people": [person.to_json() for person in people]}, "\n".join(lines) or "Nobody.")


@command.command("add", epilog="Example: whitecrow people --ledger accounts.db add carla custodian")
@click.argument("name")
@click.argument("role", type=click.Choice(["custodian", "analyst", "auditor"]))
@click.pass_obj
def add(output: Output, name: str, role: str) -> None:
    """Add a person, and print a password for them, once."""
    from whitecrow_server._people import Act

    with _service() as (service, by):
        service.people.add(name, role, act=Act(by, "invite", name, {"role": role}))
        password = service.sessions.new_password(name, by=by[:64])
    _shown(output, name, password)


@command.command("reset", epilog="Example: whitecrow people --ledger accounts.db reset carla")
@click.argument("name")
@click.pass_obj
def reset(output: Output, name: str) -> None:
    """Give somebody a new password, printed once; their second factor and lock-out end too."""
    from whitecrow_server._people import Act

    with _service() as (service, by):
        person = service.people.get(name)
        if person.disabled:
            service.people.disable(name, False, act=Act(by, "activate", name))
        service.sessions.end_second_factor(name, by=by)
        act = Act(by, "reset-password", name)
        password = service.sessions.new_password(name, by=by[:64], act=act)
        service.sessions.attempts.unlock(name)
    _shown(output, name, password)


@command.command("sign-out", epilog="Example: whitecrow people --ledger accounts.db sign-out carla")
@click.argument("name")
@click.pass_obj
def sign_out(output: Output, name: str) -> None:
    """End all of somebody's sessions and tokens."""
    from whitecrow_server._people import Act

    with _service() as (service, by):
        service.people.get(name)
        service.sessions.end(name, act=Act(by, "end-sessions", name))
        service.people.revoke_all(name, act=Act(by, "revoke-all", name))
    output.show({"name": name}, f"All sessions and tokens of {name} have ended.")


@command.command("rotate-keys", epilog="Example: whitecrow people --ledger accounts.db rotate-keys")
@click.pass_obj
def rotate_keys(output: Output) -> None:
    """Sign cookies with a new key from now on; nobody is signed out."""
    with _service() as (service, by):
        service.sessions.keys.rotate(by=by)
    output.show({"rotated": True}, "Cookies are signed with a new key. Nobody was signed out.")


@command.command("trail", epilog="Example: whitecrow people --ledger accounts.db trail")
@click.pass_obj
def trail(output: Output) -> None:
    """What administrators did, the oldest first, and whether its hash chain is whole."""
    from whitecrow_server._people import Trail

    with _service() as (service, _):
        acts, broken = Trail(service.store).page(), Trail(service.store).broken()
    lines = [
        f"{datetime.datetime.fromtimestamp(act['at'], datetime.UTC):%Y-%m-%d %H:%M}  "
        f"{act['actor']:<24} {act['act']:<18}  {act['target']}"
        for act in acts
    ]
    lines.append("The chain is whole." if broken is None else f"Broken at {broken}.")
    output.show({"acts": acts, "broken": broken}, "\n".join(lines))


def _shown(output: Output, name: str, password: str) -> None:
    output.show(
        {"name": name, "password": password},
        f"The password of {name}, shown once:\n  {password}\n"
        "Until they choose their own, what they do is recorded with yours beside it.",
    )

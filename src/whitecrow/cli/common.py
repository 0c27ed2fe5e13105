"""What the asking commands share: which data, which card, which account, at which price."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import click

from whitecrow.cli.screen_output import Output
from whitecrow.cli.secrets import token
from whitecrow.errors import InvalidInput, PolicyViolation

if TYPE_CHECKING:
    from whitecrow.client import Client
    from whitecrow.curator import Curator
    from whitecrow.question import Question, Release

__all__ = [
    "Asking",
    "answer",
    "asking",
    "json_object",
    "ledger_option",
    "model_options",
    "opened",
    "server_option",
    "split_names",
]


@dataclass(frozen=True)
class Asking:
    """The options every asking command has.

    Parameters
    ----------
    output : Output
        Where results go.
    data, card, ledger, name, analyst, engine, spark_master, budget, policy, epsilon : str
        As typed.
    price_only : bool
        Say what it would cost and how accurate it would be, then stop.
    server : str, optional
        The address of a service that answers; DATA is then the dataset's name there.
    """

    output: Output
    data: str
    card: str | None
    ledger: str | None
    name: str | None
    analyst: str
    engine: str
    spark_master: str | None
    budget: str | None
    policy: str | None
    epsilon: str
    price_only: bool
    server: str | None = None


def server_option(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command --server: ask a service instead of opening the data."""
    return click.option(
        "--server",
        envvar="WHITECROW_SERVER",
        help="Ask this service (https://...); DATA is the dataset's name there. The token comes "
        "from the variable WHITECROW_TOKEN.",
    )(command)


def ledger_option(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command --ledger, whose address may also come from the environment."""
    return click.option(
        "--ledger",
        envvar="WHITECROW_LEDGER",
        help="Where the account is kept (default: a file beside the data).",
    )(command)


def asking(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command DATA, --card, --epsilon, the account's options and --price-only.

    The command receives them as its first argument, an :class:`Asking`.
    """

    @click.argument("data")
    @click.option("--card", help="The dataset's card (TOML).")
    @click.option("--epsilon", required=True, help="The price, exact: 0.1 or 1/10.")
    @ledger_option
    @click.option("--name", help="Whose account it is (default: the name of the file).")
    @click.option("--analyst", default="owner", show_default=True, help="Who asks.")
    @click.option(
        "--engine",
        default="local",
        show_default=True,
        help="Who counts neighbours: local, gpu, sql (DuckDB, PostgreSQL) or spark.",
    )
    @click.option("--spark-master", help="For spark: local[2], spark://host:7077, sc://host, ...")
    @click.option("--budget", help="The dataset's whole budget, when its account is opened new.")
    @click.option("--policy", help="What may be asked (TOML), when its account is opened new.")
    @server_option
    @click.option("--price-only", is_flag=True, help="Say price and expected error; ask nothing.")
    @click.pass_obj
    @functools.wraps(command)
    def wrapped(output: Output, /, **options: Any) -> None:
        common = {field.name: options.pop(field.name) for field in fields(Asking)[1:]}
        command(Asking(output, **common), **options)

    return wrapped


def model_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the anomaly model: --beta, --radius, --metric."""
    command = click.option("--metric", default="euclidean", show_default=True)(command)
    command = click.option("--radius", type=float, required=True, help="How near a neighbour is.")(
        command
    )
    return click.option(
        "--beta", type=int, required=True, help="An anomaly has at most this many records near."
    )(command)


def json_object(value: str, option: str) -> dict[str, Any]:
    """Read an option that is a JSON object, or the name of a file with one after '@'."""
    try:
        if value.startswith("@"):
            from pathlib import Path

            value = Path(value[1:]).read_text(encoding="utf-8")
        found = json.loads(value)
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise InvalidInput(
            f'{option} must be a JSON object such as \'{{"age": 61, "bmi": 24.1}}\' '
            "(or @FILE that holds one)."
        )
    return found


def split_names(value: str | None) -> tuple[str, ...] | None:
    """Read 'age,bmi' as names; None stays None."""
    return (
        None if value is None else tuple(name.strip() for name in value.split(",") if name.strip())
    )


def opened(given: Asking, *, allowing: Sequence[str] = ()) -> Curator | Client:
    """Open the curator that the options describe, with a progress bar for a long load.

    ``allowing`` names the notions that a *new* account's policy admits, where the custodian named
    them and --policy is not given. An account that exists keeps its policy.
    """
    if given.server is not None:
        return _remote(given.server, given.data)
    from whitecrow.curator import Curator
    from whitecrow.curator.opening import beside

    ledger = given.ledger
    if given.price_only and ledger is None:
        # Asking for a price opens no account: the one there is, or one in memory.
        known = beside(given.data)
        ledger = None if known is not None and known.exists() else "sqlite://"
    with given.output.progress() as progress:
        open_ = functools.partial(
            Curator.open,
            given.data,
            card=given.card,
            ledger=ledger,
            name=given.name,
            analyst=given.analyst,
            engine=given.engine,
            spark_master=given.spark_master,
            budget=given.budget,
            progress=progress,
        )
        if given.policy is not None or not allowing:
            return open_(policy=given.policy)
        try:
            return open_(policy={"notions": list(allowing)})
        except PolicyViolation:
            return open_()


def _remote(url: str, dataset: str) -> Client:
    """The service's curator, for the holder of the token in the environment."""
    from whitecrow.client import Client

    return Client(url, token(), dataset=dataset)


def answer(
    given: Asking,
    question: Question,
    *,
    words: Callable[[Release], str] | None = None,
    public: Mapping[str, Any] | None = None,
    allowing: Sequence[str] = (),
) -> None:
    """Ask the question (or only price it) and print what came back.

    Parameters
    ----------
    given : Asking
        The command's common options.
    question : Question
        What to ask.
    words : callable, optional
        How to say the answer; by default its JSON.
    public : mapping, optional
        Public facts for the expected error, passed to ``describe``.
    allowing : sequence of str
        Notions that the policy of a new account admits; see :func:`opened`.
    """
    curator = opened(given, allowing=allowing)
    description = curator.describe(question, **(public or {}))
    if given.price_only:
        given.output.show(description.to_json(), description.words)
        return
    with given.output.progress() as progress:
        release = curator.ask(question, progress=progress)
    said = words(release) if words else json.dumps(release.answer, ensure_ascii=False)
    remaining = release.ledger.get("remaining", {})
    lines = [
        f"answer     {said}",
        f"promise    {release.statement}",
        f"charged    {'yes' if release.charged else 'no: this question was answered before'}",
        f"remaining  {', '.join(f'{notion} {left}' for notion, left in remaining.items())}",
    ]
    given.output.show(release.to_json(), "\n".join(lines))

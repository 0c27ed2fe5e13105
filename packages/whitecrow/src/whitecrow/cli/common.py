"""What the asking commands share: which data, which card, which account, at which price."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from whitecrow.cli.screen_output import Output, watched
from whitecrow.cli.secrets import secret, token
from whitecrow.errors import NotReady, PolicyViolation

if TYPE_CHECKING:
    from whitecrow.client import Client
    from whitecrow.curator import Curator
    from whitecrow.ledger import Ledger
    from whitecrow.question import Question, Release, Said

T = TypeVar("T")
_PATIENCE = 180  # seconds for which a service is waited for that is still loading a dataset

_MARGIN = " " * 11
_MOST_ROWS = 20


@dataclass(frozen=True)
class Asking:
    """The options of asking commands, as typed; :data:`_OPTIONS` says what each is."""

    output: Output
    data: str
    card: str | None = None
    ledger: str | None = None
    name: str | None = None
    analyst: str = "owner"
    engine: str = "local"
    spark_master: str | None = None
    budget: str | None = None
    policy: str | None = None
    allow: str | None = None
    server: str | None = None
    price_only: bool = False
    dummy: bool = False


_OPTIONS = {
    "card": click.option("--card", help="The dataset's card (TOML)."),
    "ledger": click.option(
        "--ledger",
        default=lambda: secret("WHITECROW_LEDGER"),  # from the environment or a file
        help="Where the account is kept (default: a file next to the data).",
    ),
    "name": click.option("--name", help="Whose account it is (default: the name of the file)."),
    "analyst": click.option("--analyst", default="owner", show_default=True, help="Who asks."),
    "engine": click.option(
        "--engine",
        default="local",
        show_default=True,
        help="Who counts neighbours: local, gpu, disk (more records than memory holds) or spark.",
    ),
    "spark_master": click.option(
        "--spark-master", help="For spark: local[2], spark://host:7077, sc://host, ..."
    ),
    "budget": click.option(
        "--budget", help="The dataset's whole budget, when its account is opened new."
    ),
    "policy": click.option(
        "--policy", help="What may be asked (TOML), when its account is opened new."
    ),
    "allow": click.option(
        "--allow",
        type=click.Choice(["conditional"]),
        help="When its account is opened new: admit releases that promise nothing where their "
        "condition fails. (Or name the notion in --policy.)",
    ),
    "server": click.option(
        "--server",
        envvar="WHITECROW_SERVER",
        help="Ask this service (https://...); DATA is the dataset's name there. The token comes "
        "from the variable WHITECROW_TOKEN.",
    ),
    "price_only": click.option(
        "--price-only", is_flag=True, help="Say price and expected error; ask nothing."
    ),
    "dummy": click.option("--dummy", is_flag=True, help="Answer about made-up records, free."),
}


def asking(*only: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command DATA and the options of these names, by default all of :class:`Asking`.

    The command receives them as its first argument, an :class:`Asking`.
    """
    names = only or tuple(_OPTIONS)

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        @click.pass_obj
        @functools.wraps(command)
        def wrapped(output: Output, /, data: str, **options: Any) -> None:
            account = {name: options.pop(name) for name in names}
            command(Asking(output, data, **account), **options)

        with_options: Callable[..., None] = wrapped
        for name in reversed(names):
            with_options = _OPTIONS[name](with_options)
        return click.argument("data")(with_options)

    return decorated


def opened(given: Asking) -> Curator | Client:
    """Open the curator that the options describe.

    With --allow a *new* account's policy admits that notion too. An account that exists keeps its
    policy.
    """
    if given.server is not None:
        from whitecrow.client import Client

        return Client(given.server, token(), dataset=given.data)
    from whitecrow.curator import Policy

    open_ = functools.partial(opened_here, given, account="with the first spend")
    if given.policy is not None or given.allow is None:
        curator = open_(policy=given.policy)
    else:
        try:
            curator = open_(policy={"notions": [*Policy().notions, given.allow]})
        except PolicyViolation:
            curator = open_()
    # The custodian at the keyboard is told what became of the rows: facts, and for nobody else.
    # Whoever asks in an analyst's name, pipes the output or wants JSON is not told; and with other
    # engines it would be a count over all rows.
    at_keyboard = given.analyst == "owner" and not given.output.as_json and watched()
    if at_keyboard and given.engine in ("local", "gpu"):
        from whitecrow.data.dataset import intake_words

        given.output.say(f"custodian  {intake_words(curator.intake())}")
    return curator


def opened_here(given: Asking, **settings: Any) -> Curator:
    """Open the records and their account on this machine, with a progress bar for a long load."""
    from whitecrow.curator import Curator

    with given.output.progress() as progress:
        return Curator.open(
            given.data,
            card=given.card,
            ledger=given.ledger,
            name=given.name,
            analyst=given.analyst,
            engine=given.engine,
            spark_master=given.spark_master,
            budget=given.budget,
            progress=progress,
            **settings,
        )


def answer(
    given: Asking,
    question: Question,
    *,
    public: Mapping[str, Any] | None = None,
    picture: str | None = None,
    out: str | None = None,
) -> None:
    """Ask the question (or only price it) and print what came back.

    ``public`` are guesses for the expected error; ``picture`` is where the answer is drawn, ``out``
    where the object that it stands for is written.
    """
    if _undescribed(given, question):
        _answer_undescribed(given, question, picture=picture, out=out)
        return
    curator = opened(given)
    description = _once_loaded(given, lambda: curator.describe(question, **(public or {})))
    given.output.warn(description.warning)
    if given.price_only:
        given.output.show(description.to_json(), description.words)
        return
    here = cast("Curator", curator) if given.server is None else None
    new = here is not None and not here.has_account and given.budget is None
    with given.output.progress() as progress:
        release = _once_loaded(
            given,
            lambda: (
                curator.dummy(question) if given.dummy else curator.ask(question, progress=progress)
            ),
        )
    if here is not None and new and here.has_account:
        _say_account(given, here.ledger, here.name)
    _show(given, question, release, picture=picture, out=out)


def _once_loaded(given: Asking, ask: Callable[[], T]) -> T:
    """Ask; a service that is still loading the dataset is asked again for a while."""
    for _ in range(_PATIENCE if given.server is not None else 0):
        try:
            return ask()
        except NotReady:
            time.sleep(1)
    return ask()


def _say_account(given: Asking, ledger: Ledger, name: str) -> None:
    """Say which budget a new account has, and how to have another."""
    store, budget = ledger.database, ledger.snapshot(name).budget
    where = store.name if store.path is None else store.path.name
    given.output.say(
        f"account    new, in {where}: {budget.text()} for all questions together. To "
        "change it: whitecrow ledger amend DATA --budget ... --reason ..."
    )


def _undescribed(given: Asking, question: Question) -> bool:
    """Whether a card is to be bought: none is given, and nothing needs one but the question."""
    account = (given.name, given.policy, given.allow, given.spark_master, given.server, given.card)
    plain = given.engine == "local" and given.analyst == "owner" and not given.dummy
    return plain and not any(account) and not question.needs_card


def _answer_undescribed(
    given: Asking, question: Any, *, picture: str | None, out: str | None
) -> None:
    """Ask without a card: say what is bought, what is looked at, and what came of it."""
    from whitecrow.cli.files import opened_ledger
    from whitecrow.curator.opening import account_name, beside
    from whitecrow.curator.undescribed import learned, steps
    from whitecrow.privacy import DifferentialPrivacy

    if given.price_only:
        words = steps(question, given.data)
        price = DifferentialPrivacy(question.epsilon, question.delta, question.relation)
        given.output.show({"words": words, "price": price.to_json()}, words)
        return
    file = beside(given.data)
    new = not (given.ledger or given.budget) and file is not None and not file.exists()
    with given.output.progress() as progress:
        release = learned(
            question,
            given.data,
            budget=given.budget,
            ledger=given.ledger,
            progress=progress,
            say=lambda words: given.output.say(f"columns    {words}"),
        )
    if new:
        with opened_ledger(given.data) as ledger:
            _say_account(given, ledger, str(account_name(given.data, private=True)))
    _show(given, question, release, picture=picture, out=out)


def _show(
    given: Asking, question: Question, release: Release, *, picture: str | None, out: str | None
) -> None:
    """Print what came back; draw it, and write the object it stands for."""
    if picture is not None:
        question.draw(release.answer, picture)
    if out is not None:
        question.keep(release.answer, out)
    lines = [
        *_answer_lines(release.in_words, release.statement),
        *[f"{what:<9}  {amount}" for what, amount in release.costs],
        f"promise    {release.statement}",
    ]
    if release.ledger.get("spent", {}).get("differential") == "unbounded":
        lines.append("           The guarantee for everyone no longer covers the total.")
    given.output.show(release.to_json(), "\n".join(lines))


def _answer_lines(wording: Said, statement: str) -> list[str]:
    """The answer: its headline, and the first and last rows of a table; the promise comes later."""
    details = [line for line in wording.detail.splitlines() if line != statement]
    lines = [f"answer     {wording.headline}", *(f"{_MARGIN}{line}" for line in details)]
    if not wording.rows:
        return lines
    head, *rows = wording.rows
    shown = rows if len(rows) <= _MOST_ROWS else [*rows[:4], [], *rows[4 - _MOST_ROWS :]]
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    for row in [head, *shown]:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        left_out = f"... {len(rows) - _MOST_ROWS + 1} more (use --json)"
        lines.append(f"{_MARGIN}{'  '.join(cells).rstrip() if row else left_out}")
    return lines

"""``whitecrow advise``: a model for a wanted share of outliers, without knowing the radius."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from whitecrow.cli.common import Asking, ledger_option, opened, server_option
from whitecrow.cli.screen_output import Output

if TYPE_CHECKING:
    from whitecrow.curator.models import ModelAdvice


@click.command(
    "advise",
    epilog="Example: whitecrow advise patients.csv --card patients.toml --contamination 0.01",
)
@click.argument("data")
@click.option("--contamination", required=True, help="The share of outliers wanted: 0.01, 1/50.")
@click.option("--columns", help="What is compared: A,B,... (default: all that the metric takes).")
@click.option("--metric", default="standardised", show_default=True, help="The distance.")
@click.option("--beta", type=click.IntRange(min=1), default=20, show_default=True)
@click.option("--records", type=click.IntRange(min=1), help="About how many records there are.")
@click.option("--epsilon", default="1", show_default=True, help="What choosing by data may cost.")
@click.option("--card", help="The dataset's card (TOML).")
@ledger_option
@click.option("--name", help="Whose account it is (default: the name of the file).")
@server_option
@click.pass_obj
def command(
    output: Output,
    data: str,
    contamination: str,
    columns: str | None,
    metric: str,
    beta: int,
    records: int | None,
    epsilon: str,
    card: str | None,
    ledger: str | None,
    name: str | None,
    server: str | None,
) -> None:
    """Find a model that makes a wanted share of DATA's records outliers; spends nothing.

    It is tried on made-up records, drawn from the newest profile in the account or, where none was
    bought, from the card. To have the radius chosen by the data, ask the tune question that is
    printed with its price and expected error.
    """
    given = Asking(
        output, data, card, ledger, name, "owner", "local", None, None, None, None, True, server
    )
    curator = opened(given)
    how = {"metric": metric, "beta": beta, "records": records, "epsilon": epsilon}
    named = None if columns is None else [one.strip() for one in columns.split(",")]
    found = curator.advise(contamination, columns=named, **how)
    output.warn(found.description.warning)
    # Commands stay on one line each, so that they can be copied.
    output.show(found.to_json(), "\n".join(_lines(found, data, card)), raw=True)


def _lines(found: ModelAdvice, data: str, card: str | None) -> list[str]:
    """The model, what it rests on, and the two commands to go on with."""
    model, tune = found.model, found.question
    described = {"card": "the card", "profile": "the profile"}[found.drawn_from]
    over = f"--columns {shlex.quote(','.join(found.columns))} --beta {model.beta}"
    asked = f"{shlex.quote(data)}{f' --card {shlex.quote(card)}' if card else ''} {over}"
    metric = f"--metric {model.metric}"
    radii = f"--from {tune.radii[0]:g} --to {tune.radii[-1]:g} --steps {len(tune.radii)}"
    return [
        f"model      beta {model.beta}, radius {model.radius:.4g}, {model.metric} over "
        f"{', '.join(found.columns)}",
        f"share      {found.share:.2%} of made-up records are outliers by it",
        f"           drawn from {described}, each column by itself: how columns go together is "
        "not in it",
        "use it     " + f"whitecrow count {asked} --radius {model.radius:g} {metric} --epsilon 1",
        f"better     have the data choose the radius: {found.description.price.statement()}",
        f"           Expected error: {found.description.error}.",
        f"           whitecrow tune {asked} --share {float(tune.share):g} {radii} {metric} "
        f"--epsilon {tune.epsilon}",
    ]

"""``whitecrow identify``: is this member of the data an anomaly?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from whitecrow.cli.common import Asking, answer, asking, json_object, model_options

if TYPE_CHECKING:
    from whitecrow.question import Release


@click.command(
    "identify",
    epilog="Example: whitecrow identify patients.parquet --card patients.toml "
    '--record \'{"age": 61, "bmi": 24.1}\' --beta 18 --radius 0.148 --k 2 --epsilon 0.1',
)
@asking
@model_options
@click.option("--record", required=True, help="The record as a JSON object, or @FILE.")
@click.option("--k", default=1, show_default=True, help="Cover records this far from normal too.")
@click.option(
    "--notion",
    type=click.Choice(["sensitive", "differential"]),
    default="sensitive",
    show_default=True,
    help="Whom the promise covers: records that are nearly normal, or everyone.",
)
@click.option(
    "--floor", default="1e-12", show_default=True, help="Errors rarer than this are free."
)
@click.option("--typical-neighbours", type=int, help="A public guess, for the expected error.")
def command(
    given: Asking,
    beta: int,
    radius: float,
    metric: str,
    record: str,
    k: int,
    notion: str,
    floor: str,
    typical_neighbours: int | None,
) -> None:
    """Say whether a record is in DATA and an anomaly there: yes or no.

    An anomaly has at most --beta records, itself included, within --radius. With --price-only
    nothing is asked: you see the price and how often the answer would be wrong.
    """
    from whitecrow.anomaly import DistanceAnomaly
    from whitecrow.identify import Identify

    question = Identify(
        json_object(record, "--record"),
        model=DistanceAnomaly(beta, radius, metric),
        k=k,
        epsilon=given.epsilon,
        notion=notion,
        floor=floor,
    )
    answer(given, question, words=_words, public={"typical_neighbours": typical_neighbours})


def _words(release: Release) -> str:
    return "yes, an anomaly" if release.answer else "no"

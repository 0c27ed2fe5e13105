"""``whitecrow screen``: would this new record be an anomaly beside the data?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from whitecrow.cli.common import Asking, answer, asking, json_object, model_options

if TYPE_CHECKING:
    from whitecrow.question import Release


@click.command(
    "screen",
    epilog="Example: whitecrow screen transactions.parquet --card transactions.toml "
    '--record \'{"amount": 912.5, "hour": 3}\' --beta 30 --radius 0.5 --epsilon 0.1',
)
@asking
@model_options
@click.option("--record", required=True, help="The record as a JSON object, or @FILE.")
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
    floor: str,
    typical_neighbours: int | None,
) -> None:
    """Say whether a record would be an anomaly if it were added to DATA: yes or no.

    The record need not be in the data, and everyone in the data is covered by differential
    privacy. This is the question for new transactions.
    """
    from whitecrow.anomaly import DistanceAnomaly
    from whitecrow.identify.screen import Screen

    question = Screen(
        json_object(record, "--record"),
        model=DistanceAnomaly(beta, radius, metric),
        epsilon=given.epsilon,
        floor=floor,
    )
    answer(given, question, words=_words, public={"typical_neighbours": typical_neighbours})


def _words(release: Release) -> str:
    return "yes, it would be an anomaly" if release.answer else "no"

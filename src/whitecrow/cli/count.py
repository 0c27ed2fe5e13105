"""``whitecrow count``: how many outliers are there?"""

from __future__ import annotations

import click

from whitecrow.cli.common import Asking, answer, asking, model_options, split_names

__all__ = ["command"]


@click.command(
    epilog="Example: whitecrow count patients.parquet --card patients.toml --columns age,bmi "
    "--beta 3 --radius 2.5 --epsilon 1/2"
)
@asking
@model_options
@click.option("--columns", help="The subspace: names with commas (default: all numbers).")
@click.option("--delta", default="0", show_default=True, help="For the Gaussian mechanisms.")
@click.option(
    "--relation",
    type=click.Choice(["add_remove", "replace_one"]),
    default="add_remove",
    show_default=True,
    help="What neighbouring databases are.",
)
@click.option(
    "--mechanism",
    type=click.Choice(["auto", "smooth", "global", "analytic_gaussian", "paper_gaussian"]),
    default="auto",
    show_default=True,
    help="Which noise; auto takes the least expected error.",
)
@click.option("--normalised", is_flag=True, help="Average distances over the columns.")
@click.option("--crowding", type=int, default=None, help="A public guess for the tuning.")
@click.option("--raw", is_flag=True, help="The noisy count as it is, also below 0.")
def command(
    given: Asking,
    beta: int,
    radius: float,
    metric: str,
    columns: str | None,
    delta: str,
    relation: str,
    mechanism: str,
    normalised: bool,
    crowding: int | None,
    raw: bool,
) -> None:
    """How many records of DATA are outliers in a subspace?

    An outlier has at most --beta records, itself included, within --radius.
    """
    from whitecrow.anomaly import DistanceAnomaly
    from whitecrow.anomaly.calibration import CROWDING
    from whitecrow.count import Count

    question = Count(
        split_names(columns),
        model=DistanceAnomaly(beta, radius, metric),
        epsilon=given.epsilon,
        delta=delta,
        relation=relation,
        mechanism=mechanism,
        normalised=normalised,
        crowding=CROWDING if crowding is None else crowding,
        raw=raw,
    )
    answer(given, question, words=lambda release: f"{release.answer} outliers")

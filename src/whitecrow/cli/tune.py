"""``whitecrow tune``: choose the radius privately."""

from __future__ import annotations

import click

from whitecrow.cli.common import Asking, answer, asking, split_names
from whitecrow.errors import InvalidInput

__all__ = ["command"]


@click.command(
    epilog="Example: whitecrow tune patients.parquet --card patients.toml --columns age,bmi "
    "--share 0.01 --from 0.5 --to 20 --beta 5 --epsilon 1"
)
@asking
@click.option("--share", required=True, help="The share of outliers wanted, such as 0.01.")
@click.option("--from", "lowest", type=float, required=True, help="The smallest radius.")
@click.option("--to", "highest", type=float, required=True, help="The largest radius.")
@click.option("--steps", type=int, default=31, show_default=True, help="How many radii.")
@click.option(
    "--beta", type=int, required=True, help="An anomaly has at most this many records near."
)
@click.option("--metric", default="euclidean", show_default=True)
@click.option("--columns", help="The subspace: names with commas (default: all numbers).")
@click.option(
    "--method",
    type=click.Choice(["auto", "search", "exponential"]),
    default="auto",
    show_default=True,
)
def command(
    given: Asking,
    share: str,
    lowest: float,
    highest: float,
    steps: int,
    beta: int,
    metric: str,
    columns: str | None,
    method: str,
) -> None:
    """Which radius makes about --share of the records of DATA outliers?

    The radii to choose from are --steps of them, from --from to --to in equal ratios.
    """
    from whitecrow.subspaces.tune import Tune

    if not 0 < lowest < highest or steps < 2:
        raise InvalidInput("--from must be above 0 and below --to, and --steps at least 2.")
    ratio = highest / lowest
    question = Tune(
        split_names(columns),
        share=share,
        radii=[lowest * ratio ** (step / (steps - 1)) for step in range(steps)],
        beta=beta,
        metric=metric,
        epsilon=given.epsilon,
        method=method,
    )
    answer(given, question, words=lambda release: f"radius {release.answer:g}")

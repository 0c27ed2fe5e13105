"""``whitecrow subspaces``: in which columns do outliers live?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from whitecrow.cli.common import Asking, answer, asking, model_options, split_names

if TYPE_CHECKING:
    from whitecrow.question import Release

__all__ = ["command"]


@click.command(
    epilog="Example: whitecrow subspaces patients.parquet --card patients.toml --size 2 --top 3 "
    "--beta 3 --radius 0.2 --epsilon 1 --count-share 1/2"
)
@asking
@model_options
@click.option("--size", type=int, help="Look at all subspaces of this many columns.")
@click.option("--top", type=int, default=1, show_default=True, help="How many to name.")
@click.option(
    "--subspace",
    "listed",
    multiple=True,
    help="Look at these instead: names with commas, one option for each subspace.",
)
@click.option("--columns", help="With --size: the columns to combine (default: all numbers).")
@click.option("--count-share", default="0", show_default=True, help="Part of epsilon for counts.")
@click.option(
    "--relation",
    type=click.Choice(["add_remove", "replace_one"]),
    default="add_remove",
    show_default=True,
    help="What neighbouring databases are.",
)
@click.option(
    "--normalised/--plain",
    default=True,
    show_default=True,
    help="Average distances over the columns, as the paper does, or not.",
)
def command(
    given: Asking,
    beta: int,
    radius: float,
    metric: str,
    size: int | None,
    top: int,
    listed: tuple[str, ...],
    columns: str | None,
    count_share: str,
    relation: str,
    normalised: bool,
) -> None:
    """Which subspaces of DATA hold the most outliers (and how many)?"""
    from whitecrow.anomaly import DistanceAnomaly
    from whitecrow.subspaces import Subspaces

    question = Subspaces(
        size,
        top,
        subspaces=[split_names(names) or () for names in listed] or None,
        columns=split_names(columns),
        model=DistanceAnomaly(beta, radius, metric),
        epsilon=given.epsilon,
        relation=relation,
        normalised=normalised,
        count_share=count_share,
    )
    answer(given, question, words=_words)


def _words(release: Release) -> str:
    lines = []
    for place, entry in enumerate(release.answer, start=1):
        counted = isinstance(entry, dict)
        names = ", ".join(entry["columns"] if counted else entry)
        lines.append(f"{place}. {names}" + (f": {entry['count']} outliers" if counted else ""))
    return "\n           ".join(lines)

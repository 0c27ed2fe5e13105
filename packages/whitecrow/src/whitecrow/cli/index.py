"""``whitecrow index``: read a data file once, and start at once from then on."""

from __future__ import annotations

import click

from whitecrow.cli.screen_output import Output


@click.command(
    "index",
    epilog="Example: whitecrow index patients.parquet --card patients.toml --columns age,bmi",
)
@click.argument("data", type=click.Path(exists=True, dir_okay=False))
@click.option("--card", required=True, help="The dataset's card (TOML).")
@click.option(
    "--columns",
    multiple=True,
    help="Columns that questions will name together (repeatable; default: all numbers).",
)
@click.option(
    "--metric", default="euclidean", show_default=True, help="How far apart two records are."
)
@click.pass_obj
def command(output: Output, data: str, card: str, columns: tuple[str, ...], metric: str) -> None:
    """Keep DATA's checked columns and an index of them in two folders beside it.

    The folders hold the records, so only their owner may read them. Questions about DATA with the
    same card use them as long as the file does not change; delete them at any time.
    """
    from whitecrow.anomaly import DistanceAnomaly
    from whitecrow.data import Card, read_and_keep
    from whitecrow.neighbours import LocalEngine, beside

    known = Card.load(card)
    spaces = [tuple(name.strip() for name in names.split(",")) for names in columns]
    if not spaces:
        spaces = [tuple(c.name for c in known.columns if c.type in ("number", "integer"))]
    model = DistanceAnomaly(beta=1, radius=1.0, metric=metric)
    wanted = [model.neighbour_relation(names, known) for names in spaces]
    place = beside(data)
    with output.progress() as progress:
        engine = LocalEngine(
            read_and_keep(data, known, progress=progress), index=place, progress=progress
        )
        for neighbour_relation in wanted:
            engine.prepare(neighbour_relation)
        engine.save()
    said = "; ".join(", ".join(names) for names in spaces)
    output.show(
        {"index": str(place), "columns": [list(names) for names in spaces], "metric": metric},
        f"Indexed {said} ({metric}) in {place.name}",
    )

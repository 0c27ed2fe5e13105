"""``whitecrow merge``: one detector of several."""

from __future__ import annotations

import click

from whitecrow.cli.screen_output import Output


@click.command("merge", epilog="Example: whitecrow merge a.detector b.detector --out c.detector")
@click.argument("detectors", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@click.option("--out", required=True, type=click.Path(dir_okay=False), help="The merged file.")
@click.option(
    "--apart/--shared",
    default=False,
    show_default="shared",
    help="Whether nobody has records in two of the datasets; else the promises add up.",
)
@click.option(
    "--overlap",
    type=click.IntRange(min=1),
    help="In how many of the datasets one person may have records: so many promises add up.",
)
@click.pass_obj
def command(
    output: Output, detectors: tuple[str, ...], out: str, apart: bool, overlap: int | None
) -> None:
    """Make one detector of DETECTORS, learned with equal cards from several datasets.

    Its scores are the means of theirs, weighted by how many records each was learned from.
    """
    from whitecrow.detector import Detector

    first, *others = [Detector.load(path) for path in detectors]
    merged = first.merge(*others, apart=apart, overlap=overlap or 0)
    merged.save(out)
    result = {"out": out, "records": merged.records, "guarantee": merged.guarantee.to_json()}
    output.show(result, f"{merged.report()}\nWritten to {out}.")

"""``whitecrow merge``: one detector, or one profile, of several."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from whitecrow.cli.screen_output import Output

if TYPE_CHECKING:
    from whitecrow.detector import Detector
    from whitecrow.histogram.table import TableProfile


@click.command("merge", epilog="Example: whitecrow merge a.detector b.detector --out c.detector")
@click.argument("models", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
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
    output: Output, models: tuple[str, ...], out: str, apart: bool, overlap: int | None
) -> None:
    """Make one of MODELS: detectors, or profiles, of several datasets with equal cards.

    The scores of a merged detector are the means of theirs, weighted by how many records each was
    learned from. The counts of a merged profile are the sums of theirs, and so is the noise; an
    --out that ends in .toml gets the card that it drafts.
    """
    if Path(models[0]).suffix == ".profile":
        profile = _profile(models, apart, overlap or 0)
        (profile.save_draft if out.endswith(".toml") else profile.save)(out)
        records, guarantee, said = profile.records, profile.guarantee, str(profile)
    else:
        detector = _detector(models, apart, overlap or 0)
        detector.save(out)
        records, guarantee, said = detector.records, detector.guarantee, detector.report()
    result = {"out": out, "records": records, "guarantee": guarantee.to_json()}
    output.show(result, f"{said}\nWritten to {out}.")


def _detector(paths: tuple[str, ...], apart: bool, overlap: int) -> Detector:
    from whitecrow.detector import Detector

    first, *others = [Detector.load(path) for path in paths]
    return first.merge(*others, apart=apart, overlap=overlap)


def _profile(paths: tuple[str, ...], apart: bool, overlap: int) -> TableProfile:
    from whitecrow.histogram.table import TableProfile

    first, *others = [TableProfile.load(path) for path in paths]
    return first.merge(*others, apart=apart, overlap=overlap)

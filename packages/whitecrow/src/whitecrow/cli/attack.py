"""``whitecrow attack``: what does a series of releases give away?"""

from __future__ import annotations

import click

from whitecrow.cli.screen_output import Output


@click.command(
    "attack",
    epilog="Example: whitecrow attack releases.csv --column mean --width 10 --picture scores.png",
)
@click.argument("releases", type=click.Path(dir_okay=False))
@click.option("--column", help="Where the releases are (default: 'value' or 'release').")
@click.option("--outliers", help="The column that says which releases had an outlier (the truth).")
@click.option("--width", type=int, default=10, show_default=True, help="Releases in a segment.")
@click.option(
    "--method",
    type=click.Choice(["growing", "fixed", "levene"]),
    default="growing",
    show_default=True,
    help="How a segment is scored against the past.",
)
@click.option("--fraction", type=float, help="Flag this part of the segments (default 0.6).")
@click.option("--threshold", type=float, help="Flag segments that score above this.")
@click.option("--false-alarms", type=float, help="Flag what quiet series exceed this seldom.")
@click.option("--picture", type=click.Path(dir_okay=False), help="Draw releases and scores.")
@click.pass_obj
def command(
    output: Output,
    releases: str,
    column: str | None,
    outliers: str | None,
    width: int,
    method: str,
    fraction: float | None,
    threshold: float | None,
    false_alarms: float | None,
    picture: str | None,
) -> None:
    """Infer from RELEASES alone in which segments an outlier took part.

    RELEASES is a CSV or Parquet file, or the JSON that `whitecrow --json publish` printed. The
    truth, where a column has it, is used only to judge the attack: precision and recall are shown
    with the base rate, without which they mean nothing.
    """
    from whitecrow.attack import attack

    found = attack(
        releases,
        column=column,
        outliers=outliers,
        width=width,
        method=method,
        fraction=fraction,
        threshold=threshold,
        false_alarms=false_alarms,
    )
    result = found.to_json()
    lines = [
        f"segments   {len(found.scores)} scored, of {width} releases each",
        f"threshold  {found.threshold:.4g}",
        f"flagged    {', '.join(map(str, found.flagged)) or 'none'}",
    ]
    if found.verdict is not None:
        v = found.verdict
        lines += [
            f"precision  {v.precision:.3f} (base rate {v.base_rate:.3f})",
            f"recall     {v.recall:.3f} (flagged at random: {v.flagged:.3f})",
            f"AUC        {v.auc:.3f} (guessing: 0.500)",
        ]
    if picture is not None:
        from whitecrow.attack.picture import draw

        result["picture"] = str(draw(found, picture))
        lines.append(f"picture    {picture}")
    output.show(result, "\n".join(lines))

"""``whitecrow attack``: what does a series of releases give away?"""

from __future__ import annotations

import click

from whitecrow.cli.screen_output import Output
from whitecrow.errors import InvalidInput


@click.command(
    "attack",
    epilog="Example: whitecrow attack releases.csv --column mean --width 10 --picture scores.png",
)
@click.argument("releases", type=click.Path(dir_okay=False), required=False)
@click.option("--column", help="Where the releases are (default: 'value' or 'release').")
@click.option("--outliers", help="The column that says which releases had an outlier (the truth).")
@click.option("--width", type=int, default=10, show_default=True, help="Releases in a segment.")
@click.option(
    "--method",
    type=click.Choice(["growing", "fixed", "levene", "overlap"]),
    default="growing",
    show_default=True,
    help="How a segment is scored against the past.",
)
@click.option("--fraction", type=float, help="Flag this part of the segments (default 0.6).")
@click.option("--threshold", type=float, help="Flag segments that score above this.")
@click.option("--false-alarms", type=float, help="Flag what quiet series exceed this seldom.")
@click.option("--picture", type=click.Path(dir_okay=False), help="Draw releases and scores.")
@click.option("--size", type=int, help="Records behind a release, for --joined and --loss.")
@click.option("--joined", type=int, help="Estimate the value of a record in releases from this on.")
@click.option("--left", type=int, help="The last release with that record (default: the last).")
@click.option("--loss", type=float, help="No file: how often is a mean off by this share of it?")
@click.option("--epsilon", type=float, help="With --loss: the noise's epsilon.")
@click.option("--delta", type=float, help="With --loss: find the least epsilon for this chance.")
@click.pass_obj
def command(
    output: Output,
    releases: str | None,
    column: str | None,
    outliers: str | None,
    width: int,
    method: str,
    fraction: float | None,
    threshold: float | None,
    false_alarms: float | None,
    picture: str | None,
    size: int | None,
    joined: int | None,
    left: int | None,
    loss: float | None,
    epsilon: float | None,
    delta: float | None,
) -> None:
    """Infer from RELEASES alone in which segments an outlier took part.

    RELEASES is a CSV or Parquet file, or the JSON that `whitecrow --json publish` printed. The
    truth, where a column has it, is used only to judge the attack: precision and recall are shown
    with the base rate, without which they mean nothing. With --joined the value of a record is
    estimated instead. With --loss, and without RELEASES, means with noise of twice the mean over
    (size times epsilon) are judged: by --epsilon how often they are off, by --delta the epsilon.
    """
    from whitecrow.attack import attack

    if loss is not None:
        output.show(*_loss(loss, size, epsilon, delta))
        return
    if releases is None:
        raise InvalidInput("Name the file of releases, or ask for a bound by --loss.")
    if joined is not None:
        output.show(*_value(releases, column, size, joined, left))
        return
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


def _loss(
    error: float, size: int | None, epsilon: float | None, delta: float | None
) -> tuple[dict[str, float], str]:
    from whitecrow.attack import epsilon_for_loss, loss_probability

    if size is None or (epsilon is None) == (delta is None):
        raise InvalidInput("--loss needs --size, and one of --epsilon and --delta.")
    if delta is None:
        assert epsilon is not None
        delta = loss_probability(error, size, epsilon)
    else:
        epsilon = epsilon_for_loss(error, delta, size)
    words = f"epsilon {epsilon:.4g}: off by {error:.4g} of the mean or more with chance {delta:.4g}"
    return {"error": error, "size": size, "epsilon": epsilon, "delta": delta}, words


def _value(
    releases: str, column: str | None, size: int | None, joined: int, left: int | None
) -> tuple[dict[str, float], str]:
    from whitecrow.attack import estimate_value

    if size is None:
        raise InvalidInput("--joined needs --size, the number of records behind a release.")
    found = estimate_value(releases, size=size, first=joined, last=left, column=column)
    return vars(found), f"value  {found.value:.6g} (95 %: {found.low:.6g} to {found.high:.6g})"

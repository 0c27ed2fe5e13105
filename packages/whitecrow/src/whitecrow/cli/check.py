"""Commands that check and measure: ``warm`` and ``attack``."""

from __future__ import annotations

import time
from typing import Any

import click

from whitecrow._compiled import cache_folder
from whitecrow.cli.files import FILE
from whitecrow.cli.screen_output import Output
from whitecrow.errors import InvalidInput


@click.command(epilog="Example: whitecrow warm")
@click.pass_obj
def warm(output: Output) -> None:
    """Compile every kernel once and keep the machine code.

    Nobody needs to: what a question needs is compiled when it is first asked. The code is kept in
    the installed package, or where that cannot be written in your own cache; NUMBA_CACHE_DIR names
    another folder.
    """
    from whitecrow.curator.warming import warm

    start = time.perf_counter()
    with output.progress() as progress:
        if progress is None:
            warm()
        else:
            warm(lambda percent: progress(percent, 100, "compiling"))
    seconds, folder = round(time.perf_counter() - start, 1), cache_folder()
    where = "nowhere: set NUMBA_CACHE_DIR to a folder of your own" if folder is None else folder
    output.show(
        {"folder": folder, "seconds": seconds},
        f"All kernels are compiled ({seconds} s), kept in {where}",
    )


@click.command(
    epilog="Example: whitecrow attack releases.csv --column mean --width 10 --picture scores.png"
)
@click.argument("releases", type=FILE, required=False)
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
@click.option("--picture", type=FILE, help="Draw releases and scores.")
@click.option("--size", type=int, help="Records behind a release, for --joined and --loss.")
@click.option("--joined", type=int, help="Estimate the value of a record in releases from this on.")
@click.option("--left", type=int, help="The last release with that record (default: the last).")
@click.option("--loss", type=float, help="No file: how often is a mean off by this share of it?")
@click.option("--epsilon", type=float, help="With --loss: the noise's epsilon.")
@click.option("--delta", type=float, help="With --loss: find the least epsilon for this chance.")
@click.pass_obj
def attack(
    output: Output,
    /,
    releases: str | None,
    column: str | None,
    picture: str | None,
    size: int | None,
    joined: int | None,
    left: int | None,
    loss: float | None,
    epsilon: float | None,
    delta: float | None,
    **how: Any,
) -> None:
    """Infer from RELEASES alone in which segments an outlier took part.

    RELEASES is a CSV or Parquet file, or the JSON that `whitecrow --json publish` printed. The
    truth, where a column has it, is used only to judge the attack: precision and recall are shown
    with the base rate, without which they mean nothing. With --joined the value of a record is
    estimated instead. With --loss, and without RELEASES, means with noise of twice the mean over
    (size times epsilon) are judged: by --epsilon how often they are off, by --delta the epsilon.
    """
    from whitecrow.attack import attack as attacked

    if loss is not None:
        output.show(*_loss(loss, size, epsilon, delta))
        return
    if releases is None:
        raise InvalidInput("Name the file of releases, or ask for a bound by --loss.")
    if joined is not None:
        output.show(*_value(releases, column, size, joined, left))
        return
    attack = attacked(releases, column=column, **how)
    result = attack.to_json()
    lines = [
        f"segments   {len(attack.scores)} scored, of {how['width']} releases each",
        f"threshold  {attack.threshold:.4g}",
        f"flagged    {', '.join(map(str, attack.flagged)) or 'none'}",
    ]
    if attack.verdict is not None:
        v = attack.verdict
        lines += [
            f"precision  {v.precision:.3f} (base rate {v.base_rate:.3f})",
            f"recall     {v.recall:.3f} (flagged at random: {v.flagged:.3f})",
            f"AUC        {v.auc:.3f} (guessing: 0.500)",
        ]
    if picture is not None:
        from whitecrow.attack.inference import draw

        result["picture"] = str(draw(attack, picture))
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
    value = estimate_value(releases, size=size, first=joined, last=left, column=column)
    return vars(value), f"value  {value.value:.6g} (95 %: {value.low:.6g} to {value.high:.6g})"

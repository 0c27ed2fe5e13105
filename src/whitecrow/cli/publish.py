"""``whitecrow publish``: a mean, a sum or a count, period by period."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from whitecrow.cli.common import Asking, answer, asking, split_names
from whitecrow.errors import InvalidInput

if TYPE_CHECKING:
    from whitecrow.question import Release

__all__ = ["command"]


@click.command(
    epilog="Example: whitecrow publish trips.parquet --card trips.toml --column km --time date "
    "--start 2019-03-01 --horizon 31 --clip 0,30 --epsilon 1 --picture mean.png"
)
@asking
@click.option("--column", help="What is averaged or added up (nothing for a count).")
@click.option(
    "--statistic",
    type=click.Choice(["mean", "sum", "count"]),
    default="mean",
    show_default=True,
    help="What is published.",
)
@click.option("--time", required=True, help="The column that says when a record arrived.")
@click.option("--start", required=True, help="The first moment: a date, or a number.")
@click.option("--period", default="day", show_default=True, help="day, week, month or a number.")
@click.option("--horizon", type=int, help="How many periods at the most (default: unknown).")
@click.option("--through", type=int, default=0, help="How many periods now (default: all).")
@click.option(
    "--view",
    type=click.Choice(["to_date", "each_period"]),
    default="to_date",
    show_default=True,
    help="Of all records so far, or of each period's own.",
)
@click.option("--clip", help="LOWER,UPPER: values are moved into it (default: the card's bounds).")
@click.option("--private-clip", help="SMALLEST,LARGEST: have the upper clip chosen privately.")
@click.option(
    "--clip-method",
    type=click.Choice(["quantile", "sparse_vector"]),
    default="quantile",
    show_default=True,
    help="How the private clip is chosen.",
)
@click.option("--clip-periods", type=int, default=7, show_default=True, help="From how many.")
@click.option(
    "--noise",
    type=click.Choice(["laplace", "gaussian"]),
    default="laplace",
    show_default=True,
    help="Gaussian spends rho = epsilon^2/2 (zero-concentrated), which that epsilon implies; it "
    "needs an account with a delta (--budget '1, 1e-6').",
)
@click.option(
    "--mechanism",
    type=click.Choice(["square_root", "tree", "independent"]),
    help="Default: the least worst-case error.",
)
@click.option("--leaves", help="The column that says when a record leaves again.")
@click.option("--resolution", help="The step values are rounded to.")
@click.option("--per-period", type=float, help="About how many records a period (for the price).")
@click.option("--picture", type=click.Path(dir_okay=False), help="Draw the series with its band.")
def command(given: Asking, picture: str | None, per_period: float | None, **options: Any) -> None:
    """Publish a statistic of DATA period by period, for one price.

    Every period is released, an empty one too, through exact discrete noise; the series so far is
    printed with its standard deviations.
    """
    question = _question(given.epsilon, **options)
    public = {} if per_period is None else {"per_period": per_period}

    def words(release: Release) -> str:
        if picture is not None:
            from whitecrow.publish.picture import draw

            draw(release.answer, picture)
        return _words(release)

    answer(given, question, words=words, public=public)


def _question(
    epsilon: str,
    *,
    column: str | None,
    clip: str | None,
    private_clip: str | None,
    clip_method: str,
    clip_periods: int,
    noise: str,
    mechanism: str | None,
    **options: Any,
) -> Any:
    from whitecrow.privacy import exact
    from whitecrow.publish import PrivateClip, Publish

    price = exact(epsilon, owner="publish")
    budget: dict[str, Any] = {"epsilon": price} if noise == "laplace" else {"rho": price**2 / 2}
    interval: Any = _pair(clip, "--clip")
    ends = _pair(private_clip, "--private-clip")
    if interval is not None and ends is not None:
        raise InvalidInput("Give --clip or --private-clip, not both.")
    if ends is not None:
        smallest, largest = (exact(end, owner="--private-clip") for end in ends)
        interval = PrivateClip(
            smallest=smallest, largest=largest, method=clip_method, periods=clip_periods
        )
    return Publish(column, clip=interval, mechanism=mechanism or "", **budget, **options)


def _pair(value: str | None, option: str) -> tuple[str, ...] | None:
    found = split_names(value)
    if found is not None and len(found) != 2:
        raise InvalidInput(f"{option} must be two numbers with a comma, such as 0,100.")
    return found


def _words(release: Release) -> str:
    series = release.answer["series"]
    shown = series if len(series) <= 12 else [*series[:3], None, *series[-8:]]
    lines = ["", "           period      value      error"]
    for point in shown:
        if point is None:
            lines.append(f"           ... {len(series) - 11} more ...")
        elif point["value"] is None:
            lines.append(f"           {point['period']:>10}  (noise only)")
        else:
            value, error = f"{point['value']:.5g}", f"{point['error']:.3g}"
            lines.append(f"           {point['period']:>10} {value:>10} {error:>10}")
    return "\n".join(lines)

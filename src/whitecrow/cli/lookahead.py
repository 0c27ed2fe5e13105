"""``whitecrow lookahead``: a sanitised histogram for the radius-0 model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from whitecrow.cli.common import Asking, answer, asking, split_names

if TYPE_CHECKING:
    from whitecrow.question import Release

_SHOWN = 20


@click.command(
    "lookahead",
    epilog="Example: whitecrow lookahead stays.csv --card stays.toml --columns ward,insurance "
    "--beta 20 --k 20 --epsilon 1",
)
@asking
@click.option("--columns", required=True, help="Categories or bounded integers: ward,insurance")
@click.option("--beta", type=int, required=True, help="A value of 1 to this many records is rare.")
@click.option("--k", type=int, required=True, help="Cover records this far from normal too.")
@click.option("--typical-count", type=int, help="A public guess, for the expected error.")
def command(given: Asking, columns: str, beta: int, k: int, typical_count: int | None) -> None:
    """Release how many records of DATA have each combination of values, near-normal ones perturbed.

    Counts below beta - k are released as they are: sensitive privacy does not cover such records.
    With k of at least beta every count is perturbed and everyone is covered.
    """
    from whitecrow.anomaly import DistanceAnomaly
    from whitecrow.identify.lookahead import Lookahead

    question = Lookahead(
        split_names(columns) or (),
        model=DistanceAnomaly(beta, 0),
        k=k,
        epsilon=given.epsilon,
    )
    answer(given, question, words=_words, public={"typical_count": typical_count})


def _words(release: Release) -> str:
    cells = release.answer["cells"]
    names = ", ".join(release.answer["columns"])
    lines = [f"{len(cells)} combinations of {names} with a released count above 0"]
    lines += [f"           {', '.join(map(str, cell[:-1]))}: {cell[-1]}" for cell in cells[:_SHOWN]]
    if len(cells) > _SHOWN:
        lines.append(f"           ... {len(cells) - _SHOWN} more (use --json)")
    return "\n".join(lines)

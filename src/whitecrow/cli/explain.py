"""``whitecrow explain``: in which context is this record an outlier?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from whitecrow.cli.common import Asking, answer, asking, json_object, split_names
from whitecrow.errors import InvalidInput, PolicyViolation

if TYPE_CHECKING:
    from whitecrow.anomaly import DistanceAnomaly
    from whitecrow.anomaly.detectors import Detector
    from whitecrow.explain.utilities import Utility
    from whitecrow.question import Release

NOTIONS = ("differential", "concentrated", "sensitive", "conditional")


@click.command(
    "explain",
    epilog="Example: whitecrow explain salaries.parquet --card salaries.toml --metric Salary "
    '--record \'{"Employer": "A", "Year": 2004, "Salary": 312000}\' --beta 5 --radius 20000 '
    "--epsilon 0.2",
)
@asking
@click.option("--record", required=True, help="The record as a JSON object, or @FILE.")
@click.option("--metric", required=True, help="The numeric column in which it may be an outlier.")
@click.option("--attributes", help="Columns that make contexts, with commas (default: the rest).")
@click.option(
    "--detector",
    type=click.Choice(["distance", "lof", "grubbs", "histogram"]),
    default="distance",
    show_default=True,
    help="When a record is an outlier. All but distance need --notion conditional.",
)
@click.option("--k", type=int, help="lof: neighbours (20).")
@click.option("--threshold", help="lof: an outlier's factor is above it (3/2).")
@click.option("--level", help="grubbs: the test's level (1/20).")
@click.option("--sides", type=click.Choice(["both", "high", "low"]), help="grubbs (both).")
@click.option("--bins", help="histogram: how many, or sqrt (sqrt).")
@click.option("--frequency", help="histogram: an outlier's bin holds a smaller share (1/400).")
@click.option("--beta", type=int, help="distance: an outlier has at most this many records near.")
@click.option("--radius", type=float, help="distance: how near is near.")
@click.option(
    "--utility",
    type=click.Choice(["population", "overlap", "isolation"]),
    help="Which contexts are preferred (population; isolation with --notion differential).",
)
@click.option("--crowd", type=int, help="isolation: how many far records count fully.")
@click.option(
    "--search",
    type=click.Choice(["auto", "direct", "uniform", "walk", "dfs", "bfs"]),
    default="auto",
    show_default=True,
)
@click.option("--samples", default=50, show_default=True, help="Contexts a sampling search visits.")
@click.option("--start", help="A public context to begin at, as a JSON object of lists, or @FILE.")
@click.option(
    "--notion",
    type=click.Choice(["differential", "conditional"]),
    default="differential",
    show_default=True,
    help="A promise to everyone else, or only while the matching contexts stay the same.",
)
@click.option(
    "--allow",
    type=click.Choice(["conditional"]),
    help="When its account is opened new: admit releases that promise nothing where their "
    "condition fails. (Or name the notion in --policy.)",
)
@click.option("--margin", type=int, help="With --notion differential: a public guess.")
@click.option("--sql", is_flag=True, help="Say the context as an SQL condition.")
def command(
    given: Asking,
    record: str,
    metric: str,
    attributes: str | None,
    search: str,
    samples: int,
    start: str | None,
    notion: str,
    allow: str | None,
    margin: int | None,
    sql: bool,
    **settings: Any,
) -> None:
    """Name a context in which a record of DATA is an outlier: values of each attribute.

    The record is part of the question and is not protected; everyone else is. With --notion
    conditional (the paper's promise) only on a condition: the account's policy must admit that,
    and an account opened new does so only with --allow conditional or a --policy that names it.
    """
    from whitecrow.explain import Explain

    question = Explain(
        json_object(record, "--record"),
        metric=metric,
        attributes=split_names(attributes),
        detector=_detector(settings),
        utility=_utility(settings),
        search=search,
        samples=samples,
        start=None if start is None else json_object(start, "--start"),
        epsilon=given.epsilon,
        notion=notion,
    )
    public = {} if margin is None else {"margin": margin}
    allowing = NOTIONS if allow else ()
    if notion == "conditional" and not (allow or given.policy or given.price_only):
        _refuse_to_open(given)
    answer(given, question, words=_where if sql else _words, public=public, allowing=allowing)


def _refuse_to_open(given: Asking) -> None:
    """Refuse a conditional release that would open an account whose policy then refuses it."""
    from whitecrow.curator.opening import beside

    known = None if given.server or given.ledger else beside(given.data)
    if known is not None and not known.exists():
        raise PolicyViolation(
            "A new account admits no conditional release: where its condition fails, nothing is "
            "promised to anybody. The custodian may open it with --allow conditional or with a "
            "--policy that names the notion."
        )


_PARAMETERS = {
    "lof": ("k", "threshold"),
    "grubbs": ("level", "sides"),
    "histogram": ("bins", "frequency"),
    "distance": ("beta", "radius"),
}


def _detector(settings: dict[str, Any]) -> Detector | DistanceAnomaly:
    """Build the detector from its own options and refuse those of another."""
    from whitecrow.anomaly import DistanceAnomaly
    from whitecrow.anomaly.detectors import Grubbs, Histogram, LocalOutlierFactor

    kind = settings["detector"]
    for other, names in _PARAMETERS.items():
        for name in names:
            if other != kind and settings[name] is not None:
                raise InvalidInput(f"--{name} belongs to --detector {other}, not to {kind}.")
    own = {name: settings[name] for name in _PARAMETERS[kind] if settings[name] is not None}
    if kind == "distance":
        if len(own) < 2:
            raise InvalidInput("--detector distance needs both --beta and --radius.")
        return DistanceAnomaly(**own)
    if str(own.get("bins", "")).isdigit():
        own["bins"] = int(own["bins"])
    if kind == "lof":
        return LocalOutlierFactor(**own)
    return Grubbs(**own) if kind == "grubbs" else Histogram(**own)


def _utility(settings: dict[str, Any]) -> Utility | str | None:
    from whitecrow.explain import Isolation

    chosen: str | None = settings["utility"]
    if settings["crowd"] is None:
        return chosen
    if chosen not in (None, "isolation"):
        raise InvalidInput(f"--crowd belongs to --utility isolation, not to {chosen}.")
    return Isolation(settings["crowd"])


def _words(release: Release) -> str:
    return str(release.answer["words"])


def _where(release: Release) -> str:
    where = release.answer["where"]
    return _words(release) if where is None else f"WHERE {where}"

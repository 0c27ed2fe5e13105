"""What a publication will release, and what it has released, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whitecrow.data import Card
from whitecrow.question import Said

if TYPE_CHECKING:
    from whitecrow.publish.question import Publish

_NAMES = {
    "buffered": "a factorisation in a few buffers",
    "endless": "a factorisation that needs no horizon",
    "tree": "a binary tree",
    "independent": "independent noise on each period",
}


def publish_words(
    question: Publish, card: Card, per_period: float | None
) -> tuple[str, dict[str, Any]]:
    if question.retired:
        return question.retired, {"mechanism": question.mechanism, "noise": question.noise}
    plan = question.plan(card)
    last = question.through
    times = sorted({1, max(1, last // 2), last})
    figures: dict[str, Any] = {
        "mechanism": question.mechanism,
        "noise": question.noise,
        "periods": times,
        "deviation": plan.deviations(times).tolist(),
    }
    of = repr(question.column) if question.column else "records"
    span = "of all records so far" if question.view == "to_date" else "of each period's records"
    spread, over = figures["deviation"], ""
    if question.statistic == "mean":
        over = " divided by the number of records"
        if per_period:
            over = ""
            spread = question.expected_error(card, times, per_period=per_period).tolist()
            figures["mean_deviation"] = spread
    errors = f"{spread[0]:.4g} at first and {spread[-1]:.4g} after {last} periods{over}"
    clip = ""
    if plan.clip is not None:
        clip = (
            f" The upper clip is chosen privately from the first {plan.clip.periods} periods, "
            f"for {plan.clip.share!s} of the price."
        )
    unit = "person" if card.unit == "user" else "record"
    words = (
        f"Publishes the {question.statistic} of {of}, {span}, every {question.period} from "
        f"{question.start}, through {_NAMES[question.mechanism]} with discrete {question.noise} "
        "noise. Values are moved into "
        f"[{float(plan.lower):g}, {float(plan.upper):g}].{clip} Expected standard deviation: "
        f"{errors}. One price for the whole series; it protects each {unit}."
    )
    return words, figures


def series_words(question: Publish, answer: Any) -> Said:
    """Say the latest value, and list all of them."""
    series = answer.get("series", [])
    what = question.statistic + (f" of {question.column}" if question.column else "")
    rows = [
        [
            str(point["period"]),
            "(noise only)" if point["value"] is None else f"{point['value']:.5g}",
            "" if point.get("error") is None else f"± {point['error']:.3g}",
        ]
        for point in series
    ]
    shown = [point for point in series if point["value"] is not None]
    latest = f"{shown[-1]['value']:.5g}" if shown else "none"
    return Said(
        f"{what.capitalize()}: {latest} at the end",
        f"{len(series)} periods, with the standard deviation of each.",
        [["Period", "Value", "Standard deviation"], *rows],
        shown,
    )

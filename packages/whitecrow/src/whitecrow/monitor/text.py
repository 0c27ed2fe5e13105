"""What a monitor will release, and what it has found, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whitecrow.data import Card
from whitecrow.monitor.drift import Watch, Watched
from whitecrow.question import JSON, Said

if TYPE_CHECKING:
    from whitecrow.monitor.answer import Monitored
    from whitecrow.monitor.question import Monitor

_CELLS = 8


def described(
    question: Monitor, card: Card, per_period: float | None
) -> tuple[str, dict[str, JSON]]:
    plan = question.plan(card)
    names, last = question.names(card), question.horizon
    user = card.unit == "user"
    ratios = [plan.deviation(0, step, user=user) for step in (1, last)]
    figures: dict[str, JSON] = {
        "columns": list(names),
        "noise_ratio": [round(ratio, 3) for ratio in ratios],
        "false_alarm": float(question.false_alarm),
    }
    words = [
        f"A detector over {len(names)} columns after each of {last} periods of {question.period} "
        f"from {question.start}, all for one price. The noise of a count is {ratios[0]:.2f} times "
        f"(first step) to {ratios[1]:.2f} times (last step) that of learning once from the same "
        "records.",
        _whose(user),
        "An alarm names columns that have moved; if nothing changes, there is any in the whole "
        f"horizon with a probability of at most {float(question.false_alarm):.3g}.",
    ]
    if per_period:
        columns = tuple(Watched(name, _CELLS, True) for name in names)
        noise = question.watch_noise(card, len(names))
        watch = Watch(plan, noise, columns, float(question.false_alarm))
        found = watch.detectable(per_period)
        if found < 1.0:
            figures["detectable"] = round(found, 4)
            words.append(
                f"With {per_period:,.0f} records a period, a change that moves {found:.1%} of a "
                "column's records across one of its eighths and lasts half the horizon is sure "
                "to be seen."
            )
        else:
            words.append(
                f"With {per_period:,.0f} records a period no change is sure to be seen: noise "
                "rules. Take longer periods, fewer columns or a larger epsilon."
            )
    return " ".join(words), figures


def _whose(user: bool) -> str:
    if user:
        return "The promise holds for all records of a person, whenever they come or change."
    return (
        "The promise holds for each record, which counts in the period of its time. Going on after "
        "records may have been corrected costs the price again; while an account is declared "
        "insert-only it does not."
    )


def said_of(found: Monitored) -> Said:
    """Say which columns have moved, and how far each has, period by period."""
    columns = found.detector.columns
    rows = [["Period", "Records, about", *columns]]
    for one in found.series:
        known = {move["column"]: move for move in one["columns"]}
        cells = [_cell(known.get(name)) for name in columns]
        rows.append([str(one["period"]), f"{max(0, one['records']):,}", *cells])
    moved = ", ".join(found.moved)
    headline = f"Moved by {found.period}: {moved}" if moved else f"No alarm up to {found.period}"
    return Said(
        f"{headline}; detector of about {found.detector.records:,} records",
        f"Step {found.step} of {found.horizon}. The table has each column's shift over what "
        "chance and noise explain: above 1 it has moved.",
        rows,
    )


def _cell(move: JSON) -> str:
    if move is None:
        return ""
    return f"{move['ratio']:.2f}{' moved' if move['moved'] else ''}"

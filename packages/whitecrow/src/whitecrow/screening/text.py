"""What ``screening`` says of itself before it is paid, from public facts only, and of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.place.question import TIME, chance
from whitecrow.question import Said
from whitecrow.screening.law import Law


def described(model: DistanceAnomaly, law: Law, typical: int | None) -> tuple[str, dict[str, Any]]:
    """Say what the series will answer, how sharp it is, and what happens when records run out."""
    misses, alarms = law.within(0.01)
    beta = model.beta
    below = None if misses >= beta else beta - 1 - misses
    figures: dict[str, Any] = {
        "limit": law.limit,
        "order": law.order,
        "clear_below": below,
        "clear_above": beta + alarms,
        "error_if_alone": 1 - law.chance(0),
        "error_by_neighbours": {
            str(count): chance_wrong(law, count)
            for count in sorted({0, beta // 2, beta - 1, beta, beta + alarms // 2, beta + alarms})
        },
    }
    words = (
        f"Any number of new records, each answered yes or no: would it have at most {beta} "
        f"records, itself included, within {model.radius:g} of it ({model.metric})? The price is "
        f"paid once, for all of them. A record with {beta + alarms:,} or more near it is called an "
        f"anomaly by mistake at most 1 time in 100, "
    )
    if below is None:
        words += (
            f"and one with nothing near it is missed {chance(figures['error_if_alone'])}: for this "
            f"price beta should be {misses + 1:,} or more. "
        )
    else:
        words += f"and one with {below:,} or fewer is missed at most 1 time in 100. "
    words += (
        f"A record of the data counts until {law.limit:,} anomalies were found around it, and is "
        "then left out: after very many flags in one region, answers there lean towards anomaly."
    )
    if typical is not None:
        figures["typical_neighbours"] = typical
        figures["expected_error"] = chance_wrong(law, typical)
        words += (
            f" With {typical} records near it (your public guess), and none left out yet, an "
            f"answer is wrong with probability {chance(figures['expected_error'])}."
        )
    return f"{words} {TIME}", figures


def chance_wrong(law: Law, count: int) -> float:
    """Return the chance of a wrong answer with so many records near, none of them left out."""
    return 1 - law.chance(count) if count < law.beta else law.chance(count)


def opened(answer: Mapping[str, Any]) -> Said:
    """Say that the series is paid."""
    return Said("Open: ask about any number of records, at no further price")


def said_of(model: DistanceAnomaly, answer: bool | Sequence[bool]) -> Said:
    """Say an answer, or count several."""
    near = f"{model.beta} records, itself included, within {model.radius:g}"
    if isinstance(answer, Sequence):
        return Said(f"{sum(answer):,} of {len(answer):,} would be anomalies")
    if answer:
        return Said("Yes, it would be an anomaly", f"Beside the data it would have at most {near}.")
    return Said("No", f"Beside the data it would have more than {near}.")

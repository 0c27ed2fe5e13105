"""What ``screening`` says of itself before it is paid, from public facts only, and of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whitecrow.anomaly import CountingModel
from whitecrow.place.question import chance
from whitecrow.question import Said
from whitecrow.screening.law import Law


def described(model: CountingModel, law: Law, typical: int | None) -> tuple[str, dict[str, Any]]:
    """Say what the series will answer, how sharp it is, and what happens when records run out."""
    misses, alarms = law.within(0.01)
    beta, unit = law.beta, "weight" if law.own > 1 else "records"
    below = None if misses >= beta else beta - 1 - misses
    figures: dict[str, Any] = {
        "limit": law.limit,
        "order": law.order,
        "clear_below": below,
        "clear_above": beta + alarms,
        "error_if_alone": 1 - law.chance(0),
        "error_by_neighbours": {
            str(count): chance_wrong(law, count) for count in _around(beta, misses, alarms)
        },
    }
    words = (
        f"Any number of new records, each answered yes or no: would it "
        f"{model.says('have', fully=True)}? The price is paid once, for all of them. One with "
        f"{beta + alarms:,} {unit} or more near it is called an anomaly by mistake at most 1 time "
        "in 100, "
    )
    if below is None:
        least = model.threshold + misses + 1 - beta
        called = "beta" if "beta" in model.parameters else "the threshold"
        words += (
            f"and one with nothing near it is missed {chance(figures['error_if_alone'])}: for this "
            f"price {called} should be {least:,} or more. "
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
            f" With {typical} {unit} near it (your public guess), and none left out yet, an "
            f"answer is wrong with probability {chance(figures['expected_error'])}."
        )
    return words, figures


def _around(beta: int, below: int, above: int) -> list[int]:
    """Counts by which to show errors: none, on both sides of the threshold, and far above it."""
    quarters = range(5)
    less = (beta - 1 - below * part // 4 for part in quarters)
    more = (beta + above * part // 4 for part in (*quarters, 8))
    return sorted({0, *(count for count in less if count > 0), *more})


def chance_wrong(law: Law, count: int) -> float:
    """Return the chance of a wrong answer with so many records near, none of them left out."""
    return 1 - law.chance(count) if count < law.beta else law.chance(count)


def opened(answer: Mapping[str, Any]) -> Said:
    return Said("Open: ask about any number of records, at no further price")


def said_of(model: CountingModel, answer: bool | Sequence[bool]) -> Said:
    if isinstance(answer, Sequence):
        return Said(f"{sum(answer):,} of {len(answer):,} would be anomalies")
    if answer:
        detail = f"Among the data it {model.says('would have')}."
        return Said("Yes, it would be an anomaly", detail)
    return Said("No", f"Among the data it {model.says('would have', anomalous=False)}.")

"""The crossing: from the events of each period to a released series."""

from __future__ import annotations

from typing import Any

from whitecrow.noise import Source
from whitecrow.publish.facts import PublishFacts
from whitecrow.publish.plan import Point
from whitecrow.publish.publisher import advance, fresh
from whitecrow.publish.question import Publish

__all__ = ["release"]


def release(question: Publish, facts: PublishFacts, source: Source | None = None) -> dict[str, Any]:
    """Release the whole series, by the same steps as a stream (``proof.md``).

    Returns
    -------
    dict
        ``statistic``, ``view``, ``clip`` (the interval in force) and ``series``: for each period
        its name, the value, its standard deviation and, for a mean, the noisy count and sum.
    """
    state = fresh(facts.plan)
    series: list[Point] = []
    for day in facts.days:
        state, points = advance(state, day, source)
        series.extend(points)
    plan = state.plan
    return {
        "statistic": question.statistic,
        "view": question.view,
        "clip": None if question.column is None else [float(plan.lower), float(plan.upper)],
        "series": [point.to_json() for point in series],
    }

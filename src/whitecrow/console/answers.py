"""An answer on a page: what it says, how wrong it may be, and what it means for privacy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from whitecrow.console import show
from whitecrow.privacy import Guarantee, ZeroConcentrated

__all__ = ["Said", "figures", "meaning", "said"]

_FIGURES: dict[str, tuple[str, str]] = {
    "expected_error": ("wrong with probability, for your guess", "chance"),
    "error_if_alone": ("wrong with probability, for a record with nothing near", "chance"),
    "error_if_absent": ("wrong with probability, for an absent record far from all", "chance"),
    "worst_error": ("wrong with probability, in the worst case at the boundary", "chance"),
    "median_error": ("off by (median)", "number"),
    "error_95": ("off by at most, 95 % of the time", "number"),
    "worst_median_error": ("off by (median), whatever the data", "number"),
    "subspaces": ("subspaces to choose from", "number"),
    "median_shortfall": ("outliers short of the best (median)", "number"),
    "shortfall_95": ("short of the best by at most, 95 % of the time", "number"),
    "count_median_error": ("counts off by (median)", "number"),
    "count_error_95": ("counts off by at most, 95 % of the time", "number"),
    "free_values": ("free values (contexts: 2 to that power)", "number"),
    "margin_for_95": ("margin needed to be right 95 % of the time", "number"),
    "probability_at_most_margin": ("right with probability, for the largest margin", "chance"),
    "mean_deviation": ("standard deviation, first to last period", "range"),
    "deviation": ("standard deviation of the sum, first to last period", "range"),
}
"""Figures of a description that a page shows: in which words, and written how."""


@dataclass(frozen=True)
class Said:
    """An answer in words.

    Parameters
    ----------
    headline, detail : str
        The answer, and how to read it.
    rows : list
        A table, its heading first, where the answer is more than one value.
    series : list
        The points of a publication, for its chart.
    """

    headline: str
    detail: str = ""
    rows: list[list[str]] = field(default_factory=list)
    series: list[dict[str, Any]] = field(default_factory=list)


def figures(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The expected error of a description as rows of a table."""
    rows = []
    for key, (words, form) in _FIGURES.items():
        if key not in found or found[key] is None:
            continue
        value = found[key]
        if form == "chance":
            rows.append((words, show.chance(float(value))))
        elif form == "range":
            rows.append((words, f"{show.number(value[0])} to {show.number(value[-1])}"))
        else:
            rows.append((words, show.number(value)))
    return rows


def meaning(price: Guarantee) -> str:
    """What a price means for somebody in the data, in one sentence."""
    if isinstance(price, ZeroConcentrated):
        return (
            f"Gaussian noise with ρ = {show.up(price.rho)}: typical losses are about "
            f"{show.number(float(2 * price.rho) ** 0.5)}, large ones are exponentially rare."
        )
    factor = show.factor(Fraction(price.epsilon))
    whom = {
        "differential": "anybody",
        "sensitive": "a covered record",
        "conditional": "anybody else, while the condition holds,",
    }[price.notion]
    return (
        f"Whatever you believe about {whom} before the answer, the odds of it change by a factor "
        f"of at most {factor}."
    )


def said(kind: str, question: Mapping[str, Any], answer: Any) -> Said:
    """Say an answer in words."""
    speak = _SPEAKERS.get(kind)
    return Said("Answered", show.written(answer)) if speak is None else speak(question, answer)


def _identify(question: Mapping[str, Any], answer: Any) -> Said:
    model = question["model"]
    near = f"at most {model['beta']} records within {model['radius']:g}"
    if answer:
        return Said("Yes, an anomaly", f"The mechanism says it is in the data and has {near}.")
    return Said("No", f"The mechanism says it is not in the data, or has more than {near[8:]}.")


def _screen(question: Mapping[str, Any], answer: Any) -> Said:
    model = question["model"]
    reach = f"{model['beta']} records, itself included, within {model['radius']:g}"
    if answer:
        return Said(
            "Yes, it would be an anomaly", f"Beside the data it would have at most {reach}."
        )
    return Said("No", f"Beside the data it would have more than {reach}.")


def _count(question: Mapping[str, Any], answer: Any) -> Said:
    where = ", ".join(question["columns"] or []) or "all columns of numbers"
    return Said(f"About {show.number(answer)} outliers", f"Counted over {where}, with noise.")


def _subspaces(question: Mapping[str, Any], answer: Any) -> Said:
    counted = any("count" in one for one in answer)
    head = ["Place", "Columns", *(["Outliers, about"] if counted else [])]
    rows = [
        [
            str(place),
            ", ".join(one["columns"]),
            *([show.number(one.get("count", ""))] if counted else []),
        ]
        for place, one in enumerate(answer, start=1)
    ]
    best = ", ".join(answer[0]["columns"]) if answer else "none"
    return Said(best, "Where outliers live, the likeliest first.", [head, *rows])


def _explain(question: Mapping[str, Any], answer: Any) -> Said:
    context = answer.get("context")
    if context is None:
        return Said("No context found", "In none that was looked at is the record an outlier.")
    rows = [[name, ", ".join(str(value) for value in kept)] for name, kept in context.items()]
    return Said(
        f"Among: {answer['words']}",
        f"A context in which the record stands out in {question['metric']}.",
        [["Attribute", "Values"], *rows],
    )


def _publish(question: Mapping[str, Any], answer: Any) -> Said:
    series = answer.get("series", [])
    what = question["statistic"] + (f" of {question['column']}" if question["column"] else "")
    rows = [
        [
            str(point["period"]),
            "none" if point["value"] is None else show.number(point["value"]),
            "" if point.get("error") is None else f"± {show.number(point['error'])}",
        ]
        for point in series
    ]
    shown = [point for point in series if point["value"] is not None]
    latest = show.number(shown[-1]["value"]) if shown else "none"
    return Said(
        f"{what.capitalize()}: {latest} at the end",
        f"{len(series)} periods, with the standard deviation of each.",
        [["Period", "Value", "Standard deviation"], *rows],
        shown,
    )


_SPEAKERS = {
    "identify": _identify,
    "screen": _screen,
    "count": _count,
    "subspaces": _subspaces,
    "explain": _explain,
    "publish": _publish,
}

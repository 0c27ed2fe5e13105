"""In which context is a record an outlier? The chapter of ``explain``."""

from __future__ import annotations

from typing import Any

import numpy as np

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.demo.stage import Asked, Chapter, Stage
from whitecrow.errors import PolicyViolation
from whitecrow.explain import Explain
from whitecrow.rendering import Axis, Plot, figure

BILL = 14_000
RECORD = {"ward": "maternity", "insurance": "public", "year": "2023", "cost": BILL}
MODEL = DistanceAnomaly(beta=20, radius=3_000)
MOST = 30_000


def chapter(stage: Stage) -> Chapter:
    """Explain one bill with an unconditional promise, and ask for the paper's promise too."""
    question = Explain(RECORD, metric="cost", detector=MODEL, epsilon=1, notion="differential")
    figures = stage.curator.describe(question).figures
    release = stage.curator.ask(question)
    bill = ", ".join(f"{name} {value}" for name, value in RECORD.items())
    asked = Asked(
        "explain",
        "In which group is a bill unusual?",
        str(release.answer["words"]),
        f"wrong ≤ 5 % with a margin of {figures['margin_for_95']}",
        question.epsilon,
        release.statement,
    )
    words = (
        f"A bill stands out: {bill}. Among which patients is it unusual? Of the "
        f"2^{figures['free_values']} groups that contain it, the curator names one: "
        f"{asked.answer}.\n\n"
        "Every other patient is protected without any condition. The price of that: the bill may "
        "be no outlier in the group named. That happens at most 5 % of the time if some group "
        f"leaves a margin of {figures['margin_for_95']} patients (it may have {MODEL.beta} near "
        f"it).\n\nThe paper's own promise holds only on a condition. {_refused(stage)}"
    )
    return Chapter(
        "In which group is it an outlier?", (asked,), words, _picture(stage, release.answer)
    )


def _refused(stage: Stage) -> str:
    """Ask for the paper's conditional promise, which the clinic's policy does not admit."""
    try:
        stage.curator.ask(
            Explain(RECORD, metric="cost", detector="lof", epsilon="1/2", notion="conditional")
        )
    except PolicyViolation as refusal:
        return f'The clinic\'s policy leaves it out, and the curator refuses: "{refusal}"'
    return "The clinic's policy admits it."


def _picture(stage: Stage, answer: dict[str, Any]) -> str:
    """The costs inside and outside the context found; only made-up data may be shown like this."""
    if answer["context"] is None:
        return ""
    rows = stage.rows
    inside = np.ones(rows.size, dtype=bool)
    for name, values in answer["context"].items():
        categories = rows.card.column(name).categories or ()
        inside &= np.isin(rows.codes(name), [categories.index(str(value)) for value in values])
    costs = rows.values("cost")
    edges = np.linspace(0, MOST, 61)
    everyone, group = (np.histogram(part, edges)[0] for part in (costs, costs[inside]))
    plot = Plot(
        Axis("cost", 0, MOST),
        Axis("patients", 0.5, 1000, log=True),
        "Costs of all patients and of the group found, with the bill",
        height=280,
    )
    places = edges.tolist()
    plot.bars(places, everyone.tolist(), "muted", name="everyone (made-up data)")
    tips = [
        f"{low:,.0f} to {high:,.0f}: {some} of the group, {all_} in all"
        for low, high, some, all_ in zip(places, places[1:], group, everyone, strict=False)
    ]
    plot.bars(places, group.tolist(), "accent", name="the group found", tips=tips)
    plot.rule(BILL, "bad", name="the bill")
    return figure(
        "The bill among everyone is nothing special; in the group found hardly anyone is near it.",
        plot.svg(),
    )

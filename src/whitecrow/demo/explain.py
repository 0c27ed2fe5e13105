"""In which context is a record an outlier? The chapter of ``explain``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from whitecrow._figures import can_draw, new_figure
from whitecrow.anomaly import DistanceAnomaly
from whitecrow.demo.stage import Chapter, Stage
from whitecrow.errors import PolicyViolation
from whitecrow.explain import Explain

__all__ = ["chapter"]

RECORD = {"ward": "maternity", "insurance": "public", "year": "2023", "cost": 14_000}
MODEL = DistanceAnomaly(beta=20, radius=3_000)


def chapter(stage: Stage) -> Chapter:
    """Explain one bill with an unconditional promise, and ask for the paper's promise too."""
    question = Explain(RECORD, metric="cost", detector=MODEL, epsilon=1, notion="differential")
    figures = stage.curator.describe(question).figures
    release = stage.curator.ask(question)
    bill = ", ".join(f"{name} {value}" for name, value in RECORD.items())
    words = (
        f"A bill stands out: {bill}. Among which patients is it unusual? Of the "
        f"2^{figures['free_values']} contexts that contain it, the curator names one: "
        f"{release.answer['words']}. Every other patient is protected without any condition; the "
        "price of that is that the bill may be no outlier there. How probable that is was known "
        f"before asking: at most 5% if some context leaves it a margin of "
        f"{figures['margin_for_95']} patients (it may have {MODEL.beta} near it).\n\n"
        f"{release.statement}\n\n"
        f"The paper's own promise holds only on a condition. {_refused(stage)}"
    )
    return Chapter("In which context is it an outlier?", words, _picture(stage, release.answer))


def _refused(stage: Stage) -> str:
    """Ask for the paper's conditional promise, which the clinic's policy does not admit."""
    try:
        stage.curator.ask(
            Explain(RECORD, metric="cost", detector="lof", epsilon="1/2", notion="conditional")
        )
    except PolicyViolation as refusal:
        return f'The clinic\'s policy leaves it out, and the curator refuses: "{refusal}"'
    return "The clinic's policy admits it."


def _picture(stage: Stage, answer: dict[str, Any]) -> tuple[Path, ...]:
    """The costs inside and outside the context found; only made-up data may be shown like this."""
    if not can_draw() or answer["context"] is None:
        return ()
    rows = stage.rows
    inside = np.ones(rows.size, dtype=bool)
    for name, values in answer["context"].items():
        categories = rows.card.column(name).categories or ()
        inside &= np.isin(rows.codes(name), [categories.index(str(value)) for value in values])
    costs = rows.values("cost")
    bins = np.linspace(0, 30_000, 60)
    figure = new_figure(7, 3.2)
    axes = figure.subplots()
    axes.hist(costs[~inside], bins=bins, color="lightgray", label="everyone else")
    axes.hist(costs[inside], bins=bins, color="tab:blue", label="the context found")
    axes.axvline(RECORD["cost"], color="black", label="the bill")
    axes.set(xlabel="cost", ylabel="patients (made-up data)", yscale="log")
    axes.legend()
    path = stage.figure("explain")
    figure.savefig(path, dpi=110)
    return (path,)

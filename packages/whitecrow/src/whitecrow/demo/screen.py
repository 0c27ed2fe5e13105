"""Would this new patient be an anomaly? The chapter of ``screen``, and the safest way to begin."""

from __future__ import annotations

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.demo.stage import Asked, Chapter, Stage
from whitecrow.rendering import Axis, Plot, figure
from whitecrow.screen import Screen
from whitecrow.screening import Screening

MODEL = DistanceAnomaly(beta=40, radius=12)
EPSILON = "1/4"
PRICES = ("1/20", "1/10", "1/4", "1/2", "1")


def chapter(stage: Stage) -> Chapter:
    """Screen one patient who is not in the data."""
    question = Screen({"age": 28, "bmi": 51.0, "systolic": 90}, model=MODEL, epsilon=EPSILON)
    release = stage.curator.ask(question)
    alone = question.wrong(0)
    asked = Asked(
        "screen",
        "Is this new patient an outlier?",
        "yes" if release.answer else "no",
        f"wrong 1 time in {round(1 / alone):,}",
        question.epsilon,
        release.statement,
    )
    words = (
        "A new patient arrives: age 28, body mass index 51, systolic pressure 90. An anomaly is a "
        f"record with at most {MODEL.beta} records, itself included, within {MODEL.radius:g} of "
        f"it. The answer is {asked.answer}. With nobody near, it is {asked.error}; every patient "
        "in the data is covered by differential privacy. "
    )
    many = Screening(columns=list(question.columns), model=MODEL, epsilon=3, delta="1e-6")
    clear = stage.curator.describe(many).figures["clear_above"]
    words += (
        "Any number of new patients would cost ε = 3, δ = 0.000001 once (the question screening): "
        f"one with {clear} or more records near it is then flagged falsely at most once in 100."
    )
    return Chapter("Would this new patient be an anomaly?", (asked,), words, _picture())


def _picture() -> str:
    """How often the answer is wrong, by how many records are near, for several prices."""
    plot = Plot(
        Axis("records near the new one", 0, 80),
        Axis("chance of a wrong answer", 0, 0.5),
        "The chance of a wrong answer falls quickly on both sides of the threshold, and faster "
        "at a higher price",
        height=260,
    )
    record = {"age": 28}
    tones = ("muted", "ok", "accent", "ink", "bad")
    for price, tone in zip(PRICES, tones, strict=True):
        asked = Screen(record, model=MODEL, epsilon=price)
        values = [(near, asked.wrong(near)) for near in range(81)]
        plot.line(values, tone, name=f"ε = {float(asked.epsilon):g}")
    return figure(
        f"The chance of a wrong answer, by how many records are near. Only close to the threshold "
        f"of {MODEL.beta} records is the answer a guess. This picture needs no data: it is known "
        "before asking.",
        plot.svg(),
    )

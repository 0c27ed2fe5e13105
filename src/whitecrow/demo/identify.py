"""The first chapter: one record, two promises."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whitecrow._figures import can_draw, new_figure
from whitecrow.anomaly import DistanceAnomaly
from whitecrow.demo.stage import Chapter, Stage
from whitecrow.identify import Identify
from whitecrow.identify.map import PrivacyMap, privacy_map
from whitecrow.screen import Screen

__all__ = ["chapter"]

Floats = NDArray[np.float64]

MODEL = DistanceAnomaly(beta=40, radius=12)
RECORD = {"age": 74, "bmi": 44.0, "systolic": 222}
EPSILON = "1/4"


def chapter(stage: Stage) -> Chapter:
    """Ask about one patient under both promises, then screen a new one."""
    curator = stage.curator
    member = Identify(RECORD, model=MODEL, k=2, epsilon=EPSILON)
    everyone = Identify(RECORD, model=MODEL, epsilon=EPSILON, notion="differential")
    newcomer = Screen({"age": 28, "bmi": 51.0, "systolic": 90}, model=MODEL, epsilon=EPSILON)
    before = curator.describe(member, typical_neighbours=3)
    answers = [_yes(curator.ask(question).answer) for question in (member, everyone, newcomer)]
    words = (
        f"A patient of age 74 with a body mass index of 44 and a systolic pressure of 222: an "
        f"anomaly, that is, with at most {MODEL.beta} patients within {MODEL.radius:g}? Before "
        f"asking, from public facts alone: {before.words}\n\n"
        f"Under sensitive privacy the answer is {answers[0]}. Under differential privacy it is "
        f"{answers[1]}, but there the answer about such a record is wrong with probability "
        f"{everyone.wrong(1, 1):.0%}, little better than a coin: whether one lonely record is in "
        "the data must not show.\n\n"
        "A new patient who is not in the data is another matter. Screening asks whether the record "
        f"would be an anomaly beside the data; the answer is {answers[2]}, everyone is covered by "
        f"differential privacy, and with nobody near it errs with probability "
        f"{newcomer.wrong(0):.2g}.\n\n"
        "The picture is a privacy map, for the custodian's eyes only: the clinic is made up, so "
        "it may be shown here. Normal records lose the same under both promises; isolated ones "
        "pay, under sensitive privacy, for the accuracy of the answers about them."
    )
    return Chapter("Is this patient a white crow?", words, _picture(stage))


def _yes(answer: object) -> str:
    return "yes" if answer else "no"


def _picture(stage: Stage) -> tuple[Path, ...]:
    if not can_draw():
        return ()
    data = stage.rows.matrix(("age", "bmi", "systolic"))
    sensitive, differential = (
        privacy_map(data, beta=MODEL.beta, radius=MODEL.radius, k=2, epsilon=EPSILON, notion=notion)
        for notion in ("sensitive", "differential")
    )
    figure = new_figure(10, 7)
    panels = figure.subplots(2, 2, sharex=True)
    for column, (name, found) in enumerate(
        (("sensitive privacy", sensitive), ("differential privacy", differential))
    ):
        _panel(panels[0][column], figure, data, found, found.accuracy, f"accuracy, {name}", 1.0)
        worst = float(sensitive.loss.max())
        _panel(panels[1][column], figure, data, found, found.loss, f"loss, {name}", worst)
    path = stage.figure("identify")
    figure.savefig(path, dpi=100)
    return (path,)


def _panel(
    panel: Any,
    figure: Any,
    data: Floats,
    found: PrivacyMap,
    values: Floats,
    title: str,
    most: float,
) -> None:
    order = np.argsort(found.anomalous, kind="stable")  # anomalies on top
    marks = panel.scatter(data[order, 1], data[order, 2], c=values[order], s=8, vmin=0.0, vmax=most)
    figure.colorbar(marks, ax=panel)
    panel.set_title(title)
    panel.set_xlabel("body mass index")
    panel.set_ylabel("systolic pressure")

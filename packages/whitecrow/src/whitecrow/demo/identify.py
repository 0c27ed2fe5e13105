"""The last chapter: one record, two promises."""

from __future__ import annotations

from typing import Any

import numpy as np

from whitecrow.anomaly import DistanceAnomaly, law
from whitecrow.demo.stage import Asked, Chapter, Stage
from whitecrow.identify import Identify
from whitecrow.neighbours import count_all
from whitecrow.rendering import Axis, Dot, Plot, figure, slider

MODEL = DistanceAnomaly(beta=40, radius=12)
RECORD = {"age": 74, "bmi": 44.0, "systolic": 222}
COLUMNS = ("age", "bmi", "systolic")
EPSILON = "1/4"
PRICES = ("0.1", "0.25", "0.5", "1", "2")
START = PRICES.index("0.25")
LEVELS = (1e-4, 0.01, 0.1, 0.3)
"""Where a chance of a wrong answer passes into the next colour."""


def chapter(stage: Stage) -> Chapter:
    """Ask about one patient under both promises."""
    everyone = _question("differential", EPSILON)
    member = _question("sensitive", EPSILON)
    answers = [
        _asked(stage, everyone, "Is this member an outlier?"),
        _asked(stage, member, "The same, covering typical ones"),
    ]
    words = (
        "A patient in the data, of age 74 with a body mass index of 44 and a systolic pressure of "
        f"222: an anomaly? Under differential privacy the answer is {answers[0].answer}, and it is "
        f"{answers[0].error}, little better than a coin: whether one lonely record is in the data "
        "must not show.\n\n"
        "Sensitive privacy makes the same promise to every patient who has others like them, and "
        f"none to those who stand alone. Now the answer is {answers[1].answer}, and it is "
        f"{answers[1].error}. From here on the guarantee for everyone no longer covers the total: "
        "that is why this question came last."
    )
    return Chapter("Is this patient a white crow?", tuple(answers), words, _picture(stage))


def _question(notion: str, epsilon: str) -> Identify:
    return Identify(RECORD, model=MODEL, k=2, epsilon=epsilon, notion=notion)


def _asked(stage: Stage, question: Identify, words: str) -> Asked:
    release = stage.curator.ask(question)
    answer = "yes" if release.answer else "no"
    error = f"wrong {_often(question.wrong(1, 1))}"
    return Asked("identify", words, answer, error, question.epsilon, release.statement)


def _picture(stage: Stage) -> str:
    """A privacy map, for the custodian's eyes only; made-up data may be shown like this."""
    data = stage.rows.matrix(COLUMNS)
    most = max(_most(_question("sensitive", price)) for price in PRICES)
    near = count_all(data, MODEL.radius, cap=most)
    order = np.argsort(-near, kind="stable")  # those who stand alone on top
    tables = {
        notion: [_by_count(_question(notion, price), most) for price in PRICES]
        for notion in ("differential", "sensitive")
    }
    halves = []
    for notion, frames in tables.items():
        plot = Plot(
            Axis("body mass index", 10, 60),
            Axis("systolic pressure", 70, 240),
            f"Every patient, coloured by how often the answer about them is wrong under {notion} "
            "privacy",
            width=440,
            height=320,
        )
        levels = frames[START]["levels"]
        plot.dots(
            (
                Dot(
                    float(data[i, 1]),
                    float(data[i, 2]),
                    tip=f"age {data[i, 0]:.0f}",
                    tone=f"w{levels[near[i]]}",
                    n=int(near[i]),
                )
                for i in order
            ),
            of=notion,
        )
        halves.append(f'<div class="half"><h3>{notion} privacy</h3>{plot.svg()}</div>')
    return figure(
        "Every patient, coloured by how often the answer about them is wrong: blue almost never, "
        "red nearly every second time. Point at a patient; move the slider to change the price. "
        "Such a map is for the custodian alone; this clinic is made up.",
        f'<div class="pair">{"".join(halves)}</div>',
        control=slider("ε", PRICES, START),
        by_count=tables,
    )


def _most(question: Identify) -> int:
    """With so many records near, more change nothing."""
    return MODEL.beta + law.error_cap(question.epsilon, question.error_floor)


def _by_count(question: Identify, most: int) -> dict[str, list[Any]]:
    """The colour and the words for a patient with n records near, n from 0 to ``most``."""
    chances = [question.wrong(1, max(1, n)) for n in range(most + 1)]
    return {
        "levels": [sum(chance >= level for level in LEVELS) for chance in chances],
        "words": [
            f", {_near(n, most)} within {MODEL.radius:g}: wrong {_often(chance)}"
            for n, chance in enumerate(chances)
        ],
    }


def _often(chance: float) -> str:
    return (
        f"1 time in {round(1 / chance):,}" if chance < 0.01 else f"{100 * chance:.0f} % of the time"
    )


def _near(count: int, most: int) -> str:
    others = count - 1
    return f"{others}{' or more' if count >= most else ''} other{'' if others == 1 else 's'}"

"""A mean kept current, naively and by the curator. The chapter of ``publish`` and ``attack``."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.attack import naive_power, publisher_power
from whitecrow.attack.naive import naive_release
from whitecrow.demo.stage import Asked, Chapter, Stage
from whitecrow.publish import Publish
from whitecrow.rendering import Axis, Dot, Plot, figure

EPSILON = 1
CLIP = (0, 20_000)
QUESTION = Publish.from_json(
    {
        "column": "cost",
        "time": "day",
        "start": "2024-01-01",
        "horizon": 88,
        "view": "each_period",
        "clip": CLIP,
        "epsilon": EPSILON,
    }
)

Days = list[npt.NDArray[np.float64]]


def chapter(stage: Stage) -> Chapter:
    """Release the mean bill of each day twice, and say what an adversary learns from either."""
    release = stage.curator.ask(QUESTION)
    index = QUESTION.calendar.index(stage.rows.values("day"))
    costs = stage.rows.values("cost")
    # The naive release has no answer for a day without patients; both series leave those out.
    open_days = [t for t in range(QUESTION.through) if (index == t).any()]
    days = [costs[index == t] for t in open_days]
    shown = [release.answer["series"][t] for t in open_days]
    worst = max(days, key=np.max)
    seen = naive_power(np.delete(worst, worst.argmax()), float(worst.max()), EPSILON).at(0.05)
    allowed = publisher_power(QUESTION.plan(stage.curator.card)).at(0.05)
    asked = Asked(
        "publish",
        "The mean bill of each day?",
        f"{shown[-1]['value']:,.0f} on the last day",
        f"± {shown[-1]['error']:,.0f} a day",
        QUESTION.price(stage.curator.card).epsilon,  # type: ignore[union-attr]
        release.statement,
    )
    words = (
        "The clinic publishes the mean bill of each day. The naive way scales the noise to the "
        f"data. It says ε = {EPSILON}, but a rare bill moves both the mean and the noise: an "
        "adversary who knows all other bills of that day sees the largest one with probability "
        f"{seen:.2f}, at 5 % false alarms.\n\n"
        f"The curator moves every bill into a public interval, {CLIP[0]} to {CLIP[1]:,}, and adds "
        f"exact discrete noise. The strongest adversary there can be succeeds with probability "
        f"{allowed:.2f}, whatever the bill (guessing: 0.05)."
    )
    return Chapter("A mean kept current", (asked,), words, _picture(days, shown))


def _picture(days: Days, shown: list[dict[str, Any]]) -> str:
    """Both series, with the day of the largest bill."""
    worst = int(np.argmax([day.max() for day in days]))
    released = [float(point["value"]) for point in shown]
    naive = [float(value) for value in naive_release(days, EPSILON, rng=1)]
    high = max(CLIP[1], *naive) * 1.02
    halves = []
    for name, values in (("released naively", naive), ("released by the curator", released)):
        plot = Plot(
            Axis("day", 0, len(days)),
            Axis("mean bill", 0, high),
            f"The mean bill of each day, {name}",
            width=440,
            height=260,
        )
        plot.line(list(enumerate(values)), "accent")
        plot.dots(
            [Dot(day, value, f"day {day}: {value:,.0f}") for day, value in enumerate(values)],
            radius=2.2,
        )
        largest = Dot(worst, values[worst], f"day {worst}: {values[worst]:,.0f}", "bad")
        plot.dots([largest], radius=5)
        halves.append(f'<div class="half"><h3>{name}</h3>{plot.svg()}</div>')
    return figure(
        "The mean bill of each day. The red dot is the day of the largest bill: in the naive "
        "series it shows, in the curator's it is one day like any other.",
        f'<div class="pair">{"".join(halves)}</div>',
    )

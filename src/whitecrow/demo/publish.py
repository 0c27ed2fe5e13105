"""A mean kept current, naively and by the curator. The chapter of ``publish`` and ``attack``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow._figures import can_draw, new_figure
from whitecrow.attack import attack, naive_power, publisher_power
from whitecrow.attack.naive import naive_release
from whitecrow.attack.streams import publish_days
from whitecrow.demo.stage import Chapter, Stage
from whitecrow.publish import Publish

__all__ = ["chapter"]

EPSILON, WIDTH, OUTLIER, REDRAWS = 1, 4, 30_000, 40
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
    """Release the mean bill of each day twice, and let the adversary look at both series."""
    release = stage.curator.ask(QUESTION)
    index = QUESTION.calendar.index(stage.rows.values("day"))
    costs = stage.rows.values("cost")
    # The naive release has no answer for a day without patients; both series leave those out.
    open_days = [t for t in range(QUESTION.through) if (index == t).any()]
    days = [costs[index == t] for t in open_days]
    shown = [release.answer["series"][t] for t in open_days]
    naive, ours = _suspicion(days)
    worst = max(days, key=np.max)
    seen = naive_power(np.delete(worst, worst.argmax()), float(worst.max()), EPSILON).at(0.05)
    allowed = publisher_power(QUESTION.plan(stage.curator.card)).at(0.05)
    words = (
        "The clinic publishes the mean bill of each day. The naive way scales the noise to the "
        f"data: epsilon is said to be {EPSILON}, but a rare bill moves both the mean and the "
        "noise, and nothing bounds what that gives away. An adversary who knows the mechanism and "
        f"all other bills of that day sees the largest bill with probability {seen:.2f} at 5 % "
        f"false alarms. Even one who sees only the series tells {WIDTH} days with a bill above "
        f"{OUTLIER:,} from {WIDTH} others with an AUC of {naive:.2f} on average (guessing: 0.50)."
        "\n\n"
        f"The curator moves every bill into a public interval, [{CLIP[0]}, {CLIP[1]:,}], adds up "
        "whole numbers and adds exact discrete noise. The strongest adversary there can be has a "
        f"power of {allowed:.2f} at 5 % false alarms, whatever the bill; the one who sees the "
        f"series alone has an AUC of {ours:.2f}.\n\n{release.statement}"
    )
    return Chapter("A mean kept current, and who listens", words, _picture(stage, days, shown))


def _suspicion(days: Days) -> tuple[float, float]:
    """The attack's average AUC over many redraws of both series, on made-up data only."""
    truth = [bool((day > OUTLIER).any()) for day in days]
    rng = np.random.default_rng(1)
    found: tuple[list[float], list[float]] = ([], [])
    for _ in range(REDRAWS):
        series = (
            naive_release(days, EPSILON, rng=rng),
            publish_days(days, clip=CLIP, epsilon=EPSILON),
        )
        for areas, released in zip(found, series, strict=True):
            verdict = attack(released, width=WIDTH, outliers=truth).verdict
            assert verdict is not None
            areas.append(verdict.auc)
    return float(np.mean(found[0])), float(np.mean(found[1]))


def _picture(stage: Stage, days: Days, shown: list[dict[str, Any]]) -> tuple[Path, ...]:
    """Both series, and beside each what the day of the largest bill gives away."""
    if not can_draw():
        return ()
    worst = int(np.argmax([day.max() for day in days]))
    present = days[worst]
    absent = np.delete(present, present.argmax())
    naive = naive_release(days, EPSILON, rng=1)
    figure = new_figure(9, 5)
    panels = figure.subplots(2, 2, width_ratios=(5, 2), sharey="row")
    series = (naive, np.array([point["value"] for point in shown], dtype=float))
    draws = (
        [naive_release([day] * 4000, EPSILON, rng=2) for day in (absent, present)],
        [publish_days([day] * 4000, clip=CLIP, epsilon=EPSILON) for day in (absent, present)],
    )
    for (left, right), values, (without, joined), name in zip(
        panels, series, draws, ("naively", "by the curator"), strict=True
    ):
        left.plot(values, color="black", linewidth=0.9)
        left.plot(worst, values[worst], "o", color="#b3261e", label="day of the largest bill")
        left.set(title=f"the mean bill, released {name}", ylabel="mean bill")
        bins = np.linspace(0, 20_000, 80)
        for part, colour, label in (
            (without, "#7aa6c2", "without the bill"),
            (joined, "#b3261e", "with it"),
        ):
            right.hist(
                part, bins, density=True, alpha=0.6, orientation="horizontal",
                color=colour, label=label,
            )  # fmt: skip
        right.set(title="that day, redrawn", xticks=[])
    panels[0][0].legend(loc="upper left")
    panels[0][1].legend()
    panels[1][0].set_xlabel("day")
    path = stage.figure("publish")
    figure.savefig(path, dpi=110)
    return (path,)

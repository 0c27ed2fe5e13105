"""The chapters of the demo: each question once, in words and pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.anomaly import DistanceAnomaly, law
from whitecrow.attack import naive_power, publisher_power
from whitecrow.attack.naive import naive_release
from whitecrow.count import Count
from whitecrow.demo import Asked, Chapter, Stage
from whitecrow.errors import PolicyViolation
from whitecrow.explain import Explain
from whitecrow.identify import Identify
from whitecrow.neighbours import count_all
from whitecrow.noise import laws
from whitecrow.publish import Publish
from whitecrow.question import Release
from whitecrow.rendering import Axis, Dot, Plot, figure, slider
from whitecrow.screen import Screen
from whitecrow.screening import Screening
from whitecrow.subspaces import Subspaces

_VITALS = ["age", "bmi", "systolic"]
_ALONE = DistanceAnomaly(beta=40, radius=12)
_EPSILON = "1/4"


def _asked(question: Any, release: Release, words: str, answer: str, error: str) -> Asked:
    return Asked(question.kind, words, answer, error, question.epsilon, release.statement)


def screen(stage: Stage) -> Chapter:
    """Screen one patient who is not in the data."""
    question = Screen({"age": 28, "bmi": 51.0, "systolic": 90}, model=_ALONE, epsilon=_EPSILON)
    release = stage.curator.ask(question)
    answer, error = "yes" if release.answer else "no", f"wrong {_often(question.wrong(0))}"
    asked = _asked(question, release, "Is this new patient an outlier?", answer, error)
    many = Screening(columns=list(question.columns), model=_ALONE, epsilon=3, delta="1e-6")
    clear = stage.curator.describe(many).figures["clear_above"]
    words = (
        "A new patient arrives: age 28, body mass index 51, systolic pressure 90. An anomaly is a "
        f"record with at most {_ALONE.beta} records, itself included, within {_ALONE.radius:g} of "
        f"it. The answer is {answer}. With nobody near, it is {error}; every patient in the data "
        "is covered by differential privacy. Any number of new patients would cost ε = 3, "
        f"δ = 0.000001 once (the question screening): one with {clear} or more records near it "
        "is then flagged falsely at most once in 100."
    )
    return Chapter("Would this new patient be an anomaly?", (asked,), words, _screen_picture())


def _screen_picture() -> str:
    """How often the answer is wrong, by how many records are near, for several prices."""
    plot = Plot(
        Axis("records near the new one", 0, 80),
        Axis("chance of a wrong answer", 0, 0.5),
        "The chance of a wrong answer falls quickly on both sides of the threshold, and faster "
        "at a higher price",
        height=260,
    )
    tones = {"1/20": "muted", "1/10": "ok", "1/4": "accent", "1/2": "ink", "1": "bad"}
    for price, tone in tones.items():
        question = Screen({"age": 28}, model=_ALONE, epsilon=price)
        values = [(near, question.wrong(near)) for near in range(81)]
        plot.line(values, tone, name=f"ε = {float(question.epsilon):g}")
    return figure(
        f"The chance of a wrong answer, by how many records are near. Only close to the threshold "
        f"of {_ALONE.beta} records is the answer a guess. This picture needs no data: it is known "
        "before asking.",
        plot.svg(),
    )


_SPARSE = DistanceAnomaly(beta=5, radius=9.0)
_COUNT_PRICES = ("0.25", "0.5", "1", "2", "4")
_COUNT_START = _COUNT_PRICES.index("1")


def count(stage: Stage) -> Chapter:
    """Count the outliers, and show what the same budget gives with worst-case noise."""
    question = Count(_VITALS, model=_SPARSE, epsilon=1)
    figures = stage.curator.describe(question).figures
    plain = stage.curator.describe(Count(_VITALS, model=_SPARSE, epsilon=1, mechanism="global"))
    release = stage.curator.ask(question)
    error = figures["median_error"]
    errors = f"± {error:.0f} (95 %: ± {figures['error_95']:.0f})"
    answer = str(release.answer)
    asked = _asked(question, release, "How many outliers are there?", answer, errors)
    words = (
        f"How many patients have at most {_SPARSE.beta} patients, themselves included, within "
        f"{_SPARSE.radius:g} of them in age, body mass index and blood pressure? About "
        f"{release.answer}.\n\n"
        f"One patient can change the status of up to {figures['global_sensitivity']} others. Noise "
        f"for that worst case would be off by {plain.figures['median_error']:.0f} (median). Noise "
        f"that follows the smooth sensitivity is off by {error:.0f}, at the same price and with "
        "the same promise."
    )
    return Chapter("How many outliers?", (asked,), words, _count_picture(stage, release.answer))


def _count_picture(stage: Stage, answer: int) -> str:
    """The laws of the answer about the true count; only made-up data may be shown like this."""
    degrees = count_all(stage.rows.matrix(_VITALS), _SPARSE.radius, cap=_SPARSE.beta + 1)
    truth = int((degrees <= _SPARSE.beta).sum())
    low, high = truth - 80, truth + 80
    values = range(low, high + 1)
    plot = Plot(
        Axis("number released", low, high),
        Axis("probability", 0, 0.12),
        "The probability of each number that could have been released",
        height=280,
    )
    notes = []
    for frame, price in enumerate(_COUNT_PRICES):
        question = Count(_VITALS, model=_SPARSE, epsilon=price, mechanism="smooth")
        smooth = question.calibration(stage.curator.card)
        sensitivity = smooth.expected_sensitivity(question.expected_cluster_size)
        scale = float(smooth.multiplier) * sensitivity
        spread = smooth.cap / float(question.epsilon)
        curves = (
            ("muted", "noise for the worst case",
             [(v, laws.discrete_laplace_pmf(v - truth, spread)) for v in values]),
            ("accent", "noise that follows the smooth sensitivity",
             [(v, laws.core_tail_pmf(v - truth, scale, smooth.tail)) for v in values]),
        )  # fmt: skip
        for tone, name, curve in curves:
            plot.line(curve, tone, name=name, frame=frame, shown=frame == _COUNT_START)
        off = "" if frame == _COUNT_START else ' class="off"'
        notes.append(
            f'<p data-frame="{frame}"{off}>At ε = {price} half '
            f"of all answers are within ± {smooth.error(0.5, sensitivity):.1f}.</p>"
        )
    plot.rule(truth, "ok", name="true number (made-up data)")
    plot.rule(answer, "ink", name="the answer")
    return figure(
        "Which numbers could have been released, and how probably. Move the slider to see what a "
        "higher or lower price does.",
        "".join(notes) + plot.svg(),
        control=slider("ε", _COUNT_PRICES, _COUNT_START),
    )


def subspaces(stage: Stage) -> Chapter:
    """Find the pair of columns with the most outliers, and count them there, at one price."""
    model = DistanceAnomaly(beta=5, radius=2.0)
    question = Subspaces(size=2, top=1, columns=_VITALS, model=model, epsilon=1, count_share="1/2")
    figures = stage.curator.describe(question).figures
    release = stage.curator.ask(question)
    best = release.answer[0]
    names = " and ".join(best["columns"])
    answer, error = f"{names}: {best['count']}", f"± {figures['count_median_error']:.0f}"
    asked = _asked(question, release, "Which two columns have the most?", answer, error)
    words = (
        "Of all pairs among age, body mass index and blood pressure, in which do most patients "
        f"stand alone? In {names}, where about {best['count']} do ({error}, half the time).\n\n"
        "Finding and counting are one question with one price: half of it chooses the pair, half "
        "counts in the pair that was chosen."
    )
    return Chapter("In which columns do outliers live?", (asked,), words)


_BILL = 14_000
_PATIENT_BILLED = {"ward": "maternity", "insurance": "public", "year": "2023", "cost": _BILL}
_UNUSUAL = DistanceAnomaly(beta=20, radius=3_000)
_HIGHEST = 30_000


def explain(stage: Stage) -> Chapter:
    """Explain one bill with an unconditional promise, and ask for the paper's promise too."""
    question = Explain(
        _PATIENT_BILLED, metric="cost", detector=_UNUSUAL, epsilon=1, notion="differential"
    )
    figures = stage.curator.describe(question).figures
    release = stage.curator.ask(question)
    bill = ", ".join(f"{name} {value}" for name, value in _PATIENT_BILLED.items())
    group = str(release.answer["words"])
    error = f"wrong ≤ 5 % with a margin of {figures['margin_for_95']}"
    asked = _asked(question, release, "In which group is a bill unusual?", group, error)
    words = (
        f"A bill stands out: {bill}. Among which patients is it unusual? Of the "
        f"2^{figures['free_values']} groups that contain it, the curator names one: "
        f"{group}.\n\n"
        "Every other patient is protected without any condition. The price of that: the bill may "
        "be no outlier in the group named. That happens at most 5 % of the time if some group "
        f"leaves a margin of {figures['margin_for_95']} patients (it may have {_UNUSUAL.beta} near "
        f"it).\n\nThe paper's own promise holds only on a condition. {_refused(stage)}"
    )
    return Chapter(
        "In which group is it an outlier?", (asked,), words, _explain_picture(stage, release.answer)
    )


def _refused(stage: Stage) -> str:
    """Ask for the paper's conditional promise, which the clinic's policy does not admit."""
    try:
        stage.curator.ask(
            Explain(
                _PATIENT_BILLED, metric="cost", detector="lof", epsilon="1/2", notion="conditional"
            )
        )
    except PolicyViolation as refusal:
        return f'The clinic\'s policy leaves it out, and the curator refuses: "{refusal}"'
    return "The clinic's policy admits it."


def _explain_picture(stage: Stage, answer: dict[str, Any]) -> str:
    """The costs inside and outside the context found; only made-up data may be shown like this."""
    if answer["context"] is None:
        return ""
    rows = stage.rows
    inside = np.ones(rows.size, dtype=bool)
    for name, values in answer["context"].items():
        categories = rows.card.column(name).categories or ()
        inside &= np.isin(rows.values(name), [categories.index(str(value)) for value in values])
    costs, edges = rows.values("cost"), np.linspace(0, _HIGHEST, 61).tolist()
    everyone, group = (np.histogram(part, edges)[0] for part in (costs, costs[inside]))
    plot = Plot(
        Axis("cost", 0, _HIGHEST),
        Axis("patients", 0.5, 1000, log=True),
        "Costs of all patients and of the group found, with the bill",
        height=280,
    )
    plot.bars(edges, everyone.tolist(), "muted", name="everyone (made-up data)")
    tips = [
        f"{low:,.0f} to {high:,.0f}: {some} of the group, {all_} in all"
        for low, high, some, all_ in zip(edges, edges[1:], group, everyone, strict=False)
    ]
    plot.bars(edges, group.tolist(), "accent", name="the group found", tips=tips)
    plot.rule(_BILL, "bad", name="the bill")
    return figure(
        "The bill among everyone is nothing special; in the group found hardly anyone is near it.",
        plot.svg(),
    )


_DAILY_EPSILON = 1
_CLIP = (0, 20_000)
_DAILY = Publish(
    "cost",
    time="day",
    start="2024-01-01",
    horizon=88,
    view="each_period",
    clip=_CLIP,
    epsilon=_DAILY_EPSILON,
)


def publish(stage: Stage) -> Chapter:
    """Release the mean bill of each day twice, and say what an adversary learns from either."""
    release = stage.curator.ask(_DAILY)
    index = _DAILY.calendar.index(stage.rows.values("day"))
    costs = stage.rows.values("cost")
    # The naive release has no answer for a day without patients; both series leave those out.
    open_days = [t for t in range(_DAILY.through) if (index == t).any()]
    days = [costs[index == t] for t in open_days]
    shown = [release.answer["series"][t] for t in open_days]
    worst = max(days, key=np.max)
    others = np.delete(worst, worst.argmax())
    seen = naive_power(others, float(worst.max()), _DAILY_EPSILON).at(0.05)
    allowed = publisher_power(_DAILY.plan(stage.curator.card)).at(0.05)
    asked = Asked(
        "publish",
        "The mean bill of each day?",
        f"{shown[-1]['value']:,.0f} on the last day",
        f"± {shown[-1]['error']:,.0f} a day",
        _DAILY.price(stage.curator.card).epsilon,  # type: ignore[union-attr]
        release.statement,
    )
    words = (
        "The clinic publishes the mean bill of each day. The naive way scales the noise to the "
        f"data. It says ε = {_DAILY_EPSILON}, but a rare bill moves both the mean and the noise: "
        "an adversary who knows all other bills of that day sees the largest one with probability "
        f"{seen:.2f}, at 5 % false alarms.\n\n"
        f"The curator moves every bill into a public interval, {_CLIP[0]} to {_CLIP[1]:,}, "
        "and adds exact discrete noise. The strongest adversary there can be succeeds with "
        f"probability {allowed:.2f}, whatever the bill (guessing: 0.05)."
    )
    return Chapter("A mean kept current", (asked,), words, _publish_picture(days, shown))


def _publish_picture(days: list[npt.NDArray[np.float64]], shown: list[dict[str, Any]]) -> str:
    """Both series, with the day of the largest bill."""
    worst = int(np.argmax([day.max() for day in days]))
    released = [float(point["value"]) for point in shown]
    naive = [float(value) for value in naive_release(days, _DAILY_EPSILON, rng=1)]
    high = max(_CLIP[1], *naive) * 1.02
    plots = {}
    for name, values in (("released naively", naive), ("released by the curator", released)):
        plot = plots[name] = Plot(
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
    return figure(
        "The mean bill of each day. The red dot is the day of the largest bill: in the naive "
        "series it shows, in the curator's it is one day like any other.",
        _pair(plots),
    )


def _pair(plots: dict[str, Plot]) -> str:
    """Two plots beside each other, under their names."""
    halves = (
        f'<div class="half"><h3>{name}</h3>{plot.svg()}</div>' for name, plot in plots.items()
    )
    return f'<div class="pair">{"".join(halves)}</div>'


_PATIENT = {"age": 74, "bmi": 44.0, "systolic": 222}
_IDENTIFY_PRICES = ("0.1", "0.25", "0.5", "1", "2")
_IDENTIFY_START = _IDENTIFY_PRICES.index("0.25")
_LEVELS = (1e-4, 0.01, 0.1, 0.3)  # where a chance of a wrong answer passes into the next colour


def identify(stage: Stage) -> Chapter:
    """Ask about one patient under both promises."""
    answers = []
    for notion, words in (
        ("differential", "Is this member an outlier?"),
        ("sensitive", "The same, covering typical ones"),
    ):
        question = _question(notion, _EPSILON)
        release = stage.curator.ask(question)
        answer, error = "yes" if release.answer else "no", f"wrong {_often(question.wrong(1, 1))}"
        answers.append(_asked(question, release, words, answer, error))
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
    return Chapter("Is this patient a white crow?", tuple(answers), words, _identify_picture(stage))


def _question(notion: str, epsilon: str) -> Identify:
    return Identify(_PATIENT, model=_ALONE, k=2, epsilon=epsilon, notion=notion)


def _identify_picture(stage: Stage) -> str:
    """A privacy map, for the custodian's eyes only; made-up data may be shown like this."""
    data = stage.rows.matrix(_VITALS)
    questions = [_question("sensitive", price) for price in _IDENTIFY_PRICES]
    # With so many records near, more change nothing.
    most = _ALONE.beta + max(law.error_cap(each.epsilon, each.error_floor) for each in questions)
    near = count_all(data, _ALONE.radius, cap=most)
    order = np.argsort(-near, kind="stable")  # those who stand alone on top
    tables = {
        notion: [_by_count(_question(notion, price), most) for price in _IDENTIFY_PRICES]
        for notion in ("differential", "sensitive")
    }
    plots = {}
    for notion, frames in tables.items():
        plot = plots[f"{notion} privacy"] = Plot(
            Axis("body mass index", 10, 60),
            Axis("systolic pressure", 70, 240),
            f"Every patient, coloured by how often the answer about them is wrong under {notion} "
            "privacy",
            width=440,
            height=320,
        )
        levels = frames[_IDENTIFY_START]["levels"]
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
    return figure(
        "Every patient, coloured by how often the answer about them is wrong: blue almost never, "
        "red nearly every second time. Point at a patient; move the slider to change the price. "
        "Such a map is for the custodian alone; this clinic is made up.",
        _pair(plots),
        control=slider("ε", _IDENTIFY_PRICES, _IDENTIFY_START),
        by_count=tables,
    )


def _by_count(question: Identify, most: int) -> dict[str, list[Any]]:
    """The colour and the words for a patient with n records near, n from 0 to ``most``."""
    chances = [question.wrong(1, max(1, n)) for n in range(most + 1)]
    return {
        "levels": [sum(chance >= level for level in _LEVELS) for chance in chances],
        "words": [
            f", {n - 1}{' or more' if n >= most else ''} other{'' if n == 2 else 's'} within "
            f"{_ALONE.radius:g}: wrong {_often(chance)}"
            for n, chance in enumerate(chances)
        ],
    }


def _often(chance: float) -> str:
    if chance < 0.01:
        return f"1 time in {round(1 / chance):,}"
    return f"{100 * chance:.0f} % of the time"

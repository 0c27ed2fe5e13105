"""The attack laboratory: one simulated stream, published twice, and an adversary who listens."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.attack import Power, attack, naive_power, publisher_power
from whitecrow.attack.naive import naive_release
from whitecrow.attack.streams import Stream, plan_for, porto_like, publish_days
from whitecrow.errors import InvalidInput
from whitecrow.privacy import exact
from whitecrow_server.console._forms import Field, Group, decimal, given, labels_of, whole
from whitecrow_server.console._show import chart, trace
from whitecrow_server.console._site import Form, Page, Site, Visit

_REDRAWS = 12
_ALARMS = 0.05


def add(site: Site) -> None:
    def page(visit: Visit) -> Page:
        usual = {field.name: [field.default] for group in _GROUPS for field in group.fields}
        form = Form({**usual, **visit.linked.fields})
        values: dict[str, Any] = {"groups": _GROUPS, "typed": form, "found": None}
        try:
            return Page("laboratory.html", {**values, "found": _run(form)})
        except InvalidInput as error:
            return Page("laboratory.html", values).refusing(error, labels_of(_GROUPS))

    site.get("/laboratory", page)


_GROUPS = (
    Group(
        "The stream (synthetic: trips in kilometres, about 5 each, a few very long ones)",
        (
            Field("days", "Days", "40 to 365", "number", default="120"),
            Field("size", "Trips a day", "5 to 500", "number", default="55"),
            Field("outliers", "Very long trips", "1 to 50, on random days", "number", default="8"),
            Field("seed", "Draw", "Another number is another stream.", "number", default="1"),
        ),
    ),
    Group(
        "The publications",
        (
            Field("epsilon", "ε of each day", "What both publications say they cost.", default="1"),
            Field(
                "clip",
                "Upper clip, km",
                "Our publisher moves longer trips here.",
                "number",
                default="20",
            ),
        ),
    ),
)


def _between(form: Form, name: str, label: str, least: int, most: int) -> int:
    chosen = whole(given(form, name, label), label, name)
    if not least <= chosen <= most:
        must = f"{label}: write a whole number from {least} to {most}."
        raise InvalidInput(must, parameter=name)
    return chosen


def _run(form: Form) -> dict[str, Any]:
    """Publish both ways and let two adversaries look: one with the series alone, one who knows all.

    The stream is drawn from the seed; our publisher's noise is the operating system's, as always.
    What a visitor chooses has bounds that keep the page quick.
    """
    epsilon = exact(given(form, "epsilon", "ε"), owner="The laboratory")
    highest = float(decimal(given(form, "clip", "Upper clip"), "Upper clip", "clip"))
    if not 1 / 100 <= epsilon <= 20:
        raise InvalidInput("Choose an ε from 0.01 to 20.", parameter="epsilon")
    if not 1 <= highest <= 200:
        raise InvalidInput("Choose an upper clip from 1 to 200.", parameter="clip")
    days = _between(form, "days", "Days", 40, 365)
    size = _between(form, "size", "Trips a day", 5, 500)
    outliers = _between(form, "outliers", "Very long trips", 1, 50)
    random = np.random.default_rng(_between(form, "seed", "Draw", 0, 10**9))
    stream = porto_like(random, size=size, days=days, outliers=outliers)
    price, clip = str(epsilon), (0.0, highest)
    naive = [naive_release(stream.days, price, rng=random) for _ in range(_REDRAWS)]
    ours = [publish_days(stream.days, clip=clip, epsilon=price) for _ in range(_REDRAWS)]
    worst = max(stream.days, key=lambda day: float(np.max(day)))
    others = np.delete(worst, worst.argmax())
    plan = plan_for(days, clip, view="each_period", epsilon=price)
    strongest = (naive_power(others, float(worst.max()), float(epsilon)), publisher_power(plan))
    return {
        "sides": [
            _side("Noise that follows the data", False, stream, naive, strongest[0]),
            _side("Our publisher", True, stream, ours, strongest[1]),
        ],
        "power": _power_chart(strongest),
        "longest": float(worst.max()),
    }


def _side(
    title: str, ours: bool, stream: Stream, series: list[npt.NDArray[np.float64]], strongest: Power
) -> dict[str, Any]:
    width = 5
    verdicts = [attack(scores, width=width, outliers=stream.outlying).verdict for scores in series]
    areas = [verdict.auc for verdict in verdicts if verdict is not None]
    return {
        "title": title,
        "ours": ours,
        "rows": [
            ("listener's AUC (guessing: 0.50)", f"{np.nanmean(areas):.2f}"),
            ("strongest adversary's AUC", f"{strongest.auc:.2f}"),
            (f"its power at {_ALARMS:.0%} false alarms", f"{strongest.at(_ALARMS):.2f}"),
        ],
        "chart": _series_chart(title, ours, stream, series[0]),
    }


def _series_chart(
    title: str, ours: bool, stream: Stream, values: npt.NDArray[np.float64]
) -> dict[str, Any]:
    days = np.arange(1, len(values) + 1)
    marked = stream.outlying
    x, y, tone = days.tolist(), values.round(4).tolist(), "ok" if ours else "accent"
    line = trace("lines", x, y, name="released mean", tone=tone)
    marks = trace(
        "markers",
        days[marked].tolist(),
        values[marked].round(4).tolist(),
        name="a very long trip that day",
        tone="danger",
        marker={"size": 9, "symbol": "circle-open", "line": {"width": 2}},
    )
    return chart([line, marks], x="day", y="km", label=title, showlegend=True)


def _power_chart(strongest: tuple[Power, Power]) -> dict[str, Any]:
    cuts = np.linspace(0.0, 1.0, 101).tolist()
    names = (("noise that follows the data", "accent"), ("our publisher", "ok"))
    traces = [
        trace(
            "lines",
            [round(cut, 3) for cut in cuts],
            [round(verdict.at(cut), 4) for cut in cuts],
            name=name,
            tone=tone,
        )
        for verdict, (name, tone) in zip(strongest, names, strict=True)
    ]
    diagonal: dict[str, Any] = {"name": "guessing", "tone": "muted", "line": {"dash": "dot"}}
    guessing = trace("lines", [0, 1], [0, 1], **diagonal)
    return chart(
        [*traces, guessing],
        x="false alarms",
        y="power",
        label="Power of the strongest adversary against each publication",
        showlegend=True,
    )

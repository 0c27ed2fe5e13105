"""The attack laboratory: one simulated stream, published twice, and an adversary who listens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.attack import Power, attack, naive_power, publisher_power
from whitecrow.attack.naive import naive_release
from whitecrow.attack.streams import Stream, porto_like, publish_days, question_for
from whitecrow.errors import InvalidInput, http_status
from whitecrow.privacy import exact
from whitecrow_server.console import _charts as charts
from whitecrow_server.console._fields import Field, Group, decimal, given, labels_of, mistake, whole
from whitecrow_server.console._site import Form, Page, Site, Visit

_REDRAWS = 12
_ALARMS = 0.05
_DEFAULTS = {
    "epsilon": "1",
    "days": "120",
    "size": "55",
    "outliers": "8",
    "clip": "20",
    "seed": "1",
}


@dataclass(frozen=True)
class _Set:
    """What the visitor chose, within bounds that keep the page quick."""

    epsilon: str
    days: int
    size: int
    outliers: int
    clip: float
    seed: int


def add(site: Site) -> None:
    def page(visit: Visit) -> Page:
        asked = {key: [value] for key, value in visit.request.query_params.items()}
        form = Form({**{key: [value] for key, value in _DEFAULTS.items()}, **asked})
        values: dict[str, Any] = {"groups": _GROUPS, "typed": form, "wrong": "", "found": None}
        try:
            return Page("laboratory.html", {**values, "found": _run(_chosen(form))})
        except InvalidInput as error:
            wrong = mistake(error, labels_of(_GROUPS))
            return Page("laboratory.html", {**values, **wrong}, http_status(error))

    site.get("/laboratory", page)


_GROUPS = (
    Group(
        "The stream (made up: trips in kilometres, about 5 each, a few very long ones)",
        (
            Field("days", "Days", "40 to 365", "number"),
            Field("size", "Trips a day", "5 to 500", "number"),
            Field("outliers", "Very long trips", "1 to 50, on random days", "number"),
            Field("seed", "Draw", "Another number is another stream.", "number"),
        ),
    ),
    Group(
        "The publications",
        (
            Field("epsilon", "ε of each day", "What both publications say they cost."),
            Field("clip", "Upper clip, km", "Our publisher moves longer trips here.", "number"),
        ),
    ),
)


def _chosen(form: Form) -> _Set:
    def between(name: str, label: str, least: int, most: int) -> int:
        found = whole(given(form, name, label), label, name)
        if not least <= found <= most:
            raise InvalidInput(
                f"{label}: write a whole number from {least} to {most}.", parameter=name
            )
        return found

    epsilon = exact(given(form, "epsilon", "ε"), owner="The laboratory")
    clip = float(decimal(given(form, "clip", "Upper clip"), "Upper clip", "clip"))
    if not 1 / 100 <= epsilon <= 20:
        raise InvalidInput("Choose an ε from 0.01 to 20.", parameter="epsilon")
    if not 1 <= clip <= 200:
        raise InvalidInput("Choose an upper clip from 1 to 200.", parameter="clip")
    return _Set(
        str(epsilon),
        between("days", "Days", 40, 365),
        between("size", "Trips a day", 5, 500),
        between("outliers", "Very long trips", 1, 50),
        clip,
        between("seed", "Draw", 0, 10**9),
    )


def _run(chosen: _Set) -> dict[str, Any]:
    """Publish both ways and let two adversaries look: one with the series alone, one who knows all.

    The stream is drawn from the seed; our publisher's noise is the operating system's, as always.
    """
    random = np.random.default_rng(chosen.seed)
    stream = porto_like(random, size=chosen.size, days=chosen.days, outliers=chosen.outliers)
    clip = (0.0, chosen.clip)
    naive = [naive_release(stream.days, chosen.epsilon, rng=random) for _ in range(_REDRAWS)]
    ours = [publish_days(stream.days, clip=clip, epsilon=chosen.epsilon) for _ in range(_REDRAWS)]
    worst = max(stream.days, key=lambda day: float(np.max(day)))
    others = np.delete(worst, worst.argmax())
    plan = question_for(chosen.days, clip, view="each_period", epsilon=chosen.epsilon).plan
    strongest = (
        naive_power(others, float(worst.max()), float(exact(chosen.epsilon, owner="ε"))),
        publisher_power(plan),
    )
    return {
        "sides": [
            _side("Noise that follows the data", False, stream, naive, strongest[0]),
            _side("Our publisher", True, stream, ours, strongest[1]),
        ],
        "power": _power_chart(strongest),
        "longest": float(worst.max()),
    }


def _side(
    title: str,
    ours: bool,
    stream: Stream,
    series: list[npt.NDArray[np.float64]],
    strongest: Power,
) -> dict[str, Any]:
    width = 5
    verdicts = [attack(one, width=width, outliers=stream.outlying).verdict for one in series]
    areas = [found.auc for found in verdicts if found is not None]
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
    line = charts.trace("lines", x, y, name="released mean", tone=tone)
    marks = charts.trace(
        "markers",
        days[marked].tolist(),
        values[marked].round(4).tolist(),
        name="a very long trip that day",
        tone="danger",
        marker={"size": 9, "symbol": "circle-open", "line": {"width": 2}},
    )
    return charts.chart([line, marks], x="day", y="km", label=title, showlegend=True)


def _power_chart(strongest: tuple[Power, Power]) -> dict[str, Any]:
    cuts = np.linspace(0.0, 1.0, 101).tolist()
    names = (("noise that follows the data", "accent"), ("our publisher", "ok"))
    traces = [
        charts.trace(
            "lines",
            [round(cut, 3) for cut in cuts],
            [round(found.at(cut), 4) for cut in cuts],
            name=name,
            tone=tone,
        )
        for found, (name, tone) in zip(strongest, names, strict=True)
    ]
    diagonal: dict[str, Any] = {"name": "guessing", "tone": "muted", "line": {"dash": "dot"}}
    guessing = charts.trace("lines", [0, 1], [0, 1], **diagonal)
    return charts.chart(
        [*traces, guessing],
        x="false alarms",
        y="power",
        label="Power of the strongest adversary against each publication",
        showlegend=True,
    )

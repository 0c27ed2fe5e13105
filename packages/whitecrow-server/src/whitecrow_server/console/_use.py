"""Who asked what, how the budget went over time, and when it will end at this pace.

All of it is in the ledger: questions, prices, outcomes and moments. No record is looked at.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from whitecrow.privacy import rounded_up
from whitecrow.rendering import Axis, Dot, Plot
from whitecrow.terms import LINES
from whitecrow_server.console._datasets import READERS
from whitecrow_server.console._show import gauges
from whitecrow_server.console._site import Page, Site, Visit

_AT_ONCE = 1_000
_MOST_ENTRIES = 10_000
"""The page tells the newest so many entries; the report of an account tells all."""
_LATEST = 25
_PACE_DAYS = 30.0
_SHORTEST_DAYS = 1.0
"""A pace is told after a day at least: a busy first hour says little."""
_UNITS = (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0), ("seconds", 1.0))
_CLOSED = {"settle": "answered", "fail": "failed", "void": "given back"}


@dataclass(frozen=True)
class Spend:
    """One question of an account: when, by whom, of which kind, at what price, what came of it."""

    at: datetime.datetime
    analyst: str
    kind: str
    notion: str
    epsilon: Fraction | None
    rho: Fraction | None
    outcome: str

    @property
    def price(self) -> str:
        if self.epsilon is not None:
            return f"ε {rounded_up(self.epsilon)}"
        return f"ρ {rounded_up(self.rho or Fraction(0))}"

    def counts(self, line: str) -> Fraction:
        """Its part of a line of the account, as a plain sum; Gaussian noise is summed apart."""
        if self.outcome == "given back" or self.epsilon is None:
            return Fraction(0)
        return self.epsilon if LINES.index(self.notion) <= LINES.index(line) else Fraction(0)


def add(site: Site) -> None:
    service = site.service

    def page(visit: Visit) -> Page:
        name = visit.part("name")
        dataset = service.dataset(visit.who, name)
        entries: list[Mapping[str, Any]] = []
        before = None
        while len(entries) < _MOST_ENTRIES:
            portion = service.account(
                visit.who, name, before=before, limit=_AT_ONCE, newest_first=True
            )["entries"]
            entries += portion
            if len(portion) < _AT_ONCE:
                break
            before = portion[-1]["seq"]
        asked = spends(reversed(entries))
        bars = gauges(dataset)
        bar = next((gauge for gauge in bars if not gauge["unbounded"]), bars[0] if bars else None)
        now = datetime.datetime.now(datetime.UTC)
        values = {
            "dataset": dataset,
            "asked": len(asked),
            "by": _by_analyst(asked),
            "latest": asked[::-1][:_LATEST],
            "cut": len(entries) >= _MOST_ENTRIES,
            "picture": _over_time(asked, bar, now) if asked and bar else None,
            "projection": "" if bar is None else projected(asked, bar, now),
        }
        return Page("use.html", values)

    site.get("/datasets/{name}/use", page, roles=READERS)


def spends(entries: Iterable[Mapping[str, Any]]) -> list[Spend]:
    told = list(entries)
    closed = {entry["closes"]: entry["kind"] for entry in told if entry["closes"] is not None}
    return [
        Spend(
            datetime.datetime.fromisoformat(entry["at"]),
            entry["analyst"],
            str(entry["body"]["question"]["kind"]),
            str(entry["body"]["price"]["notion"]),
            _amount(entry["body"]["price"], "epsilon"),
            _amount(entry["body"]["price"], "rho"),
            _CLOSED.get(closed.get(entry["seq"], ""), "no answer yet"),
        )
        for entry in told
        if entry["kind"] == "reserve"
    ]


def _amount(price: Mapping[str, Any], name: str) -> Fraction | None:
    return Fraction(price[name]) if name in price else None


def _by_analyst(asked: Sequence[Spend]) -> list[dict[str, Any]]:
    """One row a person: how often which question, at what price in all, when last."""
    rows = []
    for name in sorted({entry.analyst for entry in asked}):
        own = [entry for entry in asked if entry.analyst == name]
        often = Counter(entry.kind for entry in own).most_common()
        rows.append(
            {
                "name": name,
                "asked": len(own),
                "kinds": ", ".join(f"{kind} {number}" for kind, number in often),
                "epsilon": sum((entry.counts(LINES[-1]) for entry in own), Fraction(0)),
                "last": own[-1].at.isoformat(),
            }
        )
    return rows


def projected(asked: Sequence[Spend], bar: Mapping[str, Any], now: datetime.datetime) -> str:
    """When the budget ends at the pace of the last 30 days."""
    if bar["left"] <= 0:
        return "The budget is used up. Raise it on the policy page, with a reason, or leave it."
    if not asked:
        return "Nothing was asked yet."
    days = (now - asked[0].at).total_seconds() / 86400
    if days < _SHORTEST_DAYS:
        return "Asked for less than a day: too early for a pace."
    window = min(days, _PACE_DAYS)
    since = now - datetime.timedelta(days=window)
    spent = sum((entry.counts(bar["line"]) for entry in asked if entry.at >= since), Fraction(0))
    if not spent:
        return f"Nothing was spent in the last {window:.0f} days; at this pace it does not end."
    left = float(bar["left"]) * window / float(spent)
    if left > 3650:
        return "At this pace it lasts for more than ten years."
    end = now + datetime.timedelta(days=left)
    return f"At the pace of the last {window:.0f} days the budget ends about {end:%d %B %Y}."


def _over_time(
    asked: Sequence[Spend], bar: Mapping[str, Any], now: datetime.datetime
) -> dict[str, Any]:
    """What was spent over the days, as steps, below the cap."""
    start, line, cap = asked[0].at, bar["line"], float(bar["cap"])
    long = max(now, asked[-1].at) - start
    fits = (unit for unit in _UNITS if long.total_seconds() >= 2 * unit[1])
    unit, seconds = next(fits, _UNITS[-1])

    def since(at: datetime.datetime) -> float:
        return (at - start).total_seconds() / seconds

    total, points = Fraction(0), [Dot(0.0, 0.0)]
    for entry in asked:
        total += entry.counts(line)
        points.append(Dot(since(entry.at), float(total)))
    last = max(since(start + long), 1.0)
    spent = f"{rounded_up(total)} of {cap:g}"
    plot = Plot(
        Axis(f"{unit} since {start:%d %B %Y, %H:%M}", 0, last),
        Axis("ε spent", 0, 1.05 * max(cap, float(total)) or 1.0),
        f"What was spent over {last:.0f} {unit}: ε {spent}",
        height=240,
    )
    plot.line([(0, cap), (last, cap)], "muted", name="budget")
    steps = [
        corner
        for before, after in pairwise((*points, Dot(last, float(total))))
        for corner in ((before.x, before.y), (after.x, before.y), (after.x, after.y))
    ]
    plot.line(steps, "accent", name="spent")
    return {"svg": plot.svg(), "spent": spent}

"""An account as one page, for the custodian: what was asked, what it cost, what is promised.

The page holds what the ledger holds: questions, prices, released answers. No record is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from whitecrow.errors import WhitecrowError
from whitecrow.ledger import Entry, Ledger
from whitecrow.privacy import Guarantee, ZeroConcentrated, guarantee, rounded_down, rounded_up
from whitecrow.question import Said, answer_parts, how_to_read
from whitecrow.questions import read_question
from whitecrow.rendering import Axis, Dot, Plot, figure, gauge, page, panel, quoted, table
from whitecrow.terms import COVERS

_SHOWN = 200
"""How many answers are shown in full; the table lists all of them."""


@dataclass(frozen=True)
class _Spent:
    """One question of the account, and what became of it."""

    seq: int
    at: str
    analyst: str
    kind: str
    price: Guarantee
    answer: Said | None
    outcome: str

    @property
    def when(self) -> str:
        return self.at[:16].replace("T", " ")

    @property
    def amount(self) -> str:
        if isinstance(self.price, ZeroConcentrated):
            return f"ρ {rounded_up(self.price.rho)}"
        return rounded_up(self.price.epsilon)


def account_page(ledger: Ledger, name: str, entries: Sequence[Entry] | None = None) -> str:
    """Return the page of one account; of these ``entries``, where not all may be told yet."""
    snapshot = ledger.snapshot(name)
    told = ledger.entries(name) if entries is None else entries
    asked = _asked(told)
    left = snapshot.remaining()
    gauges = "".join(
        gauge(
            f"For {COVERS[line]}",
            f"{rounded_down(amount)} of {rounded_down(snapshot.budget.cap(line))} left",
            float(amount / snapshot.budget.cap(line)) if snapshot.budget.cap(line) else 0.0,
        )
        for line, amount in left.items()
    )
    if "differential" in left.unbounded:
        gauges += '<p class="note">The guarantee for everyone no longer covers the total.</p>'
    if snapshot.budget.count_by == "either":
        gauges += '<p class="note">Left is the largest ε of one more question: answers count by '
        gauges += "the sum of ε or of ρ, whichever is less.</p>"
    who = sorted({one.analyst for one in asked})
    lead = (
        f"{len(asked)} questions by {len(who)} {'person' if len(who) == 1 else 'people'}, "
        f"{sum(one.outcome in ('failed', 'no answer') for one in asked)} without an answer."
    )
    promises = snapshot.spent.totals(snapshot.budget.delta).statements()
    most = max(snapshot.budget.cap(line) for line in left)
    body = [
        panel("Budget", gauges + _over_time(asked, most), name="budget"),
        panel("What is promised", "".join(map(quoted, promises)), name="promise"),
        panel("Questions", _listed(asked), name="questions"),
        *[
            panel(
                f"{one.kind}, {one.when}",
                answer_parts(one.answer, one.price.statement()),
                name=f"entry-{one.seq}",
            )
            for one in asked[-_SHOWN:]
            if one.answer is not None
        ],
        panel(
            "Chain",
            f"<p>{len(told)} entries. Newest hash: <code class=hash>{told[-1].hash}</code></p>"
            "<p>Note it elsewhere; <code>whitecrow ledger verify</code> then finds a chain that "
            "was cut or replaced.</p>" + how_to_read(),
            name="chain",
        ),
    ]
    return page(f"The account of {name}", lead, "".join(body), kind="custodian's report")


def _asked(entries: Sequence[Entry]) -> list[_Spent]:
    outcomes = {"settle": "answered", "fail": "failed", "void": "given back"}
    closing = {entry.closes: entry for entry in entries if entry.closes is not None}
    asked = []
    for entry in entries:
        if entry.kind != "reserve":
            continue
        closed = closing.get(entry.seq)
        outcome = "no answer" if closed is None else outcomes.get(closed.kind, "no answer")
        question, answer = entry.content["question"], None
        if closed is not None and closed.kind == "settle":
            answer = _in_words(question, closed.content.get("answer"))
        price = guarantee(entry.content["price"])
        kind = str(question["kind"])
        asked.append(_Spent(entry.seq, entry.at, entry.analyst, kind, price, answer, outcome))
    return asked


def _in_words(question: Any, answer: Any) -> Said:
    """An answer in its question's words; plainly where the question is no longer installed."""
    try:
        return read_question(question).says(answer)
    except WhitecrowError:
        return Said(str(answer))


def _listed(asked: Sequence[_Spent]) -> str:
    rows = []
    for one in asked:
        answer = one.answer.headline if one.answer else one.outcome
        rows.append((one.when, one.analyst, one.kind, answer, one.amount, one.price.notion))
    return table(("When (UTC)", "Who", "Question", "Answer", "ε", "Covers"), rows)


def _over_time(asked: Sequence[_Spent], cap: Fraction) -> str:
    """What was spent, question by question: a plain sum, which discounts only make smaller."""
    total, points = Fraction(0), [Dot(0, 0.0, "opened")]
    for number, one in enumerate(asked, start=1):
        if one.outcome != "given back" and not isinstance(one.price, ZeroConcentrated):
            total += one.price.epsilon
        words = f"{one.when}, {one.analyst}: {one.kind}, ε {one.amount}; {rounded_up(total)} in all"
        points.append(Dot(number, float(total), words))
    if not asked:
        return "<p>Nothing was asked yet.</p>"
    plot = Plot(
        Axis("question", 0, len(asked)),
        Axis("ε spent", 0, 1.05 * max(float(cap), float(total))),
        "What was spent, question by question",
        height=240,
    )
    plot.line([(0, float(cap)), (len(asked), float(cap))], "muted", name="budget")
    steps = [
        place
        for before, after in pairwise(points)
        for place in ((before.x, before.y), (after.x, before.y), (after.x, after.y))
    ]
    plot.line(steps, "accent", name="spent")
    plot.dots(points)
    return figure(
        "What was spent, question by question, as a plain sum; questions about places that do not "
        "meet cost less than that together.",
        plot.svg(),
    )

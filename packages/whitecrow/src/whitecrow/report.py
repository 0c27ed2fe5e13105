"""An account for others to read: one page for its custodian, a draft entry for a public registry.

The page holds what the ledger holds: questions, prices, released answers. The Differential Privacy
Deployments Registry (OpenDP and others, 2025) collects how differential privacy is used in
practice. What an account knows is filled in there; what only people know is marked
:data:`TO_FILL_IN`. No record is read for either: promises, caps and kinds of questions are public.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version
from typing import Any

from whitecrow.errors import InvalidInput, WhitecrowError
from whitecrow.ledger import Entry, Ledger
from whitecrow.ledger.revisions import revisions
from whitecrow.ledger.states import States
from whitecrow.privacy import Guarantee, ZeroConcentrated, guarantee, rounded_down, rounded_up
from whitecrow.privacy.numbers import float_up
from whitecrow.question import Said, answer_parts, how_to_read
from whitecrow.questions import read_question
from whitecrow.rendering import Axis, Dot, Plot, figure, gauge, page, panel, quoted, table
from whitecrow.terms import COVERS

_SHOWN = 200  # how many answers are shown in full; the table lists all of them
_HEAD = ("When (UTC)", "Who", "Question", "Answer", "ε", "Covers")


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
    def row(self) -> tuple[str, ...]:
        answer = self.answer.headline if self.answer else self.outcome
        return self.when, self.analyst, self.kind, answer, self.amount, self.price.notion

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
    who = sorted({entry.analyst for entry in asked})
    lead = (
        f"{len(asked)} questions by {len(who)} {'person' if len(who) == 1 else 'people'}, "
        f"{sum(entry.outcome in ('failed', 'no answer') for entry in asked)} without an answer."
    )
    promises = snapshot.spent.totals(snapshot.budget.delta).statements()
    most = max(snapshot.budget.cap(line) for line in left)
    body = [
        panel("Budget", gauges + _over_time(asked, most), name="budget"),
        panel("What is promised", "".join(map(quoted, promises)), name="promise"),
        panel("Questions", table(_HEAD, [spent.row for spent in asked]), name="questions"),
        *[
            panel(
                f"{entry.kind}, {entry.when}",
                answer_parts(entry.answer, entry.price.statement()),
                name=f"entry-{entry.seq}",
            )
            for entry in asked[-_SHOWN:]
            if entry.answer is not None
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


def _over_time(asked: Sequence[_Spent], cap: Fraction) -> str:
    """What was spent, question by question: a plain sum, which discounts only make smaller."""
    total, points = Fraction(0), [Dot(0, 0.0, "opened")]
    for number, spend in enumerate(asked, start=1):
        if spend.outcome != "given back" and not isinstance(spend.price, ZeroConcentrated):
            total += spend.price.epsilon
        words = f"{spend.when}, {spend.analyst}: {spend.kind}, ε {spend.amount}; "
        words += f"{rounded_up(total)} in all"
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
    plot.steps([(dot.x, dot.y) for dot in points], "accent", name="spent")
    plot.dots(points)
    return figure(
        "What was spent, question by question, as a plain sum; questions about places that do not "
        "meet cost less than that together.",
        plot.svg(),
    )


UNIT = "unit of privacy"
"""Under which name an account keeps whom it protects."""

TO_FILL_IN = "TO BE FILLED IN"

_NEIGHBOURS = {
    "add_remove": "Two datasets are adjacent if one has one {unit} more than the other.",
    "replace_one": "Two datasets are adjacent if one {unit} has other values in one of them.",
}
_COMPOSITION = (
    "Pure losses add up; questions about one place cost a record only if it lies there, so the "
    "price of several is the largest sum over the places; zero-concentrated losses are added and "
    "read once as (epsilon, delta). Sums are exact fractions, reserved before a record is read."
)
_POST_PROCESSING = (
    "Counts are raised to 0; thresholds, scores and drawings are computed from what was released."
)
_MECHANISMS = (
    "whitecrow {version} ({kinds}). Answers are drawn by exact rational arithmetic from the "
    "operating system's randomness, so no floating-point number decides. The service replies at "
    "published moments. The records stay with the curator; analysts send questions, not code."
)
_ALL_COVERED = "Questions, prices and the card are public. No record is released as it is."
_NOT_COVERED = (
    "Records that the promise names as not covered are not protected; the details of the "
    "privacy unit say which. Questions, prices and the card are public."
)
_ACTORS = (
    "The custodian is trusted with the records. Analysts are not trusted: they may know all "
    "records but one, choose each question from earlier answers, and work together."
)


def registry_entry(ledger: Ledger, dataset: str) -> dict[str, Any]:
    """Return the draft of an entry as a plain JSON object (JSON is YAML too)."""
    snapshot = ledger.snapshot(dataset)
    settled = ledger.entries(dataset, kind="settle")
    if not settled:
        raise InvalidInput(
            f"Nothing was released under the account {dataset!r} yet, so there is no deployment to "
            "describe. Ask a question first."
        )
    closed = {entry.closes for entry in settled}
    kinds = Counter(
        str(entry.content["question"]["kind"])
        for entry in ledger.entries(dataset, kind="reserve")
        if entry.seq in closed
    )
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    totals = snapshot.spent.totals(snapshot.budget.delta)
    protected = States(ledger, dataset, released=False).load(UNIT)
    unit = "record" if protected is None else protected[1]["unit"]
    promise = totals.differential or totals.sensitive or totals.conditional
    if totals.differential is None:
        variant, unprotected = "Custom", _NOT_COVERED
    elif isinstance(totals.differential, ZeroConcentrated):
        variant, unprotected = "Zero-concentrated DP", _ALL_COVERED
    else:
        variant = "Approximate DP" if totals.differential.delta else "Pure DP"
        unprotected = _ALL_COVERED
    amounts = {name: getattr(promise, name, None) for name in ("epsilon", "delta", "rho")}
    caps = ", ".join(f"{name} {cap}" for name, cap in snapshot.budget.to_json().items())
    return {
        "url_slug": re.sub(r"[^a-z0-9]+", "_", dataset.lower()).strip("_") or "dataset",
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": {
                "name": dataset,
                "data_curators": [TO_FILL_IN],
                "description": f"Answers about outliers: {listed}.",
                "intended_use": TO_FILL_IN,
                "data_product_type": "Interactive API",
                "data_product_region": TO_FILL_IN,
                "publication_date": settled[0].at[:10],
            },
            "dp_variant": {
                "variant_name": variant,
                "data_domain": TO_FILL_IN,
                "unprotected_quantities": unprotected,
            },
            "privacy_loss": {
                "privacy_unit": unit,
                "privacy_unit_details": _NEIGHBOURS[snapshot.rules.unit].format(unit=unit),
                "privacy_parameters": {
                    name: float_up(amount) for name, amount in amounts.items() if amount
                },
                "privacy_parameters_details": " ".join(totals.statements()),
            },
            "deployment_model": {
                "model_name": "Central",
                "actors": _ACTORS,
                "release_type": "Many releases",
                "release_type_details": f"All releases together stay within fixed caps ({caps}); "
                "they are not renewed.",
                "data_source_type": "Dynamic" if len(revisions(ledger, dataset)) > 1 else "Static",
                "access_type": "Interactive",
                "access_type_details": "The dataset's cap counts all analysts together; an analyst "
                "may have a cap of their own beside it. Collusion is assumed.",
            },
            "accounting": {"post_processing": _POST_PROCESSING, "composition": _COMPOSITION},
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": "Bounds and categories are on a card "
                "that is written from public knowledge, or bought by questions of this account.",
                "mechanisms": _MECHANISMS.format(
                    version=version("whitecrow"), kinds=", ".join(sorted(kinds))
                ),
                "justification": TO_FILL_IN,
            },
            "administrative": {
                "registry_authors": [TO_FILL_IN],
                "notes": f"Drafted from the account's chain, head {snapshot.head}.",
            },
        },
    }

"""Datasets: the list, one of them, and a first question for whoever has asked nothing yet."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from whitecrow.curator import Policy
from whitecrow.data import Card
from whitecrow.declaration import Choice
from whitecrow.errors import NotReady
from whitecrow.ledger import Budget
from whitecrow.privacy import Guarantee, ZeroConcentrated, odds_factor, rounded_up
from whitecrow.question import Question
from whitecrow.questions import kinds, question_type
from whitecrow.rendering import number
from whitecrow_server import Service
from whitecrow_server._people import Person
from whitecrow_server.console._show import up
from whitecrow_server.console._site import Form, Page, Site, Visit

ASKING = ("analyst", "custodian")
CUSTODIAN = ("custodian",)
READERS = ("custodian", "auditor")


def add(site: Site) -> None:
    service = site.service

    def datasets(visit: Visit) -> Page:
        names = [entry["name"] for entry in service.datasets(visit.who)]
        listed = [service.dataset(visit.who, name) for name in names]
        return Page("datasets.html", {"datasets": listed})

    def dataset(visit: Visit) -> Page:
        shown = service.dataset(visit.who, visit.part("name"))
        values = {
            "dataset": shown,
            "card": shown["card"],
            "promise": promised(shown),
            "questions": _open_questions(shown, visit.who.name),
            "steps": stepping(service, visit.who, shown),
            "intake": None,
            "first": None,
        }
        card, analyst = card_in(shown), visit.who.role == "analyst"
        if analyst and card is not None and not service.asked(visit.who, shown["name"], limit=1):
            may = [question["kind"] for question in values["questions"]]
            values["first"] = first_question(card, may, shown["remaining"])
        if visit.who.role in CUSTODIAN:
            values["intake"] = service.intake(visit.who, shown["name"])
        return Page("dataset.html", values)

    site.get("", datasets)
    site.get("/datasets/{name}", dataset)


def card_in(dataset: Mapping[str, Any]) -> Card | None:
    return None if dataset["card"] is None else Card.from_json(dataset["card"])


def loaded_card(dataset: Mapping[str, Any]) -> Card:
    """The card of a dataset whose schema is read."""
    card = card_in(dataset)
    if card is None:
        raise NotReady("This dataset is being loaded; come back in a moment.")
    return card


def promised(dataset: Mapping[str, Any]) -> list[str]:
    return promise(
        Policy.from_json(dataset["policy"]), Budget.of(dataset["budget"]), card_in(dataset)
    )


def stepping(service: Service, who: Person, dataset: dict[str, Any]) -> bool:
    """Whether a custodian is still on the way from a file to a first question about it."""
    card = dataset["card"]
    if who.role not in CUSTODIAN:
        return False
    described = card is not None and all(
        column.get("type") != "text" and ("lower" in column or column.get("categories"))
        for column in card["columns"]
    )
    asked = service.asked(who, dataset["name"], limit=10)
    return not described and all(entry["question"]["kind"] == "profile" for entry in asked)


def _open_questions(dataset: dict[str, Any], analyst: str) -> list[dict[str, Any]]:
    """The questions that the policy lets an analyst ask, the most useful first."""
    policy = Policy.from_json(dataset["policy"])
    allowed = set(kinds()) if policy.questions is None else set(policy.questions)
    if policy.analysts:
        allowed &= set(policy.analysts.get(analyst, policy.analysts.get("*", ())))
    asked = ((kind, question_type(kind).question) for kind in by_use(allowed & set(kinds())))
    return [
        {
            "kind": kind,
            "title": question.__name__,
            "asks": question.asks,
            "notions": [notion for notion in _notions(question) if notion in policy.notions],
        }
        for kind, question in asked
    ]


def _notions(question: type[Question]) -> tuple[str, ...]:
    """Which guarantees its answers can have; the usual one first."""
    notion = question.parameters.get("notion")
    if not isinstance(notion, Choice):
        return ("differential",)
    usual = str(notion.default)
    return (usual, *(str(choice) for choice in notion.choices if choice != usual))


_ORDER = (
    *("learn", "screening", "screen", "count", "profile", "subspaces", "explain", "monitor"),
    *("publish", "tune", "lookahead"),
)
"""Those that protect everyone and are of use to most come first."""
_LAST = "identify"
"""Its usual answer ends the guarantee for everyone."""
_WHY = {
    "learn": "One price buys a detector. It then scores any number of records, free.",
    "screen": "Describe a record that is not in the data: would it stand out?",
    "count": "How many records have few others near them?",
    "profile": "What do the columns look like? Quantiles and histograms, under a promise.",
    "identify": "Is this record an anomaly among the others?",
}
_PRICES = ("1", "1/2", "1/4", "1/10", "1/20", "1/50", "1/100")
_SHARE = 4
"""A first question should leave three quarters of the budget, where it can."""
_COLUMNS = 3

STEPS = (
    ("describe", "Describe. It is filled in for you; change what you like."),
    ("price", "See the price and the expected error. This is free."),
    ("ask", "Ask. Only this button spends."),
)
"""The way to an answer."""


@dataclass(frozen=True)
class First:
    """A suggestion: the kind of question, why this one, and what its form holds."""

    kind: str
    why: str
    typed: Form


def by_use(kinds: Collection[str]) -> list[str]:
    """Order kinds of questions by their use; those of other packages come before the last.

    Examples
    --------
    >>> by_use(["identify", "mine", "learn"])
    ['learn', 'mine', 'identify']
    """
    rank = {kind: number for number, kind in enumerate(_ORDER)}
    return sorted(kinds, key=lambda kind: (kind == _LAST, rank.get(kind, len(rank)), kind))


def first_question(
    card: Card, allowed: Collection[str], remaining: Mapping[str, Any]
) -> First | None:
    """Suggest a first question; None where the policy lets none of the usual ones be asked.

    Everything comes from public facts: the card's bounds, the policy, what is left.

    Examples
    --------
    >>> from whitecrow import demo
    >>> found = first_question(Card.load(demo.CARD), ["count", "learn"], {"differential": "1"})
    >>> found.kind, found.typed.one("epsilon")
    ('learn', '1/4')
    """
    kind = next((kind for kind in by_use(allowed) if kind in _WHY), None)
    if kind is None:
        return None
    left = Fraction(str(remaining.get("differential", "0")))
    price = next((amount for amount in _PRICES if Fraction(amount) * _SHARE <= left), _PRICES[-1])
    numbers = [
        column
        for column in card.columns
        if column.type in ("number", "integer")
        and column.lower is not None
        and column.upper is not None
    ][:_COLUMNS]
    typed = {"epsilon": [price]}
    if kind == "count":
        typed["columns"] = [column.name for column in numbers]
    if kind in ("screen", "identify"):
        for column in numbers:
            middle = (float(column.lower or 0) + float(column.upper or 0)) / 2
            typed[f"record.{column.name}"] = [f"{round(middle):d}"]
    return First(kind, _WHY[kind], Form(typed))


# What a budget and a policy promise, in plain words: the statement a custodian signs


def promise(policy: Policy, budget: Budget, card: Card | None) -> list[str]:
    """Return the promise as sentences, each true of every answer that may ever be given.

    Examples
    --------
    >>> for sentence in promise(Policy(notions=("differential",)), Budget.of("1"), None):
    ...     print(sentence)
    What is protected is one record: whether it is in the data or not.
    All answers together change the odds of any conclusion about anyone by at most 2.72 times
    (ε = 1).
    """
    sentences = [_unit(policy, card)]
    if {"differential", "concentrated"} & set(policy.notions):
        sentences.append(_everyone(policy, budget))
    if "sensitive" in policy.notions:
        sentences += _sensitive(policy, budget)
    if "conditional" in policy.notions:
        sentences.append(
            "Explanations may be promised on a condition. Where the condition fails, and for the "
            "record that is asked about, nothing is promised; from the first such answer on, no "
            "unconditional promise holds for all answers together. While the conditions hold, the "
            f"odds change by at most {_times(budget.conditional)}."
        )
    if policy.max_epsilon is not None:
        sentences.append(
            f"One answer alone changes the odds by at most {_times(policy.max_epsilon)}."
        )
    if policy.questions is not None:
        asked = f"Only these questions are answered: {', '.join(policy.questions)}."
        sentences.append(asked if policy.questions else "No question is answered.")
    for name, allowed in policy.analysts.items():
        whom = "Everybody else" if name == "*" else name
        sentences.append(f"{whom} may ask: {', '.join(allowed) or 'nothing'}.")
    return sentences


def _unit(policy: Policy, card: Card | None) -> str:
    if card is not None and card.unit == "user":
        what = f"one person, with up to {card.contribution} records"
    else:
        what = "one record"
    if policy.unit == "replace_one":
        return f"What is protected is {what}: the values. That it is in the data may be known."
    return f"What is protected is {what}: whether it is in the data or not."


def _everyone(policy: Policy, budget: Budget) -> str:
    alone = not {"sensitive", "conditional"} & set(policy.notions)
    which = "All answers together" if alone else "The answers that protect everyone, together,"
    slip = f", except with a chance of {float(budget.delta):.3g}" if budget.delta else ""
    times = _times(budget.differential)
    return f"{which} change the odds of any conclusion about anyone by at most {times}{slip}."


def _sensitive(policy: Policy, budget: Budget) -> list[str]:
    sentences = [
        "Some answers may protect only records with enough similar records: whether a record far "
        "from all others is in the data may be learned. From the first such answer on, no bound "
        "holds for everyone; for the records covered by every answer the odds change by at most "
        f"{_times(budget.sensitive)}."
    ]
    if policy.max_tau is not None and policy.min_radius is not None:
        sentences.append(
            f"A record with at least {policy.max_tau} records that pass the card (itself included) "
            f"within {policy.min_radius:g} of it is covered by every answer."
        )
    else:
        sentences.append(
            "Which records are covered is left to the questions: set the largest τ and the "
            "smallest radius to promise it in advance."
        )
    return sentences


def _times(epsilon: Fraction) -> str:
    return f"{odds_factor(epsilon)} times (ε = {rounded_up(epsilon)})"


def meaning(price: Guarantee) -> str:
    """What a price means for somebody in the data, in one sentence."""
    if isinstance(price, ZeroConcentrated):
        return (
            f"Gaussian noise with ρ = {up(price.rho)}: typical losses are about "
            f"{number(float(2 * price.rho) ** 0.5)}, large ones are exponentially rare."
        )
    factor = odds_factor(Fraction(price.epsilon))
    whom = {
        "differential": "anybody",
        "sensitive": "a covered record",
        "conditional": "anybody else, while the condition holds,",
    }[price.notion]
    return (
        f"Whatever you believe about {whom} before the answer, the odds of it change by at most "
        f"{factor} times."
    )

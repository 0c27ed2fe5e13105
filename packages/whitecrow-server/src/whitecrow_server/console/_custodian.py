"""Datasets: the list, one of them, and what the custodian may change."""

from __future__ import annotations

from typing import Any

from whitecrow.curator import Policy
from whitecrow.data import Card
from whitecrow.declaration import Choice
from whitecrow.ledger import Budget
from whitecrow.question import Question
from whitecrow.questions import kinds, question_type
from whitecrow_server import Service
from whitecrow_server._people import Person
from whitecrow_server.console._guide import by_use, first_question
from whitecrow_server.console._promise import promise
from whitecrow_server.console._show import gauges
from whitecrow_server.console._site import Page, Site, Visit

CUSTODIAN = ("custodian",)
READERS = ("custodian", "auditor")


def add(site: Site) -> None:
    service = site.service

    def datasets(visit: Visit) -> Page:
        listed = [service.dataset(visit.who, one["name"]) for one in service.datasets(visit.who)]
        shown = [{**one, "gauges": gauges(one)} for one in listed]
        return Page("datasets.html", {"datasets": shown})

    def dataset(visit: Visit) -> Page:
        found = service.dataset(visit.who, visit.part("name"))
        values = {
            "dataset": found,
            "gauges": gauges(found),
            "card": found["card"],
            "promise": promised(found),
            "questions": _open_questions(found, visit.who.name),
            "steps": stepping(service, visit.who, found),
            "intake": None,
            "first": None,
        }
        if visit.who.role == "analyst" and found["card"] is not None:
            asked = service.account(visit.who, found["name"], limit=1)["questions"]
            if not asked:
                card = Card.from_json(found["card"])
                may = [one["kind"] for one in values["questions"]]
                values["first"] = first_question(card, may, found["remaining"])
        if visit.who.role in CUSTODIAN:
            values["intake"] = service.intake(visit.who, found["name"])
        return Page("dataset.html", values)

    site.get("", datasets)
    site.get("/datasets/{name}", dataset)


def promised(found: dict[str, Any]) -> list[str]:
    """What a dataset's budget and policy promise, in sentences."""
    card = None if found["card"] is None else Card.from_json(found["card"])
    return promise(Policy.from_json(found["policy"]), Budget.of(found["budget"]), card)


def stepping(service: Service, who: Person, found: dict[str, Any]) -> bool:
    """Whether a custodian is still on the way from a file to a first question about it."""
    card = found["card"]
    if who.role not in CUSTODIAN:
        return False
    described = card is not None and all(
        column.get("type") != "text" and ("lower" in column or column.get("categories"))
        for column in card["columns"]
    )
    asked = service.asked(who, found["name"], limit=10)
    return not described and all(one["question"]["kind"] == "profile" for one in asked)


def _open_questions(found: dict[str, Any], analyst: str) -> list[dict[str, Any]]:
    """The questions that the policy lets an analyst ask, the most useful first."""
    policy = Policy.from_json(found["policy"])
    allowed = set(kinds()) if policy.questions is None else set(policy.questions)
    if policy.analysts:
        allowed &= set(policy.analysts.get(analyst, policy.analysts.get("*", ())))
    asked = ((kind, question_type(kind).question) for kind in by_use(allowed & set(kinds())))
    return [
        {
            "kind": kind,
            "title": question.__name__,
            "asks": question.asks,
            "notions": [one for one in _notions(question) if one in policy.notions],
        }
        for kind, question in asked
    ]


def _notions(question: type[Question]) -> tuple[str, ...]:
    """Which guarantees its answers can have; the usual one first."""
    notion = question.parameters.get("notion")
    if not isinstance(notion, Choice):
        return ("differential",)
    usual = str(notion.default)
    return (usual, *(str(one) for one in notion.choices if one != usual))

"""Datasets: the list, one of them, and what the custodian may change."""

from __future__ import annotations

from typing import Any

from whitecrow.curator import Policy
from whitecrow.data import Card
from whitecrow.ledger import Budget
from whitecrow.questions import kinds, question_type
from whitecrow_server.console._guide import first_question
from whitecrow_server.console._promise import promise
from whitecrow_server.console._show import gauges
from whitecrow_server.console._site import Page, Site, Visit

CUSTODIAN = ("custodian",)


def add(site: Site) -> None:
    """Add the pages."""
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
            "promise": _promised(found),
            "questions": _open_questions(found, visit.who.name),
            "intake": None,
            "first": None,
        }
        if visit.who.role == "analyst" and found["card"] is not None:
            asked = service.account(visit.who, found["name"], limit=1)["questions"]
            if not asked:
                card = Card.from_json(found["card"])
                values["first"] = first_question(card, values["questions"], found["remaining"])
        if visit.who.role in CUSTODIAN:
            values["intake"] = service.intake(visit.who, found["name"])
        return Page("dataset.html", values)

    site.get("", datasets)
    site.get("/datasets/{name}", dataset)


def _promised(found: dict[str, Any]) -> list[str]:
    card = None if found["card"] is None else Card.from_json(found["card"])
    return promise(Policy.from_json(found["policy"]), Budget.of(found["budget"]), card)


def _open_questions(found: dict[str, Any], analyst: str) -> dict[str, Any]:
    """The questions that the policy lets an analyst ask."""
    policy = Policy.from_json(found["policy"])
    allowed = set(kinds()) if policy.questions is None else set(policy.questions)
    if policy.analysts:
        allowed &= set(policy.analysts.get(analyst, policy.analysts.get("*", ())))
    return {kind: question_type(kind).question for kind in kinds() if kind in allowed}

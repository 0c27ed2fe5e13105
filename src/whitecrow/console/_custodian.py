"""Datasets: the list, one of them, and what the custodian may change."""

from __future__ import annotations

import json
from typing import Any

from whitecrow.console._guide import first_question
from whitecrow.console._promise import promise
from whitecrow.console._show import gauges
from whitecrow.console._site import HOME, Go, Page, Site, Visit
from whitecrow.curator import Policy
from whitecrow.data import Card, is_lake
from whitecrow.errors import InvalidInput, WhitecrowError, http_status
from whitecrow.ledger import Budget
from whitecrow.neighbours import engine_names
from whitecrow.questions import kinds, question_type

__all__ = ["CUSTODIAN", "add"]

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

    def new(visit: Visit, wrong: str = "", status: int = 200) -> Page:
        values = {
            "wrong": wrong,
            "typed": visit.form,
            "engines": engine_names(),
            "files": _files(site),
        }
        databases = sorted(service.settings.databases)
        return Page("new_dataset.html", {**values, "databases": databases}, status)

    def register(visit: Visit) -> Page | Go:
        form = visit.form
        try:
            source = (
                {"database": form.one("database"), "query": form.one("query")}
                if form.one("database")
                else {"file": form.one("file")}
            )
            service.register(
                visit.who,
                form.one("name"),
                source,
                card=form.one("card") or None,
                budget=form.one("budget") or "1",
                engine=form.one("engine") or "local",
            )
        except InvalidInput as error:
            return new(visit, str(error), http_status(error))
        return Go(f"{HOME}/datasets/{form.one('name')}/policy?done=registered")

    def card_editor(visit: Visit, wrong: str = "", status: int = 200) -> Page:
        found = service.dataset(visit.who, visit.part("name"))
        text = visit.form.one("card") or json.dumps(found["card"], indent=2, ensure_ascii=False)
        values = {"dataset": found, "text": text, "wrong": wrong, "typed": visit.form}
        return Page("card.html", values, status)

    def change_card(visit: Visit) -> Page | Go:
        name, text = visit.part("name"), visit.form.one("card")
        try:
            written: Any = json.loads(text) if text.startswith("{") else text
            service.amend(visit.who, name, reason=visit.form.one("reason"), card=written)
        except (WhitecrowError, ValueError, RecursionError) as error:
            wrong = str(error) if isinstance(error, WhitecrowError) else "This is not valid JSON."
            return card_editor(visit, wrong, 422)
        return Go(f"{HOME}/datasets/{name}?done=card")

    site.get("", datasets)
    site.get("/register", new, roles=CUSTODIAN)
    site.post("/register", register, roles=CUSTODIAN)
    site.get("/datasets/{name}", dataset)
    site.get("/datasets/{name}/card", card_editor, roles=CUSTODIAN)
    site.post("/datasets/{name}/card", change_card, roles=CUSTODIAN)


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


def _files(site: Site) -> list[str]:
    """The data files that could be registered: names only, for the custodian."""
    folder = site.service.settings.folder
    if folder is None:
        return []
    kinds = (".csv", ".parquet", ".pq", ".duckdb")
    found = (path for path in folder.iterdir() if path.suffix.lower() in kinds or is_lake(path))
    return sorted(path.name for path in found)[:500]

"""Datasets: the list, one of them, and what the custodian may change."""

from __future__ import annotations

import json
from typing import Any

from whitecrow.console._promise import promise
from whitecrow.console._show import gauges
from whitecrow.console._site import HOME, Form, Go, Page, Site, Visit
from whitecrow.curator import Policy
from whitecrow.data import Card, is_lake
from whitecrow.errors import InvalidInput, WhitecrowError, http_status
from whitecrow.ledger import LINES, Budget
from whitecrow.neighbours import engine_names
from whitecrow.questions import kinds, question_type

__all__ = ["CUSTODIAN", "add"]

CUSTODIAN = ("custodian",)
NOTIONS = ("differential", "concentrated", "sensitive", "conditional")


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
        }
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

    def editor(visit: Visit, **more: Any) -> Page:
        """The policy in force, or the one that was typed, and what it would promise."""
        found = service.dataset(visit.who, visit.part("name"))
        status = more.pop("status", 200)
        policy, budget = Policy.from_json(found["policy"]), Budget.of(found["budget"])
        values = {
            "dataset": found,
            "typed": _typed(policy, budget),
            "promise": promise(policy, budget, _card(found)),
            "notions": NOTIONS,
            "kinds": list(kinds()),
            "lines": LINES,
            "preview": False,
            "wrong": "",
            "reason": visit.form.one("reason"),
        }
        return Page("policy.html", {**values, **more}, status)

    def change(visit: Visit) -> Page | Go:
        """Show what the typed policy would promise; put it in force only when told to."""
        found = service.dataset(visit.who, visit.part("name"))
        form = visit.form
        try:
            policy = _read_policy(form, found["policy"]["unit"])
            budget = Budget.of({line: form.one(line) for line in (*LINES, "delta")})
            if form.one("step") == "force":
                service.amend(
                    visit.who,
                    found["name"],
                    reason=form.one("reason"),
                    budget=budget.to_json(),
                    policy=policy.to_json(),
                )
                return Go(f"{HOME}/datasets/{found['name']}?done=policy")
            shown = {"promise": promise(policy, budget, _card(found)), "preview": True}
            return editor(visit, typed=_typed(policy, budget), **shown)
        except WhitecrowError as error:
            return editor(visit, typed=form.fields, wrong=str(error), status=http_status(error))

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
    site.get("/datasets/{name}/policy", editor, roles=CUSTODIAN)
    site.post("/datasets/{name}/policy", change, roles=CUSTODIAN)
    site.get("/datasets/{name}/card", card_editor, roles=CUSTODIAN)
    site.post("/datasets/{name}/card", change_card, roles=CUSTODIAN)


def _card(found: dict[str, Any]) -> Card | None:
    return None if found["card"] is None else Card.from_json(found["card"])


def _promised(found: dict[str, Any]) -> list[str]:
    return promise(Policy.from_json(found["policy"]), Budget.of(found["budget"]), _card(found))


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


# A policy as fields, and back

_LIMITS = ("max_epsilon", "max_tau", "min_radius", "min_tau", "max_radius")


def _typed(policy: Policy, budget: Budget) -> dict[str, list[str]]:
    written = policy.to_json()
    found = {"notions": list(policy.notions), "questions": list(policy.questions or ())}
    found |= {name: [str(written.get(name, ""))] for name in _LIMITS}
    found |= {line: [amount] for line, amount in budget.to_json().items()}
    lines = [f"{name}: {', '.join(kinds)}" for name, kinds in policy.analysts.items()]
    return {**found, "analysts": ["\n".join(lines)]}


def _read_policy(form: Form, unit: str) -> Policy:
    found: dict[str, Any] = {"notions": form.all("notions"), "unit": unit}
    if form.all("questions"):
        found["questions"] = form.all("questions")
    if form.one("max_epsilon"):
        found["max_epsilon"] = form.one("max_epsilon")
    for name, kind in (
        ("max_tau", int),
        ("min_tau", int),
        ("min_radius", float),
        ("max_radius", float),
    ):
        if form.one(name):
            try:
                found[name] = kind(form.one(name))
            except ValueError:
                raise InvalidInput(
                    f"{name}: write a number, not {form.one(name)[:50]!r}."
                ) from None
    if form.one("analysts"):
        found["analysts"] = _read_analysts(form.one("analysts"))
    return Policy.from_json(found)


def _read_analysts(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, colon, after = line.partition(":")
        if not line.strip():
            continue
        listed = [kind.strip() for kind in after.split(",") if kind.strip()]
        unknown = [kind for kind in listed if kind not in kinds()]
        if not colon or not name.strip() or unknown:
            raise InvalidInput(
                "Who may ask what: write lines such as 'ana: identify, count' with kinds among "
                f"{', '.join(kinds())}."
            )
        found[name.strip()] = listed
    return found

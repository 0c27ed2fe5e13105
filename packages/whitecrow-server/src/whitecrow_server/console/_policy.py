"""The policy as a form: whom answers protect, what they may cost, who may ask what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whitecrow.curator import Policy
from whitecrow.data import Card
from whitecrow.errors import InvalidInput, WhitecrowError, http_status
from whitecrow.ledger import LINES, Budget
from whitecrow.questions import kinds
from whitecrow.terms import COVERS
from whitecrow_server.console._custodian import CUSTODIAN
from whitecrow_server.console._fields import (
    Field,
    Group,
    choices,
    decimal,
    labels_of,
    mistake,
    whole,
)
from whitecrow_server.console._promise import promise
from whitecrow_server.console._site import HOME, Form, Go, Page, Site, Visit

_NOTIONS = tuple((notion, f"{words} ({notion})") for notion, words in COVERS.items())
_EVERYBODY_ELSE = "*"
_MAY = "may."
"""Fields of the table who may ask what begin with this; ``asking`` names its rows."""

_GROUPS = (
    Group(
        "Whom an answer must protect",
        (
            Field(
                "notions",
                "Allowed guarantees",
                "The first answer that protects fewer ends the guarantee for everyone over the "
                "total.",
                "checks",
                _NOTIONS,
                wide=True,
            ),
        ),
    ),
    Group(
        "Budget",
        (
            Field("epsilon", "ε for all answers together", "Exact: 1 or 1/2."),
            Field("delta", "δ", "0, or a small chance such as 1e-6, for Gaussian noise."),
            Field(
                "count_by",
                "How answers count",
                "By either rule, many small ones cost less, half of δ is set aside, and there is "
                "no way back.",
                "select",
                (("sum", "by the sum of ε"), ("either", "by ε or ρ, whichever is less")),
            ),
        ),
    ),
    Group(
        "Another ε for each guarantee",
        tuple(Field(line, f"For {COVERS[line]}", line) for line in LINES),
        "Where all three are the same, the one above says it.",
        folded=True,
    ),
    Group(
        "Limits of one answer",
        (
            Field("max_epsilon", "Largest ε", "Empty: the budget alone."),
            Field("max_tau", "Largest τ", "So many records near, itself included.", "number"),
            Field("min_radius", "Smallest radius", "How near.", "number"),
        ),
        "A record with τ records within the radius is then covered by every answer.",
    ),
    Group(
        "Limits at the other end",
        (
            Field("min_tau", "Smallest τ", type="number"),
            Field("max_radius", "Largest radius", type="number"),
        ),
        "They keep models near a reviewed one and make no guarantee stronger.",
        folded=True,
    ),
)


def _groups() -> tuple[Group, ...]:
    asked = Field("questions", "Allowed questions", type="checks", options=choices(kinds()))
    return (*_GROUPS, Group("Questions", (asked,)))


def add(site: Site) -> None:
    service = site.service

    def editor(visit: Visit, **more: Any) -> Page:
        """The policy in force, or the one that was typed, and what it would promise."""
        found = service.dataset(visit.who, visit.part("name"))
        status = more.pop("status", 200)
        policy, budget = Policy.from_json(found["policy"]), Budget.of(found["budget"])
        typed: Form = more.pop("typed", _typed(policy, budget, found["readers"]))
        values = {
            "dataset": found,
            "groups": _groups(),
            "typed": typed,
            "asking": typed.all("asking"),
            "kinds": kinds(),
            "alike": _may_ask(typed) == {},
            "promise": promise(policy, budget, _card(found)),
            "preview": False,
            "wrong": "",
        }
        return Page("policy.html", {**values, **more}, status)

    def change(visit: Visit) -> Page | Go:
        """Show what the typed policy would promise; put it in force only when told to."""
        found, form = service.dataset(visit.who, visit.part("name")), visit.form
        try:
            policy, budget = _read_policy(form, found["policy"]["unit"]), _read_budget(form)
            shown = {"promise": promise(policy, budget, _card(found)), "preview": True}
        except InvalidInput as error:
            wrong = mistake(error, labels_of(_groups()))
            return editor(visit, typed=form, **wrong, status=http_status(error))
        if form.one("step") != "force":
            return editor(visit, typed=form, **shown)
        try:
            service.amend(
                visit.who,
                found["name"],
                reason=form.one("reason"),
                budget=budget.to_json(),
                policy=policy.to_json(),
            )
        except WhitecrowError as error:
            wrong = mistake(error, {"reason": "Reason"})
            return editor(visit, typed=form, **shown, **wrong, status=http_status(error))
        return Go(f"{HOME}/datasets/{found['name']}?done=policy")

    site.get("/datasets/{name}/policy", editor, roles=CUSTODIAN)
    site.post("/datasets/{name}/policy", change, roles=CUSTODIAN)


def _card(found: Mapping[str, Any]) -> Card | None:
    return None if found["card"] is None else Card.from_json(found["card"])


# A policy as fields, and back

_LIMITS = ("max_epsilon", "max_tau", "min_radius", "min_tau", "max_radius")


def _typed(policy: Policy, budget: Budget, readers: Sequence[str]) -> Form:
    """The fields of a policy in force: a tick for whatever it allows."""
    written, caps, every = policy.to_json(), budget.to_json(), list(kinds())
    asked = every if policy.questions is None else list(policy.questions)
    found = {"notions": list(policy.notions), "questions": asked}
    found |= {name: [str(written.get(name, ""))] for name in _LIMITS}
    found |= {"delta": [caps["delta"]], "count_by": [budget.count_by]}
    if len({caps[line] for line in LINES}) == 1:
        found["epsilon"] = [caps[LINES[0]]]
    else:
        found |= {line: [caps[line]] for line in LINES}
    named = sorted({*policy.analysts, *readers} - {_EVERYBODY_ELSE})
    found["asking"] = [*named, _EVERYBODY_ELSE]
    others = policy.analysts.get(_EVERYBODY_ELSE, () if policy.analysts else every)
    for name in found["asking"]:
        found[f"{_MAY}{name}"] = list(policy.analysts.get(name, others))
    return Form(found)


def _may_ask(form: Form) -> dict[str, list[str]]:
    """Who may ask what, by the ticks of the table; empty where everybody may ask everything."""
    named = (name.removeprefix(_MAY) for name in form.fields if name.startswith(_MAY))
    ticked = {
        name: [kind for kind in kinds() if kind in form.all(f"{_MAY}{name}")]
        for name in (*form.all("asking"), *named)
    }
    others = ticked.get(_EVERYBODY_ELSE, list(kinds()))
    found = {name: asked for name, asked in ticked.items() if asked != others}
    return {**found, _EVERYBODY_ELSE: others} if found or others != list(kinds()) else {}


def _read_budget(form: Form) -> Budget:
    whole_budget = form.one("epsilon")
    caps = {line: form.one(line) or whole_budget for line in LINES}
    for line, cap in caps.items():
        if not cap:
            at = "epsilon" if not any(map(form.one, LINES)) else line
            raise InvalidInput("The budget is missing: how large may ε get?", parameter=at)
    rule = form.one("count_by") or "sum"
    return Budget.of({**caps, "delta": form.one("delta") or "0", "count_by": rule})


def _read_policy(form: Form, unit: str) -> Policy:
    found: dict[str, Any] = {"notions": form.all("notions"), "unit": unit}
    if not found["notions"]:
        raise InvalidInput("Allow at least one guarantee.", parameter="notions")
    if set(form.all("questions")) != set(kinds()):
        found["questions"] = form.all("questions")
    if form.one("max_epsilon"):
        found["max_epsilon"] = form.one("max_epsilon")
    labels = labels_of(_GROUPS)
    for name, read in (
        ("max_tau", whole),
        ("min_tau", whole),
        ("min_radius", decimal),
        ("max_radius", decimal),
    ):
        if form.one(name):
            found[name] = read(form.one(name), labels[name], name)
    found["analysts"] = _may_ask(form)
    return Policy.from_json(found)

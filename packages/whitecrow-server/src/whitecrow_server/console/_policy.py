"""The policy as a form: whom answers protect, what they may cost, who may ask what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from whitecrow.curator import Policy
from whitecrow.errors import InvalidInput, WhitecrowError
from whitecrow.ledger import LINES, Budget
from whitecrow.questions import kinds
from whitecrow.terms import COVERS
from whitecrow_server.console._datasets import CUSTODIAN, card_in, promise, promised
from whitecrow_server.console._forms import Field, Group, choices, decimal, labels_of, whole
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
        """The present policy, or the one that was typed, and what it would promise."""
        dataset = service.dataset(visit.who, visit.part("name"))
        policy, budget = Policy.from_json(dataset["policy"]), Budget.of(dataset["budget"])
        typed: Form = more.pop("typed", _typed(policy, budget, dataset["readers"]))
        values = {
            "dataset": dataset,
            "groups": _groups(),
            "typed": typed,
            "asking": typed.all("asking"),
            "kinds": kinds(),
            "alike": _may_ask(typed) == {},
            "promise": promised(dataset),
            "preview": False,
        }
        return Page("policy.html", {**values, **more})

    def change(visit: Visit) -> Page | Go:
        """Show what the typed policy would promise; make it effective only when told to."""
        dataset, form = service.dataset(visit.who, visit.part("name")), visit.form
        try:
            policy, budget = _read_policy(form, dataset["policy"]["unit"]), _read_budget(form)
            told = promise(policy, budget, card_in(dataset))
        except InvalidInput as error:
            return editor(visit, typed=form).refusing(error, labels_of(_groups()))
        preview = editor(visit, typed=form, promise=told, preview=True)
        if form.one("step") != "force":
            return preview
        try:
            service.amend(
                visit.who,
                dataset["name"],
                reason=form.one("reason"),
                budget=budget.to_json(),
                policy=policy.to_json(),
            )
        except WhitecrowError as error:
            return preview.refusing(error, {"reason": "Reason"})
        return Go(f"{HOME}/datasets/{dataset['name']}?done=policy")

    site.get("/datasets/{name}/policy", editor, roles=CUSTODIAN)
    site.post("/datasets/{name}/policy", change, roles=CUSTODIAN)


# A policy as fields, and back

_LIMITS: dict[str, Callable[[str, str, str], int | float]] = {
    **dict.fromkeys(("max_tau", "min_tau"), whole),
    **dict.fromkeys(("min_radius", "max_radius"), decimal),
}
"""Fields of limits, with how they are read."""


def _typed(policy: Policy, budget: Budget, readers: Sequence[str]) -> Form:
    """The fields of a policy: a tick for whatever it allows."""
    rules, caps, every = policy.to_json(), budget.to_json(), list(kinds())
    asked = every if policy.questions is None else list(policy.questions)
    fields = {"notions": list(policy.notions), "questions": asked}
    fields |= {name: [str(rules.get(name, ""))] for name in ("max_epsilon", *_LIMITS)}
    fields |= {"delta": [caps["delta"]], "count_by": [budget.count_by]}
    if len({caps[line] for line in LINES}) == 1:
        fields["epsilon"] = [caps[LINES[0]]]
    else:
        fields |= {line: [caps[line]] for line in LINES}
    named = sorted({*policy.analysts, *readers} - {_EVERYBODY_ELSE})
    fields["asking"] = [*named, _EVERYBODY_ELSE]
    others = policy.analysts.get(_EVERYBODY_ELSE, () if policy.analysts else every)
    for name in fields["asking"]:
        fields[f"{_MAY}{name}"] = list(policy.analysts.get(name, others))
    return Form(fields)


def _may_ask(form: Form) -> dict[str, list[str]]:
    """Who may ask what, by the ticks of the table; empty where everybody may ask everything."""
    named = (name.removeprefix(_MAY) for name in form.fields if name.startswith(_MAY))
    ticked = {
        name: [kind for kind in kinds() if kind in form.all(f"{_MAY}{name}")]
        for name in (*form.all("asking"), *named)
    }
    others = ticked.get(_EVERYBODY_ELSE, list(kinds()))
    listed = {name: asked for name, asked in ticked.items() if asked != others}
    return {**listed, _EVERYBODY_ELSE: others} if listed or others != list(kinds()) else {}


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
    policy: dict[str, Any] = {"notions": form.all("notions"), "unit": unit}
    if not policy["notions"]:
        raise InvalidInput("Allow at least one guarantee.", parameter="notions")
    if set(form.all("questions")) != set(kinds()):
        policy["questions"] = form.all("questions")
    if form.one("max_epsilon"):
        policy["max_epsilon"] = form.one("max_epsilon")
    labels = labels_of(_GROUPS)
    for name, read in _LIMITS.items():
        if form.one(name):
            policy[name] = read(form.one(name), labels[name], name)
    policy["analysts"] = _may_ask(form)
    return Policy.from_json(policy)

"""Who may do what: every endpoint, every role, one's own things and other people's."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from whitecrow.demo import CARD
from whitecrow.ledger import ChargeRequest
from whitecrow.privacy import DifferentialPrivacy

from .conftest import Caller, House, identify

CALLERS = ("nobody", "ana", "bob", "auditor", "custodian")
"""ana may know of the clinic, bob may not; both are analysts."""

WITNESS = f"/v1/witness/{'0' * 32}"

_fresh = itertools.count()


@dataclass(frozen=True)
class Act:
    """A request, and the status each caller gets, in the order of ``CALLERS``."""

    method: str
    route: str
    statuses: tuple[int, ...]
    body: Callable[[House], Any] = lambda house: None
    path: Callable[[House], str] = lambda house: ""
    whose: str = ""

    def __str__(self) -> str:
        return f"{self.method} {self.route} {self.whose}".strip()


def _new_dataset(house: House) -> dict[str, Any]:
    card = CARD.read_text(encoding="utf-8")
    return {"name": f"new-{next(_fresh)}", "source": {"file": "clinic.csv"}, "card": card}


def _new_person(house: House) -> dict[str, Any]:
    return {"name": f"new-{next(_fresh)}", "role": "analyst"}


def _interrupted(house: House) -> dict[str, Any]:
    """A spend of ana's that was never answered."""
    order = ChargeRequest("ana", f"digest {next(_fresh)}", {}, DifferentialPrivacy("1/1000"))
    held, _ = house.service.ledger.reserve("clinic", order)
    held.release()
    return {"entry": held.seq, "reason": "the power failed"}


def _token_of(name: str) -> Callable[[House], str]:
    def path(house: House) -> str:
        _, made = house.service.people.issue(name, days=1)
        return f"/v1/analysts/{name}/tokens/{made.id}"

    return path


def _of_somebody_new(what: str) -> Callable[[House], str]:
    """What ends all that somebody holds is tried on somebody that no other test needs."""

    def path(house: House) -> str:
        name = house.service.people.add(f"new-{next(_fresh)}", "analyst").name
        return f"/v1/analysts/{name}/{what}"

    return path


def _new_listing(house: House) -> str:
    """A dataset to be removed: one that no other test needs."""
    name = f"gone-{next(_fresh)}"
    house.service.register(
        house.service.people.get("custodian"), **{**_new_dataset(house), "name": name}
    )
    return f"/v1/datasets/{name}/removal"


def _question(house: House) -> dict[str, Any]:
    return identify(next(_fresh))


ACTS = (
    Act("GET", "/healthz", (200, 200, 200, 200, 200)),
    Act("GET", "/readyz", (200, 200, 200, 200, 200)),
    Act("GET", "/metrics", (401, 403, 403, 200, 200)),
    # Nothing was told yet, and no statement was signed; see test_witness_instance.py
    Act("GET", "/v1/witness/{ledger}", (401, 403, 403, 404, 404), path=lambda house: WITNESS),
    Act(
        "PUT",
        "/v1/witness/{ledger}",
        (401, 403, 403, 422, 422),
        lambda house: {"public": "0" * 64, "statement": "{}"},
        path=lambda house: WITNESS,
    ),
    Act("GET", "/v1/me", (401, 200, 200, 200, 200)),
    Act("GET", "/v1/datasets", (401, 200, 200, 200, 200)),
    Act("POST", "/v1/datasets", (401, 403, 403, 403, 201), _new_dataset),
    Act("GET", "/v1/datasets/{name}", (401, 200, 404, 200, 200)),
    Act(
        "PATCH",
        "/v1/datasets/{name}",
        (401, 403, 403, 403, 200),
        lambda house: {"reason": "a better budget", "budget": "1000"},
    ),
    Act(
        "PUT",
        "/v1/datasets/{name}/allowances",
        (401, 403, 403, 403, 200),
        lambda house: {"analyst": "ana", "budget": "500", "reason": "half"},
    ),
    Act(
        "POST",
        "/v1/datasets/{name}/revisions",
        (401, 403, 403, 403, 200),
        lambda house: {"reason": "May was appended"},
    ),
    Act("GET", "/v1/datasets/{name}/timeline", (401, 200, 404, 200, 200)),
    Act("POST", "/v1/datasets/{name}/price", (401, 200, 404, 403, 200), _question),
    Act("POST", "/v1/datasets/{name}/ask", (401, 200, 404, 403, 200), _question),
    Act("POST", "/v1/datasets/{name}/dummy", (401, 200, 404, 403, 200), _question),
    Act("GET", "/v1/datasets/{name}/drafts", (401, 403, 403, 403, 200)),
    Act(
        "POST",
        "/v1/datasets/{name}/drafts",
        (401, 403, 403, 403, 422),  # no profile drafted it; see test_onboarding.py
        lambda house: {"draft": {"draft": "0"}},
    ),
    Act(
        "POST",
        "/v1/datasets/{name}/advice",
        (401, 200, 404, 403, 200),
        lambda house: {
            "contamination": "0.05",
            "columns": ["age", "bmi"],
            "metric": "euclidean",
            "records": 1500,
        },
    ),
    Act(
        "POST",
        "/v1/datasets/{name}/plan",
        (401, 200, 404, 403, 200),
        lambda house: {"questions": [identify(1), identify(2)]},
    ),
    # ana learned nothing yet; see test_learn.py
    Act("GET", "/v1/datasets/{name}/detectors/{entry}", (401, 404, 404, 403, 404)),
    Act("GET", "/v1/datasets/{name}/ledger", (401, 200, 404, 200, 200)),
    Act("GET", "/v1/datasets/{name}/ledger/verification", (401, 403, 403, 200, 200)),
    Act("POST", "/v1/datasets/{name}/ledger/voids", (401, 403, 403, 403, 200), _interrupted),
    Act(
        "POST",
        "/v1/datasets/{name}/ledger/reviews",
        (401, 403, 403, 403, 403),  # nothing has failed here; see test_custodian.py
        lambda house: {"entry": 1, "reason": "looked"},
    ),
    Act("GET", "/v1/analysts", (401, 403, 403, 200, 200)),
    Act("POST", "/v1/analysts", (401, 403, 403, 403, 201), _new_person),
    Act("GET", "/v1/analysts/{name}", (401, 200, 404, 200, 200), whose="ana"),
    Act(
        "PATCH",
        "/v1/analysts/{name}",
        (401, 403, 403, 403, 200),
        lambda house: {"disabled": False},
        whose="ana",
    ),
    Act(
        "POST",
        "/v1/analysts/{name}/password",
        (401, 403, 403, 403, 201),
        path=_of_somebody_new("password"),
    ),
    Act(
        "DELETE",
        "/v1/analysts/{name}/tokens",
        (401, 404, 404, 403, 200),
        path=_of_somebody_new("tokens"),
    ),
    Act("GET", "/v1/analysts/{name}/tokens", (401, 200, 404, 403, 200), whose="ana"),
    Act(
        "POST",
        "/v1/analysts/{name}/tokens",
        (401, 201, 404, 403, 201),
        lambda house: {"days": 1},
        whose="ana",
    ),
    Act(
        "DELETE",
        "/v1/analysts/{name}/tokens/{token}",
        (401, 200, 404, 403, 200),
        path=_token_of("ana"),
        whose="ana",
    ),
    Act("POST", "/v1/sign-in/device", (404, 404, 404, 404, 404)),  # no provider here
    Act(
        "POST",
        "/v1/sign-in/device/{device}",
        (404, 404, 404, 404, 404),
        path=lambda house: "/v1/sign-in/device/made-up",
    ),
    Act("GET", "/v1/trail", (401, 403, 403, 200, 200)),
    Act("POST", "/v1/keys", (401, 403, 403, 403, 200)),
    Act(
        "POST",
        "/v1/datasets/{name}/removal",
        (401, 403, 403, 403, 200),
        lambda house: {"reason": "the study is over"},
        path=_new_listing,
    ),
    Act(
        "POST",
        "/v1/analysts/{name}/invitation",
        (401, 403, 403, 403, 201),
        path=_of_somebody_new("invitation"),
    ),
    Act(
        "POST",
        "/v1/analysts/{name}/removal",
        (401, 403, 403, 403, 200),
        lambda house: {"reason": "left"},
        path=_of_somebody_new("removal"),
    ),
    Act(
        "DELETE",
        "/v1/analysts/{name}/second-factor",
        (401, 403, 403, 403, 200),
        path=_of_somebody_new("second-factor"),
    ),
    Act("GET", "/v1/analysts/{name}/sessions", (401, 200, 404, 403, 200), whose="ana"),
    Act(
        "DELETE",
        "/v1/analysts/{name}/sessions",
        (401, 404, 404, 403, 200),
        path=_of_somebody_new("sessions"),
    ),
    # The same for people who hold no analyst's role: their own things are theirs.
    Act("GET", "/v1/analysts/{name}", (401, 404, 404, 200, 200), whose="auditor"),
    Act("GET", "/v1/analysts/{name}/tokens", (401, 404, 404, 200, 200), whose="auditor"),
    Act(
        "POST",
        "/v1/analysts/{name}/tokens",
        (401, 404, 404, 201, 201),
        lambda house: {"days": 1},
        whose="auditor",
    ),
    Act(
        "DELETE",
        "/v1/analysts/{name}/tokens/{token}",
        (401, 404, 404, 200, 200),
        path=_token_of("auditor"),
        whose="auditor",
    ),
    Act("GET", "/v1/analysts/{name}/tokens", (401, 404, 404, 403, 200), whose="custodian"),
    Act(
        "POST",
        "/v1/analysts/{name}/tokens",
        (401, 404, 404, 403, 201),
        lambda house: {"days": 1},
        whose="custodian",
    ),
)


def _sent(house: House, who: str, act: Act, name: str) -> httpx.Response:
    path = act.path(house) or act.route.replace("{name}", name)
    body = act.body(house)
    more = {} if body is None else {"json": body}
    return Caller(house)(who, act.method, path, **more)


@pytest.mark.parametrize("who", CALLERS)
@pytest.mark.parametrize("act", ACTS, ids=str)
def test_each_role_gets_what_it_may(house: House, act: Act, who: str) -> None:
    reply = _sent(house, who, act, act.whose or "clinic")
    assert reply.status_code == act.statuses[CALLERS.index(who)], reply.text


def test_the_table_has_every_endpoint(house: House) -> None:
    there = {
        (method.upper(), path)
        for path, methods in house.app.openapi()["paths"].items()
        for method in methods
    }
    assert {(act.method, act.route) for act in ACTS} == there
    assert all(len(act.statuses) == len(CALLERS) for act in ACTS)


@pytest.mark.parametrize(
    "act", [act for act in ACTS if act.route.startswith("/v1/datasets/{name}")], ids=str
)
def test_a_hidden_dataset_is_like_one_that_does_not_exist(house: House, act: Act) -> None:
    body = act.body(house)
    more = {} if body is None else {"json": body}
    call = Caller(house)
    replies = []
    for name in ("clinic", "nowhere"):
        reply = call("bob", act.method, act.route.replace("{name}", name), **more)
        headers = {key: reply.headers[key] for key in reply.headers if key != "content-length"}
        replies.append((reply.status_code, reply.text.replace(name, "X"), headers))
    assert replies[0] == replies[1]


def test_other_people_are_like_people_who_do_not_exist(house: House) -> None:
    call = Caller(house)
    for path in ("/v1/analysts/{}", "/v1/analysts/{}/tokens"):
        ana, nobody = (call("bob", "GET", path.format(name)) for name in ("ana", "nemo"))
        assert ana.status_code == nobody.status_code == 404
        assert ana.text.replace("ana", "nemo") == nobody.text


def test_lists_hold_only_what_one_may_know(house: House) -> None:
    call = Caller(house)
    seen = {who: call(who, "GET", "/v1/datasets").json()["datasets"] for who in CALLERS[1:]}
    assert seen["bob"] == []
    assert [one["name"] for one in seen["ana"]] == ["clinic"]
    assert "clinic" in {one["name"] for one in seen["auditor"]}
    about = call("ana", "GET", "/v1/datasets/clinic").json()
    assert not {"source", "readers", "progress", "engine"} & set(about)


def test_an_analyst_reads_their_own_questions_and_nobody_elses(
    opened: Callable[..., House],
) -> None:
    house = opened()
    call = Caller(house)
    with house.service.store.transaction() as connection:
        house.service.catalogue.admit(connection, "clinic", ["*"])
    mine, theirs = identify(1), identify(2)
    assert call("ana", "POST", "/v1/datasets/clinic/ask", json=mine).status_code == 200
    assert call("bob", "POST", "/v1/datasets/clinic/ask", json=theirs).status_code == 200
    seen = call("ana", "GET", "/v1/datasets/clinic/ledger")
    assert [one["question"]["record"] for one in seen.json()["questions"]] == [mine["record"]]
    assert "bob" not in seen.text
    assert not {"entries", "head", "analysts"} & set(seen.json())
    assert not {"seq", "hash", "previous", "extra"} & set(seen.json()["questions"][0])
    all_of_it = call("auditor", "GET", "/v1/datasets/clinic/ledger").json()
    assert {"ana", "bob"} <= {entry["analyst"] for entry in all_of_it["entries"]}


def test_a_repeated_question_is_free_and_says_nothing_of_who_asked_first(
    opened: Callable[..., House],
) -> None:
    house = opened()
    call = Caller(house)
    with house.service.store.transaction() as connection:
        house.service.catalogue.admit(connection, "clinic", ["ana", "bob"])
    first = call("ana", "POST", "/v1/datasets/clinic/ask", json=identify(3)).json()
    second = call("bob", "POST", "/v1/datasets/clinic/ask", json=identify(3))
    assert second.json()["answer"] == first["answer"]
    assert second.json()["charged"] is False
    assert second.json()["ledger"]["spent"] == first["ledger"]["spent"]
    assert "ana" not in second.text
    standing = house.service.ledger.snapshot("clinic")
    assert "bob" not in standing.shares


def test_a_policy_shows_an_analyst_only_their_own_line(opened: Callable[..., House]) -> None:
    house = opened()
    call = Caller(house)
    rules = {"notions": ["differential"], "analysts": {"ana": ["count"], "bob": ["identify"]}}
    call("custodian", "PATCH", "/v1/datasets/clinic", json={"reason": "roles", "policy": rules})
    seen = call("ana", "GET", "/v1/datasets/clinic").json()["policy"]
    assert seen["analysts"] == {"ana": ["count"]}
    refused = call("ana", "POST", "/v1/datasets/clinic/ask", json=identify(1))
    assert refused.status_code == 403
    assert "bob" not in refused.text

"""Who sees which page, cell by cell; forms from elsewhere; other people's things; the door."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from fastapi.routing import APIRoute

from whitecrow_server.console import site_of

from .conftest import PASSWORD, House, Visitor

People = Callable[[str], Visitor]

# Statuses for: nobody, ana (a reader), bob (no reader), auditor, custodian.
GETS: dict[str, tuple[int, int, int, int, int]] = {
    "": (303, 200, 200, 200, 200),
    "/me": (303, 200, 200, 200, 200),
    "/laboratory": (303, 200, 200, 200, 200),
    "/register": (303, 404, 404, 404, 200),
    "/people": (303, 404, 404, 404, 200),
    "/datasets/clinic": (303, 200, 404, 200, 200),
    "/datasets/clinic/timeline": (303, 200, 404, 200, 200),
    "/datasets/clinic/timeline?line=conditional": (303, 200, 404, 200, 200),
    "/datasets/clinic/policy": (303, 404, 404, 404, 200),
    "/datasets/clinic/card": (303, 404, 404, 404, 200),
    "/datasets/clinic/learning": (303, 404, 404, 404, 303),
    "/datasets/clinic/analysts": (303, 404, 404, 404, 200),
    "/datasets/clinic/use": (303, 404, 404, 200, 200),
    "/datasets/clinic/ledger": (303, 404, 404, 200, 200),
    "/datasets/clinic/statement": (303, 404, 404, 200, 200),
    "/datasets/clinic/report": (303, 404, 404, 200, 200),
    "/datasets/clinic/recovery": (303, 404, 404, 404, 200),
    "/datasets/clinic/map": (303, 404, 404, 404, 200),
    "/datasets/clinic/map?x=age&y=bmi&beta=5&radius=4&epsilon=1": (303, 404, 404, 404, 200),
    "/datasets/clinic/ask/count": (303, 200, 404, 404, 200),
    "/datasets/clinic/ask/nothing": (303, 404, 404, 404, 404),
    "/datasets/clinic/screening": (303, 422, 404, 404, 422),
    "/datasets/clinic/history": (303, 200, 404, 404, 200),
    "/datasets/clinic/model": (303, 200, 404, 404, 200),
    f"/datasets/clinic/answers/{'0' * 64}": (303, 404, 404, 404, 404),
    f"/datasets/clinic/answers/{'0' * 64}/detector": (303, 404, 404, 404, 404),
    f"/datasets/clinic/answers/{'0' * 64}/score": (303, 404, 404, 404, 404),
    f"/datasets/clinic/answers/{'0' * 64}/flagged": (303, 404, 404, 404, 404),
    f"/datasets/clinic/answers/{'0' * 64}/scores.csv": (303, 404, 404, 404, 404),
    "/nowhere": (303, 404, 404, 404, 404),
}
VISITORS = ("", "ana", "bob", "auditor", "custodian")

POSTS = (
    "/sign-out",
    "/me/password",
    "/me/tokens",
    "/me/tokens/revoke",
    "/me/tokens/revoke-all",
    "/me/sessions/end",
    "/me/factor",
    "/me/factor/confirm",
    "/me/factor/remove",
    "/register",
    "/register/columns",
    "/register/price",
    "/register/learn",
    "/register/upload",
    "/people",
    "/people/password",
    "/people/disable",
    "/people/invitation",
    "/people/factor",
    "/people/remove",
    "/datasets/clinic/policy",
    "/datasets/clinic/card",
    "/datasets/clinic/analysts",
    "/datasets/clinic/allowances",
    "/datasets/clinic/recovery",
    "/datasets/clinic/timeline",
    "/datasets/clinic/model",
    "/datasets/clinic/ask/count",
    "/datasets/clinic/ask/count/now",
    "/datasets/clinic/ask/count/dummy",
    "/datasets/clinic/ask/screening/flags",
    f"/datasets/clinic/answers/{'0' * 64}/score",
)
FOR_ASKING = POSTS[-6:]
FOR_ALL = tuple(path for path in POSTS if path.startswith(("/sign-out", "/me")))


@pytest.mark.parametrize("path", GETS)
def test_every_page_for_every_visitor(visitors: People, path: str) -> None:
    found = tuple(visitors(name).get(path).status_code for name in VISITORS)
    assert found == GETS[path]


def test_no_page_is_left_out_of_this_table(house: House) -> None:
    def covered(route: APIRoute) -> bool:
        tried = GETS if "GET" in route.methods else POSTS
        paths = [f"/console{one.partition('?')[0]}" for one in tried]
        return any(route.path_regex.match(path) for path in paths)

    known = {"/console/static/{name}", "/console/plotly.min.js", "/console/invitation/{code}"}
    known |= {f"/console/sign-in{one}" for one in ("", "/provider", "/provider/back")}
    pages = [
        route
        for route in site_of(house.app.state.handler).router.routes
        if isinstance(route, APIRoute) and route.path.startswith("/console")
    ]
    assert len(pages) > 25
    assert [route.path for route in pages if route.path not in known and not covered(route)] == []


@pytest.mark.parametrize("path", POSTS)
def test_a_form_without_its_secret_does_nothing(house: House, visitors: People, path: str) -> None:
    house.service.curator(house.service.people.get("custodian"), "clinic")  # it is loaded
    before = len(house.service.ledger.entries("clinic")), house.service.people.all()
    for name in VISITORS[1:]:
        for sent in ({}, {"csrf": ""}, {"csrf": "0" * 64}):
            reply = visitors(name).send("POST", f"/console{path}", data=sent)
            assert reply.status_code in (403, 404, 422)
    assert before == (len(house.service.ledger.entries("clinic")), house.service.people.all())


@pytest.mark.parametrize("path", [path for path in POSTS if path not in FOR_ALL])
def test_acts_of_another_role_do_not_exist(visitors: People, path: str) -> None:
    allowed = ("ana", "bob", "custodian") if path in FOR_ASKING else ("custodian",)
    for name in ("ana", "bob", "auditor", "custodian"):
        if name not in allowed:
            assert visitors(name).post(path).status_code == 404


def test_strangers_are_sent_to_the_door_whatever_they_post(house: House) -> None:
    for path in POSTS:
        reply = Visitor(house).send("POST", f"/console{path}", data={"csrf": "x"})
        assert (reply.status_code, reply.headers["location"]) == (303, "/console/sign-in")


def test_another_persons_secret_does_not_open_a_form(house: House, visitors: People) -> None:
    stolen = visitors("bob").csrf
    reply = visitors("custodian").send(
        "POST", "/console/people", data={"csrf": stolen, "name": "x"}
    )
    assert reply.status_code == 403


def test_an_unlisted_dataset_reads_like_one_that_does_not_exist(visitors: People) -> None:
    bob = visitors("bob")
    unlisted, absent = bob.get("/datasets/clinic"), bob.get("/datasets/nothing")
    assert unlisted.status_code == absent.status_code == 404
    assert unlisted.text.replace("clinic", "nothing") == absent.text


def test_answers_belong_to_whoever_asked(house: House) -> None:
    """Both analysts read one dataset; neither sees the other's question, answer or name."""
    custodian = house.person("custodian")
    house.service.amend(custodian, "ward", reason="both", readers=["ana", "bob"])
    ana, bob = house.visitor("ana"), house.visitor("bob")
    answer = ana.asked("screen", "ward")
    assert answer.status_code == 200
    path = str(answer.url.path).removeprefix("/console")
    assert bob.get(path).status_code == 404
    for page in ("", "/datasets/ward", "/datasets/ward/history", "/datasets/ward/ask/screen"):
        assert re.search(r"\bana\b", bob.get(page).text) is None
    assert "Would" not in bob.get("/datasets/ward/history").text


# The door


def test_a_wrong_password_opens_nothing(house: House) -> None:
    stranger = Visitor(house)
    for name, password in (("ana", "wrong"), ("nemo", PASSWORD), ("", "")):
        reply = stranger.sign_in(name, password)
        assert reply.status_code == 401
        assert "The name or the password is wrong." in reply.text
        assert "whitecrow" not in reply.cookies


def test_sign_in_needs_the_number_of_its_own_page(house: House) -> None:
    fields = {"name": "ana", "password": PASSWORD, "number": "made up"}
    reply = Visitor(house).send("POST", "/console/sign-in", data=fields)
    assert reply.status_code == 403
    visitor = Visitor(house)
    visitor.get("/sign-in")
    assert visitor.send("POST", "/console/sign-in", data=fields).status_code == 403


def test_the_cookie_is_kept_from_scripts_and_other_sites(house: House) -> None:
    reply = Visitor(house).sign_in("ana", PASSWORD)
    cookie = next(c for c in reply.headers.get_list("set-cookie") if c.startswith("whitecrow="))
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie


def test_signing_out_ends_the_session(house: House) -> None:
    visitor = house.visitor("ana")
    assert visitor.get("").status_code == 200
    assert visitor.post("/sign-out").headers["location"] == "/console/sign-in"
    assert visitor.get("").status_code == 303


def test_a_person_who_is_shut_out_is_out_at_once(house: House) -> None:
    visitor = house.visitor("bob")
    custodian = house.visitor("custodian")
    custodian.post("/people/disable", {"name": "bob", "disabled": "yes"})
    assert visitor.get("").status_code == 303
    custodian.post("/people/disable", {"name": "bob", "disabled": "no"})
    assert house.visitor("bob").get("").status_code == 200


def test_what_became_of_the_rows_is_on_the_custodians_page_alone(
    house: House, visitors: People
) -> None:
    house.service.curator(house.person("ana"), "clinic")  # loaded
    seen = {
        name: "Rows at the last load" in visitors(name).get("/datasets/clinic").text
        for name in ("ana", "auditor", "custodian")
    }
    assert seen == {"ana": False, "auditor": False, "custodian": True}

"""Tokens end with what they were made with, and say who else could use them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from benchmarks.postgres import cluster, missing
from sqlalchemy import create_engine

import whitecrow as wc
from whitecrow.errors import NotSignedIn
from whitecrow_server import Service, Settings
from whitecrow_server._people import People
from whitecrow_server._store import Store
from whitecrow_server._tables import (
    buckets,
    flows,
    identities,
    invitations,
    migrate,
    overruns,
    recovery,
    statements,
    trail,
    witnessed,
    witnessed_marks,
)

from .conftest import Caller, House, identify, person, settings_for

DAY = 86_400.0


def _made(call: Caller, with_token: str, whose: str, **body: Any) -> dict[str, Any]:
    reply = _as(call, with_token, "POST", f"/v1/analysts/{whose}/tokens", json=body)
    assert reply.status_code == 201, reply.text
    found: dict[str, Any] = reply.json()
    return found


def _as(call: Caller, token: str, method: str, path: str, **more: Any) -> httpx.Response:
    return call("nobody", method, path, headers={"Authorization": f"Bearer {token}"}, **more)


def _works(call: Caller, token: str) -> bool:
    return _as(call, token, "GET", "/v1/me").status_code == 200


def test_a_token_never_outlives_the_one_it_was_made_with(opened: Callable[..., House]) -> None:
    house = opened()
    call = Caller(house)
    short = _made(call, house.tokens["ana"], "ana", days=1)
    child = _made(call, short["token"], "ana", days=300)
    grandchild = _made(call, child["token"], "ana")
    assert child["expires"] <= short["expires"] <= time.time() + DAY
    assert grandchild["expires"] <= child["expires"]
    assert (child["parent"], grandchild["parent"]) == (short["id"], child["id"])


def test_no_token_lives_longer_than_the_setting_allows(opened: Callable[..., House]) -> None:
    house = opened(longest_token_days=30, token_days=10)
    call = Caller(house)
    for days in (31, 3650, 0, -1):
        reply = call("ana", "POST", "/v1/analysts/ana/tokens", json={"days": days})
        assert reply.status_code == 422, days
        assert "from 1 to 30" in reply.text
    with pytest.raises(wc.InvalidInput, match="longest_token_days"):
        Settings(database="sqlite://", token_days=31, longest_token_days=30)


@pytest.mark.parametrize("whose", ["ana", "custodian"])
def test_revoking_a_token_ends_all_that_were_made_with_it(
    opened: Callable[..., House], whose: str
) -> None:
    """A stolen token may have made others, for its owner or, a custodian's, for anybody."""
    house = opened()
    call = Caller(house)
    first = _made(call, house.tokens[whose], whose)
    children = [_made(call, first["token"], "ana") for _ in range(3)]
    children += [_made(call, children[0]["token"], "ana")]
    assert all(_works(call, one["token"]) for one in children)
    assert call(whose, "DELETE", f"/v1/analysts/{whose}/tokens/{first['id']}").is_success
    assert not any(_works(call, one["token"]) for one in [first, *children])
    assert _works(call, house.tokens[whose])
    refused = _as(call, first["token"], "POST", f"/v1/analysts/{whose}/tokens", json={})
    assert refused.status_code == 401


@pytest.mark.parametrize("act", ["reset", "disable", "revoke-all", "own password"])
def test_reset_disabling_and_revoke_all_leave_no_token_alive(
    opened: Callable[..., House], act: str
) -> None:
    house = opened()
    call, service = Caller(house), house.service
    tokens = [house.tokens["ana"]]
    for _ in range(3):
        tokens.append(_made(call, tokens[-1], "ana", days=300)["token"])
    assert all(_works(call, one) for one in tokens)
    custodian = person("custodian")
    if act == "reset":
        service.members.reset_password(custodian, "ana")
    elif act == "disable":
        service.members.disable(custodian, "ana", True)
        service.members.disable(custodian, "ana", False)  # let in again: with nothing from before
    elif act == "revoke-all":
        assert call("ana", "DELETE", "/v1/analysts/ana/tokens").status_code == 200
    else:
        service.sessions.set_password("ana", "correct horse battery")
    assert not any(_works(call, one) for one in tokens)


def test_what_a_custodian_made_for_others_ends_with_the_custodian(
    opened: Callable[..., House],
) -> None:
    house = opened()
    call, service = Caller(house), house.service
    service.members.invite(person("custodian"), "carla", "custodian")
    carla = service.people.get("carla")
    written, _ = service.members.issue(carla, "bob")  # at a browser: made with no token
    assert _works(call, written)
    service.members.disable(person("custodian"), "carla", True)
    assert not _works(call, written)


def test_a_custodian_cannot_ask_as_an_analyst_unseen(opened: Callable[..., House]) -> None:
    """The chain, the analyst's history and their list of tokens all say who made the token."""
    house = opened()
    call = Caller(house)
    made = _made(call, house.tokens["custodian"], "ana")
    hidden = _made(call, made["token"], "ana")  # one more step does not wash it off
    question = identify(3)
    asked = _as(call, hidden["token"], "POST", "/v1/datasets/clinic/ask", json=question)
    assert asked.status_code == 200, asked.text
    mine = _as(call, hidden["token"], "GET", "/v1/datasets/clinic/ledger").json()["questions"]
    assert [one["acting"] for one in mine] == ["custodian"]
    chain = call("auditor", "GET", "/v1/datasets/clinic/ledger").json()["entries"]
    reserved = [one for one in chain if one["kind"] == "reserve"]
    assert [(one["analyst"], one["body"]["actor"]) for one in reserved] == [("ana", "custodian")]
    assert call("auditor", "GET", "/v1/datasets/clinic/ledger/verification").json()["ok"]
    listed = call("ana", "GET", "/v1/analysts/ana/tokens").json()["tokens"]
    assert {one["made_by"] for one in listed if one["id"] in (made["id"], hidden["id"])} == {
        "custodian"
    }


def test_an_analysts_own_token_is_nobody_elses(opened: Callable[..., House]) -> None:
    house = opened()
    call, service = Caller(house), house.service
    service.sessions.set_password("ana", "correct horse battery")
    session, _ = service.sessions.sign_in("ana", "correct horse battery")
    written, made = service.members.issue(session.person, "ana")
    assert (made.made_by, made.parent) == ("ana", None)
    assert _as(call, written, "POST", "/v1/datasets/clinic/ask", json=identify(4)).is_success
    mine = _as(call, written, "GET", "/v1/datasets/clinic/ledger").json()["questions"]
    assert [one["acting"] for one in mine] == [""]


def test_a_password_that_a_custodian_set_is_recorded_until_it_is_changed(
    opened: Callable[..., House],
) -> None:
    service = opened().service
    password = service.members.reset_password(person("custodian"), "ana")
    session, _ = service.sessions.sign_in("ana", password)
    assert session.person.acting == "custodian"
    assert service.members.issue(session.person, "ana")[1].made_by == "custodian"
    assert service.sessions.password_set("ana")[0] == "custodian"
    service.sessions.change_password("ana", password, "correct horse battery")
    session, cookie = service.sessions.sign_in("ana", "correct horse battery")
    assert session.person.acting == ""
    assert service.sessions.visitor(cookie).person.acting == ""
    assert service.sessions.password_set("ana")[0] == ""


def test_a_custodians_act_with_anothers_token_says_so(opened: Callable[..., House]) -> None:
    house = opened()
    call, service = Caller(house), house.service
    service.members.invite(person("custodian"), "carla", "custodian")
    made = _made(call, house.tokens["custodian"], "carla")
    change = {"reason": "a better budget", "budget": "900"}
    assert _as(call, made["token"], "PATCH", "/v1/datasets/clinic", json=change).is_success
    last = call("auditor", "GET", "/v1/datasets/clinic/ledger").json()["entries"][-1]
    assert "carla, acting: custodian" in str(last["body"])


def _raced(store: Store) -> None:
    """Tokens are made with a token while it is being revoked: none may be left."""
    import threading

    migrate(store)
    people = People(store)
    people.add("ana", "analyst")
    for _ in range(5):
        written, parent = people.issue("ana", days=1)
        who = people.bearer(written)
        made: list[str] = []
        start = threading.Barrier(4)

        def mint(who: Any = who, made: list[str] = made, start: Any = start) -> None:
            start.wait()
            for _ in range(5):
                try:
                    made.append(people.issue("ana", days=1, by=who)[0])
                except NotSignedIn:
                    return

        crowd = [threading.Thread(target=mint) for _ in range(3)]
        for one in crowd:
            one.start()
        start.wait()
        people.revoke("ana", parent.id)
        for one in crowd:
            one.join()
        for text in made:
            with pytest.raises(NotSignedIn):
                people.bearer(text)
    store.close()


def test_a_token_made_while_its_parent_is_revoked_does_not_survive(tmp_path: Path) -> None:
    _raced(Store(f"sqlite:///{tmp_path / 'service.db'}"))


@pytest.mark.skipif(bool(missing()), reason=missing() or "there")
def test_nor_does_it_on_postgresql() -> None:
    with cluster() as server:
        _raced(Store(server.url))


def test_a_store_of_the_first_version_is_brought_up_to_date(tmp_path: Path) -> None:
    settings = settings_for(tmp_path)
    service = Service(settings)
    service.people.add("ana", "analyst")
    written, _ = service.people.issue("ana", days=1)
    service.close()
    engine = create_engine(settings.database)
    with engine.begin() as connection:
        for table, column in (
            ("service_people", "password_by"),
            ("service_people", "password_at"),
            ("service_sessions", "acting"),
            ("service_tokens", "made_by"),
            ("service_people", "totp"),
            ("service_people", "totp_step"),
            ("service_people", "removed"),
            ("service_sessions", "began_with"),
            ("service_tokens", "scope"),
            ("service_secrets", "created"),
        ):
            connection.exec_driver_sql(f"ALTER TABLE {table} DROP COLUMN {column}")
        connection.exec_driver_sql("DROP INDEX service_tokens_by_parent")
        connection.exec_driver_sql("ALTER TABLE service_tokens DROP COLUMN parent")
        connection.exec_driver_sql("UPDATE service_version SET version = 2")
        connection.exec_driver_sql("DROP TABLE service_probe")
        newer = (flows, identities, invitations, recovery, trail, overruns, buckets)
        for table in (*newer, witnessed, statements, witnessed_marks):
            table.drop(connection)
    engine.dispose()
    service = Service(settings)
    try:
        who = service.people.bearer(written)
        assert (who.name, who.acting) == ("ana", "")
        assert service.members.issue(who, "ana")[1].parent is not None
    finally:
        service.close()

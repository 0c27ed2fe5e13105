"""A plan says what would be refused to the very person who would ask."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from whitecrow_server._aside import _alone

from .conftest import Caller, House, identify


def _plan(house: House, who: str, *questions: dict[str, Any]) -> dict[str, Any]:
    body = json.dumps({"questions": questions}).encode()
    return house.service.plan(house.service.people.get(who), "clinic", body)


def test_a_plan_and_a_balance_count_by_either_rule(opened: Callable[..., House]) -> None:
    house = opened(budget="1, 1e-6, either", patience=240.0)
    batch = [identify(epsilon=f"{10_000 + n}/1000000") for n in range(433)]
    assert _plan(house, "ana", *batch[:4])["more"] > 300
    assert _plan(house, "ana", *batch)["fitting"] > 300
    seen = house.service.dataset(house.service.people.get("ana"), "clinic")
    assert seen["budget"]["count_by"] == "either"
    custodian = house.service.people.get("custodian")
    house.service.amend(custodian, "clinic", budget="2, 1e-6", reason="voted")
    assert house.service.dataset(custodian, "clinic")["budget"]["count_by"] == "either"


def test_a_plan_knows_the_allowance_and_the_policy_for_the_analyst_who_asks(
    opened: Callable[..., House],
) -> None:
    house = opened(budget="10", patience=240.0)
    service = house.service
    custodian = service.people.get("custodian")
    batch = [identify(epsilon="1/4"), identify(epsilon="1/3")]
    assert _plan(house, "ana", *batch)["fits"]
    service.allow(custodian, "clinic", "ana", "1/2", reason="a first look")
    short = _plan(house, "ana", *batch)
    assert (short["fits"], short["fitting"]) == (False, 1)
    assert "Analyst 'ana'" in short["reason"]
    assert _plan(house, "custodian", *batch)["fits"]
    rules = {**service.dataset(custodian, "clinic")["policy"], "analysts": {"ana": ["count"]}}
    service.amend(custodian, "clinic", policy=rules, reason="counts alone")
    refused = _plan(house, "ana", *batch)
    assert sorted(refused["refused"]) == ["1", "2"]
    assert "'ana' may not ask identify" in refused["reason"]
    assert refused["charged"] == 0


MALFORMED: dict[str, tuple[object, str]] = {
    "no object": ([], "one key"),
    "another key": ({"questions": [], "epsilon": "1"}, "one key"),
    "no list": ({"questions": "all"}, "list of objects"),
    "no questions": ({"questions": [1]}, "list of objects"),
    "too many": ({"questions": [{}] * 2001}, "at most 2000"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_plan_that_is_no_list_of_questions_is_refused_in_words(name: str, house: House) -> None:
    body, said = MALFORMED[name]
    reply = Caller(house)("ana", "POST", "/v1/datasets/clinic/plan", json=body)
    assert reply.status_code == 422
    assert said in reply.json()["error"]["reason"]


def test_a_plan_must_be_said_to_be_json(house: House) -> None:
    reply = Caller(house)(
        "ana", "POST", "/v1/datasets/clinic/plan", content=b"{}", headers={"Content-Type": "x/y"}
    )
    assert reply.status_code == 422
    assert "Content-Type" in reply.json()["error"]["reason"]


def test_one_process_at_a_time_computes_what_is_free(tmp_path: Path) -> None:
    """Of several workers': another core is left to answers."""
    file, order = str(tmp_path / "turn"), []

    def second() -> None:
        with _alone(file):
            order.append("second")

    with _alone(file):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.2)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]

"""Whatever is sent, the service answers with a documented status, never with a fault or a fact."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import requests
import schemathesis
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from whitecrow_server._untrusted_input import strict_json

from .conftest import Caller, House, identify, listening

CANARY = 31337
"""Every record of the secret dataset holds it; no reply may."""

ROWS = 7919
"""How many records there are: a fact too."""

MODEL = {"beta": 5, "radius": 4.0, "metric": "euclidean"}
PLACE = {"age": 61, "bmi": 24.1}
QUESTIONS: dict[str, dict[str, Any]] = {
    "identify": {"record": PLACE, "model": MODEL, "epsilon": "1/100", "k": 2},
    "screen": {"record": PLACE, "model": MODEL, "epsilon": "1/100"},
    "lookahead": {
        "columns": ["ward", "year"],
        "model": {"beta": 30, "radius": 0.0},
        "k": 5,
        "epsilon": "1/10",
    },
    "count": {"columns": ["age", "bmi"], "model": MODEL, "epsilon": "1/10"},
    "subspaces": {
        "size": 1,
        "top": 1,
        "columns": ["age", "bmi", "cost"],
        "model": MODEL,
        "epsilon": "1/10",
    },
    "tune": {
        "columns": ["age", "bmi"],
        "share": "1/50",
        "radii": [1, 2, 4],
        "beta": 5,
        "epsilon": "1/10",
    },
    "explain": {
        "record": {"ward": "surgery", "insurance": "none", "year": "2022", "cost": 190000},
        "metric": "cost",
        "detector": "grubbs",
        "notion": "conditional",
        "epsilon": "1/10",
    },
    "publish": {
        "column": "cost",
        "time": "day",
        "start": "2024-01-01",
        "period": "month",
        "horizon": 3,
        "epsilon": "1/10",
    },
}
"""One good question of each kind about the clinic."""

_NUMBERS = (None, True, False, -1, 0, 1, 7, 2.5, -0.0, 1e308)
_TEXTS = ("", "x", "1/0", "-1", "1e99", "nan", "*", "\u202e", "age", "x" * 300, "2024-13-45")
_NESTS: tuple[Any, ...] = ([], [[]], {}, {"a": 1}, ["age", "age"])
ODD = st.sampled_from((*_NUMBERS, *_TEXTS, *_NESTS))


def _count(replies: list[int], house: House, reply: requests.Response, sent: str) -> None:
    assert reply.status_code < 500 or reply.headers.get("Retry-After"), reply.text
    for fact in (str(CANARY), str(ROWS)):
        assert fact not in reply.text or fact in sent, "a fact got out"
    replies.append(reply.status_code)


@pytest.fixture
def secret_house(opened: Callable[..., House], tmp_path: Path) -> House:
    """A service that also has a dataset whose every value is a canary; ana may ask about it."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "secret.csv").write_text("value,ward\n" + f"{CANARY},x\n" * ROWS, encoding="utf-8")
    from whitecrow.demo import DATA

    (folder / "clinic.csv").write_bytes(DATA.read_bytes())
    house = opened(data=str(folder), rate=0)
    card = {
        "name": "secret",
        "unit": "record",
        "size_public": False,
        "columns": [
            {"name": "value", "type": "integer", "lower": 0, "upper": 99999},
            {"name": "ward", "type": "category", "categories": ["x", "y"]},
        ],
    }
    custodian = house.service.people.get("custodian")
    house.service.register(
        custodian, "secret", {"file": "secret.csv"}, card=card, budget="1000", readers=["ana"]
    )
    return house


def _fuzz_document(house: House, url: str, examples: int) -> list[int]:
    """Requests made up from the OpenAPI document: fitting it, and not fitting it."""
    document = requests.get(f"{url}/openapi.json", timeout=10).json()
    schema = schemathesis.openapi.from_dict(document)
    checks = [
        not_a_server_error,
        status_code_conformance,
        content_type_conformance,
        response_schema_conformance,
    ]
    replies: list[int] = []
    names = st.sampled_from(["clinic", "secret", "ana", "bob", None])
    for result in schema.get_all_operations():
        operation = result.ok()
        modes = [operation.as_strategy(GenerationMode.POSITIVE)]
        if operation.body or operation.path_parameters or operation.query:
            modes.append(operation.as_strategy(GenerationMode.NEGATIVE))

        @hypothesis.settings(
            max_examples=examples,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(hypothesis.HealthCheck),
            phases=[hypothesis.Phase.generate],
        )
        @hypothesis.given(
            case=st.one_of(modes), name=names, who=st.sampled_from(["ana", "ana", "custodian"])
        )
        def run(case: Any, name: str | None, who: str) -> None:
            if name is not None and case.path_parameters and "name" in case.path_parameters:
                case.path_parameters["name"] = name
            case.headers = {
                key: value
                for key, value in (case.headers or {}).items()
                if key.lower() not in ("authorization", "host")
            }
            reply = case.call(base_url=url, headers=house.headers(who), timeout=20)
            case.validate_response(reply, checks=checks)
            _count(replies, house, reply, str(case.body))

        run()
        for name in ("ana", "bob"):  # a made-up request may have shut them out
            house.service.people.disable(name, False)
    return replies


def _fuzz_questions(house: House, url: str, examples: int) -> list[int]:
    """Good questions with one or two values replaced by odd ones."""
    replies: list[int] = []
    session = requests.Session()
    session.headers.update(house.headers("ana"))

    @hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.generate],
    )
    @hypothesis.given(
        kind=st.sampled_from(sorted(QUESTIONS)),
        act=st.sampled_from(["ask", "price"]),
        data=st.data(),
    )
    def run(kind: str, act: str, data: st.DataObject) -> None:
        question = {"kind": kind, **copy.deepcopy(QUESTIONS[kind])}
        for _ in range(data.draw(st.integers(1, 2))):
            inside: Any = question
            key = data.draw(st.sampled_from(sorted(inside)))
            while isinstance(inside[key], dict) and inside[key] and data.draw(st.booleans()):
                inside = inside[key]
                key = data.draw(st.sampled_from(sorted(inside)))
            inside[key] = copy.deepcopy(data.draw(ODD))
        written = json.dumps(question)
        reply = session.post(
            f"{url}/v1/datasets/clinic/{act}",
            data=written,
            headers={"Content-Type": "application/json"},
            timeout=20,
        )
        assert reply.status_code in (200, 402, 403, 422), (reply.status_code, written)
        _count(replies, house, reply, written)

    run()
    session.close()
    return replies


def test_made_up_requests_get_documented_replies(secret_house: House) -> None:
    with listening(secret_house) as url:
        replies = _fuzz_document(secret_house, url, examples=5)
    assert {200, 404, 422} <= set(replies)


def test_odd_questions_are_refused_in_words(secret_house: House) -> None:
    with listening(secret_house) as url:
        replies = _fuzz_questions(secret_house, url, examples=100)
    assert {200, 422} <= set(replies)


@pytest.mark.study
@pytest.mark.timeout(3600)
def test_ten_thousand_requests_find_no_fault_and_no_fact(secret_house: House) -> None:
    with listening(secret_house) as url:
        replies = _fuzz_document(secret_house, url, examples=400)
        replies += _fuzz_questions(secret_house, url, examples=4000)
    assert len(replies) >= 10_000
    assert all(status < 500 for status in replies)


@pytest.mark.parametrize("kind", sorted(QUESTIONS))
def test_every_kind_of_question_is_priced_and_answered(house: House, kind: str) -> None:
    call = Caller(house)
    question = {"kind": kind, **QUESTIONS[kind]}
    priced = call("ana", "POST", "/v1/datasets/clinic/price", json=question)
    assert priced.status_code == 200, priced.text
    answered = call("ana", "POST", "/v1/datasets/clinic/ask", json=question)
    assert answered.status_code == 200, answered.text
    assert answered.json()["guarantee"] == priced.json()["price"]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[" * 60_000,
        b"[" * 100_000,
        b'{"kind": NaN}',
        b'{"kind": "identify", "epsilon": 1e999}',
        b'{"kind": "identify", "epsilon": ' + b"9" * 5000 + b"}",
        b'{"kind": "\\ud800"}',
        b'{"kind": "a\\u0000b"}',
        b'{"kind": "count", "kind": "identify"}',
        b"\xff\xfe",
        b'{"a":' * 50 + b"1" + b"}" * 50,
    ],
    ids=lambda raw: f"{raw[:12]!r}-{len(raw)}",
)
def test_a_body_that_is_no_good_json_is_refused(house: House, raw: bytes) -> None:
    reply = Caller(house)(
        "ana",
        "POST",
        "/v1/datasets/clinic/ask",
        content=raw,
        headers={"Content-Type": "application/json"},
    )
    assert reply.status_code in (400, 413, 422), reply.text
    assert set(reply.json()) == {"error"}


def test_a_body_that_is_too_large_is_refused(house: House) -> None:
    for stream in (False, True):
        content: Any = b"x" * 2_000_000
        if stream:

            async def pieces() -> Any:
                for _ in range(20):
                    yield b"x" * 100_000

            content = pieces()
        reply = Caller(house)(
            "ana",
            "POST",
            "/v1/datasets/clinic/ask",
            content=content,
            headers={"Content-Type": "application/json"},
        )
        assert reply.status_code == 413, reply.text


@pytest.mark.timing
@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("publish", {"horizon": 10**9}),
        ("publish", {"horizon": 10**6, "through": 10**5}),
        ("tune", {"radii": [i / 100 for i in range(1, 5000)]}),
    ],
)
@pytest.mark.parametrize("act", ["price", "ask"])
def test_what_would_keep_a_worker_for_long_is_refused_at_once(
    house: House, kind: str, changes: dict[str, Any], act: str
) -> None:
    question = {"kind": kind, **QUESTIONS[kind], **changes}
    started = time.perf_counter()
    reply = Caller(house)("ana", "POST", f"/v1/datasets/clinic/{act}", json=question)
    assert reply.status_code == 422, reply.text
    assert "up to" in reply.json()["error"]["reason"]
    assert time.perf_counter() - started < 10


@pytest.mark.timing
@pytest.mark.parametrize("kind", ["identify", "screen", "count", "tune"])
def test_a_huge_beta_takes_no_longer_than_a_large_one(house: House, kind: str) -> None:
    question = copy.deepcopy({"kind": kind, **QUESTIONS[kind]})
    question.get("model", question)["beta"] = 2**62
    started = time.perf_counter()
    reply = Caller(house)("ana", "POST", "/v1/datasets/clinic/price", json=question)
    assert reply.status_code in (200, 422)
    assert time.perf_counter() - started < 60


def test_strict_json_keeps_what_is_good() -> None:
    good = {"kind": "identify", "record": {"age": 61, "bmi": 24.5}, "list": [1, None, True, "é"]}
    assert strict_json(json.dumps(good).encode()) == good


def test_every_reply_carries_the_security_headers(house: House) -> None:
    call = Caller(house)
    for reply in (
        call("nobody", "GET", "/healthz"),
        call("nobody", "GET", "/v1/datasets"),
        call("ana", "GET", "/no/such/page"),
        call("ana", "POST", "/v1/datasets/clinic/ask", json=identify()),
    ):
        assert "default-src 'none'" in reply.headers["Content-Security-Policy"]
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert reply.headers["Cache-Control"] == "no-store"
        assert "server" not in reply.headers


def test_another_host_name_is_not_answered(opened: Callable[..., House]) -> None:
    house = opened(hosts=("localhost", "::1"))
    call = Caller(house)
    assert call("ana", "GET", "/v1/me").status_code == 200
    assert call("ana", "GET", "/v1/me", headers={"Host": "[::1]:80"}).status_code == 200
    assert call("ana", "GET", "/v1/me", headers={"Host": "evil.example"}).status_code == 400

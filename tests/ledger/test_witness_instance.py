"""A witness at another instance of the service: what it takes, what it refuses, who may tell."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from instances import Instance, instance

from whitecrow.demo import CARD, DATA
from whitecrow.errors import InvalidInput, LedgerOutdated, LedgerUnusable
from whitecrow.ledger.witness import Evidence, Mark, SigningKey, Statement, appoint, setup_of
from whitecrow.ledger.witness.places import InstancePlace
from whitecrow_server import Service, Settings

sys.path.insert(0, str(Path(__file__).parents[2]))

LEDGER = "ab" * 16
HASHES = [f"{i:064x}" for i in range(10)]


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Instance]:
    folder = tmp_path / "other"
    folder.mkdir()
    with instance(folder) as running:
        monkeypatch.setenv("WHITECROW_WITNESS_TOKEN", running.token)
        yield running


@pytest.fixture
def key(tmp_path: Path) -> SigningKey:
    return SigningKey.made(tmp_path / "key")


def mark(seq: int, era: int = 0, head: str | None = None) -> Mark:
    return Mark(era, seq, HASHES[seq] if head is None else head)


def put(other: Instance, key: SigningKey, said: Statement, token: str = "") -> httpx.Response:
    body = {"public": key.public, "statement": said.to_text()}
    headers = {"Authorization": f"Bearer {token or other.token}"}
    return httpx.put(f"{other.url}/v1/witness/{LEDGER}", json=body, headers=headers)


def told(other: Instance, key: SigningKey, token: str = "", **marks: Mark) -> httpx.Response:
    """Tell what follows all that the instance holds."""
    return put(other, key, key.signed(LEDGER, marks, held(other, key)), token)


def held(other: Instance, key: SigningKey) -> Evidence:
    with closing(InstancePlace(other.url, LEDGER, key.public)) as place:
        return place.read()


def read(other: Instance, key: SigningKey) -> Mapping[str, Mark]:
    return held(other, key).marks


def test_a_head_that_goes_back_is_refused_and_changes_nothing(
    other: Instance, key: SigningKey
) -> None:
    assert told(other, key, clinic=mark(3), second=mark(1)).status_code == 200
    back = [
        {"clinic": mark(2)},
        {"clinic": mark(3, head=HASHES[9])},  # as long, and another history
        {"clinic": mark(4), "second": mark(0)},  # one of them forward: all or nothing
    ]
    for one in back:
        refused = told(other, key, **one)
        assert refused.status_code == 409
        assert "reported newer entries" in refused.json()["error"]["reason"]
    assert read(other, key) == {"clinic": mark(3), "second": mark(1)}
    assert told(other, key, clinic=mark(3)).status_code == 200  # told twice is no step back
    assert told(other, key, clinic=mark(1, era=1)).status_code == 200  # a loss that was accepted
    assert read(other, key)["clinic"] == mark(1, era=1)


def test_only_what_extends_the_newest_statement_is_taken(other: Instance, key: SigningKey) -> None:
    """Of two processes, or two copies of a ledger, that follow the same statement: one."""
    first = key.signed(LEDGER, {"clinic": mark(1)}, Evidence({}))
    assert put(other, key, first).status_code == 200
    before = held(other, key)
    assert (before.number, before.fingerprint) == (1, first.fingerprint)
    one = key.signed(LEDGER, {"clinic": mark(2)}, before)
    another = key.signed(LEDGER, {"second": mark(1)}, before)  # nothing in it goes back
    assert put(other, key, one).status_code == 200
    for late in (another, one, first):
        assert put(other, key, late).status_code == 409
    assert held(other, key) == Evidence({"clinic": mark(2)}, 2, one.fingerprint)
    place = InstancePlace(other.url, LEDGER, key.public)
    assert not place.keep(another)
    assert place.keep(key.signed(LEDGER, {"second": mark(1)}, place.read()))
    place.close()


def test_an_instance_that_has_lost_a_ledger_takes_nothing_that_extends_what_it_lost(
    other: Instance, key: SigningKey
) -> None:
    lost = Evidence({"clinic": mark(3)}, 7, HASHES[7])
    assert put(other, key, key.signed(LEDGER, {"clinic": mark(4)}, lost)).status_code == 404
    assert held(other, key) == Evidence({})
    assert put(other, key, key.signed(LEDGER, {}, Evidence({}))).status_code == 200
    assert held(other, key).number == 1  # also where it tells of no account yet


def test_ledgers_of_an_older_version_tell_no_numbers_until_the_first(
    other: Instance, key: SigningKey
) -> None:
    def old(**marks: Mark) -> Statement:
        bare = Statement(LEDGER, "2026-01-01", marks)
        return replace(bare, signature=key._key.sign(bare._signed).hex())

    assert put(other, key, old(clinic=mark(1))).status_code == 200
    assert put(other, key, old(second=mark(3))).status_code == 200
    assert put(other, key, old(second=mark(2))).status_code == 409
    before = held(other, key)
    assert (dict(before.marks), before.number) == ({"clinic": mark(1), "second": mark(3)}, 0)
    assert told(other, key, clinic=mark(2)).status_code == 200
    assert put(other, key, old(second=mark(4))).status_code == 409
    assert put(other, key, key.signed(LEDGER, {"second": mark(4)}, before)).status_code == 409
    assert held(other, key).number == 1


@pytest.mark.parametrize(
    "broken",
    [
        {"public": "f" * 64},
        {"public": "not hexadecimal"},
        {"statement": "{}"},
        {"statement": "[" * 5000},
        {"statement": json.dumps({"ledger": LEDGER, "at": "", "accounts": {}, "signature": ""})},
        {"statement": f'{{"ledger":"{LEDGER}","at":"","accounts":{{}},"number":1e999}}'},
        {},
    ],
)
def test_what_was_not_signed_or_is_no_statement_is_refused(
    other: Instance, key: SigningKey, broken: dict[str, Any]
) -> None:
    said = key.signed(LEDGER, {"clinic": mark(1)}, Evidence({})).to_text()
    said = said.replace(HASHES[1], HASHES[2])
    body = {"public": key.public, "statement": said, **broken}
    headers = {"Authorization": f"Bearer {other.token}"}
    refused = httpx.put(f"{other.url}/v1/witness/{LEDGER}", json=body, headers=headers)
    assert refused.status_code == 422
    assert read(other, key) == {}


@pytest.mark.parametrize(
    "wrong",
    [
        {"clinic": Mark(0, 2**40, HASHES[1])},
        {"clinic": Mark(-1, 1, HASHES[1])},
        {"clinic": Mark(0, 1, "<script>")},
        {"nul\x00": Mark(0, 1, "")},
        {"n" * 400: Mark(0, 1, "")},
    ],
)
def test_marks_that_no_ledger_has_are_refused(
    other: Instance, key: SigningKey, wrong: dict[str, Mark]
) -> None:
    assert told(other, key, **wrong).status_code == 422


def test_a_ledger_belongs_to_whoever_told_first_under_one_key(
    other: Instance, key: SigningKey, tmp_path: Path
) -> None:
    assert told(other, key, clinic=mark(3)).status_code == 200
    service = other.service
    keeper = service.people.get("keeper")
    service.members.invite(keeper, "second", "auditor")
    token = service.members.issue(keeper, "second", scope="witness")[0]
    assert told(other, key, token, clinic=mark(4)).status_code == 404
    another = SigningKey.made(tmp_path / "other-key")
    said = another.signed(LEDGER, {"clinic": mark(4)}, held(other, key))
    assert put(other, another, said).status_code == 403


def test_a_token_of_scope_witness_does_nothing_else_and_waits_for_no_rate(
    other: Instance, key: SigningKey
) -> None:
    headers = {"Authorization": f"Bearer {other.token}"}
    for path in ("/v1/me", "/v1/datasets", "/metrics", "/v1/trail"):
        assert httpx.get(f"{other.url}{path}", headers=headers).status_code == 403
    place = InstancePlace(other.url, LEDGER, key.public)
    before = Evidence({})
    for seq in range(300):  # three bursts
        said = key.signed(LEDGER, {"clinic": Mark(0, seq, HASHES[0])}, before)
        assert place.keep(said)
        before = Evidence.up_to(said, said.accounts)
    assert place.read().marks["clinic"].seq == 299
    place.close()


def test_a_token_or_an_address_that_will_not_do_is_told_apart(
    other: Instance, key: SigningKey, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WHITECROW_WITNESS_TOKEN", "wc_unknown")
    with pytest.raises(LedgerUnusable, match="Sign in with a token"):
        read(other, key)
    monkeypatch.delenv("WHITECROW_WITNESS_TOKEN")
    with pytest.raises(InvalidInput, match="wants a token"):
        InstancePlace(other.url, LEDGER, key.public)
    file = tmp_path / "token"
    file.write_text(f"{other.token}\n")
    monkeypatch.setenv("WHITECROW_WITNESS_TOKEN_FILE", str(file))
    assert read(other, key) == {}
    with pytest.raises(InvalidInput, match="in the open"):
        InstancePlace("http://crow.example.org", LEDGER, key.public)
    with pytest.raises(LedgerUnusable, match="cannot be reached"):
        InstancePlace("http://127.0.0.1:9", LEDGER, key.public).read()


def test_a_service_restored_from_a_backup_does_not_start_and_nothing_is_answered_twice(
    other: Instance, tmp_path: Path
) -> None:
    """Two instances: the second is the witness of the first."""
    database = tmp_path / "service.db"
    store = f"sqlite:///{database}"
    settings = Settings(database=store, data=str(DATA.parent), rate=0, patience=120.0)
    service = Service(settings)
    custodian = service.people.add("custodian", "custodian")
    card = CARD.read_text(encoding="utf-8")
    service.register(custodian, "clinic", {"file": DATA.name}, card=card, budget="5")
    appoint(service.ledger.database, other.url, tmp_path / "key")
    service.close()

    def ask(service: Service, epsilon: str) -> Any:
        question = {
            "kind": "screen",
            "record": {"age": 74, "bmi": 44.0},
            "model": {"beta": 5, "radius": 4.0, "metric": "euclidean"},
            "epsilon": epsilon,
        }
        return service.ask(custodian, "clinic", question).answer

    service = Service(settings)
    service.start()
    first = ask(service, "1/10")
    service.close()
    shutil.copy(database, tmp_path / "backup.db")
    service = Service(settings)
    service.start()
    assert ask(service, "1/10") == first
    ask(service, "1/20")
    setup = setup_of(service.ledger.database)
    assert setup is not None
    assert setup.read().marks["clinic"].seq == service.ledger.snapshot("clinic").seq
    service.close()
    for left in database.parent.glob("service.db-*"):
        left.unlink()
    shutil.copy(tmp_path / "backup.db", database)
    with pytest.raises(LedgerOutdated, match="restores a newer copy, or runs"):
        Service(settings)

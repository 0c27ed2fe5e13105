"""The custodian's acts: registering, amending, allowing, voiding; and what each refuses."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import deltalake
import duckdb
import pytest
from pyarrow import csv

import whitecrow as wc
from whitecrow.data import Card
from whitecrow.demo import CARD, DATA
from whitecrow.ledger.failures import halt
from whitecrow_server import Service
from whitecrow_server._catalogue import Listing

from .conftest import Caller, House, identify, person, settings_for


@pytest.fixture
def call(opened: Callable[..., House]) -> Caller:
    return Caller(opened())


@pytest.mark.parametrize(
    "source",
    [
        {"file": "../stage.py"},
        {"file": "/etc/passwd"},
        {"file": "nothing.csv"},
        {"file": ""},
        {"file": "."},
        {"url": "http://192.0.2.1/"},
        {"database": "warehouse", "query": "SELECT 1"},
        {"file": "clinic.csv", "query": "SELECT 1"},
        {},
    ],
)
def test_only_files_and_databases_of_the_settings_are_sources(
    house: House, source: dict[str, str]
) -> None:
    body = {"name": "new", "source": source}
    assert Caller(house)("custodian", "POST", "/v1/datasets", json=body).status_code == 422


def test_a_link_out_of_the_folder_is_not_followed(
    opened: Callable[..., House], tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "clinic.csv").write_bytes(DATA.read_bytes())
    (tmp_path / "secret.csv").write_text("a\n1\n", encoding="utf-8")
    (folder / "link.csv").symlink_to(tmp_path / "secret.csv")
    call = Caller(opened(data=str(folder)))
    body = {"name": "new", "source": {"file": "link.csv"}}
    assert call("custodian", "POST", "/v1/datasets", json=body).status_code == 422


def test_a_service_answers_from_tables_that_lie_in_its_folder_and_from_no_others(
    opened: Callable[..., House], tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    records = csv.read_csv(DATA)
    deltalake.write_deltalake(folder / "lake", records)
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        connection.register("given", records)
        connection.execute("CREATE TABLE visits AS SELECT * FROM given")
    (folder / "clinic.csv").write_bytes(DATA.read_bytes())
    (folder / "plain").mkdir()
    deltalake.write_deltalake(tmp_path / "secret", records)
    (folder / "link").symlink_to(tmp_path / "secret")
    call = Caller(opened(data=str(folder)))
    card = CARD.read_text(encoding="utf-8")
    for name in ("lake", "clinic.duckdb"):
        new = f"new-{name[:4]}"
        body = {"name": new, "source": {"file": name}, "card": card, "readers": ["*"]}
        assert call("custodian", "POST", "/v1/datasets", json=body).status_code == 201
        asked = call("ana", "POST", f"/v1/datasets/{new}/ask", json=identify())
        assert asked.status_code == 200, asked.text
    for name in ("link", "plain", "../secret"):
        body = {"name": "no", "source": {"file": name}, "card": card}
        assert call("custodian", "POST", "/v1/datasets", json=body).status_code == 422


def test_records_of_a_database_are_registered_by_name(
    opened: Callable[..., House], tmp_path: Path
) -> None:
    path = tmp_path / "warehouse.db"
    with sqlite3.connect(path) as warehouse:
        warehouse.execute("CREATE TABLE people (age REAL)")
        warehouse.executemany("INSERT INTO people VALUES (?)", [(float(i),) for i in range(50)])
    warehouse.close()
    call = Caller(opened(databases={"warehouse": f"sqlite:///{path}"}, patience=60.0))
    body = {
        "name": "people",
        "source": {"database": "warehouse", "query": "SELECT age FROM people"},
        "card": {
            "name": "people",
            "unit": "record",
            "size_public": False,
            "columns": [{"name": "age", "type": "number", "lower": 0, "upper": 120}],
        },
        "readers": ["ana"],
        "indexes": [["age"]],
    }
    made = call("custodian", "POST", "/v1/datasets", json=body)
    assert made.status_code == 201, made.text
    question = {
        "kind": "screen",
        "record": {"age": 30.0},
        "model": {"beta": 3, "radius": 2.0},
        "epsilon": "1/10",
    }
    asked = call("ana", "POST", "/v1/datasets/people/ask", json=question)
    assert asked.status_code == 200, asked.text
    seen = call("custodian", "GET", "/v1/datasets/people").json()
    assert seen["progress"]["stage"] == "ready"
    assert "sqlite" not in str(seen["source"])


def test_a_dataset_that_cannot_be_read_says_why_to_the_custodian_alone(
    opened: Callable[..., House], tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "clinic.csv").write_bytes(DATA.read_bytes())
    (folder / "bad.csv").write_bytes(DATA.read_bytes())  # as it is when it is registered
    call = Caller(opened(data=str(folder)))
    body = {
        "name": "bad",
        "source": {"file": "bad.csv"},
        "card": CARD.read_text(encoding="utf-8"),
        "readers": ["*"],
    }
    assert call("custodian", "POST", "/v1/datasets", json=body).status_code == 201
    (folder / "bad.csv").write_text("other\n31337\n", encoding="utf-8")
    refused = call("ana", "POST", "/v1/datasets/bad/ask", json=identify())
    assert refused.status_code == 503
    assert "custodian" in refused.json()["error"]["reason"]
    seen = call("custodian", "GET", "/v1/datasets/bad").json()
    assert seen["progress"]["stage"] == "failed"
    assert "31337" not in str(seen)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "clinic", "source": {"file": "clinic.csv"}},
        {"name": "a/b", "source": {"file": "clinic.csv"}},
        {"name": "new", "source": {"file": "clinic.csv"}, "engine": "abacus"},
        {"name": "new", "source": {"file": "clinic.csv"}, "readers": ["nemo"]},
        {"name": "new", "source": {"file": "clinic.csv"}, "readers": ["auditor"]},
        {"name": "new", "source": {"file": "clinic.csv"}, "budget": "-1"},
        {"name": "new", "source": {"file": "clinic.csv"}, "policy": {"notions": "all"}},
        {"name": "new", "source": {"file": "clinic.csv"}, "card": "not toml ["},
        {"name": "new", "source": {"file": "clinic.csv"}, "card": {"name": 1, "columns": [3]}},
    ],
)
def test_a_registration_that_is_wrong_leaves_nothing_behind(
    call: Caller, change: dict[str, object]
) -> None:
    reply = call("custodian", "POST", "/v1/datasets", json=change)
    assert reply.status_code in (409, 422), reply.text
    listed = call("custodian", "GET", "/v1/datasets").json()["datasets"]
    assert [one["name"] for one in listed] == ["clinic"]
    assert call.house.service.ledger.datasets() == ("clinic",)


def test_an_allowance_binds_its_analyst(call: Caller) -> None:
    cap = {"analyst": "ana", "budget": "1/100", "reason": "a start"}
    assert call("custodian", "PUT", "/v1/datasets/clinic/allowances", json=cap).status_code == 200
    path = "/v1/datasets/clinic/ask"
    assert call("ana", "POST", path, json=identify(1, "1/100")).status_code == 200
    refused = call("ana", "POST", path, json=identify(1, "1/99"))
    assert refused.status_code == 402
    assert refused.json()["refused"]["type"] == "BudgetExhausted"
    assert refused.json()["refused"]["remaining"] == "0"
    seen = call("ana", "GET", "/v1/datasets/clinic").json()
    assert seen["allowance"]["differential"] == "1/100"
    assert seen["remaining"]["differential"] == "0"


def test_amending_keeps_the_reason_and_the_name_of_who_gave_it(call: Caller) -> None:
    path = "/v1/datasets/clinic"
    assert call("custodian", "PATCH", path, json={"reason": " "}).status_code == 422
    unit = {"reason": "x", "policy": {"unit": "replace_one"}}
    assert call("custodian", "PATCH", path, json=unit).status_code == 422
    change = {"reason": "board of May", "budget": {"epsilon": "2", "delta": "1/1000000"}}
    changed = call("custodian", "PATCH", path, json=change)
    assert changed.json()["budget"]["delta"] == "1/1000000"
    last = call("auditor", "GET", f"{path}/ledger").json()["entries"][-1]
    assert (last["kind"], last["body"]["reason"]) == ("amend", "board of May")
    assert last["body"]["actor"] == "custodian"


def test_another_card_is_read_again(call: Caller) -> None:
    card = CARD.read_text(encoding="utf-8").replace("upper = 95", "upper = 100")
    change = {"reason": "older people too", "card": card, "readers": ["ana", "bob"]}
    assert call("custodian", "PATCH", "/v1/datasets/clinic", json=change).status_code == 200
    seen = call("bob", "GET", "/v1/datasets/clinic").json()
    assert seen["card"]["columns"][0]["upper"] == 100
    question = identify()
    question["record"]["age"] = 99
    assert call("bob", "POST", "/v1/datasets/clinic/price", json=question).status_code == 200


def test_a_failure_closes_a_dataset_until_its_custodian_has_looked(call: Caller) -> None:
    service = call.house.service
    service.curator(person("ana"), "clinic")  # waits for the load
    known = call("ana", "POST", "/v1/datasets/clinic/ask", json=identify(71)).json()
    halt(service.ledger, "clinic")
    refused = call("ana", "POST", "/v1/datasets/clinic/ask", json=identify(72))
    assert refused.status_code == 503
    assert "until its custodian has looked" in refused.text
    again = call("ana", "POST", "/v1/datasets/clinic/ask", json=identify(71)).json()
    assert again["answer"] == known["answer"]
    [entry] = call("custodian", "GET", "/v1/datasets/clinic/ledger").json()["failures"]
    path = "/v1/datasets/clinic/ledger/reviews"
    looked = {"entry": entry, "reason": "a full disk"}
    assert call("ana", "POST", path, json=looked).status_code == 403
    assert call("custodian", "POST", path, json=looked).status_code == 200
    assert call("ana", "POST", "/v1/datasets/clinic/ask", json=identify(72)).status_code == 200
    last = call("auditor", "GET", "/v1/datasets/clinic/ledger").json()["entries"]
    acts = [entry["body"]["actor"] for entry in last if entry["kind"] == "review"]
    assert acts == ["custodian"]


def test_a_dataset_whose_records_changed_waits_for_the_custodian(
    opened: Callable[..., House], tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    data = folder / "clinic.csv"
    data.write_bytes(DATA.read_bytes())
    call = Caller(opened(data=str(folder)))
    path = "/v1/datasets/clinic"
    assert call("ana", "POST", f"{path}/ask", json=identify(1)).json()["charged"]
    data.write_text(data.read_text(encoding="utf-8").rsplit("\n", 2)[0] + "\n", encoding="utf-8")
    call.house.service.catalogue.reload("clinic")  # as a worker that starts now would read it
    refused = call("ana", "POST", f"{path}/ask", json=identify(1))
    assert refused.status_code == 503
    assert refused.json()["error"]["reason"] == (
        "This dataset has changed: it waits for the custodian."
    )
    assert call("ana", "GET", path).json()["state"] == "changed: waits for the custodian"
    reason = {"reason": "a consent was withdrawn"}
    assert call("ana", "POST", f"{path}/revisions", json=reason).status_code == 403
    advanced = call("custodian", "POST", f"{path}/revisions", json=reason)
    assert advanced.json() == {"revision": 2}
    assert call("ana", "POST", f"{path}/ask", json=identify(1)).json()["charged"]
    entries = call("auditor", "GET", f"{path}/ledger").json()["entries"]
    recorded = [one["body"] for one in entries if one["kind"] == "data"][-1]
    assert (recorded["reason"], recorded["actor"]) == ("a consent was withdrawn", "custodian")


def test_an_answered_spend_cannot_be_voided(call: Caller) -> None:
    call("ana", "POST", "/v1/datasets/clinic/ask", json=identify())
    entries = call("custodian", "GET", "/v1/datasets/clinic/ledger").json()["entries"]
    seq = next(entry["seq"] for entry in entries if entry["kind"] == "reserve")
    path = "/v1/datasets/clinic/ledger/voids"
    refused = call("custodian", "POST", path, json={"entry": seq, "reason": "x"})
    assert refused.status_code == 403
    later = call("custodian", "GET", f"/v1/datasets/clinic/ledger?after={seq}").json()["entries"]
    assert [entry["kind"] for entry in later] == ["settle"]


STEPS = ("BEGIN", "service_datasets", "service_access", "INSERT INTO datasets", "entries", "COMMIT")
"""Statements of a registration, in their order."""


@pytest.mark.parametrize("step", STEPS)
def test_a_registration_that_dies_at_any_step_leaves_no_name_behind(
    tmp_path: Path, step: str
) -> None:
    """Killed at the first statement that holds these words; then it is tried again."""
    settings = settings_for(tmp_path)
    Service(settings).close()
    killed = subprocess.run(
        [sys.executable, "-c", _DIES, settings.database, str(settings.data), step],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert killed.returncode == -9, killed.stderr
    service = Service(settings)
    try:
        service.start()
        custodian = service.people.get("custodian")
        assert service.datasets(custodian) == []
        assert service.ledger.datasets() == ()
        service.register(
            custodian, "clinic", {"file": "clinic.csv"}, card=CARD.read_text(), readers=["ana"]
        )
        assert service.people.may_see("clinic") == ["ana"]
    finally:
        service.close()


_DIES = """
import os, signal, sqlite3, sys
from whitecrow.demo import CARD
from whitecrow_server import Service, Settings

database, data, step = sys.argv[1:]
service = Service(Settings(database=database, data=data))
custodian = service.people.add("custodian", "custodian")
service.members.invite(custodian, "ana", "analyst")

def traced(statement):
    words = statement.strip()
    if step in words and words.startswith(("BEGIN", "COMMIT", "INSERT")):
        os.kill(os.getpid(), signal.SIGKILL)

pool = [service.store._engine, service.ledger.database._engine]
from sqlalchemy import event
for engine in pool:
    event.listen(engine, "checkout", lambda raw, *_: raw.set_trace_callback(traced))
service.register(
    custodian, "clinic", {"file": "clinic.csv"}, card=CARD.read_text(), readers=["ana"]
)
"""


def test_a_listing_without_an_account_is_removed_at_the_start(tmp_path: Path) -> None:
    """What a crash of the first version could leave; its name can then be given again."""
    settings = settings_for(tmp_path)
    service = Service(settings)
    custodian = service.people.add("custodian", "custodian")
    with service.store.transaction() as connection:
        orphan = Listing("orphan", {"file": "clinic.csv"}, Card.load(CARD), "local")
        service.catalogue.add(connection, orphan, ["*"])
    service.close()
    service = Service(settings)
    try:
        service.start()
        assert service.datasets(custodian) == []
        service.register(custodian, "orphan", {"file": "clinic.csv"}, card=CARD.read_text())
    finally:
        service.close()


def test_readers_card_and_promise_change_together_or_not_at_all(
    opened: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    house = opened()
    service = house.service

    def broken(*given: object, **more: object) -> None:
        raise wc.Unavailable("the power failed")

    monkeypatch.setattr(service.ledger, "amend", broken)
    with pytest.raises(wc.Unavailable):
        service.amend(
            person("custodian"),
            "clinic",
            reason="a test",
            readers=["bob"],
            card=CARD.read_text(encoding="utf-8").replace("upper = 95", "upper = 100"),
        )
    assert service.people.may_see("clinic") == ["ana"]
    assert service.catalogue.get("clinic").revision == 1


def test_a_csv_without_a_card_is_refused_when_it_is_registered(call: Caller) -> None:
    """Its types would be read from records, and an analyst would see them change with one value."""
    body = {"name": "new", "source": {"file": "clinic.csv"}}
    refused = call("custodian", "POST", "/v1/datasets", json=body)
    assert refused.status_code == 422
    assert "register it with a card" in refused.json()["error"]["reason"]


@pytest.mark.parametrize(
    "query",
    [
        "DROP TABLE people",
        "SELECT age FROM people); DROP TABLE people; --",
        "SELECT age FROM people; DROP TABLE people",
        "ATTACH '/tmp/other.db' AS other",
        "SELECT load_extension('evil') AS age",
        "PRAGMA writable_schema = 1",
    ],
)
def test_a_query_that_could_write_is_refused_when_it_is_registered(
    query: str, opened: Callable[..., House], tmp_path: Path
) -> None:
    call = Caller(opened(databases={"warehouse": f"sqlite:///{tmp_path / 'warehouse.db'}"}))
    body = {"name": "new", "source": {"database": "warehouse", "query": query}}
    refused = call("custodian", "POST", "/v1/datasets", json=body)
    assert refused.status_code == 422
    assert "The query is not taken" in refused.json()["error"]["reason"]
    assert not (tmp_path / "warehouse.db").exists()

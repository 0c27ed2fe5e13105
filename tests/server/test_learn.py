"""A detector learned through the service comes home as an object, once charged."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import whitecrow as wc
from whitecrow import demo
from whitecrow.errors import NotKnown

from .conftest import Caller, House, identify, listening


def test_a_client_gets_a_detector_and_gets_it_again_for_free(opened: Callable[..., House]) -> None:
    house = opened(budget="8")
    with listening(house) as url, wc.Client(url, house.tokens["ana"]) as client:
        first = client.learn(["age", "bmi", "ward"], epsilon="2")
        again = client.learn(["age", "bmi", "ward"], epsilon="2")
    assert isinstance(first.answer, wc.Detector)
    assert (first.charged, again.charged) == (True, False)
    assert first.answer == again.answer
    assert len(first.answer.scores(first.answer.sample(10))) == 10


def test_a_detector_is_downloaded_by_its_entry_and_by_nobody_else(
    opened: Callable[..., House],
) -> None:
    house = opened(budget="8")
    call = Caller(house)
    with house.service.store.transaction() as connection:
        house.service.catalogue.admit(connection, "clinic", ["*"])
    question = {"kind": "learn", "columns": ["age", "bmi", "ward"], "epsilon": "2"}
    reply = call("ana", "POST", "/v1/datasets/clinic/ask", json=question).json()
    learned = wc.Detector.from_json(reply["answer"])
    path = f"/v1/datasets/clinic/detectors/{learned.entry}"
    file = call("ana", "GET", path)
    assert file.status_code == 200
    assert file.headers["content-type"] == "application/octet-stream"
    assert wc.Detector.from_bytes(file.content) == learned
    nothing = call("bob", "GET", path.replace(learned.entry, "0" * 64))
    for who in ("bob", "custodian"):
        refused = call(who, "GET", path)
        assert refused.status_code == 404
        assert refused.text.replace(learned.entry, "0" * 64) == nothing.text
    screened = identify(3)
    call("ana", "POST", "/v1/datasets/clinic/ask", json=screened)
    digest = house.service.ledger.entries("clinic", kind="settle")[-1].digest
    assert call("ana", "GET", path.replace(learned.entry, digest)).status_code == 404


def test_a_detector_whose_reply_is_not_due_is_not_downloaded_either(
    opened: Callable[..., House],
) -> None:
    """When it can first be fetched would otherwise tell how long the computation took."""
    house = opened(budget="8", deadlines={"learn": 3600.0})
    service, ana = house.service, house.service.people.get("ana")
    question = {"kind": "learn", "columns": ["age", "bmi"], "epsilon": "2"}
    learned = service.ask(ana, "clinic", question).answer
    with pytest.raises(NotKnown):
        service.detector(ana, "clinic", learned.entry)
    service.settings = replace(service.settings, deadlines={"learn": 0.001})
    with pytest.raises(NotKnown):  # it keeps the moment that was published when it was asked
        service.detector(ana, "clinic", learned.entry)
    learned = service.ask(ana, "clinic", {**question, "epsilon": "1"}).answer
    time.sleep(0.01)
    assert service.detector(ana, "clinic", learned.entry) == learned


def test_a_detector_carries_the_digest_of_the_revision_that_it_was_learned_from(
    tmp_path: Path,
) -> None:
    file = tmp_path / "clinic.csv"
    file.write_bytes(demo.DATA.read_bytes())
    how = {"card": demo.CARD, "budget": "9"}
    with wc.Curator.open(file, **how) as curator:
        first = curator.learn(["age", "bmi"], epsilon="1").answer
    with file.open("a", encoding="utf-8") as more:
        more.write(file.read_text(encoding="utf-8").splitlines()[1] + "\n")
    with wc.Curator.open(file, **how, advance="one more") as curator:
        second = curator.learn(["age", "bmi"], epsilon="1").answer
        settled = curator.ledger.entries(curator.name, kind="settle")
    assert first.entry != second.entry
    assert [one.digest for one in settled] == [first.entry, second.entry]

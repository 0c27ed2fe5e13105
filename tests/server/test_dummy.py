"""Dummy answers over HTTP: free, marked, and a function of public things alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import whitecrow as wc
from whitecrow.demo import CARD, DATA

from .conftest import House, identify, listening


def _asked(house: House, body: dict[str, Any]) -> dict[str, Any]:
    service = house.service
    return service.dummy(service.people.get("ana"), "clinic", body).to_json()


def test_a_dummy_answer_is_the_same_whatever_the_data_are(
    opened: Callable[..., House], tmp_path: Path
) -> None:
    """Also when there is no row at all: no record of the data is near it."""
    rows = DATA.read_text(encoding="utf-8").splitlines()
    found = []
    for name, kept in (("all", rows), ("few", rows[:3])):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "clinic.csv").write_text("\n".join(kept) + "\n", encoding="utf-8")
        house = opened(data=str(folder), database=f"sqlite:///{folder / 'service.db'}")
        found.append([_asked(house, identify(i)) for i in range(3)])
    assert found[0] == found[1]


def test_a_dummy_answer_is_marked_and_costs_nothing(opened: Callable[..., House]) -> None:
    house = opened(budget="1", patience=240.0)
    house.service.curator(house.service.people.get("ana"), "clinic")
    before = house.service.ledger.snapshot("clinic")
    question = wc.Screen(
        {"age": 50, "bmi": 25.0}, model=wc.DistanceAnomaly(beta=5, radius=4.0), epsilon="9"
    )
    with listening(house) as url, wc.Client(url, house.tokens["ana"], dataset="clinic") as client:
        release = client.dummy(question)
        with pytest.raises(wc.BudgetExhausted):
            client.ask(question)
    assert release.dummy
    assert not release.charged
    assert str(release).startswith("DUMMY")
    assert release.statement.startswith("DUMMY")
    assert release.to_json()["dummy"] is True
    assert "DUMMY" in release._repr_html_()
    assert house.service.ledger.snapshot("clinic") == before


def test_a_dummy_is_shown_to_those_who_may_know_of_the_dataset(
    opened: Callable[..., House],
) -> None:
    house = opened()
    with pytest.raises(wc.InvalidInput):
        house.service.dummy(house.service.people.get("bob"), "clinic", identify())


def test_the_curator_the_terminal_and_the_service_give_the_same_dummy(
    opened: Callable[..., House],
) -> None:
    house = opened()
    question = wc.Count(model=wc.DistanceAnomaly(beta=5, radius=4.0), epsilon="1/10")
    body = {"kind": "count", **question.to_json()}
    with wc.Curator.open(DATA, card=CARD, ledger="sqlite://") as curator:
        mine = curator.dummy(question)
        assert _asked(house, body) == mine.to_json()
        assert mine.answer == curator.dummy(question).answer
        assert str(curator.remaining()) == "differential 1, sensitive 1, delta 0.000001"

"""From a profile to a card and a model over HTTP: who may, what the chain keeps, what is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.client import Client
from whitecrow.errors import Forbidden, InvalidInput
from whitecrow.privacy import DifferentialPrivacy
from whitecrow.screen import Screen

from .conftest import Caller, House, listening

SCHEMA = """
name = "visits"
[[columns]]
name = "age"
type = "integer"
[[columns]]
name = "pay"
type = "number"
"""


def visits(folder: Path) -> None:
    draw = np.random.default_rng(3)
    rows = [f"{draw.integers(18, 95)},{np.exp(draw.normal(7, 1)):.2f}" for _ in range(4000)]
    (folder / "visits.csv").write_text("\n".join(["age,pay", *rows]) + "\n")


@pytest.fixture
def house(opened: Callable[..., House], tmp_path: Path) -> House:
    """A service over a bare CSV, and the clinic beside it."""
    from whitecrow.demo import DATA

    visits(tmp_path)
    (tmp_path / "clinic.csv").write_bytes(DATA.read_bytes())
    found = opened(data=str(tmp_path))
    found.service.register(
        found.service.people.get("custodian"),
        "visits",
        {"file": "visits.csv"},
        card=SCHEMA,
        budget="9",
        readers=["ana"],
    )
    return found


@pytest.fixture
def clients(house: House) -> Iterator[Callable[[str], Client]]:
    made: list[Client] = []
    with listening(house) as url:

        def client(who: str) -> Client:
            made.append(Client(url, house.tokens[who], dataset="visits", patience=60.0))
            return made[-1]

        yield client
        for one in made:
            one.close()


def test_a_profiles_draft_is_accepted_through_the_client_and_the_chain_keeps_it(
    house: House, clients: Callable[[str], Client]
) -> None:
    custodian = clients("custodian")
    profile = custodian.profile(epsilon="2").answer
    listed = custodian.drafts()
    assert [one["draft"]["draft"] for one in listed] == [profile.entry]
    assert listed[0]["analyst"] == "custodian"

    card = custodian.accept(profile, reason="Read and found right.")
    assert {column.source for column in card.columns} == {"priced question"}
    assert custodian.card == card
    entry = house.service.ledger.entries("visits", kind="amend")[-1].content
    assert entry["reason"].startswith(f"Accepted the card that profile {profile.entry} drafted.")
    assert entry["reason"].endswith("Read and found right.")
    assert entry["actor"] == "custodian"
    assert entry["card"] == card.to_json()
    assert house.service.ledger.entries("visits", kind="reserve")[-1].analyst == "custodian"


def test_an_edited_draft_says_which_lines_are_the_custodians_own(
    house: House, clients: Callable[[str], Client]
) -> None:
    custodian = clients("custodian")
    draft = custodian.profile(epsilon="2").answer.draft()
    draft["columns"][0]["upper"] = 120
    card = custodian.accept(draft)
    assert card.column("age").upper == 120
    assert card.column("age").source == "expert"
    assert card.column("pay").source == "priced question"
    reason = house.service.ledger.entries("visits", kind="amend")[-1].content["reason"]
    assert reason.endswith("drafted, edited: age.")


def test_a_draft_of_another_account_or_of_nobody_is_refused_and_changes_nothing(
    house: House, clients: Callable[[str], Client]
) -> None:
    custodian = clients("custodian")
    draft = custodian.profile(epsilon="2").answer.draft()
    before = custodian.card
    for wrong in ("0" * 64, "%", "x" * 500):
        with pytest.raises(InvalidInput, match="No profile of the account"):
            custodian.accept({**draft, "draft": wrong})
    with pytest.raises(InvalidInput, match="no draft"):
        custodian.accept(before.to_json())
    with pytest.raises(InvalidInput, match="not valid TOML"):
        custodian.accept("name = ")
    assert custodian.card == before
    assert not house.service.ledger.entries("visits", kind="amend")


def test_an_analyst_neither_sees_nor_accepts_drafts(clients: Callable[[str], Client]) -> None:
    ana = clients("ana")
    draft = ana.profile(epsilon="1").answer
    with pytest.raises(Forbidden):
        ana.drafts()
    with pytest.raises(Forbidden):
        ana.accept(draft)


def test_advice_over_http_is_that_of_a_curator_and_spends_nothing(
    clients: Callable[[str], Client],
) -> None:
    custodian = clients("custodian")
    custodian.accept(custodian.profile(epsilon="2").answer)
    left = custodian.remaining()
    found = custodian.advise("0.02", beta=10, epsilon="1/2")
    assert custodian.remaining() == left
    assert found.drawn_from == "profile"
    assert found.columns == ("age", "pay")
    assert 0.005 < found.share < 0.04  # the noise of the profile moves it by 0.0006
    assert found.description.price == DifferentialPrivacy("1/2")
    assert found.description.error
    assert custodian.price(found.question) == found.description.price  # it may be asked as it is


def test_an_analyst_is_advised_from_their_own_profile_alone(
    clients: Callable[[str], Client],
) -> None:
    custodian, ana = clients("custodian"), clients("ana")
    custodian.accept(custodian.profile(epsilon="2").answer)
    found = ana.advise("0.02", records=4000)
    assert found.drawn_from == "card"
    with pytest.raises(InvalidInput, match="about how many records"):
        ana.advise("0.02")
    ana.profile(epsilon="1")
    assert ana.advise("0.02").drawn_from == "profile"


@pytest.mark.parametrize(
    "body",
    [
        {"contamination": "1/2"},
        {"contamination": "0"},
        {"contamination": "x"},
        {"contamination": "0.1", "columns": ["nothing"]},
        {"contamination": "0.1", "columns": ["age"] * 40},
        {"contamination": "0.1", "metric": "x"},
        {"contamination": "0.1", "beta": 0},
        {"contamination": "0.1", "records": 0},
        {"contamination": "0.1", "more": 1},
        {},
    ],
)
def test_advice_on_something_malformed_is_refused(house: House, body: dict[str, Any]) -> None:
    reply = Caller(house)("ana", "POST", "/v1/datasets/clinic/advice", json=body)
    assert reply.status_code == 422, reply.text


def test_1132_records_are_planned_in_one_request_and_longer_batches_than_200_are_asked(
    opened: Callable[..., House],
) -> None:
    house = opened(budget="1000")
    model = DistanceAnomaly(beta=40, radius=3.0)
    draw = np.random.default_rng(5)
    records = [
        {"systolic": int(a), "bmi": float(b)}
        for a, b in zip(draw.uniform(90, 200, 1132), draw.uniform(16, 45, 1132), strict=True)
    ]
    questions = [Screen(record, model=model, epsilon="1/100") for record in records]
    with listening(house) as url, Client(url, house.tokens["ana"], patience=60.0) as client:
        plan = client.plan(questions)
        assert (plan.questions, plan.charged, plan.fits) == (1132, 1132, True)
        assert plan.price["differential"] < plan.apart
        releases = client.ask_all(questions[:220])
        assert sum(one.charged for one in releases) == 220
        with pytest.raises(InvalidInput, match="at most 2000"):
            client.plan(questions * 2)

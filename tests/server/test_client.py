"""The client has the curator's methods, values and errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import whitecrow as wc

from .conftest import House, listening

MODEL = wc.DistanceAnomaly(beta=5, radius=4.0)


def _question(age: int = 90, epsilon: str = "1/2") -> wc.Identify:
    return wc.Identify({"age": age, "bmi": 45.0}, model=MODEL, epsilon=epsilon)


def test_a_client_says_what_a_local_curator_says(opened: Callable[..., House]) -> None:
    from whitecrow.demo import CARD, DATA

    house = opened(budget="8")
    policy = {"notions": ["differential", "concentrated", "sensitive", "conditional"]}
    local = wc.Curator.open(
        str(DATA), card=str(CARD), ledger="sqlite://", budget="8", policy=policy
    )
    with listening(house) as url, wc.Client(url, house.tokens["ana"]) as client:
        question = _question()
        assert client.datasets() == ("clinic",)
        assert client.card == local.card
        assert client.policy == local.policy
        # Only the service records which records they are: the local account is in memory.
        assert replace(client.price(question), card="") == replace(local.price(question), card="")
        # Response time is spoken of where nothing pads it.
        said = str(local.describe(question, typical_neighbours=2)).partition(" Response time")[0]
        assert str(client.describe(question, typical_neighbours=2)) == said
        assert client.plan([question]) == local.plan([question])
        assert client.remaining() == local.remaining()
        release, here = client.ask(question), local.ask(question)
        guarantees = [replace(one.guarantee, card="") for one in (release, here)]
        assert guarantees[0] == guarantees[1]
        assert (release.statement, release.charged, release.ledger) == (
            here.statement,
            here.charged,
            here.ledger,
        )
        again = client.ask(question)
        assert (again.answer, again.charged) == (release.answer, False)
        assert client.remaining() == local.remaining()
        assert [one["answer"] for one in client.history()] == [release.answer]
        for wrong in (_question(epsilon="9"), _question(age=500)):
            with pytest.raises(wc.WhitecrowError) as remote:
                client.ask(wrong)
            with pytest.raises(wc.WhitecrowError) as nearby:
                local.ask(wrong)
            assert type(remote.value) is type(nearby.value)
            assert str(remote.value) == str(nearby.value)
            assert {**vars(remote.value), "parameter": ""} == {
                **vars(nearby.value),
                "parameter": "",
            }


def test_a_client_does_not_send_its_token_in_the_open() -> None:
    with pytest.raises(wc.InvalidInput, match="in the open"):
        wc.Client("http://crow.example.org", "wc_token")


def test_a_service_that_is_away_is_unavailable() -> None:
    client = wc.Client("http://127.0.0.1:1", "wc_token", dataset="clinic", patience=0.5)
    with pytest.raises(wc.Unavailable, match="not charged twice"):
        client.ask(_question())


def test_a_stranger_is_refused(house: House) -> None:
    with listening(house) as url:
        with (
            wc.Client(url, "wc_stranger", dataset="clinic") as client,
            pytest.raises(wc.PolicyViolation, match="Sign in"),
        ):
            client.ask(_question())
        with (
            wc.Client(url, house.tokens["bob"], dataset="clinic") as client,
            pytest.raises(wc.InvalidInput, match="no dataset 'clinic'"),
        ):
            client.ask(_question())

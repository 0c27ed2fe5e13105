"""A detector kept current through the service: paid once, going on, shown on the pages."""

from __future__ import annotations

from collections.abc import Callable

import whitecrow as wc

from .conftest import Caller, House, listening

YEAR = {
    "columns": ["age", "bmi", "ward"],
    "time": "day",
    "start": "2024-01-01",
    "period": "month",
    "horizon": 3,
    "epsilon": "2",
}


def test_a_client_follows_a_series_at_one_price(opened: Callable[..., House]) -> None:
    house = opened(budget="8")
    with listening(house) as url, wc.Client(url, house.tokens["ana"]) as client:
        first = client.monitor(**YEAR, through=1)
        later = client.monitor(**YEAR, through=2)
        again = client.monitor(**YEAR, through=1)
    assert isinstance(first.answer.detector, wc.Detector)
    assert (first.charged, later.charged, again.charged) == (True, False, False)
    assert first.answer.detector == again.answer.detector
    assert later.answer.period == "2024-02"
    assert later.ledger["spent"] == first.ledger["spent"]


def test_the_ledger_has_one_spend_for_all_steps(opened: Callable[..., House]) -> None:
    house = opened(budget="8")
    call = Caller(house)
    for through in (1, 3, 2):
        reply = call("ana", "POST", "/v1/datasets/clinic/ask",
                     json={"kind": "monitor", **YEAR, "through": through})  # fmt: skip
        assert reply.status_code == 200, reply.text
        assert reply.json()["answer"]["step"] == through
    assert len(house.service.ledger.entries("clinic", kind="reserve")) == 1
    (kept,) = house.service.ledger.entries("clinic", kind="settle")
    assert "series" in str(kept.content)

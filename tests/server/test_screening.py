"""Screening through the service: one price, any number of records, counters beside the records."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

import whitecrow as wc

from .conftest import Caller, House, listening

SERIES = {
    "model": {"beta": 30, "radius": 6},
    "columns": ["age", "bmi"],
    "epsilon": "8",
    "delta": "1e-6",
}


def new_records(size: int) -> pa.Table:
    draw = np.random.default_rng(4)
    ages, bmis = draw.uniform(18, 95, size), draw.uniform(12, 60, size)
    return pa.table({"age": ages.round(), "bmi": bmis.round(2)})


def test_a_client_screens_a_table_and_goes_on_for_nothing(opened: Callable[..., House]) -> None:
    house, asked = opened(budget="8, 1e-6"), new_records(1500)
    model = wc.DistanceAnomaly(beta=30, radius=6)
    with listening(house) as url, wc.Client(url, house.tokens["ana"]) as client:
        how = {**SERIES, "model": model}
        screening = client.screening(**how)
        flags = screening.ask_all(asked)
        again = client.screening(**how)
        one = again.ask({"age": 95, "bmi": 60.0})
        assert (again.ask_all(asked) == flags).all()
    assert (screening.opening.charged, again.opening.charged, one.charged) == (True, False, False)
    assert one.answer is True
    assert 0.2 < flags.mean() < 0.9
    assert len(house.service.ledger.entries("clinic", kind="reserve")) == 1


def test_counters_are_those_of_the_transcript_after_the_process_died(
    opened: Callable[..., House],
) -> None:
    house = opened(budget="8, 1e-6")
    call = Caller(house)

    def ask(**more: object) -> object:
        body = {"kind": "screening", **SERIES, **more}
        reply = call("ana", "POST", "/v1/datasets/clinic/ask", json=body)
        assert reply.status_code == 200, reply.text
        return reply.json()["answer"]

    rows = new_records(300).to_pylist()
    first = ask(batch=rows)
    listing = house.service.catalogue.get("clinic")
    house.service.pool.process(listing)._child.end()
    assert ask(batch=rows[:50]) == first[:50]  # type: ignore[index]
    assert ask(record={"age": 95, "bmi": 59.0}) is True


def test_a_batch_that_is_too_long_or_malformed_is_refused(opened: Callable[..., House]) -> None:
    call = Caller(opened(budget="8, 1e-6"))
    for batch in ([{"age": 30, "bmi": 20}] * 1001, [], [3], [{"age": 30}]):
        body = {"kind": "screening", **SERIES, "batch": batch}
        assert call("ana", "POST", "/v1/datasets/clinic/ask", json=body).status_code in (400, 422)

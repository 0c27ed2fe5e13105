"""A detector learned through the service comes home as an object, once charged."""

from __future__ import annotations

from collections.abc import Callable

import whitecrow as wc

from .conftest import House, listening


def test_a_client_gets_a_detector_and_gets_it_again_for_free(opened: Callable[..., House]) -> None:
    house = opened(budget="8")
    with listening(house) as url, wc.Client(url, house.tokens["ana"]) as client:
        first = client.learn(["age", "bmi", "ward"], epsilon="2")
        again = client.learn(["age", "bmi", "ward"], epsilon="2")
    assert isinstance(first.answer, wc.Detector)
    assert (first.charged, again.charged) == (True, False)
    assert first.answer == again.answer
    assert len(first.answer.scores(first.answer.sample(10))) == 10

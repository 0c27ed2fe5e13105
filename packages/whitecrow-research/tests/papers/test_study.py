"""The custodian's study of matching sets."""

from __future__ import annotations

import numpy as np
import pytest

from whitecrow.anomaly.detectors import FewWithin, Grubbs, Histogram, LocalOutlierFactor
from whitecrow.data import Card, Column, Dataset
from whitecrow.errors import InvalidInput
from whitecrow.explain import Explain
from whitecrow_research.papers.pcor.study import match_study


def tiny(salaries: list[float]) -> tuple[Explain, Dataset]:
    card = Card(
        "tiny",
        (
            Column("c", "category", categories=("a", "b")),
            Column("Salary", "integer", lower=0, upper=1000),
        ),
    )
    codes = np.arange(len(salaries)) % 2
    data = Dataset(card, {"c": codes, "Salary": np.array(salaries)})
    question = Explain(
        {"c": "a", "Salary": salaries[0]},
        metric="Salary",
        detector=FewWithin(2, 5),
        epsilon=1,
        notion="conditional",
    )
    return question, data


def test_a_set_on_the_edge_changes_with_one_record_and_a_safe_one_does_not():
    edge, data = tiny([500, 502, 503, 900])  # three near in the whole, two allowed
    found = match_study(edge, data, neighbours=40, seed=1)
    assert found.matching == 1
    assert 0 < found.unchanged < 1
    safe, data = tiny([500, 100, 101, 102, 103])
    found = match_study(safe, data, neighbours=20)
    assert (found.matching, found.unchanged, found.overlap) == (2, 1.0, 1.0)


def test_more_changes_keep_fewer_sets():
    question, data = tiny([500, 502, 503, *range(100, 140)])
    shares = [
        match_study(question, data, records=records, neighbours=60, seed=2).unchanged
        for records in (1, 20)
    ]
    assert shares[0] > shares[1]


@pytest.mark.parametrize("detector", [FewWithin(2, 5), Grubbs(), Histogram(), LocalOutlierFactor()])
def test_every_record_may_go_the_one_asked_about_too(detector):
    question, data = tiny([500, 502, 503, 900])
    question = Explain(
        dict(question.record),
        metric="Salary",
        attributes=["c"],
        detector=detector,
        epsilon=1,
        notion="conditional",
    )
    found = match_study(question, data, records=4, neighbours=2)
    assert 0 <= found.unchanged <= 1


def test_records_may_come_as_well_as_go():
    question, data = tiny([500, 502, 900])
    seen = []
    found = match_study(
        question, data, change="add", neighbours=30, progress=lambda *at: seen.append(at)
    )
    assert found.unchanged < 1
    assert seen[-1] == (30, 30, "neighbours")


def test_the_study_is_private():
    question, data = tiny([500, 100])
    assert str(match_study(question, data, neighbours=2)) == "<facts withheld>"


@pytest.mark.parametrize(
    "wrong", [{"records": 0}, {"neighbours": 0}, {"change": "swap"}, {"records": True}]
)
def test_wrong_parameters_are_refused(wrong):
    question, data = tiny([500, 100])
    with pytest.raises(InvalidInput):
        match_study(question, data, **wrong)

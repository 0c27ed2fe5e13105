"""The checker finds the distance by itself, and every λ that is wrong at one place."""

from __future__ import annotations

import itertools

import pytest

from whitecrow.anomaly import AnomalyModel, CountingModel, DistanceAnomaly
from whitecrow.anomaly.graph import DatabaseGraph
from whitecrow.anomaly.law import discrepancy
from whitecrow.errors import InvalidInput
from whitecrow.testing import check_model

CUBE = list(itertools.product((0, 1), repeat=3))


def few_agree(records, i):
    """Fewer than three records, itself included, agree with it in two of three columns."""
    return sum(sum(a == b for a, b in zip(r, i, strict=True)) >= 2 for r in records) < 3


class FewAgree(CountingModel):
    kind, threshold = "few-agree", 2

    def weight(self, i, other):
        return int(sum(a == b for a, b in zip(i, other, strict=True)) >= 2)


def near(records, i):
    return sum(abs(one - i) <= 1 for one in records) <= 3


def test_the_papers_distances_are_found_from_the_predicate_alone():
    report = check_model(near, universe=range(1, 6), k=1, epsilon=1, size=7)
    assert report.passed
    assert report.counterexample is None
    found = report.discrepancy
    assert found[(1, 1, 1, 5), 5] == 6
    assert found[(1, 1, 1, 2, 2, 3, 5), 5] == 3
    assert found[(5, 3, 1, 1, 1), 5] == 3  # in any order
    assert len(found) == report.databases * 5 == len(list(found))


@pytest.mark.parametrize("k", [1, 2, None])
def test_the_distance_of_copies_is_the_closed_form(k):
    def rare(records, i):
        return records.count(i) <= 3

    report = check_model(rare, universe="ab", k=k, epsilon=1, size=5)
    for copies in range(5):
        exact = discrepancy(copies, copies, beta=3, k=k or 3, radius_is_zero=True)
        assert report.discrepancy[("a",) * copies, "a"] == exact


def test_a_predicate_of_five_lines_gets_its_bound_and_a_model_of_it_passes():
    alone = check_model(few_agree, universe=CUBE, k=1, epsilon="1/2", size=4)
    model = check_model(FewAgree(), universe=CUBE, k=1, epsilon="1/2", size=4)
    assert alone.passed
    assert model.passed
    assert alone.below == 0
    assert alone.discrepancy[((1, 1, 1),), (1, 1, 1)] == 2
    assert model.worst_loss == pytest.approx(0.5) == alone.worst_loss
    assert "passed on 495 databases" in repr(model)


ONE = (1, 1, 1)


@pytest.mark.parametrize("records", [(ONE,), ((0, 0, 0), ONE, ONE), (ONE, ONE)])
def test_a_bound_too_large_by_one_at_one_place_is_refused_with_the_pair(records):
    class Wrong(FewAgree):
        def bound(self, given, i, k):
            found = super().bound(given, i, k)
            return found + 1 if sorted(given) == sorted(records) and i == (1, 1, 1) else found

    report = check_model(Wrong(), universe=CUBE, k=1, epsilon=1, size=4)
    assert not report.passed
    assert report.record == (1, 1, 1)
    smaller, larger = report.counterexample
    assert records in (smaller, larger)
    assert abs(len(smaller) - len(larger)) == 1
    assert str(smaller) in report.reason


def test_a_bound_that_is_steep_passes_with_its_alpha_and_fails_without():
    class Steep(FewAgree):
        def bound(self, records, i, k):
            return 1 + (super().bound(records, i, k) - 1) // 2 * 2

    report = check_model(Steep(), universe=CUBE, k=1, epsilon=1, size=4)
    assert not report.passed
    assert "changes by more than 1" in report.reason
    Steep.alpha = 2
    report = check_model(Steep(), universe=CUBE, k=1, epsilon=1, size=4)
    assert report.passed
    assert 0.5 < report.worst_loss <= 1


@pytest.mark.parametrize(
    ("method", "value", "says"),
    [
        ("bound", lambda self, records, i, k: 0, "below 1"),
        ("bound", lambda self, records, i, k: None, "λ is not 1 on both sides"),
        ("sensitive", lambda self, records, i, k: False, "1-sensitive"),
        ("label", lambda self, records, i: records[0] == i, "order of the records"),
    ],
)
def test_what_a_model_may_not_do_is_named(method, value, says):
    broken = type("Broken", (FewAgree,), {method: value})()
    report = check_model(broken, universe=CUBE, k=1, epsilon=1, size=3)
    assert not report.passed
    assert says in report.reason


def test_a_bound_above_the_distance_is_found_where_alpha_hides_it():
    class Jumping(AnomalyModel):
        kind, alpha = "jumping", 5

        def label(self, records, i):
            return records.count(i) <= 2

        def bound(self, records, i, k):
            return 1 if 1 <= records.count(i) <= 3 else 6 if records.count(i) else 1

    report = check_model(Jumping(), universe=[1], k=None, epsilon=1, size=6)
    assert not report.passed
    assert "steps are enough" in report.reason


def test_the_default_bound_is_right_for_every_model():
    class Odd(AnomalyModel):
        kind = "odd"

        def label(self, records, i):
            return len(records) % 2 == 1

    report = check_model(Odd(), universe="abc", k=2, epsilon=1, size=5)
    assert report.passed
    assert report.worst_loss == pytest.approx(1.0)


def test_databases_are_numbered_in_order():
    graph = DatabaseGraph([0, 1], 2)
    databases = [graph.records(number) for number in range(len(graph.counts))]
    assert databases == [(), (1,), (1, 1), (0,), (0, 1), (0, 0)]
    assert [graph.number(database) for database in databases] == list(range(6))


def test_columns_make_named_records():
    def label(records, i):
        return sum(one.ward == i.ward for one in records) <= 1

    report = check_model(label, universe={"age": [1, 2], "ward": "AB"}, k=1, epsilon=1, size=3)
    assert {record._fields for _, record in report.discrepancy} == {("age", "ward")}


def _title(axes):
    return "".join(axes.get_title(place) for place in ("left", "center", "right"))


def test_the_graph_is_drawn():
    report = check_model(DistanceAnomaly(2, 1), universe=range(3), k=1, epsilon=1, size=4)
    axes = report.plot(1)
    assert "about 1" in _title(axes)
    assert axes.lines
    again = report.plot(axes=axes)
    assert again is axes
    assert "about 0" in _title(axes)


@pytest.mark.parametrize(
    "given", [{"universe": []}, {"k": 0}, {"epsilon": 0}, {"size": 0}, {"universe": range(40)}]
)
def test_what_cannot_be_checked_is_refused(given):
    settings = {"universe": range(3), "k": 1, "epsilon": 1, **given}
    if len(settings["universe"]) == 40:
        settings["size"] = 20
    with pytest.raises(InvalidInput):
        check_model(near, **settings)
    with pytest.raises(InvalidInput):
        check_model("near", universe=range(3), k=1, epsilon=1)

"""From the data to an answer, through the curator and bare."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.anomaly.detectors import FewWithin, FittedDetector
from whitecrow.curator import Curator, Policy
from whitecrow.data import Card, Column, Dataset
from whitecrow.explain import CustomUtility, Explain, Isolation, gather, release
from whitecrow.explain.question import outlier_probability
from whitecrow.explain.search import SEARCHES
from whitecrow.explain.unaccounted import context_release, exact_release_law, matching_contexts
from whitecrow.noise.seeded import SeededSource

MODEL = DistanceAnomaly(beta=10, radius=20_000)


def ask(record, **changes):
    basic = {"metric": "Salary", "detector": "lof", "epsilon": 1, "notion": "conditional"}
    return Explain(record, **basic | changes)


def members(town, context):
    inside = np.ones(town.size, dtype=bool)
    for name, values in context.items():
        if name == "Age":
            codes = np.searchsorted([40, 65], town.values("Age"), side="right")
            labels = ["[18, 40)", "[40, 65)", "[65, 95]"]
            inside &= np.isin(codes, [labels.index(value) for value in values])
        else:
            known = town.card.column(name).categories
            inside &= np.isin(town.values(name), [known.index(value) for value in values])
    return inside


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("detector", ["lof", "grubbs", "histogram", MODEL])
def test_a_conditional_answer_is_a_context_in_which_the_record_is_an_outlier(
    town, record, search, detector
):
    question = ask(record, detector=detector, search=search, samples=10)
    answer = release(question, gather(question, town), SeededSource(search))
    inside = members(town, answer["context"])
    assert inside[0], "the record itself belongs to its context"
    rule = question.on_grid(town.card)[2]
    values = np.sort(town.values("Salary")[inside].astype(np.int64))
    assert rule.outlier(values, 240_000)


def test_a_record_that_is_an_outlier_nowhere_gets_a_defined_answer(town, record):
    middle = {**record, "Salary": float(np.median(town.values("Salary")))}
    for search in SEARCHES:
        question = ask(middle, detector=DistanceAnomaly(1, 500_000), search=search, samples=5)
        answer = release(question, gather(question, town), SeededSource(1))
        assert answer["context"] is None
        assert answer["where"] is None
        assert "no context" in answer["words"]
    question = ask(middle, detector=MODEL, notion="differential")
    assert release(question, gather(question, town))["context"] is not None


def test_a_record_that_the_data_do_not_hold_is_answered_as_if_they_did(card, town, record):
    others = Dataset(card, {name: town.values(name)[1:] for name in card.names})
    for notion, detector in (("conditional", "grubbs"), ("differential", MODEL)):
        question = ask(record, detector=detector, notion=notion)
        with_it = release(question, gather(question, town), SeededSource(5))
        assert release(question, gather(question, others), SeededSource(5)) == with_it


def test_overlap_prefers_the_start(town, record):
    start = {"Employer": ["A"], "Year": ["2003", "2004"], "Age": ["[40, 65)"]}
    question = ask(record, utility="overlap", start=start, detector=MODEL, epsilon=20)
    context = release(question, gather(question, town), SeededSource(2))["context"]
    assert "2003" in context["Year"]


def test_a_utility_of_ones_own_decides(town, record):
    brief = CustomUtility(
        "brief",
        lambda sizes, values: np.minimum(sizes, 3) - 50 * sum(values.values()),
        monotone=True,
        limit=700,
    )
    for search in ("direct", "bfs"):
        question = ask(record, utility=brief, detector="grubbs", search=search, samples=20)
        facts = gather(question, town)
        answer = release(question, facts, SeededSource(3))
        listed = [facts.space.context(answer["context"])]
        shape = {name: len(values) for name, values in answer["context"].items()}
        size = int(members(town, answer["context"]).sum())
        assert facts.exact_graph.utility(listed) == [brief.table(shape)[size - 1]]
        assert sum(shape.values()) <= 6


def test_a_utility_of_bands_sees_the_records_of_the_context(town, record):
    edges = (record["Salary"] - 1.0, record["Salary"] + 40_000.0)
    lifted = CustomUtility(
        "bands",
        lambda n, values: n[0] - 2 * n[2],
        sensitivity=2,
        monotone=True,
        limit=40,
        edges=edges,
    )
    question = ask(record, utility=lifted, detector="grubbs")
    facts = gather(question, town)
    for seed in range(8):
        context = release(question, facts, SeededSource(seed))["context"]
        salaries = town.values("Salary")[members(town, context)]
        below, _, above = np.bincount(np.searchsorted(edges, salaries, side="right"), minlength=3)
        found = facts.exact_graph.utility([facts.space.context(context)])
        assert found == [int(min(below, 40) - 2 * min(above, 40))]


def test_all_and_some_utilities_agree(town, record):
    two_sided = CustomUtility("near 100", lambda n, values: -abs(n - 100), limit=300)
    lifted = CustomUtility("up", lambda n, values: n[0] - n[1], limit=80, edges=(record["Salary"],))
    for utility, detector in (
        (lifted, "lof"),
        ("population", "lof"),
        (two_sided, MODEL),
        (Isolation(40), MODEL),
    ):
        question = ask(record, utility=utility, detector=detector)
        graph = gather(question, town).exact_graph
        levels, counts = graph.levels()
        matches = np.flatnonzero(graph.matching()).tolist()
        assert Counter(replace(graph).utility(matches)) == dict(zip(levels, counts, strict=True))
        assert graph.utility([graph.member(levels[0], 0)]) == [levels[0]]


def test_very_different_levels_are_counted_too(town, record, monkeypatch):
    from whitecrow.explain import mechanism as module

    question = ask(record)
    narrow = gather(question, town).exact_graph.levels()
    monkeypatch.setattr(module, "_MOST_LEVELS", 1)
    assert gather(question, town).exact_graph.levels() == narrow


def test_thousands_of_values_are_searched_breadth_first():
    random = np.random.default_rng(8)
    card = Card(
        "wide",
        (
            Column("c", "category", categories=tuple(str(i) for i in range(2000))),
            Column("Salary", "integer", lower=0, upper=1000),
        ),
    )
    data = Dataset(
        card,
        {"c": random.integers(0, 2000, 500), "Salary": random.integers(0, 100, 500).astype(float)},
    )
    question = ask({"c": "7", "Salary": 900}, detector=FewWithin(2, 50), samples=2)
    answer = release(question, gather(question, data), SeededSource(4))
    assert "7" in answer["context"]["c"]


def test_a_fitted_detector_serves_the_whole_way(town, record):

    question = ask(
        record,
        detector=FittedDetector("local_outlier_factor", n_neighbors=5),
        attributes=("Year",),
        epsilon=5,
    )
    assert Explain.from_json(question.to_json()) == question
    answer = release(question, gather(question, town), SeededSource(6))
    assert answer["context"] is None or "2004" in answer["context"]["Year"]


def test_facts_are_withheld(town, record):
    facts = gather(ask(record), town)
    assert repr(facts) == str(facts) == "<facts withheld>"
    with pytest.raises(TypeError):
        list(facts)


def test_the_curator_answers_charges_and_repeats(tmp_path, record):
    import pyarrow
    from tests.explain.conftest import town_card

    random = np.random.default_rng(1)
    table = pyarrow.table(
        {
            "Employer": random.choice(["A", "B", "C", "O'Neil"], 200),
            "Year": random.choice(["2003", "2004", "2005"], 200),
            "Age": random.integers(18, 96, 200),
            "Salary": np.rint(random.lognormal(11, 0.3, 200)),
        }
    )
    policy = Policy(notions=("differential", "conditional"))
    curator = Curator.open(table, card=town_card(), budget="3", ledger="sqlite://", policy=policy)
    everyone = ask(record, detector=MODEL, notion="differential")
    first = curator.ask(everyone)
    assert first.guarantee.notion == "differential"
    again = curator.ask(everyone)
    assert again.answer == first.answer
    assert not again.charged
    conditional = curator.ask(ask(record, epsilon="1/2"))
    assert conditional.guarantee.notion == "conditional"
    assert "Only conditionally protected" in conditional.statement


PEOPLE = {
    "attributes": [[0, 0], [0, 1], [1, 0], [1, 1], [1, 1], [0, 0]],
    "metric": [9, 1, 2, 9, 3, 2],
    "record": ([0, 0], 9),
    "sizes": [2, 2],
}


@pytest.mark.parametrize("search", SEARCHES)
def test_the_bare_mechanism_follows_its_exact_law(search):
    settings = {"detector": FewWithin(1, 2), "epsilon": 1, "search": search, "samples": 2}
    law = exact_release_law(**PEOPLE, **settings)
    assert sum(law.values()) == pytest.approx(1)
    source = SeededSource(7)
    runs = 500
    counted = Counter(context_release(**PEOPLE, **settings, source=source) for _ in range(runs))
    assert set(counted) <= set(law)
    for found, chance in law.items():
        # Six deviations of a binomial: below one in a million for each of a handful of answers.
        spread = 6 * math.sqrt(chance * (1 - chance) / runs) + 3 / runs
        assert abs(counted[found] / runs - chance) <= spread


def test_matching_contexts_are_listed_and_a_start_is_given_by_codes():
    found = matching_contexts(**PEOPLE, detector=FewWithin(1, 2))
    assert sorted(found) == [((0,), (0,)), ((0,), (0, 1)), ((0, 1), (0,))]
    law = exact_release_law(
        **PEOPLE,
        detector=FewWithin(1, 2),
        epsilon=1,
        notion="conditional",
        search="walk",
        samples=1,
        start=([0], [1]),
    )
    assert set(law) <= set(found)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), 2])
def test_the_promised_probability_of_a_true_context_is_kept(epsilon):
    random = np.random.default_rng(12)
    beta, crowd = 4, 8
    for _ in range(30):
        size = int(random.integers(0, 40))
        attributes = random.integers(0, 2, (size, 3))
        metric = random.choice([0, 9], size, p=[0.8, 0.2])
        record = ([0, 0, 0], 9)
        settings = {"sizes": [2, 2, 2], "detector": FewWithin(beta, 1)}
        law = exact_release_law(
            attributes,
            metric,
            record,
            **settings,
            epsilon=epsilon,
            notion="differential",
            utility=Isolation(crowd),
        )
        true = set(matching_contexts(attributes, metric, record, **settings))
        chance = sum(p for found, p in law.items() if found in true)
        margin = 0
        present = any((a == 0).all() and m == 9 for a, m in zip(attributes, metric, strict=True))
        for context in law:
            inside = [
                m
                for a, m in zip(attributes.tolist(), metric.tolist(), strict=True)
                if all(code in chosen for code, chosen in zip(a, context, strict=True))
            ]
            near = inside.count(9) + (not present)
            far = inside.count(0)
            margin = max(margin, min(beta + 1 - near, far * beta // crowd))
        assert chance >= outlier_probability(margin, float(epsilon), 3) - 1e-12

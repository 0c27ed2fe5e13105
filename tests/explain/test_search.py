"""The searches: what they draw follows the law that the proofs speak of."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from whitecrow.explain import search as draws_module
from whitecrow.explain.search import SEARCHES, Draws, draws_of, search
from whitecrow.explain.unaccounted import law_of
from whitecrow.noise.seeded import SeededSource
from whitecrow_audit.verify.explain import Listed

UTILITIES = {0: 3, 1: 5, 2: 4, 3: 9, 6: 6, 7: 8}
RUNS = 4000


def run(kind, draws, utilities=UTILITIES, start=7, samples=2):
    graph = Listed(3, utilities)
    return search(kind, graph, draws, eta=Fraction(1, 3), samples=samples, start=start)


@pytest.mark.parametrize("kind", SEARCHES)
def test_frequencies_follow_the_exact_law(kind):
    law = law_of(lambda draws: run(kind, draws))
    assert sum(law.values()) == pytest.approx(1)
    draws = Draws(SeededSource(f"search {kind}"))
    counted = Counter(run(kind, draws) for _ in range(RUNS))
    assert set(counted) <= set(law)
    kept = [found for found, p in law.items() if p * RUNS >= 5]
    observed = [counted[found] for found in kept]
    expected = [law[found] * RUNS for found in kept]
    observed.append(RUNS - sum(observed))
    expected.append(RUNS - sum(expected))
    if expected[-1] < 1e-6:
        observed, expected = observed[:-1], expected[:-1]
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    # False alarm: one in a million for each search (the seed is fixed).
    assert statistic < stats.chi2.isf(1e-6, max(1, len(observed) - 1))


def test_the_direct_search_is_the_exponential_mechanism_over_the_matching_contexts():
    law = law_of(lambda draws: run("direct", draws))
    weights = {c: np.exp(u / 3) for c, u in UTILITIES.items()}
    for context, chance in law.items():
        assert chance == pytest.approx(weights[context] / sum(weights.values()))


@pytest.mark.parametrize("kind", ["walk", "dfs", "bfs"])
def test_a_start_that_does_not_match_gives_way_to_a_matching_one(kind):
    law = law_of(lambda draws: run(kind, draws, start=4))
    assert set(law) <= set(UTILITIES)
    assert law == law_of(lambda draws: run(kind, draws, start=None))


@pytest.mark.parametrize("kind", SEARCHES)
def test_nothing_matches_gives_none_and_one_match_gives_it(kind):
    assert law_of(lambda draws: run(kind, draws, utilities={})) == {None: 1.0}
    alone = law_of(lambda draws: run(kind, draws, utilities={7: 3}, samples=1))
    assert alone[7] == pytest.approx(1)


def test_an_isolated_start_ends_the_search():
    for kind in ("walk", "dfs", "bfs"):
        assert law_of(lambda draws, kind=kind: run(kind, draws, {7: 1, 0: 9}, samples=4)) == {
            7: 1.0
        }


def test_depth_first_backs_out_of_dead_ends():
    # 7 - 6 is a dead end; 7 - 3 - 1 goes on. Three samples must visit everything.
    law = law_of(lambda draws: run("dfs", draws, {7: 0, 6: 0, 3: 0, 1: 0}, samples=3))
    assert {found: pytest.approx(0.25) for found in (1, 3, 6, 7)} == law


def test_overlap_is_measured_from_the_start():
    seen = []

    def utilities(start):
        seen.append(start)
        return {context: bin(context & start).count("1") for context in (1, 3, 7)}

    law_of(
        lambda draws: search(
            "direct",
            Listed(3, utilities),
            draws,
            eta=Fraction(1),
            samples=1,
            start=3,
            anchored=True,
        )
    )
    assert 3 in seen


def test_overlap_is_measured_from_a_public_start_that_does_not_match():
    def utilities(start):
        return {context: 5 * bin(context & start).count("1") for context in (1, 3, 7)}

    def program(draws, kind):
        graph = Listed(3, utilities)
        settings = {"eta": Fraction(2), "samples": 2, "start": 5, "anchored": True}
        return search(kind, graph, draws, **settings)

    for kind in ("direct", "bfs"):
        law = law_of(lambda draws, kind=kind: program(draws, kind))
        assert max(law, key=law.get) == 7, "it shares most with 5, which is no match itself"


def test_only_the_graph_searches_pay_for_every_step():
    assert [draws_of(kind, 50) for kind in SEARCHES] == [1, 1, 1, 51, 51]


def test_giving_up_is_counted_in_tries(monkeypatch):
    monkeypatch.setattr(draws_module, "TRIES", 40)
    asked = []

    class Nothing(Listed):
        def match(self, contexts):
            asked.extend(contexts)
            return [False] * len(contexts)

    assert Draws(SeededSource(1)).matching(Nothing(3, {})) is None
    assert len(asked) == 40

"""What is audited: pairs within the promises, laws, designs, and the shipped way to an answer."""

from __future__ import annotations

import dataclasses
import itertools
import math
from fractions import Fraction

import pytest

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.data import read
from whitecrow.errors import InvalidInput
from whitecrow.identify import Identify
from whitecrow.neighbours import open_engine
from whitecrow.noise import _source
from whitecrow.noise.seeded import seeded
from whitecrow.questions import BUILT_IN, type_of
from whitecrow_audit.audit import MECHANISMS, Case, cases
from whitecrow_audit.audit.explain import FAR, OWN, _Asking, _crowds, matching
from whitecrow_audit.audit.identify import CARD, places, records
from whitecrow_audit.audit.run import ATTEMPTS, CONFIDENCE, Design
from whitecrow_audit.audit.shipped import Asked, same_facts, table
from whitecrow_audit.audit.tester import visible
from whitecrow_audit.verify.sensitive import line


@pytest.fixture(scope="module")
def shipped(every: list[Case]) -> list[Case]:
    return [case for case in every if not case.mutant]


@pytest.fixture(scope="module")
def mutants(every: list[Case]) -> list[Case]:
    return [case for case in every if case.mutant]


@pytest.fixture(scope="module")
def alpha(every: list[Case]) -> float:
    return (1 - CONFIDENCE) / len(every)


def name(case: Case) -> str:
    return f"{case.mechanism}: {case.name}"


def test_every_question_and_every_mechanism_has_rows_and_a_mutant(every, shipped, mutants):
    asked = {case.mechanism for case in shipped}
    caught = {case.mechanism for case in mutants}
    assert set(BUILT_IN) <= asked
    assert set(MECHANISMS) <= asked
    assert asked == caught
    assert len({name(case) for case in every}) == len(every)


def test_laws_are_laws(every):
    for case in every:
        for law in case.laws(Fraction(1)):
            assert math.isclose(sum(law.values()), 1.0, rel_tol=1e-9), name(case)
            assert all(chance >= 0 for chance in law.values()), name(case)


def test_no_shipped_mechanism_loses_more_than_its_claim_by_its_exact_law(shipped):
    for case in shipped:
        seen = visible(case.laws(Fraction(1)), case.claim)
        assert max(seen, case.exact or 0.0) <= case.claim.value * (1 + 1e-6), name(case)


def test_every_mutant_is_caught_with_overwhelming_probability(mutants, alpha):
    for case in mutants:
        caught = Design.of(case, alpha).power(case.claim)
        assert (1 - caught) ** ATTEMPTS < 1e-6, name(case)


SLOW = {
    "identify: sensitive, k = 1, the answer stays",
    "publish: buffered, Gaussian",
    "lookahead: differential, many cells",
    "service: a screen",
}
"""Tight, and too slow to be tested hard enough by a quick run; the full study does."""


def test_a_quick_run_has_power_where_the_mechanism_is_tight(shipped, alpha):
    tight = 0
    for case in shipped:
        design = Design.of(case, alpha)
        loses = design.reference if case.exact is None else case.exact
        if loses >= 0.99 * case.claim.value and name(case) not in SLOW:
            tight += 1
            assert design.power(case.claim) >= 0.8, name(case)
    assert tight >= 15


def test_the_full_study_tests_hard_enough(shipped, alpha):
    for case in shipped:
        assert Design.of(case, alpha, quick=False).power(case.claim) >= 0.8, name(case)


def test_with_the_same_random_bits_a_curator_and_the_audit_answer_the_same(shipped, monkeypatch):
    """The audit's draws are the curator's answers: the same code on the same facts."""
    compared = 0
    for case in shipped:
        if case.asks is None:
            continue
        for draw, ask in zip(case.draws(), case.asks(), strict=True):
            answers = []
            for answer in (draw, ask):
                with monkeypatch.context() as patch:
                    patch.setattr(_source._SYSTEM, "octets", seeded(name(case)).octets)
                    _source._SYSTEM.forget()
                    answers.append(answer())
                    _source._SYSTEM.forget()
            assert answers[0] == answers[1], name(case)
            compared += 1
    assert compared >= 60


# Pairs within the promise


def _within(counts, place: int) -> int:
    return sum(counts[j] for j in range(len(counts)) if abs(place - j) <= 1)


@pytest.mark.parametrize("tau", [2, 3])
def test_every_step_is_an_edge_of_the_sensitive_graph(tau):
    steps = list(places(line(3, 1, 4), tau))
    assert steps
    for step in steps:
        (changed,) = (i for i in range(3) if step.smaller[i] != step.larger[i])
        assert step.larger[changed] == step.smaller[changed] + 1
        assert _within(step.larger, changed) >= tau
        for counts, seen in ((step.smaller, step.before), (step.larger, step.after)):
            assert seen == (counts[step.place], _within(counts, step.place))


def test_conditional_pairs_keep_the_matching_set():
    question = _Asking("direct", 1).question()
    for x, y in _crowds():
        assert matching(question, x) == matching(question, y) == frozenset(range(4))
    near = (0, 1, OWN["z"])
    assert matching(question, (near,)) < matching(question, FAR[:1])


def test_databases_that_are_no_neighbours_are_refused():
    question = Identify({"x": 1}, model=DistanceAnomaly(1, 1), epsilon=1)
    for one, two in (((1, 0), (1, 0)), ((1, 0), (3, 0)), ((1, 0), (0, 1))):
        with pytest.raises(ValueError, match="one record"):
            Asked(question, CARD, (records(one), records(two)))


# Facts


def test_facts_are_compared_by_what_they_hold():
    question = Identify({"x": 1}, model=DistanceAnomaly(1, 1), epsilon=1)
    code = type_of(question)

    def facts(counts):
        dataset = read(table(records(counts)), CARD)
        return code.gather(question, dataset, open_engine(dataset, "local"), None)

    assert same_facts(facts((1, 2)), facts((1, 2)))
    assert not same_facts(facts((1, 2)), facts((2, 2)))


def test_facts_that_change_are_an_error(monkeypatch):
    """Gathering twice must give the same; a mechanism with a hidden state is not audited."""
    question = Identify({"x": 1}, model=DistanceAnomaly(1, 1), epsilon=1)
    asked = Asked(question, CARD, (records((1, 1)), records((1, 2))))
    code = type_of(question)
    ticks = itertools.count()

    def moody(*given):
        return dataclasses.replace(code.gather(*given), exact_bound=next(ticks))

    monkeypatch.setattr(
        "whitecrow_audit.audit.shipped.type_of",
        lambda asked: dataclasses.replace(code, gather=moody),
    )
    with pytest.raises(RuntimeError, match="other facts"):
        asked.draws()


def test_an_unknown_mechanism_is_named_with_the_known_ones():
    with pytest.raises(InvalidInput, match=r"one of .*identify, screen"):
        cases(["nonsense"])

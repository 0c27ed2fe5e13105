"""The checker itself: known laws, known losses, known violations."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitecrow.errors import InvalidInput
from whitecrow_audit.verify import MECHANISMS, Check, Report, checks, exhaust, loss
from whitecrow_audit.verify.universes import edges


def geometric(ratio, top):
    """Exact law of the truncated two-sided geometric mechanism on a count of 0..top."""

    def law(database):
        count = sum(database)
        weights = {o: ratio ** abs(o - count) for o in range(-3 * top, 4 * top)}
        total = sum(weights.values())
        return {o: w / total for o, w in weights.items()}

    return law


def pairs():
    return [(x, y) for x, y, _ in edges(2, 3)]


def test_randomised_response_has_its_textbook_loss():
    law = lambda bit: {bit: 0.75, 1 - bit: 0.25}  # noqa: E731
    report = exhaust(law, [(0, 1)], epsilon=math.log(3))
    assert report.ok
    assert report.worst_loss == pytest.approx(math.log(3))


def test_a_planted_violation_is_found_and_named():
    def law(database):
        return {"yes": 1.0} if database == (2, 2) else {"no": 1.0}

    report = exhaust(law, pairs(), epsilon=1)
    assert not report.ok
    assert report.worst_loss == math.inf
    assert "(2, 2)" in report.worst_edge


def test_a_loss_just_over_the_bound_is_found():
    law = geometric(math.exp(-0.5), 6)
    report = exhaust(law, pairs(), epsilon=0.5)
    assert report.worst_loss > 0.4
    assert not exhaust(law, pairs(), epsilon=report.worst_loss - 1e-6).ok
    assert exhaust(law, pairs(), epsilon=report.worst_loss + 1e-6).ok


def test_a_law_that_does_not_sum_to_one_is_refused():
    with pytest.raises(ValueError, match="sums to"):
        exhaust(lambda x: {0: 0.5}, pairs(), epsilon=1)


def test_delta_buys_exactly_the_mass_it_should():
    one, other = {"a": 0.9, "leak": 0.1}, {"a": 1.0}
    assert loss(one, other) == math.inf
    assert loss(one, other, delta=0.05) == math.inf
    assert loss(one, other, delta=0.1) == pytest.approx(math.log(1.0 / 0.9), abs=0.2)


@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=6), st.floats(0.001, 0.3), st.data())
def test_loss_with_delta_is_the_hockey_stick_inverse(weights, delta, data):
    others = data.draw(st.lists(st.floats(0.01, 1), min_size=len(weights), max_size=len(weights)))
    p = {i: w / sum(weights) for i, w in enumerate(weights)}
    q = {i: w / sum(others) for i, w in enumerate(others)}
    epsilon = loss(p, q, delta)
    for a, b in ((p, q), (q, p)):
        assert sum(max(0, a[i] - math.exp(epsilon) * b[i]) for i in p) <= delta + 1e-9


def test_a_mutant_passes_only_when_it_is_caught():
    bad = Report(1, 1, 2.0, 1.0)
    good = Report(1, 1, 1.0, 1.0)
    mutant = Check("toy", "mutant", lambda: bad, must_fail=True)
    assert mutant.passed(bad)
    assert not mutant.passed(good)


def test_a_check_that_tried_no_pair_has_not_passed():
    assert not Check("toy", "empty", lambda: None).passed(Report(5, 0, 0.0, 1.0))


def test_each_mechanism_has_a_broken_mutant():
    """All checks run once, as a command, whenever the tests do."""
    assert {check.mechanism for check in checks() if check.must_fail} == set(MECHANISMS)
    commands = (Path(__file__).parents[2] / "scripts" / "test").read_text(encoding="utf-8")
    assert ".venv/bin/whitecrow verify\n" in commands


def test_an_unknown_mechanism_is_named_with_the_known_ones():
    with pytest.raises(InvalidInput, match=r"one of privacy, .*identify, screen"):
        checks(["nonsense"])

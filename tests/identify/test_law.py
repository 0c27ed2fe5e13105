"""The bound λ, its tighter form, its cap and the error probability."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitecrow import hazmat
from whitecrow.anomaly.law import (
    capped,
    discrepancy,
    error_cap,
    flip_probability,
    is_anomaly,
    novelty_discrepancy,
)
from whitecrow.errors import InvalidInput
from whitecrow_audit.verify.sensitive import line

counts = st.tuples(st.integers(0, 40), st.integers(0, 40)).map(lambda p: (p[0], p[0] + p[1]))
models = st.tuples(st.integers(1, 30), st.integers(1, 33))


def equation_4(v, b, beta):
    if v == 0:
        return 1 if b < beta else 2 + b - beta
    return min(v, beta + 1 - b) if b <= beta else b - beta


def equation_5(v, b, beta, k):
    if b >= beta + 1 - k:
        return equation_4(v, b, beta)
    return beta + 1 - b + min(0, v - k)


@given(counts, models)
def test_the_unified_form_equals_equation_5(pair, model):
    (v, b), (beta, k) = pair, model
    assert discrepancy(v, b, beta=beta, k=k) == equation_5(v, b, beta, k)


@given(counts, models)
def test_the_tighter_bound_is_never_smaller_and_differs_only_for_copies_and_k_from_3(pair, model):
    (v, b), (beta, k) = pair, model
    loose = discrepancy(v, b, beta=beta, k=k)
    tight = discrepancy(v, b, beta=beta, k=k, tight=True)
    assert tight >= loose
    assert tight == loose or (v >= 2 and k >= 3)


@given(counts, st.integers(1, 30))
def test_from_k_equal_beta_on_the_bound_is_equation_4(pair, beta):
    v, b = pair
    for k in (beta, beta + 1, beta + 5):
        for tight in (False, True):
            assert discrepancy(v, b, beta=beta, k=k, tight=tight) == equation_4(v, b, beta)


def test_a_closed_gap_of_the_paper():
    universe = line(3, 1, 9)
    at = int(np.flatnonzero((universe.databases == (2, 0, 5)).all(axis=1))[0])
    truth = universe.true_discrepancy(0, 4, universe.sensitive_edges(4 + 1 - 3))[at]
    v, b = universe.databases[at, 0], universe.neighbours[at, 0]
    found = [discrepancy(int(v), int(b), beta=4, k=3, tight=t) for t in (False, True)]
    assert (found, truth) == ([2, 3], 3)


def test_the_fragments_example_of_the_true_distance():
    """Line of 5, beta 3, radius 1, k 1, record 5: the paper's figure, and λ is 3 in all three."""
    universe = line(5, 1, 6)
    truth = universe.true_discrepancy(4, 3, universe.sensitive_edges(3))
    for database, expected in (((3, 0, 0, 0, 1), 6), ((3, 2, 1, 0, 1), 3), ((3, 0, 1, 0, 1), 3)):
        at = int(np.flatnonzero((universe.databases == database).all(axis=1))[0])
        assert truth[at] == expected
        near = int(universe.neighbours[at, 4])
        assert discrepancy(1, near, beta=3, k=1) == 3


def test_radius_zero_is_exact_below_beta_minus_k():
    found = [discrepancy(v, v, beta=5, k=2, radius_is_zero=True) for v in range(9)]
    assert found == [None, None, None, 3, 2, 1, 1, 2, 3]
    whole = [discrepancy(v, v, beta=2, k=2, radius_is_zero=True) for v in range(5)]
    assert whole == [equation_4(v, v, 2) for v in range(5)]


@pytest.mark.parametrize(
    ("beta", "error"), [(18, 0.0867785), (55, 0.00214547), (97, 3.21726e-5), (282, 2.97192e-13)]
)
def test_the_papers_table_2_is_the_error_of_an_empty_neighbourhood(beta, error):
    bound = discrepancy(0, 0, beta=beta, k=1)
    assert flip_probability(bound, "0.1") == pytest.approx(error, rel=1e-5)
    assert flip_probability(discrepancy(0, 0, beta=beta, k=beta), "0.1") == pytest.approx(
        0.475021, rel=1e-5
    )


@given(counts, models, st.integers(1, 20))
def test_a_cap_keeps_every_property_the_proof_uses(pair, model, cap):
    """min(λ, c) stays at least 1, 1-Lipschitz along steps, and 1 where the answer changes."""
    (v, b), (beta, k) = pair, model
    for after in ((v, b + 1), (v + 1, b + 1)):
        if after[0] > v and b + 1 < beta + 1 - k:
            continue  # not an edge of the sensitive graph
        here, there = (
            capped(discrepancy(*at, beta=beta, k=k, tight=True), cap) for at in ((v, b), after)
        )
        assert min(here, there) >= 1
        assert abs(here - there) <= 1
        if is_anomaly(v, b, beta=beta) != is_anomaly(*after, beta=beta):
            assert here == there == 1


@given(counts, models, st.fractions("1/50", 3), st.fractions("1/1000000", "1/3"))
def test_counts_beyond_the_cap_change_no_law(pair, model, epsilon, floor):
    """Counting neighbours to beta + c and copies to beta is enough."""
    (v, b), (beta, k) = pair, model
    cap = error_cap(epsilon, floor)
    seen = min(v, beta), min(b, beta + cap)
    for tight in (False, True):
        exact = capped(discrepancy(v, b, beta=beta, k=k, tight=tight), cap)
        assert capped(discrepancy(*seen, beta=beta, k=k, tight=tight), cap) == exact
    assert is_anomaly(*seen, beta=beta) == is_anomaly(v, b, beta=beta)
    novel = min(cap, novelty_discrepancy(b, beta=beta))
    assert min(cap, novelty_discrepancy(min(b, beta + cap), beta=beta)) == novel


def test_the_cap_of_a_wanted_floor():
    billionth = Fraction(1, 10**9)
    assert [error_cap(Fraction(e), billionth) for e in ("1/10", "1/100", "1")] == [209, 2074, 22]
    for e in (Fraction(1, 10), Fraction(2)):
        assert flip_probability(error_cap(e, billionth), e) < 1e-9


def test_error_probabilities():
    assert flip_probability(1, 1) == pytest.approx(1 / (1 + math.e))
    assert flip_probability(5, "0.3") == pytest.approx(math.exp(-1.2) / (1 + math.exp(0.3)))
    assert flip_probability(None, 1) == 0.0


@pytest.mark.parametrize(
    "given",
    [
        {"copies": -1, "neighbours": 0, "beta": 1, "k": 1},
        {"copies": 2, "neighbours": 1, "beta": 1, "k": 1},
        {"copies": 0, "neighbours": 0, "beta": 0, "k": 1},
        {"copies": 0, "neighbours": 0, "beta": 1, "k": 0},
    ],
)
def test_impossible_counts_are_refused(given):
    with pytest.raises(InvalidInput):
        discrepancy(given.pop("copies"), given.pop("neighbours"), **given)
    with pytest.raises(InvalidInput):
        discrepancy(1, 2, beta=3, k=1, radius_is_zero=True)
    with pytest.raises(InvalidInput):
        flip_probability(0, 1)
    with pytest.raises(InvalidInput):
        flip_probability(1, 0)


@pytest.mark.parametrize("counts", [(1.5, 2), (1, 2.5), (True, 1), ("1", 1), (-1, 0)])
def test_counts_that_are_no_whole_numbers_are_refused(counts):
    with pytest.raises(InvalidInput):
        hazmat.discrepancy(*counts, beta=3, k=1)

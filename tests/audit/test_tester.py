"""The testers themselves are tested: bounds, coverage, power, false alarms."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from whitecrow_audit.audit.bounds import Loss, Rho, at_least, at_most
from whitecrow_audit.audit.tester import (
    CONFIRM,
    Event,
    Tries,
    bound,
    caught,
    choose,
    needed,
    power,
    visible,
)

FALSE_ALARM = 1e-6


def response(epsilon: float) -> tuple[dict[bool, float], dict[bool, float]]:
    """Randomized response, the pair that loses exactly epsilon."""
    right = 1 / (1 + math.exp(-epsilon))
    return {True: right, False: 1 - right}, {True: 1 - right, False: right}


def drawn(laws, *tries: int, generator: np.random.Generator):
    """Counts of answers from each law."""
    return tuple(
        Counter(dict(zip(law, generator.multinomial(n, list(law.values())).tolist(), strict=True)))
        for law, n in zip(laws, tries, strict=True)
    )


@given(st.integers(1, 5000), st.data(), st.sampled_from([0.2, 0.025, 1e-5, 1e-9]))
@settings(deadline=None, max_examples=200)
def test_clopper_and_pearson_agree_with_scipy(tries, data, alpha):
    seen = data.draw(st.integers(0, tries))
    exact = binomtest(seen, tries).proportion_ci(1 - 2 * alpha, method="exact")
    assert float(at_least(seen, tries, alpha)) == pytest.approx(exact.low, abs=1e-10, rel=1e-7)
    assert float(at_most(seen, tries, alpha)) == pytest.approx(exact.high, abs=1e-10, rel=1e-7)


@pytest.mark.parametrize("p", [0.003, 0.12, 0.5, 0.97])
def test_clopper_and_pearson_cover_for_every_count(p):
    """Exact coverage: the chance of the counts whose bound is above the truth."""
    tries, alpha = 400, 0.01
    counts = np.arange(tries + 1)
    chances = binom.pmf(counts, tries, p)
    assert chances[at_least(counts, tries, alpha) > p].sum() <= alpha
    assert chances[at_most(counts, tries, alpha) < p].sum() <= alpha


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.floats(0.001, 0.3))
@settings(deadline=None)
def test_what_an_event_implies_grows_with_one_chance_and_falls_with_the_other(p, q, step):
    for claim in (Loss(1.0), Loss(1.0, 0.05), Rho(0.5)):
        here = claim.implied(p, q)
        assert claim.implied(min(0.999, p + step), q) >= here - 1e-9
        assert claim.implied(p, min(0.999, q + step)) <= here + 1e-9


def test_a_gaussian_never_implies_more_than_its_rho():
    for rho in (0.1, 0.5, 2.0):
        shift = math.sqrt(2 * rho)
        cuts = np.linspace(-4, 4 + shift, 80)
        p = np.array([0.5 * math.erfc((cut - shift) / math.sqrt(2)) for cut in cuts])
        q = np.array([0.5 * math.erfc(cut / math.sqrt(2)) for cut in cuts])
        found = Rho(rho).implied(p, q)
        assert 0.5 * rho < found.max() < rho


@pytest.mark.parametrize("claim", [Loss(2.0), Loss(2.0, 0.02)], ids=["pure", "with delta"])
def test_the_bound_covers_as_stated(claim):
    """A thousand whole tests of a mechanism that loses exactly its claim, event chosen each time.

    At alpha 1/50 no more than 20 exceed the truth on average; 50 have a chance below 1e-7.
    """
    laws, alpha = response(2.0), 1 / 50
    truth = visible(laws, claim)
    generator = np.random.default_rng(1)
    above = 0
    for _ in range(1000):
        event = choose(drawn(laws, 300, 300, generator=generator), claim, alpha)
        above += bound(event, drawn(laws, 500, 900, generator=generator), claim, alpha) > truth
    assert above <= 50


def test_an_honest_mechanism_at_the_boundary_is_hardly_ever_reported():
    """Reported means above the claim, and above it again on fresh draws: exactly computed."""
    laws, alpha, tries = response(2.0), 1e-3 / 70, Tries(8000, 8000)
    claim = Loss(2.0)
    event = Event(frozenset([True]), True, 0.9)
    first = caught(event.chances(laws), claim, 2.0, tries, alpha, event.split)
    again = caught(event.chances(laws), claim, 2.0, tries, CONFIRM, event.split)
    assert first <= alpha
    assert first * again <= alpha * CONFIRM
    found = power(laws, claim, 2.0, choosing=2000, tries=tries, alpha=alpha)
    assert found <= alpha * CONFIRM


def test_a_leak_of_a_tenth_is_caught_as_often_as_stated():
    """The stated power against two thousand simulated tests of a planted leak."""
    claim, alpha = Loss(2.0), 1e-3 / 70
    laws = response(2.2)
    tries = needed(laws, claim, 2.0, alpha)
    stated = power(laws, claim, 2.0, choosing=1000, tries=tries, alpha=alpha)
    assert 0.8 < stated < 0.99
    generator, runs, seen = np.random.default_rng(2), 2000, 0
    for _ in range(runs):
        event = choose(drawn(laws, 1000, 1000, generator=generator), claim, alpha)
        sizes = tries if event.forward else tries[::-1]
        if bound(event, drawn(laws, *sizes, generator=generator), claim, alpha) > 2.0:
            seen += bound(event, drawn(laws, *sizes, generator=generator), claim, CONFIRM) > 2.0
    assert binomtest(seen, runs, stated).pvalue > FALSE_ALARM


@pytest.mark.parametrize("tries", [50, 700, 6000])
@pytest.mark.parametrize(("p", "q"), [(0.9, 0.1), (0.3, 0.02), (0.5, 0.5)])
def test_the_power_of_an_event_is_the_sum_over_all_outcomes(tries, p, q):
    claim, alpha, split, reference = Loss(1.5), 1e-3, 0.75, 1.5
    counts = np.arange(tries + 1)
    generator = np.random.default_rng(3)
    x, y = generator.binomial(tries, p, 40_000), generator.binomial(tries, q, 40_000)
    low, high = at_least(counts, tries, alpha * (1 - split)), at_most(counts, tries, alpha * split)
    simulated = float((claim.implied(low[x], high[y]) > reference).mean())
    stated = caught((p, q), claim, reference, Tries(tries, tries), alpha, split)
    # 6 standard deviations of the simulation, and what skipping counts may cost.
    assert simulated - 0.03 - 0.5 / tries <= stated <= simulated + 0.016


def test_the_event_with_the_largest_ratio_is_found():
    one = {"a": 0.5, "b": 0.3, "c": 0.2}
    two = {"a": 0.1, "b": 0.3, "c": 0.6}
    counts = tuple(Counter({k: round(10_000 * p) for k, p in law.items()}) for law in (one, two))
    event = choose(counts, Loss(1.0), 1e-4)
    assert (event.answers, event.forward) == (frozenset("a"), True)
    assert event.chances((one, two)) == (0.5, 0.1)
    assert visible((one, two), Loss(1.0)) == pytest.approx(math.log(5))


def test_more_draws_prove_more():
    laws, claim = response(2.0), Loss(2.0)
    found = []
    for tries in (100, 1000, 10_000, 100_000):
        counts = tuple(Counter({k: round(tries * p) for k, p in law.items()}) for law in laws)
        found.append(bound(choose(counts, claim, 1e-5), counts, claim, 1e-5))
    assert found == sorted(found)
    assert 1.9 < found[-1] < 2.0

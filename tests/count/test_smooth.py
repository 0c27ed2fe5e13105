"""Smooth sensitivity: equal to its definition, above the local sensitivity, smooth."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from whitecrow.counting.ball_cover import ball_cover
from whitecrow.counting.kissing import global_sensitivity
from whitecrow.counting.smooth import (
    degrees_needed,
    horizon,
    least_bound,
    smooth_bound,
    smooth_sensitivity,
    weights,
)
from whitecrow.errors import InvalidInput
from whitecrow.neighbours import count_all


def direct(points: np.ndarray, k: int, radius: float, smoothing: float, relation: str) -> float:
    """The formula of `count/proof.md` 3, every term written out."""
    others = count_all(points, radius) - 1
    cap = global_sensitivity(k, points.shape[1], relation, size=len(points))
    replacing = relation == "replace_one"
    covers: dict[bytes, int] = {}

    def cover(low: int, high: int) -> int:
        """Of the points whose count lies between two numbers; few bounds tell other points."""
        chosen = (low <= others) & (others <= high)
        key = chosen.tobytes()
        if key not in covers:
            covers[key] = ball_cover(points[chosen], radius)
        return covers[key]

    best = 0.0
    for t in range(cap if replacing else cap + 1):
        # t replacements are t removals and t additions; else a additions and t - a removals.
        ways = [(t, t, t + 1)] if replacing else [(a, t - a, a) for a in range(t + 1)]
        most = max(
            cover(c - added, c + removed) + extra
            for added, removed, extra in ways
            for c in (k, k - 1)
        )
        best = max(best, math.exp(-smoothing * t) * min(cap, max(1, most)))
    return best


def published(points: np.ndarray, k: int, radius: float, smoothing: float) -> float:
    """The coarser form of docs/mechanisms.md 3.1 under add/remove."""
    others = count_all(points, radius) - 1
    cap = global_sensitivity(k, points.shape[1], "add_remove")
    best = 0.0
    for t in range(cap + 1):
        most = max(ball_cover(points[np.abs(others - c) <= t], radius) for c in (k, k - 1))
        best = max(best, math.exp(-smoothing * t) * min(cap, max(1, most + t)))
    return best


def test_the_sharper_formula_is_never_above_the_published_one():
    generator = np.random.default_rng(6)
    lower = 0
    for width in (1, 2):
        for k in (1, 3, 5):
            points = generator.normal(size=(150, width))
            ours = smooth_sensitivity(points, beta=k, radius=0.2, smoothing=0.3)
            theirs = published(points, k, 0.2, 0.3)
            assert ours <= theirs * (1 + 1e-12)
            lower += ours < 0.9 * theirs
    assert lower >= 2


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("width", [1, 2, 3])
@pytest.mark.parametrize("k", [1, 3, 6])
def test_every_shortcut_leaves_the_maximum_what_it_is(relation, width, k):
    generator = np.random.default_rng(10 * width + k)
    for smoothing in (0.05, 0.3, 1.5):
        for n in (1, 7, 40):
            points = generator.normal(size=(n, width))
            found = smooth_sensitivity(
                points, beta=k, radius=0.6, smoothing=smoothing, relation=relation
            )
            assert found == pytest.approx(direct(points, k, 0.6, smoothing, relation), rel=1e-12)


def test_the_example_that_needs_one_more_term():
    """Stopping at t = cap - 1 under add/remove would give 1.48 against 1.0."""
    both = [
        smooth_sensitivity(points, beta=1, radius=1, smoothing=0.3)
        for points in ([3, 4, 4], [3, 3, 4, 4])
    ]
    assert both == pytest.approx([2 * math.exp(-0.3), 2 * math.exp(-0.6)])


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_random_walks_in_space_are_smooth(relation):
    """Pairs of neighbours along walks in 2 and 5 columns, where universes cannot be listed."""
    generator = np.random.default_rng(9)
    for width, k in itertools.product((2, 5), (1, 4)):
        points = generator.normal(size=(40, width))
        for _ in range(25):
            after = np.delete(points, generator.integers(len(points)), axis=0)
            if relation == "replace_one":
                after = np.vstack([after, generator.normal(size=(1, width))])
            values = [
                smooth_sensitivity(x, beta=k, radius=1.0, smoothing=0.2, relation=relation)
                for x in (points, after)
            ]
            counts = [int((count_all(x, 1.0) <= k).sum()) for x in (points, after)]
            assert max(values) <= min(values) * math.exp(0.2) * (1 + 1e-12)
            assert abs(counts[0] - counts[1]) <= min(values) + 1e-12
            points = after
            if len(points) < 15:
                break


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("decay", [Fraction(1, 2), Fraction(9, 10), Fraction(100, 101)])
@pytest.mark.parametrize("cap", [1, 2, 15, 402, 3**34])
@pytest.mark.parametrize("size", [1, 50, 10**6])
def test_no_term_beyond_the_horizon_matters(relation, decay, cap, size):
    last = horizon(cap, decay, relation, size)
    least = float(least_bound(cap, decay, relation))
    end = cap if relation == "add_remove" else cap - 1
    assert last <= end
    if last < end:
        later = [float(decay) ** t * min(cap, size + t + 1) for t in range(last + 1, last + 3000)]
        assert max(later) <= least


@pytest.mark.parametrize("decay", [Fraction(1, 3), Fraction(10, 11), Fraction(4000, 4001)])
def test_weights_are_short_and_never_fall_too_fast(decay):
    found = list(weights(decay, 500))
    assert found[0] == 1
    for one, other in itertools.pairwise(found):
        assert decay * one <= other < one
        assert other.numerator.bit_length() <= 65
    assert float(found[-1]) == pytest.approx(float(decay) ** 500, rel=1e-12)


def test_many_columns_and_a_small_budget_end_soon():
    """A cap of 3^34 and a decay near 1: thousands of terms, none of them expensive."""
    points = np.random.default_rng(1).normal(size=(200, 34))
    found = smooth_sensitivity(points, beta=3, radius=3.0, smoothing=1 / 500)
    assert 500 / math.e < found < 1000


def test_degrees_beyond_what_is_needed_change_nothing():
    generator = np.random.default_rng(2)
    points = generator.normal(size=(300, 2))
    decay, cap = Fraction(4, 5), 18
    given = {
        "beta": 3,
        "radius": 0.4,
        "metric": "euclidean",
        "relation": "add_remove",
        "cap": cap,
        "decay": decay,
    }
    degrees = count_all(points, 0.4)
    most = degrees_needed(3, horizon(cap, decay, "add_remove", len(points)))
    capped = np.minimum(degrees, most)
    assert (degrees > most).any()
    assert smooth_bound(points, degrees, **given) == smooth_bound(points, capped, **given)


def test_an_empty_database_has_the_least_sensitivity():
    found = smooth_sensitivity(np.zeros((0, 2)), beta=2, radius=1, smoothing=0.1)
    assert found == pytest.approx(max(math.exp(-0.1 * t) * min(10, max(1, t)) for t in range(11)))


@pytest.mark.parametrize(
    "wrong",
    [
        {"beta": 0},
        {"beta": 1.5},
        {"smoothing": 0},
        {"smoothing": math.inf},
        {"relation": "swap"},
        {"metric": "hamming"},
        {"points": [1, math.inf]},
    ],
)
def test_bad_input_is_refused(wrong):
    given = {"points": [1.0, 2.0], "beta": 1, "radius": 1.0, "smoothing": 0.1} | wrong
    with pytest.raises(InvalidInput):
        smooth_sensitivity(given.pop("points"), **given)

"""The law of each sampler by exact enumeration of its decisions.

Two kinds. *Bit trees* run the whole sampler on every string of bits up to a depth, with words of a
few bits so that the rare paths of a 64-bit word are common: an exact sampler satisfies
``decided <= probability <= decided + undecided`` for every outcome, and no inexact one does at
every depth. *Primitive trees* replace the two primitives, whose bit trees have been checked, by
their exact laws, and so reach the whole law of what is built from them to nine digits.
"""

from __future__ import annotations

from fractions import Fraction as F
from functools import partial

import bounds
import pytest
from noise_tools import agrees, coin, decision_tree, geometric_pmf, primitive_tree, table_draw

from whitecrow.noise import _exact, _integers, laws
from whitecrow.noise._choice import choose, flip_in_order, level_table, top
from whitecrow.noise._exact import Table, exp_neg, logistic, toss
from whitecrow.noise._integers import CoreTail, Gaussian, Geometric, two_sided
from whitecrow_audit.verify.subspaces import top_pmf


def _coin_bounds(interval):
    return lambda heads: interval if heads else (1 - interval[1], 1 - interval[0])


def _near(probability):
    return lambda outcome: (probability(outcome) - 1e-12, probability(outcome) + 1e-12)


@pytest.fixture
def exact_primitives(monkeypatch):
    monkeypatch.setattr(Table, "draw", table_draw)
    for module in (_exact, _integers):
        monkeypatch.setattr(module, "undercuts", coin)


# -- bit trees --


@pytest.mark.parametrize("n", [1, 2, 3, 5, 7, 12, 16])
@pytest.mark.parametrize("width", [1, 3, 4])
def test_uniform_numbers_have_equal_shares_of_the_decided_strings(n, width):
    law, undecided = decision_tree(lambda source: source.below(n), 16, width)
    assert sorted(law) == list(range(n))
    assert len(set(law.values())) == 1, "every result is decided by equally many strings"
    assert undecided < F(1, 8)


@pytest.mark.parametrize("p", [F(0), F(1), F(1, 2), F(1, 3), F(5, 7)])
def test_a_rational_coin(p):
    law, undecided = decision_tree(lambda source: _exact.bernoulli(p, source), 15, 5)
    assert agrees(law, undecided, lambda heads: (p, p) if heads else (1 - p, 1 - p))
    assert undecided < F(1, 100)


@pytest.mark.parametrize("x", [F(0), F(1, 1000), F(1, 3), F(1), F(7, 2), F(20)])
@pytest.mark.parametrize("width", [1, 2, 4])
def test_exponential_and_logistic_coins(x, width):
    for enclosure, law_of in (
        (exp_neg, bounds.bernoulli_exp),
        (logistic, bounds.bernoulli_logistic),
    ):
        chance = partial(enclosure, x.numerator, x.denominator)
        law, undecided = decision_tree(partial(toss, chance=chance, width=width), 16, width)
        assert agrees(law, undecided, _coin_bounds(law_of(x)))
        assert undecided <= F(2, 2**16), "only strings that still agree with the law are open"


@pytest.mark.parametrize(
    ("x", "width", "radix", "reach", "depth"),
    [
        (F(2, 3), 6, 32, 3, 18),
        (F(1, 2), 6, 4, 3, 18),
        (F(1, 3), 4, 2, 1, 16),
        (F(1, 5), 4, 2, 2, 16),
        (F(5), 4, 2, 1, 16),
    ],
)
def test_geometric_to_the_bit(x, width, radix, reach, depth):
    law = Geometric(x.numerator, x.denominator, width, radix=radix, reach=reach)
    found, undecided = decision_tree(law.draw, depth, width)
    assert agrees(found, undecided, lambda k: bounds.geometric(k, x))
    assert undecided < F(9, 10)


@pytest.mark.parametrize("scale", [F(1), F(2), F(1, 3)])
def test_discrete_laplace_to_the_bit(scale):
    law = Geometric(scale.denominator, scale.numerator, 5, radix=2, reach=2)
    found, undecided = decision_tree(lambda source: two_sided(law.draw, source), 17, 5)
    assert agrees(found, undecided, lambda k: bounds.discrete_laplace(k, scale))
    assert all(found[k] == found[-k] for k in found if -k in found)


@pytest.mark.parametrize(
    ("variance", "width", "fineness", "reach", "block"),
    [(F(1, 2), 6, 8, 2, 1), (F(9), 5, 1, 1, 2), (F(9), 6, 1, 2, 2), (F(17, 3), 6, 1, 1, 2)],
)
def test_discrete_gaussian_to_the_bit(variance, width, fineness, reach, block):
    law = Gaussian(variance.numerator, variance.denominator, width, fineness, reach)
    assert law.block == block
    found, undecided = decision_tree(law.draw, 18, width)
    assert agrees(found, undecided, lambda k: bounds.discrete_gaussian(k, variance))
    assert undecided < F(1, 2)


@pytest.mark.parametrize(
    ("levels", "counts", "eta"),
    [([0, 1, 3], [1, 5, 2], F(1, 2)), ([2, 0], [0, 7], F(1)), ([F(1, 3), 0, 1], [9, 9, 9], F(2))],
)
def test_exponential_levels_to_the_bit(levels, counts, eta):
    law, undecided = decision_tree(level_table(levels, counts, eta, width=5).draw, 20, 5)
    shares = bounds.exponential_levels(levels, counts, eta)
    assert agrees(law, undecided, lambda index: shares[index])
    assert undecided < F(1, 100)


def test_choices_to_the_bit():
    utilities, eta = [0, 1, 3, 1], F(1, 2)
    for draw, width, law_of in (
        (choose, 5, laws.exponential_mechanism_pmf),
        (flip_in_order, 3, laws.permute_and_flip_pmf),
    ):
        found, undecided = decision_tree(
            lambda source, draw=draw, width=width: draw(utilities, eta, source, width), 16, width
        )
        assert agrees(found, undecided, _near(law_of(utilities, eta).__getitem__))


def _small_core_tail(scale, tail):
    law = CoreTail(scale.numerator, scale.denominator, tail, width=4)
    law.law = Geometric(scale.denominator, 2 * scale.numerator, 4, radix=2, reach=1)
    return law


@pytest.mark.parametrize(("scale", "tail"), [(F(1), 1), (F(3, 4), 2), (F(2, 5), 3)])
def test_core_tail_to_the_bit(scale, tail):
    found, undecided = decision_tree(_small_core_tail(scale, tail).draw, 17, 4)
    assert agrees(found, undecided, lambda k: bounds.core_tail(k, scale, tail))
    assert undecided < F(1, 3)


# -- primitive trees --


def _largest_gap(found, given_up, probability):
    """How far the decided law lies outside ``[p - given_up, p]``, at most."""
    return max(max(q - probability(k), probability(k) - q - given_up) for k, q in found.items())


@pytest.mark.usefixtures("exact_primitives")
@pytest.mark.parametrize("x", [F(1, 10), F(1, 3), F(1), F(50)])
@pytest.mark.parametrize(("radix", "reach"), [(2, 1), (4, 3), (32, 46)])
def test_the_digits_of_a_geometric_number_make_its_law(x, radix, reach):
    law = Geometric(x.numerator, x.denominator, radix=radix, reach=reach)
    found, given_up = primitive_tree(law.draw, 1e-9)
    assert given_up < 1e-6
    assert _largest_gap(found, given_up, lambda k: geometric_pmf(k, x)) < 1e-12


@pytest.mark.usefixtures("exact_primitives")
@pytest.mark.parametrize("variance", [F(1, 2), F(9), F(17, 3), F(70), F(300)])
@pytest.mark.parametrize("reach", [1, 46])
def test_one_attempt_at_a_gaussian_magnitude_has_its_weights(variance, reach):
    law = Gaussian(variance.numerator, variance.denominator, 2, fineness=1, reach=reach)
    found, given_up = primitive_tree(law.magnitude, 1e-8)
    refused = found.pop(None, 0.0)
    kept = 1 - refused - given_up
    weights = {k: laws.discrete_gaussian_pmf(k, variance) for k in range(200)}
    total = sum(weights.values())
    assert given_up < 1e-4
    for k, share in found.items():
        assert abs(share / kept - weights[k] / total) < 2 * given_up / kept + 1e-9
    assert (law.block > 1) == (variance > 4)


@pytest.mark.usefixtures("exact_primitives")
def test_a_sign_is_fair_and_zero_is_counted_once():
    found, given_up = primitive_tree(lambda walk: two_sided(lambda w: w.below(3), walk), 1e-9)
    assert given_up < 1e-8
    assert found == pytest.approx(dict.fromkeys([-2, -1, 0, 1, 2], 1 / 5), abs=1e-8)


@pytest.mark.usefixtures("exact_primitives")
@pytest.mark.parametrize(("scale", "tail"), [(F(1), 1), (F(3, 4), 2), (F(2, 5), 3), (F(5, 3), 1)])
def test_core_corner_and_tail_join_to_their_law(scale, tail):
    found, given_up = primitive_tree(_small_core_tail(scale, tail).draw, 1e-7)
    assert given_up < 0.006
    assert _largest_gap(found, given_up, lambda k: laws.core_tail_pmf(k, scale, tail)) < 1e-9


@pytest.mark.usefixtures("exact_primitives")
@pytest.mark.parametrize("utilities", [[0], [0, 0], [0, 1, 3, 1], [F(1, 2), -4, 2, 2, 0]])
def test_choices_have_their_laws(utilities):
    eta = F(1, 2)
    for draw, law_of in (
        (choose, laws.exponential_mechanism_pmf),
        (lambda *given: flip_in_order(*given, 1), laws.permute_and_flip_pmf),
    ):
        found, given_up = primitive_tree(lambda walk, draw=draw: draw(utilities, eta, walk), 1e-12)
        assert given_up < 1e-9
        for index, probability in enumerate(law_of(utilities, eta)):
            assert found.get(index, 0.0) == pytest.approx(probability, abs=1e-9)


@pytest.mark.usefixtures("exact_primitives")
@pytest.mark.parametrize("h", [1, 2, 3])
def test_peeling_has_the_law_of_repeated_choice_without_return(h):
    utilities, eta = [0, 1, 3, 1], F(1, 2)
    found, given_up = primitive_tree(lambda walk: tuple(top(utilities, eta, h, walk)), 1e-12)
    assert given_up < 1e-9
    assert found == pytest.approx(top_pmf(utilities, eta, h), abs=1e-9)

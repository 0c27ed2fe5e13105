"""What samplers accept and refuse, and what holds for every parameter."""

from __future__ import annotations

import ast
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whitecrow import noise
from whitecrow.errors import InvalidInput
from whitecrow.noise import bulk, laws
from whitecrow.noise.seeded import seeded

scales = st.fractions(min_value=F(1, 10**6), max_value=10**9, max_denominator=10**9)

POSITIVE = {
    "geometric x": lambda v, s=None: noise.geometric(v, source=s),
    "discrete_laplace scale": lambda v, s=None: noise.discrete_laplace(v, source=s),
    "discrete_gaussian variance": lambda v, s=None: noise.discrete_gaussian(v, source=s),
    "core_tail scale": lambda v, s=None: noise.core_tail(v, 2, source=s),
    "bulk.geometric x": lambda v, s=None: bulk.geometric(v, 2, source=s),
    "bulk.discrete_laplace scale": lambda v, s=None: bulk.discrete_laplace(v, 2, source=s),
    "bulk.discrete_gaussian variance": lambda v, s=None: bulk.discrete_gaussian(v, 2, source=s),
}
NOT_NEGATIVE = {
    "bernoulli p": lambda v, s=None: noise.bernoulli(v, source=s),
    "bernoulli_exp x": lambda v, s=None: noise.bernoulli_exp(v, source=s),
    "bernoulli_logistic x": lambda v, s=None: noise.bernoulli_logistic(v, source=s),
    "exponential_mechanism eta": lambda v, s=None: noise.exponential_mechanism([1], v, source=s),
    "exponential_levels eta": lambda v, s=None: noise.exponential_levels([1], [1], v, source=s),
    "permute_and_flip eta": lambda v, s=None: noise.permute_and_flip([1], v, source=s),
    "top eta": lambda v, s=None: noise.top([1], v, 1, source=s),
}
ALL = POSITIVE | NOT_NEGATIVE
AT_RATE_ZERO = {
    "bernoulli p": [False],
    "bernoulli_exp x": [True],
    "bernoulli_logistic x": [False, True],
    "exponential_mechanism eta": [0],
    "exponential_levels eta": [0],
    "permute_and_flip eta": [0],
    "top eta": [0],
}
"""What the only entry, or a coin that is thrown with the parameter 0, can come to."""


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("value", [0.5, "1/2", None, True, float("nan"), np.float64(2), 1j])
def test_anything_but_a_rational_is_refused_without_showing_it(name, value):
    owner, parameter = name.split()
    with pytest.raises(InvalidInput) as refusal:
        ALL[name](value)
    kind = type(value).__name__
    assert str(refusal.value) == (
        f"The '{parameter}' parameter of {owner} must be a Fraction or a whole number. "
        f"Got a {kind} instead. "
        "A float has no place in a draw: write Fraction('0.1') or Fraction(1, 10)."
    )


@pytest.mark.parametrize("name", ALL)
def test_a_negative_parameter_is_refused_without_showing_it(name):
    with pytest.raises(InvalidInput, match=r"Got a negative number instead\.$") as refusal:
        ALL[name](F(-7919, 3))
    assert "7919" not in str(refusal.value)


@pytest.mark.parametrize("name", POSITIVE)
def test_a_zero_scale_is_refused(name):
    with pytest.raises(InvalidInput, match=r"must be greater than 0\. Got zero instead\.$"):
        POSITIVE[name](0)


@pytest.mark.parametrize("name", NOT_NEGATIVE)
def test_zero_is_a_fine_rate(name):
    drawn = np.atleast_1d(NOT_NEGATIVE[name](0)).tolist()
    assert all(value in AT_RATE_ZERO[name] for value in drawn)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("value", [1, F(1), np.int64(1), np.uint8(1), type("Half", (F,), {})(1, 2)])
def test_whole_numbers_and_fractions_of_every_kind_are_taken(name, value):
    exact = F(int(value.numerator), int(value.denominator))
    assert np.array_equal(ALL[name](value, seeded(7)), ALL[name](exact, seeded(7)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: noise.bernoulli(F(3, 2)), "'p' parameter of bernoulli"),
        (lambda: noise.core_tail(1, 0), "'tail' parameter of core_tail"),
        (lambda: noise.core_tail(1, F(5, 2)), "'tail' parameter of core_tail"),
        (lambda: noise.exponential_mechanism([], 1), "at least one entry"),
        (lambda: noise.exponential_mechanism([1, 0.5], 1), "'utilities' parameter"),
        (lambda: noise.permute_and_flip([], 1), "at least one entry"),
        (lambda: noise.permute_and_flip(np.array([0.5]), 1), "'utilities' parameter"),
        (lambda: noise.top([1, 2], 1, 3), "'h' parameter of top"),
        (lambda: noise.top([1, 2], 1, 0), "'h' parameter of top"),
        (lambda: noise.exponential_levels([1, 2], [1], 1), "'counts' parameter"),
        (lambda: noise.exponential_levels([1, 2], [0, 0], 1), "not all 0"),
        (lambda: noise.exponential_levels([1, 2], [2, -1], 1), "'counts' parameter"),
        (lambda: noise.exponential_levels([1, 2], [2, F(1, 2)], 1), "'counts' parameter"),
        (lambda: bulk.discrete_laplace(1, -1), "'size' parameter of bulk.discrete_laplace"),
        (lambda: bulk.discrete_laplace(2**51, 1), "at most 1125899906842624"),
        (lambda: bulk.discrete_gaussian(2**101, 1), "draws in 64 bits"),
        (lambda: bulk.geometric(F(1, 2**51), 1), "draws in 64 bits"),
        (lambda: laws.core_tail_quantile(1.0, 2), "'probability' parameter"),
    ],
)
def test_each_wrong_parameter_gets_its_own_sentence(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()


@settings(deadline=None, max_examples=60)
@given(scale=scales, seed=st.integers())
def test_every_scale_gives_a_whole_number_and_the_same_seed_the_same_one(scale, seed):
    for draw in (
        lambda source: noise.geometric(1 / scale, source),
        lambda source: noise.discrete_laplace(scale, source),
        lambda source: noise.discrete_gaussian(scale, source),
        lambda source: noise.core_tail(scale, 2, source),
    ):
        value = draw(seeded(seed))
        assert type(value) is int
        assert value == draw(seeded(seed))


@pytest.mark.parametrize("scale", [F(1, 10**30), F(10**30)])
def test_scales_far_beyond_machine_numbers_are_sampled(scale):
    source = seeded("far")
    small = scale < 1
    for draw in (
        lambda: noise.discrete_laplace(scale, source),
        lambda: noise.discrete_gaussian(scale * scale, source),
        lambda: noise.core_tail(scale, 3, source),
    ):
        drawn = [abs(draw()) for _ in range(20)]
        assert (max(drawn) == 0) == small
        assert small or 10**28 < max(drawn) < 10**34


@settings(deadline=None, max_examples=60)
@given(
    utilities=st.lists(st.integers(-5, 5) | st.fractions(-5, 5, max_denominator=6), min_size=1),
    eta=st.fractions(0, 3, max_denominator=10),
    seed=st.integers(),
)
def test_choices_are_indices_and_the_top_list_has_no_repeats(utilities, eta, seed):
    source = seeded(seed)
    assert 0 <= noise.exponential_mechanism(utilities, eta, source) < len(utilities)
    assert 0 <= noise.permute_and_flip(utilities, eta, source) < len(utilities)
    assert (
        0 <= noise.exponential_levels(utilities, [1] * len(utilities), eta, source) < len(utilities)
    )
    everyone = noise.top(utilities, eta, len(utilities), source)
    assert sorted(everyone) == list(range(len(utilities)))


def test_a_level_without_candidates_is_never_drawn():
    source = seeded("empty level")
    drawn = {noise.exponential_levels([9, 0, 1], [0, 1, 1], F(1, 9), source) for _ in range(300)}
    assert drawn == {1, 2}


def test_numpy_numbers_are_as_good_as_whole_ones():
    utilities = np.array([2**62, 0, -(2**62)])
    assert noise.exponential_mechanism(utilities, 1) == 0
    assert noise.permute_and_flip(list(utilities), 1) == 0
    assert noise.exponential_levels(utilities, np.array([0, 5, 5]), 1) == 1


def test_no_sampler_contains_a_float():
    """Neither a float constant, nor a true division, nor the name itself, nor a float function."""
    folder = Path(noise.__file__).parent
    for module in ("exact", "source", "integers", "choice"):
        for node in ast.walk(ast.parse((folder / f"_{module}.py").read_text())):
            assert not (isinstance(node, ast.Constant) and isinstance(node.value, float))
            assert not isinstance(getattr(node, "op", None), ast.Div)
            assert not (isinstance(node, ast.Name) and node.id in {"float", "math", "random"})
            if isinstance(node, ast.ImportFrom) and node.module == "math":
                assert {name.name for name in node.names} <= {"isqrt", "factorial"}


def test_public_names_are_those_promised():
    assert set(noise.__all__) == {
        "Source",
        "bernoulli",
        "bernoulli_exp",
        "bernoulli_logistic",
        "core_tail",
        "discrete_gaussian",
        "discrete_laplace",
        "exponential_levels",
        "exponential_mechanism",
        "geometric",
        "permute_and_flip",
        "system_source",
        "top",
    }

"""Privacy maps: the loss and accuracy of every record, for custodians."""

from __future__ import annotations

import math

import numpy as np
import pytest

from whitecrow.errors import InvalidInput
from whitecrow.identify.map import privacy_map

RNG = np.random.default_rng(2)
DATA = np.concatenate([RNG.normal(size=(400, 2)), [[6.0, 6.0], [6.0, 6.0], [-9.0, 9.0]]])
MODEL = {"beta": 8, "radius": 0.7}


def test_covered_records_lose_at_most_epsilon():
    for k in (1, 3, 8):
        found = privacy_map(DATA, **MODEL, k=k, epsilon="1/4")
        assert (found.loss[found.covered] <= 0.25 + 1e-12).all()
    assert found.covered.all(), "with k = beta everyone is covered"


def test_isolated_records_pay_for_their_accuracy():
    found = privacy_map(DATA, **MODEL, k=1, epsilon="1/4")
    everyone = privacy_map(DATA, **MODEL, k=1, epsilon="1/4", notion="differential")
    lonely = found.anomalous & ~found.covered
    assert lonely[-1]
    assert (found.loss[lonely] >= 0.25 - 1e-12).all()
    assert found.loss[-1] > 1
    np.testing.assert_allclose(found.loss[-3:-1], 0.25)  # each of two copies hides the other
    assert (found.accuracy[lonely] >= everyone.accuracy[lonely]).all()
    assert (everyone.loss <= 0.25 + 1e-12).all()
    normal = ~found.anomalous
    np.testing.assert_allclose(found.accuracy[normal], everyone.accuracy[normal])


def test_the_papers_mechanism_costs_every_normal_record_the_same():
    found = privacy_map(DATA, **MODEL, k=1, epsilon="1/4", floor=None, tight=False)
    np.testing.assert_allclose(found.loss[~found.anomalous], 0.25)


def test_more_k_covers_more():
    covered = [privacy_map(DATA, **MODEL, k=k, epsilon=1).covered.sum() for k in (1, 4, 7)]
    assert covered == sorted(covered)


def test_at_radius_zero_a_lone_record_is_given_away():
    found = privacy_map(DATA, beta=8, radius=0, k=1, epsilon=1)
    assert math.isinf(found.loss[-1])
    assert found.accuracy[-1] == 1.0


def test_the_cap_changes_the_map_by_no_more_than_the_floor():
    capped = privacy_map(DATA, **MODEL, k=1, epsilon=1, floor="1e-6")
    free = privacy_map(DATA, **MODEL, k=1, epsilon=1, floor=None)
    assert np.abs(capped.accuracy - free.accuracy).max() < 1e-6


def test_a_map_is_withheld():
    found = privacy_map(DATA, **MODEL, k=1, epsilon=1)
    assert repr(found) == "<facts withheld>"
    with pytest.raises(InvalidInput, match="notion"):
        privacy_map(DATA, **MODEL, k=1, epsilon=1, notion="none")

"""The GPU's filter in single precision: what it calls sure is what the reference predicate says.

The kernel's totals are done again in numpy, operation by operation (and once more with the other
rounding that a fused operation would give), so the claim is tested where there is no GPU.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from whitecrow.neighbours._narrow import Narrow, band, centre_of, narrowed
from whitecrow.neighbours.devices import NUMPY
from whitecrow.neighbours.relation import LARGEST, SQUARES, SUM, lower

Matrix = NDArray[np.float64]
METRICS = {"euclidean": SQUARES, "manhattan": SUM, "chebyshev": LARGEST}


def reference(metric: str, a: Matrix, b: Matrix) -> Matrix:
    total = np.zeros((len(a), len(b)))
    for c in range(a.shape[1]):
        apart = np.abs(a[:, c, None] - b[None, :, c])
        if metric == "euclidean":
            total = total + apart * apart
        else:
            total = total + apart if metric == "manhattan" else np.maximum(total, apart)
    return total


def in_single(metric: str, a: Narrow, b: Narrow, *, fused: bool) -> NDArray[np.float32]:
    total = np.zeros((len(a.values), len(b.values)), np.float32)
    for c in range(a.values.shape[1]):
        apart = np.abs(a.values[:, c, None] - b.values[None, :, c])
        assert apart.dtype == np.float32
        if metric == "euclidean" and fused:
            wide = apart.astype(np.float64)
            total = (total + wide * wide).astype(np.float32)
        elif metric == "euclidean":
            total = total + apart * apart
        else:
            total = total + apart if metric == "manhattan" else np.maximum(total, apart)
    return total


def check(metric: str, data: Matrix, asked: Matrix, radius: float) -> float:
    """Compare every sure verdict with the reference; return the share of pairs that are sure."""
    centre = centre_of(data)
    one, other = narrowed(NUMPY, asked, centre), narrowed(NUMPY, data, centre)
    form = lower(metric, radius, (), data.shape[1])
    limits = band(form, one, other)
    if limits is None:
        return 0.0
    near = reference(metric, asked, data) <= form.threshold
    for fused in (True, False):
        total = in_single(metric, one, other, fused=fused)
        assert near[total <= limits[0]].all(), "called near, and is far"
        assert not near[total > limits[1]].any(), "called far, and is near"
    return float(((total <= limits[0]) | (total > limits[1])).mean())


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("width", [1, 2, 6, 40])
def test_what_is_sure_is_what_the_reference_says(metric: str, width: int) -> None:
    rng = np.random.default_rng(width)
    data = rng.standard_t(2, size=(1200, width)) * 3.0 + 1000.0
    total = reference(metric, data[:1], data[1:])[0]
    apart = np.sqrt(total) if metric == "euclidean" else total
    for radius in np.quantile(apart, [0.02, 0.2, 0.5, 0.9]):  # ties with the radius among them
        assert check(metric, data, data[:300], float(radius)) > 0.99


@settings(max_examples=200, deadline=None)
@given(
    metric=st.sampled_from(list(METRICS)),
    width=st.integers(1, 5),
    seed=st.integers(0, 2**32),
    offset=st.sampled_from([0.0, 1.0, 1e3, 1e6, -3e9]),
    grain=st.sampled_from([2.0**-30, 1e-3, 0.1, 1.0]),
)
def test_ties_about_the_radius_are_never_sure_the_wrong_way(
    metric: str, width: int, seed: int, offset: float, grain: float
) -> None:
    rng = np.random.default_rng(seed)
    data = rng.integers(-40, 41, size=(80, width)) * grain + offset
    pair = reference(metric, data[:1], data[1:2])[0, 0]
    apart = float(np.sqrt(pair) if metric == "euclidean" else pair)
    for radius in (np.nextafter(apart, 0.0), apart, np.nextafter(apart, 1e300)):
        check(metric, data, data[:40], float(radius))


def test_a_band_without_the_error_of_rounding_would_be_noticed() -> None:
    rng = np.random.default_rng(3)
    data = rng.normal(size=(500, 3)) + np.array([1e4, 0.0, 0.0]) * rng.integers(0, 2, (500, 1))
    centre = centre_of(data)
    records = narrowed(NUMPY, data, centre)
    exactly = Narrow(records.values, (0.0,) * 3)
    form = lower("euclidean", 1.5, (), 3)
    limits = band(form, exactly, exactly)
    assert limits is not None
    near = reference("euclidean", data, data) <= form.threshold
    total = in_single("euclidean", records, records, fused=True)
    assert not near[total <= limits[0]].all() or near[total > limits[1]].any()


def test_single_precision_is_not_used_where_it_is_too_coarse() -> None:
    far = np.array([[0.0], [1e9], [1e9 + 1.0]])
    records = narrowed(NUMPY, far, np.zeros(1))
    assert band(lower("euclidean", 1.0, (), 1), records, records) is None
    assert band(lower("euclidean", 1e7, (), 1), records, records) is not None
    close = Narrow(records.values, (1.0,))
    assert band(lower("euclidean", 1e-13, (), 1), close, close) is None
    assert band(lower("gower", 0.5, (1.0,), 1), close, close) is None
    assert band(lower("hamming", 1.0, (), 1), close, close) is None

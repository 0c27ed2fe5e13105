"""Logarithm and exponential of our own: accurate, and made of operations that IEEE 754 fixes."""

from __future__ import annotations

import numpy as np

from whitecrow.detector.arithmetic import exp, log, softlog


def test_log_and_exp_agree_with_the_library_to_the_last_places() -> None:
    source = np.random.default_rng(0)
    values = np.exp(source.uniform(-300, 300, 20_000))
    assert np.abs(log(values) / np.log(values) - 1).max() < 1e-14
    powers = source.uniform(-300, 300, 20_000)
    assert np.abs(exp(powers) / np.exp(powers) - 1).max() < 1e-13
    assert abs(log(10.0) - np.log(10.0)) < 1e-15
    assert abs(exp(1.0) - np.e) < 1e-15


def test_softlog_is_increasing_and_finite_for_any_noisy_count() -> None:
    counts = np.arange(-5000, 100_000, 7)
    found = softlog(counts, 30.0)
    assert np.isfinite(found).all()
    assert (np.diff(found) >= 0).all()
    assert abs(found[-1] - np.log(counts[-1])) < 1e-12
    assert softlog([1e6, 0.0, -1e6], 10.0).round(2).tolist() == [13.82, 1.94, -47.7]

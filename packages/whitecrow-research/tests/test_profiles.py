"""How good profiles are: on public sets where they are at hand, on generated data everywhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from whitecrow_research.profiles import categories_found, measured, table


@pytest.mark.parametrize("delta", ["0", "1e-6"])
@pytest.mark.parametrize("name", ["adult", "34_smtp"])
def test_quantiles_of_public_sets_are_within_two_points_and_medians_within_one(
    name: str, delta: str, shared_data: Path
) -> None:
    row = measured(table(shared_data, name), name, "1", delta, runs=1)
    # About four standard deviations of noise, from this file's stream: the same in every run.
    assert row.errors[:, :, 0].max() <= 0.02
    assert row.errors[:, :, 1].max() <= 0.01
    assert row.errors[:, :, 2].max() <= 0.02


def test_every_value_of_education_is_found(shared_data: Path) -> None:
    # The rarest has 51 records, the threshold is 27 and the noise has a deviation of 4.6.
    assert categories_found(table(shared_data, "adult"), "education", runs=3, whole=False) == 1.0


def test_generated_columns_of_every_shape_keep_the_same_limits() -> None:
    draw = np.random.default_rng(11)
    size = 40_000
    data = pa.table(
        {
            "normal": draw.normal(0, 1, size),
            "skewed": np.where(draw.random(size) < 0.9, 0.0, np.exp(draw.normal(9, 1, size))),
            "huge": np.exp(draw.normal(0, 60, size)),
            "whole": draw.poisson(40, size),
            "flags": draw.integers(0, 2, size),
            "atoms": np.log(draw.integers(1, 12, size) / 10.0),
        }
    )
    row = measured(data, "generated", "1", "0", runs=1)
    assert row.errors[:, :, 0].max() <= 0.02
    assert row.errors[:, :, 1].max() <= 0.01
    assert row.errors[:, :, 2].max() <= 0.02


def test_a_mutant_that_guesses_bounds_fails_the_same_limits() -> None:
    """The measure sees errors: quantiles of another column are far off."""
    from whitecrow_research.profiles import rank_error

    values = np.sort(np.random.default_rng(1).normal(0, 1, 1000))
    assert rank_error(values, 1.0, 0.5) > 0.3
    assert rank_error(np.array([0.0] * 900 + [1.0] * 100), 0.0, 0.5) == 0.0

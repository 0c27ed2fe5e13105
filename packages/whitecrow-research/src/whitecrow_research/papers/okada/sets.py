"""The paper's data sets: two synthetic ones, and what can be had of the real ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

ADULT_COLUMNS = (
    "age",
    "education_num",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "sex",
    "race",
)
"""Seven columns, as Table 1 says; which seven the paper does not say."""


@dataclass(frozen=True)
class Sample:
    """Records, which of them are outliers by label, and the columns' names."""

    points: Matrix
    outlying: NDArray[np.bool_]
    columns: tuple[str, ...]


def synthetic_one(generator: np.random.Generator) -> Sample:
    """45 points of N(0, I) in the plane and 5 of N((20, 20), 100 I)."""
    points = np.vstack([generator.normal(size=(45, 2)), generator.normal(20.0, 10.0, size=(5, 2))])
    return Sample(points, np.arange(50) >= 45, ("1", "2"))


def synthetic_two(generator: np.random.Generator) -> Sample:
    """490 points of N(0, I) in ten columns and 10 that differ in the first two."""
    points = generator.normal(size=(500, 10))
    points[490:, :2] = generator.normal(20.0, 10.0, size=(10, 2))
    return Sample(points, np.arange(500) >= 490, tuple(str(i) for i in range(1, 11)))


def adult(path: Path, inside: int, outside: int, generator: np.random.Generator) -> Sample:
    """A random sample by income (above 50K: inliers), each column scaled to mean 0, variance 1."""
    points, above = _adult(path)
    return _sample(points, ~above, inside, outside, ADULT_COLUMNS, generator)


@lru_cache(maxsize=1)
def _adult(path: Path) -> tuple[Matrix, NDArray[np.bool_]]:
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    above = np.array([value.startswith(">") for value in table["income"].to_pylist()])
    columns = []
    for name in ADULT_COLUMNS:
        values = table[name].to_pylist()
        if isinstance(values[0], str):
            codes = {value: code for code, value in enumerate(sorted(set(values)))}
            values = [codes[value] for value in values]
        columns.append(np.array(values, dtype=np.float64))
    return np.column_stack(columns), above


def ionosphere(path: Path, generator: np.random.Generator) -> Sample:
    """All 225 good radar returns and 10 bad ones, each column scaled."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    names = tuple(name for name in table.schema.names if name != "class")
    points = np.column_stack([table[name].to_numpy().astype(np.float64) for name in names])
    bad = table["class"].to_numpy() == 0
    return _sample(points, bad, 225, 10, names, generator)


def _sample(
    points: Matrix,
    outlying: NDArray[np.bool_],
    inside: int,
    outside: int,
    columns: tuple[str, ...],
    generator: np.random.Generator,
) -> Sample:
    chosen = np.concatenate(
        [
            generator.choice(np.flatnonzero(~outlying), inside, replace=False),
            generator.choice(np.flatnonzero(outlying), outside, replace=False),
        ]
    )
    picked = points[chosen]
    spread = picked.std(axis=0)
    scaled = (picked - picked.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return Sample(np.ascontiguousarray(scaled), outlying[chosen], columns)

"""Where outliers live on Adult: with scales, not only in the columns with the largest numbers."""

import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import whitecrow as wc
from whitecrow.data import Card, Column

DATA = Path(os.environ.get("WHITECROW_DATA", "")) / "adult.parquet"
SCALES = {
    "age": (17, 90, 10),
    "education_num": (1, 16, 2),
    "capital_gain": (0, 99999, 5000),
    "capital_loss": (0, 4400, 500),
    "hours_per_week": (1, 99, 10),
}
"""Bounds of the census form, and differences that people would call one step."""


@pytest.mark.skipif(not DATA.is_file(), reason="set WHITECROW_DATA")
def test_with_scales_subspaces_names_more_than_the_two_capital_columns():
    columns = [Column(n, "integer", low, up, scale=s) for n, (low, up, s) in SCALES.items()]
    curator = wc.Curator.open(
        pq.read_table(DATA, columns=list(SCALES)),
        card=Card("adult", tuple(columns)),
        ledger="sqlite://",
        name="adult",
        budget="1000",
    )
    capital = {"capital_gain", "capital_loss"}
    plain = wc.DistanceAnomaly(beta=30, radius=3)
    named = curator.subspaces(1, 2, model=plain, epsilon=100).answer
    assert {name for one in named for name in one} == capital
    scaled = wc.DistanceAnomaly(beta=30, radius=0.1, metric="standardised")
    for size in (1, 2):
        named = curator.subspaces(size, 3, model=scaled, epsilon=100).answer
        assert {name for one in named for name in one} - capital

"""Profiles of several sites as one: sums, noise, and what each person was promised."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import whitecrow as wc
from whitecrow.cli import whitecrow as terminal
from whitecrow.histogram.table import Categories, Numbers, TableProfile

CARD = wc.Card(
    "visits",
    (
        wc.Column("cost"),
        wc.Column("ward", "category", categories=("a", "b")),
        wc.Column("drug", "text"),
    ),
)


def table(seed: int, shift: float, size: int = 20_000) -> pa.Table:
    random = np.random.default_rng(seed)
    drugs = ["aspirin", "ibuprofen", f"rare {seed}"]
    return pa.table(
        {
            "cost": random.normal(100 + shift, 10, size),
            "ward": random.choice(["a", "b"], size, p=[0.75, 0.25]),
            "drug": random.choice(drugs, size, p=[0.6, 0.3, 0.1]),
        }
    )


def profile(records: pa.Table, epsilon: str = "1", **how: Any) -> TableProfile:
    how = {"card": CARD, "ledger": "sqlite://", "budget": "9, 1e-5", **how}
    curator = wc.Curator.open(records, **how)
    answer: TableProfile = curator.profile(epsilon=epsilon, delta="1e-6").answer
    return answer


@pytest.fixture(scope="module")
def sites() -> list[TableProfile]:
    prices = ("1", "1/2", "2")
    return [profile(table(n, 40.0 * n), one) for n, one in enumerate(prices)]


def test_a_person_loses_what_the_datasets_cost_that_hold_their_records(
    sites: list[TableProfile],
) -> None:
    first, *others = sites
    prices = {
        overlap: first.merge(*others, overlap=overlap).guarantee.epsilon for overlap in (1, 2, 3)
    }
    assert prices == {1: 2, 2: 3, 3: Fraction(7, 2)}
    assert first.merge(*others, apart=True).guarantee.delta == Fraction(1, 10**6)
    assert first.merge(*others).guarantee.delta == Fraction(3, 10**6)
    assert "nobody has records in two" in first.merge(*others, apart=True).statement
    for wrong in ({"overlap": 4}, {"apart": True, "overlap": 2}):
        with pytest.raises(wc.InvalidInput, match="overlap"):
            first.merge(*others, **wrong)


def test_quantiles_and_bounds_are_those_of_all_records(sites: list[TableProfile]) -> None:
    both = sites[0].merge(*sites[1:], apart=True)
    values = np.concatenate([table(n, 40.0 * n)["cost"].to_numpy() for n in range(3)])
    for rank in (0.05, 0.25, 0.5, 0.75, 0.95):
        found = both.quantile("cost", rank)
        assert abs(float((values < found).mean()) - rank) < 0.03
    bounds = both.bounds("cost")
    assert bounds is not None
    # Nothing is found beyond what a site found, and nearly all records lie between.
    apart = [one.bounds("cost") for one in sites]
    lows, highs = zip(*(one for one in apart if one is not None), strict=True)
    assert min(lows) <= bounds[0]
    assert bounds[1] <= max(highs)
    assert float(((values < bounds[0]) | (values > bounds[1])).mean()) < 0.01
    assert abs(both.records - 60_000) < 600


def test_counts_add_up_and_so_does_the_noise(sites: list[TableProfile]) -> None:
    both = sites[0].merge(*sites[1:], apart=True)
    for name in CARD.names:
        parts = [one.column(name) for one in sites]
        merged = both.column(name)
        assert merged.missing == sum(one.missing for one in parts)
        least = math.sqrt(sum(one.deviation**2 for one in parts))
        if isinstance(merged, Categories):
            assert merged.deviation == pytest.approx(least)
            continue
        assert isinstance(merged, Numbers)
        assert sum(merged.counts) == sum(sum(one.counts) for one in parts)  # type: ignore[union-attr]
        assert merged.deviation < 4 * least
        assert len(merged.counts) == len(merged.edges) + 1
    assert both.categories("drug")["aspirin"] == sum(
        one.categories("drug")["aspirin"] for one in sites
    )
    assert {"rare 0", "rare 1", "rare 2"} <= set(both.categories("drug"))


def test_the_noise_of_a_merged_cell_is_no_larger_than_is_said() -> None:
    """Empty tables: every count is nothing but noise."""
    empty = table(0, 0.0, 0)
    card = wc.Card("visits", (wc.Column("cost", lower=0, upper=100),))
    seen, said = [], []
    for n in range(30):
        parts = [
            profile(empty.select(["cost"]), card=card, name=f"{n}", ledger="sqlite://")
            for _ in range(2)
        ]
        both = parts[0].merge(parts[1], apart=True).column("cost")
        assert isinstance(both, Numbers)
        seen += list(both.counts)
        said.append(both.deviation)
    assert float(np.std(seen)) < 1.1 * max(said)


def test_equal_cells_are_added_exactly(sites: list[TableProfile]) -> None:
    columns = tuple(replace(column, missing=column.missing + 1) for column in sites[0].columns)
    twice = sites[0].merge(replace(sites[0], columns=columns), overlap=2)
    one, two = sites[0].column("cost"), twice.column("cost")
    assert isinstance(one, Numbers)
    assert isinstance(two, Numbers)
    assert set(two.edges) <= set(one.edges)
    assert twice.quantile("cost", 0.5) == pytest.approx(sites[0].quantile("cost", 0.5), abs=3)


@pytest.mark.parametrize("apart", [True, False])
def test_a_profile_does_not_merge_with_itself(sites: list[TableProfile], apart: bool) -> None:
    again = TableProfile.from_json(sites[0].to_json())
    with pytest.raises(wc.InvalidInput, match="same release"):
        sites[0].merge(sites[1], again, apart=apart)


def test_profiles_of_other_cards_columns_or_units_do_not_merge(sites: list[TableProfile]) -> None:
    other = profile(table(0, 0.0).select(["cost"]), card=wc.Card("visits", CARD.columns[:1]))
    with pytest.raises(wc.InvalidInput, match="equal cards"):
        sites[0].merge(other)


def test_a_merged_profile_drafts_a_card_and_is_read_back(
    sites: list[TableProfile], tmp_path: Path
) -> None:
    both = sites[0].merge(*sites[1:], apart=True)
    card = both.card()
    assert card.column("cost").bounded
    assert card.sources["profile"] == "merged profiles"
    both.save(tmp_path / "all.profile")
    assert TableProfile.load(tmp_path / "all.profile").to_json() == both.to_json()
    (tmp_path / "none.profile").write_text("{}")
    with pytest.raises(wc.InvalidInput, match="no profile"):
        TableProfile.load(tmp_path / "none.profile")


def test_the_terminal_merges_profiles(sites: list[TableProfile], tmp_path: Path) -> None:
    paths = [str(tmp_path / f"{n}.profile") for n in range(2)]
    for path, one in zip(paths, sites, strict=False):
        one.save(path)
    for out in ("all.profile", "all.toml"):
        said = ["merge", *paths, "--apart", "--out", str(tmp_path / out)]
        found = CliRunner().invoke(terminal, said)
        assert found.exit_code == 0, found.output
        assert "Merged of 2 profiles" in " ".join(found.output.split())
    assert wc.Card.load(tmp_path / "all.toml").column("cost").bounded

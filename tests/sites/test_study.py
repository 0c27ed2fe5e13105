"""Three sites and one detector, on tables with known outliers: what is lost by being apart."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import whitecrow as wc
from whitecrow.learning import Learn
from whitecrow.sites import Circle, Meeting, learn_together

DATA = Path(os.environ.get("WHITECROW_ADBENCH", "../shared/data/adbench"))
SETS = ("10_cover", "23_mammography", "34_smtp")
SITES = ("north", "south", "west")
PRICE = Learn(epsilon="1", delta="1e-6")


def auc(scores: np.ndarray, labels: np.ndarray) -> float:
    ranks = np.empty(len(scores))
    ranks[np.argsort(scores, kind="stable")] = np.arange(1, len(scores) + 1)
    odd = labels.astype(bool)
    return float((ranks[odd].sum() - odd.sum() * (odd.sum() + 1) / 2) / (odd.sum() * (~odd).sum()))


def opened(rows: np.ndarray, card: wc.Card, name: str) -> wc.Curator:
    table = pa.table({column.name: rows[:, place] for place, column in enumerate(card.columns)})
    return wc.Curator.open(table, card=card, name=name, budget="1, 1e-6", ledger="sqlite://")


def learned_together(parts: dict[str, np.ndarray], card: wc.Card, honest: int) -> wc.Detector:
    circle = Circle("study", SITES, honest=honest)
    meeting, found = Meeting(circle), {}
    secrets = {frozenset((a, b)): os.urandom(32) for a in SITES for b in SITES if a < b}

    def take_part(name: str) -> None:
        mine = {other: secrets[frozenset((name, other))] for other in SITES if other != name}
        curator = opened(parts[name], card, name)
        found[name] = learn_together(curator, PRICE, meeting.member(name, mine))

    threads = [threading.Thread(target=take_part, args=(name,)) for name in SITES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found["north"]


@pytest.mark.study
@pytest.mark.parametrize("name", SETS)
def test_three_sites_are_within_a_hundredth_of_one_trained_on_all_data(name: str) -> None:
    path = DATA / f"{name}.npz"
    if not path.exists():
        pytest.skip("the tables with known outliers are not here")
    with np.load(path) as held:
        rows, labels = held["X"].astype(np.float64), held["y"]
    lower, upper = rows.min(axis=0), rows.max(axis=0)
    card = wc.Card(
        "study",
        tuple(
            wc.Column(f"x{i}", lower=float(low), upper=float(max(high, low + 1)))
            for i, (low, high) in enumerate(zip(lower, upper, strict=True))
        ),
    )
    site = np.random.default_rng(1).integers(0, 3, len(rows))
    found: dict[str, list[float]] = {"all": [], "merged": [], "together": []}
    for _ in range(3):
        parts = {one: rows[site == place] for place, one in enumerate(SITES)}
        table = pa.table({column.name: rows[:, i] for i, column in enumerate(card.columns)})
        whole = opened(rows, card, "all").ask(PRICE).answer
        own = [opened(part, card, one).ask(PRICE).answer for one, part in parts.items()]
        merged = own[0].merge(*own[1:], apart=True)
        together = learned_together(parts, card, honest=2)
        for key, detector in (("all", whole), ("merged", merged), ("together", together)):
            found[key].append(auc(detector.scores(table), labels))
    mean = {key: float(np.mean(values)) for key, values in found.items()}
    shown = {key: f"{value:.3f}" for key, value in mean.items()}
    print(name, len(rows), shown)  # noqa: T201 (docs/sites.md)
    assert mean["merged"] > mean["all"] - 0.01
    assert mean["together"] > mean["all"] - 0.01

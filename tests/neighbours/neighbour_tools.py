"""The yardstick, and every way to count, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from whitecrow.neighbours import plans, use_compiled
from whitecrow.neighbours._products import count_products
from whitecrow.neighbours.cells import settle
from whitecrow.neighbours.index import arranged, count_each, count_in
from whitecrow.neighbours.plans import count_plain
from whitecrow.neighbours.relation import Form, checked_form, embedded, step

Matrix = NDArray[np.float64]
Counts = NDArray[np.int64]


def brute(
    data: Matrix,
    records: Matrix,
    radius: float,
    metric: str = "euclidean",
    cap: int | None = None,
    ranges: Sequence[float] = (),
) -> Counts:
    """Return min(number of close records, cap): every pair, no shortcut."""
    form = checked_form(metric, radius, ranges, data.shape[1], "brute")
    return brute_of(form, embedded(data, metric), embedded(records, metric), cap)


def brute_of(form: Form, data: Matrix, records: Matrix, cap: int | None = None) -> Counts:
    """Do the same for vectors that are embedded already."""
    total = np.zeros((len(records), len(data)))
    with np.errstate(all="ignore"):
        for c, scale in enumerate(form.scales):
            difference = np.abs(records[:, c][:, None] - data[:, c][None, :])
            total = step(form.kind, total, difference, scale)
    counts = (total <= form.threshold).sum(axis=1)
    return np.minimum(counts, len(data) if cap is None else cap)


def _gridded(data: Matrix, form: Form, cap: int) -> Counts:
    settled = settle(data, form, cap, len(data)) if data.shape[1] <= 3 else None
    if settled is None:
        return plans.count_every(lambda: data, form, cap)
    found = settled.counts.copy()
    found[settled.asking] = brute_of(form, data[settled.nearby], data[settled.asking], cap)
    assert len(set(settled.nearby.tolist())) == len(settled.nearby)
    assert set(settled.asking.tolist()) <= set(settled.nearby.tolist())
    return found


def agree(
    data: Matrix,
    radius: float,
    metric: str = "euclidean",
    cap: int | None = None,
    ranges: Sequence[float] = (),
) -> None:
    """Check that every way gives what brute force gives; slow ways are asked for a few records."""
    form = checked_form(metric, radius, ranges, data.shape[1], "agree")
    vectors = embedded(np.ascontiguousarray(data, dtype=np.float64), metric)
    limit = len(data) if cap is None else min(cap, len(data))
    expected = brute_of(form, vectors, vectors, limit)
    index = arranged(vectors, form)
    few = np.random.default_rng(len(data)).permutation(len(data))[:12]
    asked = vectors[few]
    every = np.arange(len(data))
    use_compiled()
    found = {
        "groups": (every, count_in(index, form, index.tables.blocks, index.ids, limit)),
        "chosen": (every, plans.count_indexed(index, form, limit)),
        "grid": (every, _gridded(vectors, form, limit)),
        "alone": (every, count_each(index, form, vectors, limit)),
        "scattered": (few, plans.count_through(index, form, asked, limit)),
        "scan": (few, plans._scanned(vectors, form, asked, limit)),
        "numpy": (few, count_plain(vectors, form, asked, limit)),
    }
    products = count_products(vectors, form, vectors, limit)
    if products is not None:
        found["products"] = (every, products)
    for way, (rows, counts) in found.items():
        wrong = int((counts != expected[rows]).sum())
        assert wrong == 0, f"{way}: {wrong} of {len(rows)} differ ({metric}, radius {radius!r})"


def mixture(n: int, d: int, seed: int = 0) -> Matrix:
    """Return a heavy-tailed mixture of clusters."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(0, 5, (6, d))[rng.integers(0, 6, n)]
    return centres + rng.standard_t(3, size=(n, d))

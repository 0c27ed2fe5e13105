"""MST, written small: synthetic records by noisy marginals along a privately chosen tree.

McKenna, Miklau and Sheldon 2021: a third of rho for the histograms of single columns, a third for a
spanning tree of the pairs that depend most (exponential mechanism), a third for the pairs' tables.
Floating-point noise, for comparison only. ``elsewhere.py`` has a package's MST, which takes a
minute where this takes a fraction of a second.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int64]
Vector = npt.NDArray[np.float64]

_STEPS = 200


def synthetic(codes: Codes, bins: int, rho: float, seed: int) -> Codes:
    """Return as many made-up records as were given; ``codes`` are the cells of their values."""
    source = np.random.default_rng(seed)
    width = codes.shape[1]
    noise = math.sqrt(3 * width / (2 * rho))
    singles = [
        np.bincount(column, minlength=bins) + source.normal(0, noise, bins) for column in codes.T
    ]
    groups, frequencies = zip(*(_merged(counts, noise) for counts in singles), strict=True)
    seen = np.stack([group[column] for group, column in zip(groups, codes.T, strict=True)], axis=1)
    pairs = _tree(seen, frequencies, rho / 3, source) if width > 1 else []
    noise = math.sqrt(3 * max(1, len(pairs)) / (2 * rho))
    made = np.empty_like(seen)
    made[:, 0] = source.choice(len(frequencies[0]), len(seen), p=frequencies[0])
    for parent, child in pairs:
        table = _table(seen, parent, child, frequencies)
        table_fitted = _fitted(
            table + source.normal(0, noise, table.shape), frequencies[parent], frequencies[child]
        )
        running = np.cumsum(table_fitted / table_fitted.sum(axis=1, keepdims=True), axis=1)[
            made[:, parent]
        ]
        drawn = (source.random(len(seen))[:, None] > running).sum(axis=1)
        made[:, child] = np.minimum(drawn, table.shape[1] - 1)
    return np.stack(
        [_parted(group, made[:, column], source) for column, group in enumerate(groups)], axis=1
    )


def _merged(counts: Vector, noise: float) -> tuple[Codes, Vector]:
    """Put cells that may be noise together as one; return each cell's group and groups' shares."""
    frequent = counts > 3 * noise
    group = np.where(frequent, np.cumsum(frequent) - 1, frequent.sum())
    sums = np.bincount(group, weights=np.maximum(counts, 0.0))
    sums = np.maximum(sums, noise / 10)
    return group.astype(np.int64), sums / sums.sum()


def _parted(group: Codes, made: Codes, source: np.random.Generator) -> Codes:
    """Choose a cell of its group for every made-up value."""
    members = [np.flatnonzero(group == number) for number in range(int(group.max()) + 1)]
    sizes = np.array([len(member) for member in members])
    picked = (source.random(len(made)) * sizes[made]).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    codes: Codes = np.concatenate(members)[starts[made] + picked]
    return codes


def _table(seen: Codes, parent: int, child: int, frequencies: tuple[Vector, ...]) -> Vector:
    rows, columns = len(frequencies[parent]), len(frequencies[child])
    flat = np.bincount(seen[:, parent] * columns + seen[:, child], minlength=rows * columns)
    return flat.reshape(rows, columns).astype(np.float64)


def _tree(
    seen: Codes, frequencies: tuple[Vector, ...], rho: float, source: np.random.Generator
) -> list[tuple[int, int]]:
    """Grow a tree from the first column: each edge by the exponential mechanism."""
    width = len(frequencies)
    epsilon = math.sqrt(8 * rho / (width - 1))
    weight = np.zeros((width, width))
    for one in range(width):
        for other in range(one + 1, width):
            alone = len(seen) * np.outer(frequencies[one], frequencies[other])
            weight[one, other] = np.abs(_table(seen, one, other, frequencies) - alone).sum()
    weight += weight.T
    inside, pairs = [0], []
    for _ in range(width - 1):
        edges = [(a, b) for a in inside for b in range(width) if b not in inside]
        score = epsilon / 2 * np.array([weight[edge] for edge in edges])
        chance = np.exp(score - score.max())
        chosen = edges[source.choice(len(edges), p=chance / chance.sum())]
        pairs.append(chosen)
        inside.append(chosen[1])
    return pairs


def _fitted(noisy: Vector, rows: Vector, columns: Vector) -> Vector:
    """Return the positive table nearest to noisy counts, by mirror descent from independence."""
    total = max(1.0, float(noisy.sum()))
    goal = noisy / total
    joint = np.outer(rows, columns)
    for _ in range(_STEPS):
        joint = joint * np.exp(np.clip(2.0 * (goal - joint) / joint.max(), -1.0, 1.0))
        joint *= (rows / np.maximum(joint.sum(axis=1), 1e-12))[:, None]
    return np.maximum(joint, 1e-12)

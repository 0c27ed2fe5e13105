"""Peers that count neighbours: each takes the data and a cap and returns a function that counts.

Some are not always installed; importing them happens when they are built. Those that only know
nearest neighbours are asked for as many as the cap. Peers in float32, and those whose distances
are rounded otherwise than ours, are compared with a tolerance.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["PEERS", "ROUGH", "SINGLE", "Build", "Peer", "learn_tree", "scipy_tree"]

Matrix = NDArray[np.float64]
Counts = NDArray[np.int64]
Peer = Callable[[Matrix, float], Counts]
Build = Callable[[Matrix, int], Peer]

SINGLE = 60
"""Records asked one by one are handed over this many at a time, and take one core."""

_CHUNK = 256
"""Records asked at once of a peer that returns every neighbour, so that they fit the memory."""


def scipy_tree(data: Matrix, cap: int, cores: int = 2) -> Peer:
    """scipy's cKDTree on some cores."""
    from scipy.spatial import cKDTree

    tree = cKDTree(data)

    def count(records: Matrix, radius: float) -> Counts:
        workers = 1 if len(records) <= SINGLE else cores
        return np.asarray(
            tree.query_ball_point(records, radius, return_length=True, workers=workers)
        )

    return count


def learn_tree(name: str, data: Matrix, cap: int, cores: int = 2) -> Peer:
    """scikit-learn's KDTree or BallTree, count_only, in some processes."""
    import sklearn.neighbors

    global _tree
    _tree = getattr(sklearn.neighbors, name)(data)
    pool: Any = None

    def count(records: Matrix, radius: float) -> Counts:
        nonlocal pool
        if len(records) <= SINGLE:
            return np.asarray(_tree.query_radius(records, radius, count_only=True))
        if pool is None:
            pool = multiprocessing.get_context("fork").Pool(cores)
            pool.map(_ready, range(cores))
        parts = [(part, radius) for part in np.array_split(records, 4 * cores)]
        return np.concatenate(pool.map(_count_in_tree, parts, chunksize=1))

    return count


_tree: Any = None


def _ready(_: int) -> None:
    time.sleep(0.01)


def _count_in_tree(asked: tuple[Matrix, float]) -> Counts:
    return np.asarray(_tree.query_radius(asked[0], asked[1], count_only=True))


def matrix_product(data: Matrix, cap: int) -> Peer:
    """|a|^2 + |b|^2 - 2ab in float32 blocks: fast, and not exact."""
    single = (data - data.mean(axis=0)).astype(np.float32)
    squares = np.einsum("ij,ij->i", single, single)
    shift = data.mean(axis=0)

    def count(records: Matrix, radius: float) -> Counts:
        asked = (records - shift).astype(np.float32)
        counts = np.zeros(len(records), np.int64)
        own = np.einsum("ij,ij->i", asked, asked)
        limit = np.float32(radius * radius)
        for first in range(0, len(records), 512):
            rows = slice(first, first + 512)
            for start in range(0, len(data), 16_384):
                part = slice(start, start + 16_384)
                squared = asked[rows] @ single[part].T
                squared *= -2.0
                squared += squares[part]
                squared += own[rows, None]
                counts[rows] += np.count_nonzero(squared <= limit, axis=1)
        return counts

    return count


def _in_chunks(count: Peer) -> Peer:
    """Ask some records at a time."""

    def chunked(records: Matrix, radius: float) -> Counts:
        parts = range(0, len(records), _CHUNK)
        return np.concatenate([count(records[k : k + _CHUNK], radius) for k in parts])

    return chunked


def pykdtree_nearest(data: Matrix, cap: int) -> Peer:
    """pykdtree: the nearest ones up to the cap, all cores."""
    from pykdtree.kdtree import KDTree

    tree = KDTree(data)

    def count(records: Matrix, radius: float) -> Counts:
        beyond = np.nextafter(radius, np.inf)
        distances, _ = tree.query(records, k=min(cap, len(data)), distance_upper_bound=beyond)
        return np.asarray((distances.reshape(len(records), -1) <= radius).sum(axis=1))

    return _in_chunks(count)


def faiss_flat(data: Matrix, cap: int) -> Peer:
    """FAISS, exact search in float32, all cores."""
    import faiss

    shift = data.mean(axis=0)
    index = faiss.IndexFlatL2(data.shape[1])
    index.add((data - shift).astype(np.float32))

    def count(records: Matrix, radius: float) -> Counts:
        limits, _, _ = index.range_search((records - shift).astype(np.float32), radius * radius)
        return np.diff(limits.astype(np.int64))

    return _in_chunks(count)


def nanoflann_tree(data: Matrix, cap: int) -> Peer:
    """nanoflann through its Python bindings, two threads."""
    import pynanoflann

    tree = pynanoflann.KDTree(metric="L2", leaf_size=32)
    tree.fit(data)

    def count(records: Matrix, radius: float) -> Counts:
        jobs = 1 if len(records) <= SINGLE else 2
        beyond = np.nextafter(radius, np.inf)  # it compares with "below"
        neighbours = tree.radius_neighbors(records, beyond, return_distance=False, n_jobs=jobs)
        return np.array([len(some) for some in neighbours], np.int64)

    return _in_chunks(count)


def intel_nearest(data: Matrix, cap: int) -> Peer:
    """Intel's extension of scikit-learn: the nearest ones up to the cap."""
    from sklearnex.neighbors import NearestNeighbors

    tree = NearestNeighbors(n_neighbors=min(cap, len(data)), algorithm="auto").fit(data)

    def count(records: Matrix, radius: float) -> Counts:
        distances, _ = tree.kneighbors(records)
        return np.asarray((distances <= radius).sum(axis=1))

    return _in_chunks(count)


def duckdb_join(data: Matrix, cap: int) -> Peer:
    """A join in DuckDB, in SQL."""
    import duckdb
    import pyarrow as pa

    names = [f"c{k}" for k in range(data.shape[1])]
    connection = duckdb.connect()
    connection.execute("SET threads = 2")
    table = pa.table({name: data[:, k] for k, name in enumerate(names)})
    connection.register("given", table)
    connection.execute("CREATE TABLE data AS SELECT * FROM given")
    squared = " + ".join(f"(a.{name} - b.{name}) ** 2" for name in names)

    def count(records: Matrix, radius: float) -> Counts:
        asked = pa.table({name: records[:, k] for k, name in enumerate(names)})
        asked = asked.append_column("id", pa.array(np.arange(len(records))))
        connection.register("asked", asked)
        # The names are c0, c1, ...
        query = (
            f"SELECT a.id, count(*) AS n FROM asked a, data b WHERE {squared} <= ? GROUP BY a.id"  # noqa: S608
        )
        rows = connection.execute(query, [radius * radius]).fetchnumpy()
        counts = np.zeros(len(records), np.int64)
        counts[rows["id"]] = rows["n"]
        return counts

    return _in_chunks(count)


def polars_filter(data: Matrix, cap: int) -> Peer:
    """A sum over a comparison for each record, many in one query of Polars."""
    import polars as pl

    names = [f"c{k}" for k in range(data.shape[1])]
    frame = pl.DataFrame({name: data[:, k] for k, name in enumerate(names)}).lazy()

    def close(record: Matrix, radius: float) -> Any:
        squared = pl.sum_horizontal(
            (pl.col(name) - value) ** 2 for name, value in zip(names, record, strict=True)
        )
        return (squared <= radius * radius).sum()

    def count(records: Matrix, radius: float) -> Counts:
        wanted = {f"n{i}": close(record, radius) for i, record in enumerate(records.tolist())}
        return np.array(frame.select(**wanted).collect().row(0), np.int64)

    return _in_chunks(count)


PEERS: dict[str, Build] = {
    "cKDTree": scipy_tree,
    "KDTree": partial(learn_tree, "KDTree"),
    "BallTree": partial(learn_tree, "BallTree"),
    "GEMM": matrix_product,
    "pykdtree": pykdtree_nearest,
    "FAISS": faiss_flat,
    "nanoflann": nanoflann_tree,
    "intelex": intel_nearest,
    "DuckDB": duckdb_join,
    "Polars": polars_filter,
}

ROUGH = ("GEMM", "FAISS", "pykdtree", "nanoflann", "intelex", "DuckDB", "Polars")
"""Peers whose last bits differ from ours: float32, or squares and roots taken otherwise."""

"""What an engine must offer, and how one is opened."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whitecrow import plugins
from whitecrow.data import Card, Dataset, read
from whitecrow.data.warehouse import RemoteDataset, open_remote
from whitecrow.errors import BrokenPlugin, RecordsElsewhere, invalid
from whitecrow.neighbours.index import Progress
from whitecrow.neighbours.relation import NeighbourRelation

__all__ = [
    "ENGINES",
    "REMOTE",
    "Engine",
    "EngineType",
    "LocalRecords",
    "engine_names",
    "open_data",
    "open_engine",
    "sparse_rows",
]

REMOTE = ("sql", "spark")
"""The engines that count where the records are, and copy none of them as a whole."""


class LocalRecords(Protocol):
    """The little that an engine in this process asks of records at hand."""

    def matrix(self, columns: Sequence[str]) -> NDArray[np.float64]:
        """Return the columns as a C-contiguous matrix of doubles, one row a record."""

    def rows(self, columns: Sequence[str], rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return some rows of the columns."""

    def fingerprint(self) -> str:
        """Return a text that changes when the data change."""


@runtime_checkable
class Engine(Protocol):
    """Computes facts about neighbourhoods; every engine returns the same integers.

    The numbers are private facts: they go to a mechanism and nowhere else.
    """

    def neighbours(
        self, records: ArrayLike, neighbour_relation: NeighbourRelation, cap: int | None = None
    ) -> NDArray[np.int64]:
        """Return min(number of data records close to it, cap) for each record of a batch."""

    def copies(
        self, records: ArrayLike, neighbour_relation: NeighbourRelation, cap: int | None = None
    ) -> NDArray[np.int64]:
        """Return min(number of data records at the same place, cap) for each record.

        The same place: within radius 0 by the metric, whatever the relation's radius.
        """

    def degrees(
        self, neighbour_relation: NeighbourRelation, cap: int | None = None
    ) -> NDArray[np.int64]:
        """Return min(number of close records, itself included, cap) for each data record."""

    def sparse(
        self, neighbour_relation: NeighbourRelation, cap: int
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return the records with fewer than ``cap`` close ones, itself included, and how many.

        Few of many, as a rule: what counting outliers needs. They come in no order.
        """


Index = str | os.PathLike[str] | None


def _local(records: LocalRecords, index: Index, progress: Progress | None) -> Engine:
    from whitecrow.neighbours.local import LocalEngine

    return LocalEngine(records, index=index, progress=progress)


def _gpu(records: LocalRecords, index: Index, progress: Progress | None) -> Engine:
    from whitecrow.neighbours.gpu import GpuEngine

    return GpuEngine(records, progress=progress)


_IN_MEMORY = {"local": _local, "gpu": _gpu}
"""The engines that count records in memory; to add one, write its file and one line here."""

ENGINES = (*_IN_MEMORY, *REMOTE)
"""Whitecrow's own engines; ``local`` needs nothing but this package."""


@dataclass(frozen=True)
class EngineType:
    """An engine that another package adds, in the entry-point group ``whitecrow.engines``.

    Parameters
    ----------
    open : callable
        ``open(records)`` returns an :class:`Engine` on records in memory. It returns the same
        integers as ``local`` on every dataset: a mechanism's proof rests on them.
    """

    open: Callable[[LocalRecords], Engine]


def engine_names() -> tuple[str, ...]:
    """Name the engines: whitecrow's own, then what installed packages add."""
    return (*ENGINES, *plugins.offered(plugins.ENGINES, ENGINES))


def sparse_rows(
    records: LocalRecords,
    neighbour_relation: NeighbourRelation,
    degrees: NDArray[np.int64],
    cap: int,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return what :meth:`Engine.sparse` does, from the degrees of records that are at hand."""
    below = np.flatnonzero(degrees < cap)
    return records.rows(neighbour_relation.columns, below), degrees[below]


def open_data(
    source: object,
    card: Card | str | Path | None = None,
    engine: str = "local",
    *,
    spark_master: str | None = None,
    index: Index = None,
    progress: Progress | None = None,
    watch: Callable[[Any], None] | None = None,
) -> tuple[Dataset | RemoteDataset, Engine]:
    """Open records and the engine that counts them: here, or where the records are.

    Parameters
    ----------
    source, card, progress, watch
        See :func:`whitecrow.data.read`; for ``sql`` and ``spark`` see
        :func:`whitecrow.data.warehouse.open_remote`.
    engine : str
        One of :func:`engine_names`.
    spark_master : str, optional
        For ``spark``: which cluster.
    index : path, optional
        See :func:`open_engine`.
    """
    if spark_master is not None and engine != "spark":
        raise invalid("open_data", "spark_master", "left out unless the engine is spark", engine)
    if engine not in REMOTE:
        dataset = read(source, card, progress=progress, watch=watch)
        return dataset, open_engine(dataset, engine, index=index)
    from whitecrow.neighbours.remote import RemoteEngine

    remote = open_remote(source, card, engine=engine, spark_master=spark_master)
    return remote, RemoteEngine(remote)


def open_engine(
    dataset: LocalRecords,
    name: str = "local",
    *,
    index: Index = None,
    progress: Progress | None = None,
) -> Engine:
    """Open an engine on a dataset.

    Parameters
    ----------
    dataset : Dataset
        The records, in memory.
    name : str
        ``local`` counts in this process, ``gpu`` on its GPU, others as their packages say.
    index : path, optional
        Where ``local`` keeps its index, see :func:`~whitecrow.neighbours.beside`.
    progress : callable, optional
        Told how far a long build or count is.

    Raises
    ------
    InvalidInput
        No engine has this name.
    Unavailable
        The engine exists but this installation does not have it.
    """
    if name in _IN_MEMORY:
        return _IN_MEMORY[name](dataset, index, progress)
    if name in REMOTE:
        raise RecordsElsewhere(
            f"The engine '{name}' counts where the records are, and these are in memory. "
            "Open their source with it, or use engine='local'."
        )
    if name not in engine_names():
        raise invalid("open_engine", "name", f"one of {', '.join(engine_names())}", name)
    opened = plugins.load(plugins.ENGINES, name, EngineType).open(dataset)
    if not isinstance(opened, Engine):
        raise BrokenPlugin(f"What the engine {name!r} opens lacks a method of Engine.")
    return opened

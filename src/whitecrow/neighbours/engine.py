"""What an engine must offer, and how one is opened."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whitecrow.data import Card, Dataset, read
from whitecrow.data.warehouse import RemoteDataset, open_remote
from whitecrow.errors import Unavailable, invalid
from whitecrow.neighbours.index import Progress
from whitecrow.neighbours.relation import NeighbourRelation

__all__ = ["ENGINES", "REMOTE", "Engine", "LocalRecords", "open_data", "open_engine", "sparse_rows"]

ENGINES = ("local", "spark", "sql", "gpu")
"""Every engine that has a name; ``local`` needs nothing but this package."""


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
    index: str | os.PathLike[str] | None = None,
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
        One of :data:`ENGINES`.
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
    index: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Engine:
    """Open an engine on a dataset.

    Parameters
    ----------
    dataset : Dataset
        The records, in memory.
    name : str
        ``local`` counts in this process, ``gpu`` on its GPU.
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
    if name == "local":
        from whitecrow.neighbours.local import LocalEngine

        return LocalEngine(dataset, index=index, progress=progress)
    if name == "gpu":
        from whitecrow.neighbours.gpu import GpuEngine

        return GpuEngine(dataset, progress=progress)
    if name in REMOTE:
        raise Unavailable(
            f"The engine '{name}' counts where the records are, and these are in memory. "
            "Open their source with it, or use engine='local'."
        )
    raise invalid("open_engine", "name", f"one of {', '.join(ENGINES)}", name)

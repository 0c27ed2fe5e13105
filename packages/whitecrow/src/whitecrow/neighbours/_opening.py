"""How an engine is opened: on records in memory, or where the records are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whitecrow import plugins
from whitecrow.data import Card, Dataset, read
from whitecrow.data.warehouse import RemoteDataset, open_remote
from whitecrow.errors import BrokenPlugin, RecordsElsewhere, invalid
from whitecrow.neighbours._engine import Engine, LocalRecords
from whitecrow.neighbours._local import LocalEngine
from whitecrow.neighbours._remote import RemoteEngine
from whitecrow.neighbours.gpu import GpuEngine
from whitecrow.neighbours.index import Progress

REMOTE = ("disk", "spark")
"""The engines whose records are not in memory."""
READ_AGAIN = ("spark",)
"""The engines that go to the source itself for every question; others hold what they read."""
_FORMER = {"sql": "disk"}  # names that engines had before


_IN_MEMORY: dict[str, Callable[..., Engine]] = {"local": LocalEngine, "gpu": GpuEngine}
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


def current_name(engine: str) -> str:
    """Return what an engine is called now: ``sql`` became ``disk``."""
    return _FORMER.get(engine, engine)


def open_data(
    source: object,
    card: Card | str | Path | None = None,
    engine: str = "local",
    *,
    spark_master: str | None = None,
    progress: Progress | None = None,
    watch: Callable[[Any], None] | None = None,
) -> tuple[Dataset | RemoteDataset, Engine]:
    """Open records and the engine that counts them: here, or where the records are.

    See :func:`whitecrow.data.read`, and for ``disk`` and ``spark``
    :func:`whitecrow.data.warehouse.open_remote`. The engine is one of :func:`engine_names`.
    """
    engine = current_name(engine)
    if spark_master is not None and engine != "spark":
        raise invalid("open_data", "spark_master", "left out unless the engine is spark", engine)
    if engine not in REMOTE:
        dataset = read(source, card, progress=progress, watch=watch)
        return dataset, open_engine(dataset, engine)
    remote = open_remote(
        source, card, engine=engine, spark_master=spark_master, progress=progress, watch=watch
    )
    return remote, RemoteEngine(remote)


def open_engine(
    dataset: LocalRecords, name: str = "local", *, progress: Progress | None = None
) -> Engine:
    """Open an engine on records in memory.

    ``local`` counts in this process, ``gpu`` on its GPU, others as their packages say.
    """
    name = current_name(name)
    if name in _IN_MEMORY:
        return _IN_MEMORY[name](dataset, progress=progress)
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

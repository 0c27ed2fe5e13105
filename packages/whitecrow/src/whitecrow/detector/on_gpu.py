"""Learning and scoring on a GPU: the integers of :mod:`whitecrow.detector.scoring`.

Without a device, or where it compiles nothing, that module does it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from whitecrow.detector import scoring
from whitecrow.detector.arithmetic import Floats, Int64s
from whitecrow.detector.model import SHIFT, Grid, Model, Tables
from whitecrow.neighbours import Device

BATCH = 1 << 20  # records that are sent over together

_THREADS = 256
_SHARE = 1 << 14  # records that a block counts in its shared memory before it adds up

Kernels = dict[str, Callable[..., None]]


def count_cells(
    device: Device | None,
    columns: tuple[scoring.Encoder, ...],
    tables: Tables,
    rows: Floats,
    counts: Int64s,
) -> None:
    """Add one to a cell of every table for each record."""
    if device is None or (kernels := _kernels(device)) is None or not len(rows):
        scoring.count_cells(tables, scoring.coordinates_of(columns, rows), counts)
    else:
        _count(device, kernels, columns, rows, _layout(device, tables), counts)


def count_codes(
    device: Device | None, grids: tuple[Grid, ...], rows: Floats, counts: Int64s
) -> None:
    """Add one to a cell of every column's grid for each record."""
    if device is None or (kernels := _kernels(device)) is None or not len(rows):
        scoring.count_codes(grids, rows, counts)
        return
    # A table of one axis a column, whose bins are the cells themselves.
    cells = [grid.cells for grid in grids]
    looks = [np.arange(size, dtype=np.int32)[None, :] for size in cells]
    encoders = tuple(map(scoring.Encoder, grids, looks))
    axes = np.arange(len(grids) + 1, dtype=np.int32)
    ones = np.ones(len(grids), np.int32)
    whole = (axes, axes[:-1], 0 * ones, ones << SHIFT, ones)
    layout = (*map(device.put, whole), device.put(np.cumsum([0, *cells])))
    _count(device, kernels, encoders, rows, layout, counts)


def _count(
    device: Device,
    kernels: Kernels,
    columns: tuple[scoring.Encoder, ...],
    rows: Floats,
    layout: tuple[Any, ...],
    counts: Int64s,
) -> None:
    coordinates = _coordinates(device, kernels, columns, rows)
    added = device.put(np.zeros(len(counts), np.int64))
    shape = device.put(np.array([len(rows), _SHARE]))
    grid = -(-len(rows) // _SHARE), len(layout[0]) - 1
    kernels["count_cells"](grid, _THREADS, (coordinates, shape, *layout, added))
    counts += device.fetch(added)


def raw_scores(
    device: Device | None, model: Model, columns: tuple[scoring.Encoder, ...], rows: Floats
) -> Int64s:
    """Return the scores of records in units of worth."""
    if device is None or (kernels := _kernels(device)) is None or not len(rows):
        return scoring.raw_scores(model, columns, rows)
    tables, worths = model.joint
    coordinates = _coordinates(device, kernels, columns, rows)
    shape = device.put(np.array([len(rows), len(columns), len(tables)]))
    scores = device.put(np.zeros(len(rows), np.int64))
    points = device.put(worths if len(worths) else np.zeros(1, np.int32))
    arrays = (coordinates, shape, *_layout(device, tables), points, scores)
    kernels["add_scores"]((-(-len(rows) // _THREADS), 1), _THREADS, arrays)
    return device.fetch(scores)


def _coordinates(
    device: Device, kernels: Kernels, columns: tuple[scoring.Encoder, ...], rows: Floats
) -> Any:
    """Return the coordinates of records, as `scoring.coordinates_of` lays them out."""
    kinds = columns[0].encoded.shape[0]
    edges = [column.grid.edges for column in columns]
    begin = np.cumsum([0, *map(len, edges)])
    starts = np.cumsum([0, *(column.encoded.size for column in columns[:-1])])
    target = device.put(np.empty(kinds * len(columns) * len(rows), np.int32))
    arrays = (
        device.put(np.ascontiguousarray(rows)),
        device.put(np.array([len(rows), len(columns), kinds])),
        device.put(np.concatenate([*edges, [0.0]])),  # never without an element
        device.put(begin),
        device.put(np.concatenate([column.encoded.ravel() for column in columns])),
        device.put(starts),
        target,
    )
    kernels["encode"]((-(-len(rows) // _THREADS), len(columns)), _THREADS, arrays)
    return target


def _layout(device: Device, tables: Tables) -> tuple[Any, ...]:
    *axes, base = tables.layout
    empty = np.zeros(1, np.int32)
    parts = (part.astype(np.int32) if len(part) else empty for part in axes)
    return (*map(device.put, parts), device.put(base.astype(np.int64)))


def _kernels(device: Device) -> Kernels | None:
    return None if device.compile is None else _compiled(device.compile)


@cache
def _compiled(compile_: Callable[[str, str], Any]) -> Kernels | None:
    source = (Path(__file__).parent / "_gpu.cu").read_text(encoding="utf-8")
    kernels = {name: compile_(source, name) for name in ("encode", "count_cells", "add_scores")}
    return None if None in kernels.values() else kernels

"""Scores of records: compiled where numba is installed, elsewhere in numpy, bit for bit alike."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whitecrow._compiled import KERNELS
from whitecrow.detector.arithmetic import Floats, Int32s, Int64s
from whitecrow.detector.model import POINTS, Grid, Model, Tables

BLOCK = 4096
_GUESSES = 1024


COMPILED = importlib.util.find_spec("numba") is not None
"""Whether loops can be compiled; a test sets it to compare."""

_FEW = 20_000  # up to so many records numpy is sooner done than the compiler is loaded


def _compiles(records: int) -> bool:
    """Say whether to use compiled loops: for many records, or where kernels are in use."""
    return COMPILED and (records > _FEW or KERNELS.loaded)


@dataclass(frozen=True, eq=False)
class Encoder:
    """Finds the cell of a value, and writes down what is known of the cell."""

    grid: Grid
    encoded: Int32s  # what is written for each cell

    @cached_property
    def search(self) -> tuple[Floats, float, float, Int32s, int]:
        """What a value's cell is found by.

        The edges with NaN behind them; an origin and a pace, which make a guess of a value; how
        many edges have a smaller guess than each; and in how many halvings those with the same
        guess are searched.
        """
        edges = self.grid.edges
        origin, pace, guesses = 0.0, 0.0, np.zeros(len(edges), dtype=np.int64)
        first = self.grid.apart  # the first edge is not among values, but far below them
        with np.errstate(over="ignore", divide="ignore"):
            wanted = float(_GUESSES / (edges[-1] - edges[first])) if len(edges) > first else 0.0
            if 0.0 < wanted < np.inf:
                origin, pace = float(edges[first]), wanted
                # The kernel's own arithmetic: a guess here is the guess there.
                guesses = np.clip((edges - origin) * pace, 0.0, _GUESSES - 1.0).astype(np.int64)
        marks = np.searchsorted(guesses, np.arange(_GUESSES + 1)).astype(np.int32)
        steps = int(np.diff(marks).max()).bit_length()
        return np.append(edges, np.full(1 << steps, np.nan)), origin, pace, marks, steps

    @cached_property
    def packed(self) -> Int64s:
        """The three rows in one number: a coordinate has 16 bits, what a value is worth 32."""
        first, second, alone = self.encoded.astype(np.int64)
        return np.asarray(alone << 32 | second << 16 | first)

    def write(self, values: Floats, target: Int32s) -> None:
        """Write the rows of each value's cell."""
        if _compiles(len(values)):
            from whitecrow.detector import kernels

            kernels.encode(values, *self.search, self.encoded, target)
        else:
            target[:] = self.encoded[:, self.grid.codes(values)]


def encoders(model: Model) -> tuple[Encoder, ...]:
    """Return the encoders of a model's columns; the third row is what a value is worth alone."""
    return tuple(
        Encoder(grid, np.ascontiguousarray(np.vstack([coordinates, alone[None, :]])))
        for grid, coordinates, alone in zip(model.grids, model.looks, model.alone, strict=True)
    )


def coordinates_of(columns: tuple[Encoder, ...], rows: Floats) -> Int32s:
    """Return the coordinates of records: all logarithmic ones, then all ranks, and so on."""
    width, kinds = len(columns), columns[0].encoded.shape[0]
    coordinates = np.empty((kinds * width, len(rows)), dtype=np.int32)
    for index, encoder in enumerate(columns):
        encoder.write(np.ascontiguousarray(rows[:, index]), coordinates[index::width])
    return coordinates


def count_cells(tables: Tables, coordinates: Int32s, counts: Int64s) -> None:
    """Add one to a cell of every table for each record."""
    if _compiles(coordinates.shape[1]):
        from whitecrow.detector import kernels

        kernels.add_counts(coordinates, *tables.layout, counts)
        return
    for table, own in enumerate(np.split(counts, tables.base[1:-1])):
        cells = tables.cells(table, coordinates) - tables.base[table]
        own += np.bincount(cells, minlength=len(own))


def count_codes(grids: tuple[Grid, ...], rows: Floats, counts: Int64s) -> None:
    """Add one to a cell of every column's grid for each record, one grid after the other."""
    ends = np.cumsum([grid.cells for grid in grids])[:-1]
    for grid, values, own in zip(grids, rows.T, np.split(counts, ends), strict=True):
        own += np.bincount(grid.codes(values), minlength=grid.cells)


def raw_scores(model: Model, columns: tuple[Encoder, ...], rows: Floats) -> Int64s:
    """Return the scores of records in units of worth; columns that lie together are faster."""
    scores = np.zeros(len(rows), dtype=np.int64)
    if _compiles(len(rows)):
        _add_compiled(model, columns, rows, scores)
        return scores
    tables, worths = model.joint
    for first in range(0, len(rows), BLOCK):
        coordinates = coordinates_of(columns, rows[first : first + BLOCK])
        part = scores[first : first + BLOCK]
        part += coordinates[2 * len(columns) :].sum(axis=0, dtype=np.int64)
        for table in range(len(tables)):
            part += worths[tables.cells(table, coordinates)]
    return scores


def _add_compiled(model: Model, columns: tuple[Encoder, ...], rows: Floats, scores: Int64s) -> None:
    from whitecrow.detector import kernels

    tables, worths = model.joint
    start, axis, *wide, base = tables.layout
    layout = (start, axis, *(part.astype(np.uint16) for part in wide), base)
    width = len(columns)
    coordinates = np.empty((2 * width, 0), dtype=np.uint16)
    for first in range(0, len(rows), BLOCK):
        part = scores[first : first + BLOCK]
        if coordinates.shape[1] != len(part):  # the last may be shorter
            coordinates = np.empty((2 * width, len(part)), dtype=np.uint16)
        for index, encoder in enumerate(columns):
            values = np.ascontiguousarray(rows[first : first + BLOCK, index])
            both = coordinates[index], coordinates[width + index]
            kernels.encode_scored(values, *encoder.search, encoder.packed, *both, part)
        kernels.add_scores(coordinates, *layout, worths, part)


def least(model: Model) -> int:
    """Return a score in units of worth that no record is below."""
    tables, worths = model.joint
    low = sum(int(points.min()) for points in model.alone)
    return low + int(np.minimum.reduceat(worths, tables.base[:-1]).sum(dtype=np.int64))


def scale(model: Model) -> float:
    """Return how many units of worth make one point of a score."""
    return float(POINTS * max(1, len(model.tables)))

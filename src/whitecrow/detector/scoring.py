"""Scores of records: compiled where numba is installed, elsewhere in numpy, bit for bit alike."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from whitecrow.detector.grid import Grid
from whitecrow.detector.model import POINTS, Model
from whitecrow.detector.tables import Tables

__all__ = [
    "Encoder",
    "coordinates_of",
    "count_cells",
    "count_rows",
    "encoders",
    "raw_scores",
    "scale",
]

BLOCK = 4096
_GUESSES = 1024
_TOGETHER = 65_536

Coordinates = npt.NDArray[np.int32]
Matrix = npt.NDArray[np.float64]

COMPILED = importlib.util.find_spec("numba") is not None
"""Whether loops can be compiled; a test sets it to compare."""

_FEW = 20_000
"""Up to so many records numpy is sooner done than the compiler is loaded."""


def _compiles(records: int) -> bool:
    """Say whether to use compiled loops: for many records, or where they are loaded already."""
    return COMPILED and (records > _FEW or "whitecrow.detector._kernels" in sys.modules)


@dataclass(frozen=True, eq=False)
class Encoder:
    """Finds the cell of a value, and writes down what is known of the cell.

    Parameters
    ----------
    grid : Grid
    look : int32 array (rows, cells)
        What is written for each cell.
    """

    grid: Grid
    look: npt.NDArray[np.int32]

    @cached_property
    def guesses(self) -> tuple[float, float, npt.NDArray[np.int32]]:
        """An origin, a pace, and between which edges a value with a given guess lies."""
        edges = self.grid.edges
        if len(edges) < 2:
            return 0.0, 0.0, np.array([0, len(edges)], dtype=np.int32)
        origin, last = float(edges[0]), float(edges[-1])
        pace = _GUESSES / (last - origin)
        if not np.isfinite(pace):
            return 0.0, 0.0, np.array([0, len(edges)], dtype=np.int32)
        marks = origin + np.arange(_GUESSES + 1) * ((last - origin) / _GUESSES)
        return origin, pace, np.searchsorted(edges, marks).astype(np.int32)

    def write(self, values: npt.NDArray[np.float64], target: Coordinates) -> None:
        """Write the rows of each value's cell."""
        if _compiles(len(values)):
            from whitecrow.detector import _kernels

            origin, pace, marks = self.guesses
            _kernels.encode(values, self.grid.edges, origin, pace, marks, self.look, target)
        else:
            target[:] = self.look[:, self.grid.codes(values)]


def encoders(model: Model) -> tuple[Encoder, ...]:
    """Return the encoders of a model's columns; the third row is what a value is worth alone."""
    return tuple(
        Encoder(grid, np.ascontiguousarray(np.vstack([look, alone[None, :]])))
        for grid, look, alone in zip(model.grids, model.looks, model.alone, strict=True)
    )


def coordinates_of(columns: tuple[Encoder, ...], rows: Matrix) -> Coordinates:
    """Return the coordinates of records: all logarithmic ones, then all ranks, and so on."""
    width, kinds = len(columns), columns[0].look.shape[0]
    found = np.empty((kinds * width, len(rows)), dtype=np.int32)
    for place, encoder in enumerate(columns):
        encoder.write(np.ascontiguousarray(rows[:, place]), found[place::width])
    return found


def count_rows(
    columns: tuple[Encoder, ...], tables: Tables, batches: Iterable[Matrix]
) -> npt.NDArray[np.int64]:
    """Return how many records each cell of each table holds."""
    counts = np.zeros(int(tables.base[-1]), dtype=np.int64)
    for rows in batches:
        for first in range(0, len(rows), _TOGETHER):
            count_cells(tables, coordinates_of(columns, rows[first : first + _TOGETHER]), counts)
    return counts


def count_cells(tables: Tables, coordinates: Coordinates, counts: npt.NDArray[np.int64]) -> None:
    """Add one to a cell of every table for each record."""
    if _compiles(coordinates.shape[1]):
        from whitecrow.detector import _kernels

        _kernels.add_counts(coordinates, *_layout(tables), counts)
        return
    for table in range(len(tables)):
        first, last = tables.base[table], tables.base[table + 1]
        cells = tables.cells(table, coordinates) - first
        counts[first:last] += np.bincount(cells, minlength=last - first)


def raw_scores(model: Model, columns: tuple[Encoder, ...], rows: Matrix) -> npt.NDArray[np.int64]:
    """Return the scores of records in units of worth."""
    tables, worths = model.joint
    width = len(columns)
    scores = np.empty(len(rows), dtype=np.int64)
    for first in range(0, len(rows), BLOCK):
        coordinates = coordinates_of(columns, rows[first : first + BLOCK])
        part = scores[first : first + BLOCK]
        part[:] = coordinates[2 * width :].sum(axis=0, dtype=np.int64)
        if _compiles(len(rows)):
            from whitecrow.detector import _kernels

            _kernels.add_scores(coordinates, *_layout(tables), worths, part)
        else:
            for table in range(len(tables)):
                part += worths[tables.cells(table, coordinates)]
    return scores


def scale(model: Model) -> float:
    """Return how many units of worth make one point of a score."""
    return float(POINTS * max(1, len(model.tables)))


def _layout(tables: Tables) -> tuple[npt.NDArray[np.integer], ...]:
    return (
        tables.start,
        tables.axis,
        tables.offset,
        tables.pace,
        tables.stride,
        tables.base,
    )

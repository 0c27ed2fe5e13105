"""Cells of a lattice of which only the inhabited ones are listed: numbers, counts, sums, order."""

from __future__ import annotations

import numpy as np

from whitecrow._arrays import Flags, Floats, Int32s, Ints
from whitecrow.neighbours._kernels.inner import inner, kernel

_MIX = np.uint64(0x9E3779B97F4A7C15)


@kernel
def around(keys: Ints, sums: Ints, shifts: Ints, reaches: Ints, found: Ints) -> None:
    """Add up, for each cell, what lies in the runs of cells around it.

    The run of a shift s and a reach l around the cell k are the keys ``k + s - l .. k + s + l``.
    ``keys`` ascend, ``sums[i]`` is the total of the first i cells. As k ascends, both ends of a
    run ascend: two fingers walk along the list once for each run.
    """
    size = len(keys)
    for run in range(len(shifts)):
        first = shifts[run] - reaches[run]
        last = shifts[run] + reaches[run]
        low = 0
        high = 0
        for i in range(size):
            while low < size and keys[low] < keys[i] + first:
                low += 1
            while high < size and keys[high] <= keys[i] + last:
                high += 1
            found[i] += sums[high] - sums[low]


@kernel
def certify(
    sums: Ints,
    keys: Ints,
    shifts: Ints,
    reaches: Ints,
    cap: int,
    certified: Flags,
    first: int,
    last: int,
) -> None:
    """Mark those of some cells around which runs hold at least ``cap`` records, near runs first.

    ``sums[k]`` is the total of all cells with keys below k.
    """
    for i in range(first, last):
        total = 0
        for run in range(len(shifts)):
            middle = keys[i] + shifts[run]
            low = min(max(middle - reaches[run], 0), len(sums) - 1)
            high = min(max(middle + reaches[run] + 1, 0), len(sums) - 1)
            total += sums[high] - sums[low]
            if total >= cap:
                certified[i] = True
                break


@kernel
def mark(keys: Ints, shifts: Ints, reaches: Ints, ends: Int32s) -> None:
    """Add 1 where each run of cells around some cells begins, and take it off where it ends."""
    for i in range(len(keys)):
        for run in range(len(shifts)):
            middle = keys[i] + shifts[run]
            ends[min(max(middle - reaches[run], 0), len(ends) - 1)] += 1
            ends[min(max(middle + reaches[run] + 1, 0), len(ends) - 1)] -= 1


@kernel
def number(
    rows: Floats, lowest: Floats, ends: Floats, side: float, least: float, paces: Floats, keys: Ints
) -> None:
    """Write the key of each row's cell: the operations of ``Lattice.key``, one by one."""
    for i in range(len(rows)):
        key = 0.0
        for c in range(len(lowest)):
            above = min(max(rows[i, c], lowest[c]), ends[c]) - lowest[c]
            key = key * paces[c] + np.floor(max(above, least) / side)
        keys[i] = np.int64(key)


@inner
def _slot(key: int, bits: int) -> np.int64:
    return np.int64((np.uint64(key) * _MIX) >> np.uint64(64 - bits))


@kernel
def tally(
    keys: Ints, first: int, bits: int, held: Ints, counts: Ints, used: int
) -> tuple[int, int]:
    """Count keys in a table of ``2**bits`` slots, of which -1 is an empty one.

    Returns the place from which on keys are not counted yet, since the table was half full, and
    how many slots are used.
    """
    last = (1 << bits) - 1
    for i in range(first, len(keys)):
        slot = _slot(keys[i], bits)
        while held[slot] != keys[i] and held[slot] >= 0:
            slot = (slot + 1) & last
        if held[slot] < 0:
            if 2 * used > last:
                return i, used
            held[slot] = keys[i]
            used += 1
        counts[slot] += 1
    return len(keys), used


@kernel
def slots_of(keys: Ints, bits: int) -> Int32s:
    """Return a table of the places of some keys, for :func:`find`."""
    last = (1 << bits) - 1
    slots = np.full(1 << bits, -1, np.int32)
    for i in range(len(keys)):
        slot = _slot(keys[i], bits)
        while slots[slot] >= 0:
            slot = (slot + 1) & last
        slots[slot] = i
    return slots


@kernel
def find(keys: Ints, slots: Int32s, bits: int, wanted: Ints, places: Ints) -> None:
    """Write the position of each wanted key among some keys, -1 where it is none of them."""
    last = (1 << bits) - 1
    for i in range(len(wanted)):
        slot = _slot(wanted[i], bits)
        position = slots[slot]
        while position >= 0 and keys[position] != wanted[i]:
            slot = (slot + 1) & last
            position = slots[slot]
        places[i] = position


@kernel
def line_up(ranks: Ints, order: Ints) -> None:
    """List rows by their ranks, which are whole numbers from 0 on."""
    most = 0
    for i in range(len(ranks)):
        most = max(most, ranks[i])
    starts = np.zeros(most + 2, np.int64)
    for i in range(len(ranks)):
        starts[ranks[i] + 1] += 1
    for k in range(most):
        starts[k + 1] += starts[k]
    for i in range(len(ranks)):
        order[starts[ranks[i]]] = i
        starts[ranks[i]] += 1

"""Counting by looking at every pair, in tiles, on a device for arrays.

The data lie on the device in a scattered order. Records asked about are compared with a first
part of them, those that reached the cap are dropped, the others go on to the next part: where
typical counts are huge, few records see more than a few percent of the data. Every pair that is
looked at gets the verdict of the reference predicate, by the same operations in the same order, so
the counts are those of every other engine. The compiled kernel spares most pairs the predicate: a
filter in single precision knows what it would say (`_narrow.py`). Where the cap is large, pivots
settle most records first (`_pivots.py`).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from whitecrow._arrays import Counts, Matrix
from whitecrow.neighbours._narrow import Narrow, band, centre_of, narrowed
from whitecrow.neighbours._pivots import choose
from whitecrow.neighbours.devices import Compile, Device, Launch
from whitecrow.neighbours.index import Progress
from whitecrow.neighbours.plans import scattered_step
from whitecrow.neighbours.relation import LARGEST, Form, step

_FIRST = 4  # times the cap: records looked at before the first are dropped
_GROWTH = 4  # from then on, one in this many of those seen so far before the next are dropped
_LEAST_PAIRS = 1 << 26  # pairs of a round, whatever the cap: fewer do not fill a GPU
_PAIR_BYTES = 32  # what the array operations hold for each pair of a tile
_LARGEST_TILE = 1 << 23
_SIDE = 1 << 13
_THREADS = 128
_SHARED = 4096  # doubles that a block of the compiled kernel keeps in shared memory
_BLOCKS = 2048  # blocks that fill a GPU
_MANY = 100_000  # records from which pivots are worth their counts
_SAMPLE = 32_768
_CANDIDATES = 512
_FEW_IN_SAMPLE = 8
"""Pivots are chosen by a sample in which a full neighbourhood has at least so many records."""
_TOO_OPEN = 0.9


class Scattered:
    """Records on a device, in an order that depends on their number alone.

    Records that do not fit into a quarter of the device's free memory stay in this computer's and
    are sent over in parts, for each question anew. They are rounded from ``centre``, if they are
    compared with others that are rounded from there.
    """

    def __init__(self, device: Device, values: Matrix, centre: Matrix | None = None) -> None:
        self._device = device
        self._values, self._held = values, None
        self._steps: Any = None
        self._places: Any = None
        self._centre: Matrix | None = None
        if 4 * values.nbytes <= device.free():
            if device.compile is not None and len(values):
                self._centre = centre_of(values) if centre is None else centre
            # Where each of them comes from, worked out on the device.
            size = max(1, len(values))
            self._steps = device.put(np.arange(len(values)))
            self._places = self._steps * scattered_step(size) % size
            self._held = self._both(device.put(values)[self._places])

    def __len__(self) -> int:
        return len(self._values)

    def count_for(self, asked: Matrix, form: Form, cap: int) -> Counts:
        """Return min(number of close data records, cap) for each record asked about."""
        counts = np.zeros(len(asked), np.int64)
        for first, last in self._parts(len(asked)):
            records = self._both(self._device.put(asked[first:last]))
            partial, rows = self._no_counts(last - first)
            self._look(records, rows, form, cap, partial)
            counts[first:last] = self._device.fetch(partial)
        return np.minimum(counts, cap)

    def count_every(self, form: Form, cap: int, progress: Progress | None = None) -> Counts:
        """Return the same for each data record."""
        held = self._held is not None  # then the device puts counts back in their places itself
        counts: Any = self._steps * 0 if held else np.zeros(len(self), np.int64)
        covers = self._covers(form, cap)
        for first, last in self._parts(len(self)):
            records = self._part(first, last)
            partial, rows = self._no_counts(last - first)
            for pivots, within in covers:
                rows = pivots._look(records, rows, within, 1, partial)
            partial *= cap  # a record near one pivot has as many neighbours as are asked for
            self._look(records, rows, form, cap, partial, progress)
            if held:
                counts[self._places[first:last]] = partial
            else:
                counts[scattered_order(len(self), first, last)] = self._device.fetch(partial)
        every: Counts = self._device.fetch(counts) if held else counts
        return np.minimum(every, cap)

    def _no_counts(self, size: int) -> tuple[Any, Any]:
        """Return counts of 0, and the rows that are asked about: all."""
        stepped = self._steps is not None and size <= len(self)
        rows = self._steps[:size] if stepped else self._device.put(np.arange(size))
        return rows * 0, rows

    def _covers(self, form: Form, cap: int) -> list[tuple[Scattered, Form]]:
        """Return pivots that have ``cap`` records about them, and which records these settle."""
        if len(self) < _MANY or cap * _SAMPLE < _FEW_IN_SAMPLE * len(self):
            return []
        sample = self._values[scattered_order(len(self), 0, _SAMPLE)]
        drawn = Scattered(self._device, sample)
        chosen = choose(sample, form, len(self), cap, candidates=_CANDIDATES, count=drawn.count_for)
        if not chosen.inner or chosen.open > _TOO_OPEN:
            return []
        held = [self.count_for(group.asked, group.form, cap) >= cap for group in chosen.inner]
        return [
            (Scattered(self._device, group.asked, self._centre), group.form)
            for group in chosen.holding(np.concatenate(held))
        ]

    def _parts(self, size: int) -> list[tuple[int, int]]:
        """Divide records so that each part takes at most a quarter of the free memory."""
        most = self._most()
        return [(first, min(size, first + most)) for first in range(0, size, most)]

    def _most(self) -> int:
        record: int = 8 * self._values.shape[1] + 64
        return max(1, self._device.free() // 4 // record)

    def _both(self, exact: Any) -> _Records:
        """Return records of the device with their rounded forms, where these are of use."""
        if self._centre is None or not len(exact):
            return _Records(exact, None)
        return _Records(exact, narrowed(self._device, exact, self._device.put(self._centre)))

    def _part(self, first: int, last: int) -> _Records:
        if self._held is not None:
            return self._held.part(first, last)
        return _Records(
            self._device.put(self._values[scattered_order(len(self), first, last)]), None
        )

    def _look(
        self,
        records: _Records,
        rows: Any,
        form: Form,
        cap: int,
        counts: Any,
        progress: Progress | None = None,
    ) -> Any:
        """Add what is close to the rows to their counts; return the rows still below the cap."""
        size, seen = len(self), 0
        while seen < size and len(rows):
            wanted = seen // _GROWTH if seen else _FIRST * cap
            length = min(max(wanted, _LEAST_PAIRS // len(rows), 1), size - seen)
            if self._held is None:
                length = min(length, self._most())
            data = self._part(seen, seen + length)
            _add(self._device, form, records, rows, data, cap, counts)
            seen += length
            rows = rows[counts[rows] < cap]
            if progress is not None:
                progress(seen, size, "counting neighbours")
        if progress is not None:
            progress(size, size, "counting neighbours")
        return rows


class _Records(NamedTuple):
    """Records on a device, and their rounded forms where the filter may use them."""

    exact: Any
    narrow: Narrow | None

    def part(self, first: int, last: int) -> _Records:
        narrow = None if self.narrow is None else self.narrow.part(first, last)
        return _Records(self.exact[first:last], narrow)


def scattered_order(size: int, first: int = 0, last: int | None = None) -> Counts:
    """Return 0 .. size - 1 in steps of about 0.618 of the way round, or a run of that order.

    Sorted data then look shuffled: any run of the order is spread evenly over the data.
    """
    run = np.arange(first, size if last is None else min(last, size), dtype=np.int64)
    return run * scattered_step(size) % max(size, 1)


def _add(
    device: Device, form: Form, records: _Records, rows: Any, data: _Records, cap: int, counts: Any
) -> None:
    """Add to ``counts`` the data records that are close to each of the rows of ``records``."""
    width = len(form.scales)
    sure = None
    if records.narrow is not None and data.narrow is not None:
        sure = band(form, records.narrow, data.narrow)
    launch = None
    if device.compile is not None and width <= _SHARED:
        launch = _kernel(device.compile, form.kind, width, sure is not None)
    if launch is None:
        _add_plainly(device, form, records.exact, rows, data.exact, counts)
        return
    across = -(-len(rows) // (_rows(width, sure is not None) * _THREADS))
    size = len(data.exact)
    share = -(-size // min(max(1, _BLOCKS // across), 65_535))
    extent = device.put(np.array([len(rows), size, share, cap]))
    measure = device.put(np.array([form.threshold, *form.scales]))
    exactly = (records.exact, rows, data.exact, measure, extent, counts)
    rounded: tuple[Any, ...] = ()
    if sure is not None and records.narrow is not None and data.narrow is not None:
        rounded = (records.narrow.values, data.narrow.values, device.put(np.array(sure)))
    launch((across, -(-size // share)), _THREADS, (*exactly, *rounded))


def _add_plainly(
    device: Device, form: Form, records: Any, rows: Any, data: Any, counts: Any
) -> None:
    """Do the same by array operations, each a pass of its own: no library fuses two of them."""
    pairs = max(1, min(_LARGEST_TILE, device.free() // 4 // _PAIR_BYTES))
    side = min(len(data), _SIDE, pairs)
    # On the device, because PyTorch multiplies by the inverse of a number that is not.
    scales = device.put(np.array(form.scales))
    for start in range(0, len(rows), pairs // side):
        some = rows[start : start + pairs // side]
        asked = records[some]
        for first in range(0, len(data), side):
            near = _measure(device, form, scales, asked, data[first : first + side])
            counts[some] += (near <= form.threshold).sum(axis=1)


def _measure(device: Device, form: Form, scales: Any, asked: Any, data: Any) -> Any:
    total: Any = 0.0
    for c in range(len(form.scales)):
        difference = abs(asked[:, c, None] - data[None, :, c])
        if form.kind != LARGEST:
            total = step(form.kind, total, difference, scales[c])
        else:
            total = difference if c == 0 else device.maximum(total, difference)
    return total


def _rows(width: int, filtered: bool) -> int:
    """Return how many records a thread compares with what it reads of the shared memory."""
    if width > 12:
        return 1
    return 4 if filtered else 2


@cache
def _kernel(compile_: Compile, kind: int, width: int, filtered: bool) -> Launch | None:
    """Return the kernel compiled for a measure and a number of columns."""
    defined = {
        "KIND": kind,
        "WIDTH": width,
        "TILE": min(256, _SHARED // width),
        "ROWS": _rows(width, filtered),
        "THREADS": _THREADS,
        "UNROLL": width if width <= 32 else 8,
    }
    lines = [f"#define {name} {value}" for name, value in defined.items()]
    source = (Path(__file__).parent / "_kernels" / "tiles.cu").read_text(encoding="utf-8")
    name = "count_filtered" if filtered else "count_tiles"
    return compile_("\n".join([*lines, source]), name)

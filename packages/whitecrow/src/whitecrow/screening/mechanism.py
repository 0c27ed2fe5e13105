"""What ``screening`` must know of the data: what the *active* records in a ball weigh.

A record is active until ``limit`` answers "anomaly" were given about balls that hold it. So the
counters, two bytes a record, are a function of the records and of answers that were given: they are
kept in memory and computed anew from the flags, which are public, wherever they are missing. No
order of records matters to them, and nothing of them is ever stored. :func:`answered` is the
crossing: from counts of active records to answers, one after the other.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from whitecrow.anomaly.model import Ball
from whitecrow.data import Records
from whitecrow.errors import InvalidInput
from whitecrow.neighbours import Engine
from whitecrow.neighbours.plans import count_records
from whitecrow.neighbours.relation import LARGEST, SQUARES, SUM, Form, measures
from whitecrow.noise import Source, system_source
from whitecrow.noise.bulk import draw_words
from whitecrow.privacy import Facts
from whitecrow.question import Progress
from whitecrow.screening.law import Law
from whitecrow.screening.question import Screening

Places = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

_SLACK = 256
"""How many records that are left out while a batch is answered do not make it count again."""
_REMEMBERED = 2048
"""Of so many flags that were drawn it is remembered who is near, until they are written down."""
_CUT = 3  # along so many columns records are put into cells
_MOST_CELLS = 1 << 20
"""How many cells there are along one column, at the most: their numbers fit into 64 bits."""
_SERIES = 8  # how many series keep their counters in memory, for one dataset


@dataclass(frozen=True, repr=False, eq=False)
class ScreeningFacts(Facts):
    """Who counts active records, and for whom flags count."""

    exact_active: ActiveRecords


class ActiveRecords:
    """The records of a dataset, and the counters of the series that were asked of them. Private.

    A record in a ball adds its weight; balls differ in radius alone, and the widest is the last.
    """

    def __init__(self, records: Records, engine: Engine, balls: Sequence[Ball]) -> None:
        self._columns = balls[-1][1].columns
        self.card, self.width = records.card, len(self._columns)
        self._records, self._engine, self._balls = records, engine, balls
        forms = ((weight, relation.radius, relation.form()) for weight, relation in balls)
        self._forms = [(weight, form if far else form.same_place) for weight, far, form in forms]
        self.form = self._forms[-1][1]
        with _MAKING:
            self.lock, self._series = _CACHES.setdefault(records, (threading.RLock(), {}))

    def fresh(self, limit: int) -> Counters:
        matrix: Any = getattr(self._records, "matrix", None)
        if matrix is None:
            raise InvalidInput("Screening needs records in memory.")
        values: Places = matrix(list(self._columns))
        return Counters(self.form.placed(values), self._forms, limit)

    def counters(self, series: str, limit: int) -> Counters:
        """Return the counters of a series; without any flag if they are not at hand."""
        counters = self._series.pop(series, None) or self.fresh(limit)
        self._series[series] = counters
        # Those of the series that were unused for longest make room.
        while len(self._series) > _SERIES:
            del self._series[next(iter(self._series))]
        return counters

    def count(self, asked: Places, enough: int | None) -> Counts:
        """Weigh all records near each place, active or not; right where it is below ``enough``."""
        total = np.zeros(len(asked), dtype=np.int64)
        for weight, relation in self._balls:
            counts = self._engine.copies if relation.radius == 0 else self._engine.neighbours
            total += weight * counts(asked, relation, enough and -(-enough // weight))
        return total


class Flag(NamedTuple):
    """An answer "anomaly": its point, who is near, whom it counts for, whom it leaves out."""

    point: bytes
    near: npt.NDArray[np.intp]
    rows: npt.NDArray[np.intp]
    gone: Places


class _Cells:
    """Which records may lie in a ball: those of the cells around its centre.

    Cells are cut along the columns that spread most, and are no smaller than a ball reaches.
    """

    def __init__(self, values: Places, reach: float) -> None:
        low = values.min(axis=0) if len(values) else np.zeros(values.shape[1])
        span = values.max(axis=0) - low if len(values) else low
        self._columns = np.argsort(-span, kind="stable")[:_CUT]
        self._low = low[self._columns]
        # A little wider: rounding must not put two who are near two cells apart.
        self._side = np.maximum(reach, span[self._columns] / _MOST_CELLS) * (1 + 1e-6)
        cells = self._cell(values)
        self._sizes = cells.max(axis=0) + 1 if len(values) else np.ones(len(self._columns), int)
        self._steps = np.append(np.cumprod(self._sizes[:0:-1])[::-1], 1)
        keys = cells @ self._steps
        self.order = np.argsort(keys, kind="stable")
        self._keys = keys[self.order]

    def _cell(self, values: Places) -> npt.NDArray[np.int64]:
        with np.errstate(over="ignore"):
            cells = (values[..., self._columns] - self._low) / self._side
        return np.floor(np.clip(cells, -2, _MOST_CELLS + 2)).astype(np.int64)

    def around(self, point: Places) -> npt.NDArray[np.intp]:
        """Return the records, by their order, of the cells around a point."""
        here = self._cell(point)
        first, last = np.maximum(here - 1, 0), np.minimum(here + 1, self._sizes - 1)
        if (first > last).any():
            return np.empty(0, dtype=np.intp)
        lines = np.zeros(1, dtype=np.int64)
        for start, end, step in zip(first[:-1], last[:-1], self._steps[:-1], strict=True):
            lines = np.add.outer(lines, np.arange(start, end + 1) * step).ravel()
        starts = np.searchsorted(self._keys, lines + first[-1], side="left")
        stops = np.searchsorted(self._keys, lines + last[-1], side="right")
        parts = [np.arange(a, b) for a, b in zip(starts, stops, strict=True)]
        return np.concatenate(parts)


class Counters:
    """Who is active after some flags, and how many of them lie in a ball. Private.

    The records are as the measure compares them; who lies in the last ball pays for a flag.
    """

    def __init__(self, values: Places, forms: Sequence[tuple[int, Form]], limit: int) -> None:
        self._forms, self._form, self._limit = forms, forms[-1][1], limit
        self._cells = _Cells(values, _reach(self._form))
        self._columns = np.ascontiguousarray(values[self._cells.order].T)
        self._flags = np.zeros(len(values), dtype=np.uint16)
        self._left_out: list[npt.NDArray[np.intp]] = []
        self._drawn: dict[bytes, npt.NDArray[np.intp]] = {}
        self.replayed = 0

    def flag(self, point: Places) -> Flag:
        near = self._drawn.pop(point.tobytes(), None)
        if near is None:
            rows = self._cells.around(point)
            near = rows[measures(self._form, self._columns[:, rows], point) <= self._form.threshold]
        rows = near[self._flags[near] < self._limit]
        self._flags[rows] += 1
        gone = rows[self._flags[rows] == self._limit]
        if len(gone):
            self._left_out.append(gone)
        return Flag(point.tobytes(), near, rows, np.ascontiguousarray(self._columns[:, gone].T))

    def take_back(self, flagged: Sequence[Flag]) -> None:
        """Undo the latest flags, all that are given; most come back when they are written down."""
        if len(self._drawn) > _REMEMBERED:
            self._drawn.clear()
        self._drawn |= {flag.point: flag.near for flag in flagged}
        for _, _, rows, gone in reversed(flagged):
            self._flags[rows] -= 1
            if len(gone):
                self._left_out.pop()

    def replay(self, places: Places) -> None:
        """Take in flags that were given, in their order."""
        for point in places:
            self.flag(point)
        self.replayed += len(places)

    def left_out(self) -> Places:
        rows = np.concatenate([np.empty(0, dtype=np.intp), *self._left_out])
        return np.ascontiguousarray(self._columns[:, rows].T)

    def near_left_out(self, places: Places, gone: Places) -> Counts:
        """Weigh, for each place, the records that are left out."""
        total = np.zeros(len(places), dtype=np.int64)
        for weight, form in self._forms if len(gone) else ():
            total += weight * count_records(gone, form, places, len(gone))
        return total


class ActiveCounts:
    """What the active records near each place of a batch weigh, while it is being answered."""

    def __init__(self, active: ActiveRecords, counters: Counters, asked: Places, law: Law) -> None:
        self._active, self._counters, self._asked, self._most = active, counters, asked, law.most
        self.places = active.form.placed(asked)
        gone = counters.left_out()
        self._cap = law.most + law.own * (len(gone) + _SLACK)
        self._all = active.count(asked, self._cap)
        self._gone = counters.near_left_out(self.places, gone)

    def counts(self, first: int = 0) -> Counts:
        """Return the counts of the places from one on, up to the most that matters."""
        active = self._all[first:] - self._gone[first:]
        unsure = np.flatnonzero((self._all[first:] >= self._cap) & (active < self._most)) + first
        if len(unsure):  # very many were left out since: the cap was too low
            self._all[unsure] = self._active.count(self._asked[unsure], None)
            active = self._all[first:] - self._gone[first:]
        return np.asarray(np.minimum(active, self._most))

    def leave_out(self, gone: Places, first: int) -> None:
        """Take records out of the counts of the places from one on."""
        self._gone[first:] += self._counters.near_left_out(self.places[first:], gone)


def _reach(form: Form) -> float:
    """How far a record in a ball may be from its centre in one column, and a little more."""
    if form.kind in (SUM, LARGEST):
        return form.threshold * (1 + 1e-9) + 1e-150
    if form.kind == SQUARES:
        return float(np.sqrt(form.threshold)) * (1 + 1e-9) + 1e-150
    return np.inf


_CACHES: WeakKeyDictionary[Records, tuple[threading.RLock, dict[str, Counters]]]
_CACHES = WeakKeyDictionary()
"""The counters of the series of each dataset, and what whoever answers them holds."""
_MAKING = threading.Lock()


def gather(
    question: Screening, dataset: Records, engine: Engine, progress: Progress | None = None
) -> ScreeningFacts:
    """Return what counts active records; nothing is counted yet."""
    return ScreeningFacts(ActiveRecords(dataset, engine, question.balls(dataset.card)))


def stored_points(state: Mapping[str, Any], name: str, width: int) -> Places:
    """Read places that were written by :func:`encoded_points`."""
    return np.frombuffer(bytes.fromhex(state[name]), dtype="<f8").reshape(-1, width)


def encoded_points(places: Places) -> str:
    return places.astype("<f8").tobytes().hex()


def answered(
    law: Law, active: ActiveRecords, counters: Counters, asked: Places, source: Source | None
) -> npt.NDArray[np.bool_]:
    """Answer a batch in its order; the counters are left as they were.

    Each place has its own random word, which decides its answer once the counts of its turn are
    known: they change only when a flag leaves records out, so in between all are decided at once.
    The flags take effect for good when the answers are written down and come back as flags.
    """
    words = draw_words(source or system_source(), len(asked))
    batch = ActiveCounts(active, counters, asked, law)
    answers = words < law.chances(batch.counts())
    flagged, first = [], 0
    try:
        while len(ahead := np.flatnonzero(answers[first:])):
            first += int(ahead[0]) + 1
            flagged.append(counters.flag(batch.places[first - 1]))
            gone = flagged[-1].gone
            if len(gone):
                batch.leave_out(gone, first)
                answers[first:] = words[first:] < law.chances(batch.counts(first))
    finally:
        counters.take_back(flagged)
    return answers


def resume(
    question: Screening,
    facts: ScreeningFacts,
    state: Mapping[str, Any],
    source: Source | None = None,
) -> dict[str, Any]:
    """Answer the next places of a series.

    ``state`` has ``series`` (its name), ``law``, ``since`` and ``flags`` (the places of all flags
    from that number on), ``asked`` (the places to answer): all public. Returned are ``anomalies``,
    the numbers of the places called so; or ``known``, how many flags are known here, if those that
    are given begin later, or end earlier.
    """
    if not state:
        return {"anomalies": []}
    law, active = Law.from_json(state["law"]), facts.exact_active
    with active.lock:
        counters = active.counters(state["series"], law.limit)
        flags, since = stored_points(state, "flags", active.width), int(state["since"])
        if not since <= counters.replayed <= since + len(flags):
            return {"known": counters.replayed}
        counters.replay(active.form.placed(flags[counters.replayed - since :]))
        asked = stored_points(state, "asked", active.width)
        answers = answered(law, active, counters, asked, source)
    return {"anomalies": np.flatnonzero(answers).tolist()}


def release(question: Screening, facts: ScreeningFacts, source: Source | None = None) -> Any:
    """Answer a question as the first of its series: nothing was asked before."""
    active = facts.exact_active
    law, asked = question.law(active.card), question.places(active.card)
    answers = answered(law, active, active.fresh(law.limit), asked, source)
    return shaped(question, law, answers.tolist())


def shaped(question: Screening, law: Law, answers: list[bool]) -> Any:
    """Return answers as the question asked for them: one, several, or that the series is open."""
    if question.batch is not None:
        return answers
    return {"open": law.to_json()} if question.record is None else answers[0]

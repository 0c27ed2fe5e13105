"""A search for failures that depend on records: extreme questions over extreme cards and records.

A *family* is a card at the edges of what a card can say, seven databases (none, one record, a lone
extreme one, many equal, many spread, ...), and questions of every kind with extreme parameters and
prices. A question that its price does not refuse must be answered over all seven; whatever is
raised or warned of, and whatever takes longer than :data:`PATIENCE`, is a finding. So is a crash:
:func:`in_child` asks in a process of its own, ``python tests/curator/extremes.py SEED ASKS``.
"""

from __future__ import annotations

import json
import math
import random
import signal
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import whitecrow as wc
from whitecrow.detector import scoring
from whitecrow.neighbours import open_data
from whitecrow.question import Question
from whitecrow.questions import type_of

PATIENCE = 30.0
"""Seconds of a processor for one answer over a handful of records."""

EXTREMES = (
    0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1e-308, -1e-300, 1e-160, 0.1, 1.0, -1.0,
    2.0**53 - 1, 2.0**53, 2.0**53 + 2, -(2.0**53) - 2, 2.0**63, 1e150, -1e155, 1e160, 1e300, 1e308,
    -1e308, math.nextafter(math.inf, 0), -math.nextafter(math.inf, 0),
)  # fmt: skip
RADII = (0.0, 5e-324, 1e-300, 1e-160, 0.5, 1.0, 2.0**53, 1e150, 1e155, 1e300, 1.7e308)
BETAS = (1, 1, 1, 2, 3, 10, 1000, 10**6, 10**9, 2**31, 2**53 + 1, 2**62, 2**63, 10**30)
PRICES = ("1/1000000000", "1/1000", "1/10", "1", "3", "10", "100", "30000", "1000000")
WIDTHS = 5 * (1, 1, 2, 2, 3, 4, 9) + (25, 41, 64, 130)
MOST = math.nextafter(math.inf, 0)
BOUNDS = (
    None, (-MOST, MOST), (-1e308, 1e308), (0.0, 1e308), (0.0, 1e300), (MOST / 2, MOST),
    (-1.0, 2.0**53), (0.0, 5e-324), (-5e-324, 5e-324), (0.0, 1e-310), (1e-308, 1.1e-308),
    (1.0, math.nextafter(1.0, 2)), (0.0, 1.0), (1e12, 1e12 + 1), (1e15, 1e15 + 1),
    (-1e100, 1e-100), (2.0**53, 2.0**53 + 2),
)  # fmt: skip
WARDS = ("a", "b", "c")
FIRST = date(2024, 1, 1)


@dataclass
class Family:
    """A card, seven neighbouring databases, and somebody who asks."""

    draw: random.Random
    folder: Path | None = None
    wide: int | None = None
    card: wc.Card = field(init=False)
    data: list[tuple[Any, Any]] = field(init=False)

    def __post_init__(self) -> None:
        width = self.wide or self.draw.choice(WIDTHS)
        self.names = [f"x{number}" for number in range(width)]
        few = [self.draw.choice(BOUNDS) for _ in range(self.draw.choice((1, 1, 3)))]
        self.bounds = {name: self.draw.choice(few) for name in self.names}
        columns = [self._column(name) for name in self.names]
        columns += [
            wc.Column("n", "integer", -(2**53), 2**53),
            wc.Column("ward", "category", categories=WARDS),
            wc.Column("level", "integer", 0, 3),
            wc.Column("lat", lower=-90, upper=90),
            wc.Column("lon", lower=-180, upper=180),
            wc.Column("day", "date", lower="1900-01-01", upper="2100-01-01"),  # type: ignore[arg-type]
        ]
        users: dict[str, Any] = {}
        if self.draw.random() < 0.2:
            columns.append(wc.Column("who", "text"))
            users = {"unit": "user", "user_column": "who", "contribution": 3}
        self.card = wc.Card("extremes", tuple(columns), **users)
        size = self.draw.choice((0, 1, 2, 5, 12))
        base = [self.record() for _ in range(size)]
        many = self.draw.choice((3, 60))
        databases = [
            [],
            [self.record(lone=True)],
            base,
            [*base, self.record()],
            [*base, self.record(lone=True)],
            [base[0] if base else self.record()] * many,
            [self.record() for _ in range(min(many, 4000 // len(self.names)))],
        ]
        self.data = [self._opened(number, rows) for number, rows in enumerate(databases)]

    def _column(self, name: str) -> wc.Column:
        given: dict[str, Any] = {}
        if (bounds := self.bounds[name]) is not None:
            given = {"lower": bounds[0], "upper": bounds[1]}
            given["outside"] = self.draw.choice(("reject", "clip"))
        given["scale"] = self.draw.choice((None, 1.0, 1e-100, 1e100))
        return wc.Column(name, **given)

    def _value(self, name: str, *, lone: bool = False) -> float:
        """One of the extremes, or what lies at or between the bounds."""
        lower, upper = self.bounds[name] or (-MOST, MOST)
        way = self.draw.random()
        inside = (lower / 2 + (upper / 2 - lower / 2) * way) * 2
        if lone:
            return upper
        return self.draw.choice((lower, upper, inside, inside, self.draw.choice(EXTREMES)))

    def _opened(self, number: int, rows: list[dict[str, Any]]) -> tuple[Any, Any]:
        """Open a database in this process or, given a folder, as a file that DuckDB reads."""
        if self.folder is None:
            return open_data(self._table(rows), self.card, "local")
        path = self.folder / f"{number}.parquet"
        pq.write_table(self._table(rows), path)
        return open_data(path, self.card, "sql")

    def record(self, *, lone: bool = False) -> dict[str, Any]:
        draw = self.draw
        days = draw.choice((-40_000, 0, 1, 20, 27_000))
        return {
            **{name: self._value(name, lone=lone) for name in self.names},
            "n": draw.choice((0, -1, 2**53, 2**53 - 1, -(2**53))),
            "ward": draw.choice(WARDS),
            "level": draw.randrange(4),
            "lat": draw.choice((0.0, 90.0, -90.0, 5e-324, 45.0)),
            "lon": draw.choice((0.0, 180.0, -180.0, -0.0, 179.999)),
            "day": FIRST + timedelta(days=days),
            "who": draw.choice(("p", "q", "")),
        }

    def _table(self, rows: list[dict[str, Any]]) -> pa.Table:
        kinds = {"n": pa.int64(), "level": pa.int64(), "ward": pa.string(), "who": pa.string()}
        kinds["day"] = pa.date32()
        return pa.table(
            {
                name: pa.array([row[name] for row in rows], kinds.get(name, pa.float64()))
                for name in self.card.names
            }
        )

    # Questions

    def questions(self, count: int) -> Iterator[Callable[[], Question]]:
        """Yield questions, to be built inside a guard: building one may refuse."""
        places = (self.count, self.identify, self.screen, self.tune, self.subspaces, self.publish,
                  self.lookahead, self.count, self.identify, self.screen)  # fmt: skip
        whole = (self.profile, self.learn, self.explain, self.monitor)  # these take longest
        kinds = [*places, *whole, *places, *places, *whole[:3], *places]
        for number in range(count):
            yield kinds[number % len(kinds)]

    def model(
        self, *, metrics: tuple[str, ...] = ("euclidean", "manhattan", "chebyshev", "standardised")
    ) -> Any:
        draw = self.draw
        return wc.DistanceAnomaly(draw.choice(BETAS), draw.choice(RADII), draw.choice(metrics))

    def some(self) -> list[str]:
        names = [*self.names, "n"]
        return names if self.draw.random() < 0.5 else self.draw.sample(names, k=1)

    def price(self) -> str:
        return self.draw.choice(PRICES)

    def count(self) -> Question:
        draw = self.draw
        pure, gaussian = ("auto", "smooth", "global"), ("analytic_gaussian", "paper_gaussian")
        mechanism = draw.choice(gaussian if draw.random() < 0.1 else pure)
        return wc.Count(
            self.some(),
            model=self.model(),
            epsilon=self.price(),
            delta="1/1000000" if "gauss" in mechanism else 0,
            relation=draw.choice(("add_remove", "replace_one")),
            mechanism=mechanism,
            normalised=draw.random() < 0.3,
            expected_cluster_size=draw.choice((0, 4, 4, 10**6, 10**20)),
            raw=draw.random() < 0.5,
        )

    def _place(self) -> tuple[dict[str, Any], Any]:
        draw = self.draw
        record = self.record(lone=draw.random() < 0.2)
        if draw.random() < 0.2:
            return {k: record[k] for k in ("lat", "lon")}, self.model(metrics=("haversine",))
        if draw.random() < 0.2:
            return {k: record[k] for k in ("ward", "level")}, self.model(metrics=("hamming",))
        return {k: record[k] for k in self.some()}, self.model()

    def identify(self) -> Question:
        draw = self.draw
        record, model = self._place()
        return wc.Identify(
            record,
            model=model,
            k=draw.choice((1, 2, 5, 1000, 10**9, 2**63)),
            epsilon=self.price(),
            notion=draw.choice(("sensitive", "differential")),
            error_floor=draw.choice(("1e-6", "1e-300", "1e-2")),
        )

    def screen(self) -> Question:
        record, model = self._place()
        return wc.Screen(record, model=model, epsilon=self.price())

    def tune(self) -> Question:
        draw = self.draw
        return wc.Tune(
            self.some(),
            share=draw.choice(("1/2", "1/1000000000000", "999999/1000000")),
            radii=draw.sample(RADII[1:], k=draw.randrange(1, 8)),
            beta=draw.choice(BETAS),
            metric=draw.choice(("euclidean", "manhattan", "chebyshev")),
            epsilon=self.price(),
            relation=draw.choice(("add_remove", "replace_one")),
            method=draw.choice(("auto", "search", "exponential")),
        )

    def subspaces(self) -> Question:
        draw = self.draw
        listed = [draw.sample(self.names, k=min(len(self.names), k)) for k in (1, 2, 41)]
        return wc.Subspaces(
            subspaces=[list(one) for one in {tuple(sorted(names)) for names in listed}],
            top=1,
            model=self.model(),
            epsilon=self.price(),
            relation=draw.choice(("add_remove", "replace_one")),
            normalised=draw.random() < 0.5,
            count_share=draw.choice((0, "1/2", "999/1000")),
        )

    def explain(self) -> Question:
        draw = self.draw
        metric = draw.choice([self.names[0], self.names[0], "lat", "n"])
        notion = draw.choice(("conditional", "differential"))
        detector: Any = draw.choice(("lof", "grubbs", "histogram"))
        if notion == "differential" or draw.random() < 0.4:
            detector = self.model(metrics=("euclidean",))
        whole = self.record(lone=draw.random() < 0.3)
        return wc.Explain(
            {name: whole[name] for name in ("ward", "level", metric)},
            metric=metric,
            detector=detector,
            search=draw.choice((*("auto", "direct") * 8, "walk", "dfs", "bfs", "uniform")),
            samples=draw.choice((1, 2, 4)),
            epsilon=self.price(),
            notion=notion,
        )

    def publish(self) -> Question:
        draw = self.draw
        statistic = draw.choice(("count", "sum", "mean"))
        budget = draw.choice(("epsilon", "rho"))
        clip = draw.choice([None, (0, 1), (-(10**300), 10**300), (0, "1e-300"), (-(2**60), 2**60)])
        return wc.Publish(
            None if statistic == "count" else draw.choice([self.names[0], "n"]),
            statistic=statistic,
            time="day",
            start=draw.choice(("2024-01-01", "1900-01-01", "2099-12-01")),
            period=draw.choice(("day", "week", "month")),
            horizon=draw.choice((None, 1, 2, 31, 400)),
            through=draw.choice((0, 1)),
            view=draw.choice(("to_date", "each_period")),
            clip=None if statistic == "count" else clip,
            resolution=draw.choice((None, None, "1", "1e-300", 10**300)),
            **{budget: self.price()},
        )

    def lookahead(self) -> Question:
        draw = self.draw
        return wc.Lookahead(
            draw.choice((["ward"], ["level"], ["ward", "level"])),
            model=wc.DistanceAnomaly(draw.choice(BETAS), 0.0),
            k=draw.choice((1, 2, 1000, 10**9, 2**63)),
            epsilon=self.price(),
        )

    def _delta(self) -> str:
        return self.draw.choice(("0", "0", "1e-6", "1/1000000000000"))

    def profile(self) -> Question:
        draw = self.draw
        return wc.Profile(
            epsilon=self.price(),
            delta=self._delta(),
            relation=draw.choice(("add_remove", "replace_one")),
            discover=draw.random() < 0.5,
        )

    def learn(self) -> Question:
        draw = self.draw
        rates = draw.choice((None, None, [0.1], [1e-9, 0.49]))
        return wc.Learn(
            draw.choice((None, self.names[:1], self.names)),
            epsilon=self.price(),
            delta=self._delta(),
            relation=draw.choice(("add_remove", "replace_one")),
            false_alarms=rates,
            seed=draw.randrange(100),
        )

    def monitor(self) -> Question:
        draw = self.draw
        return wc.Monitor(
            self.names[:3],
            time="day",
            start=draw.choice(("2024-01-01", "1900-01-01", "2099-12-01")),
            period=draw.choice(("day", "month")),
            horizon=draw.choice((1, 2, 3)),
            window=draw.choice((0, 1)),
            epsilon=self.price(),
            delta=self._delta(),
        )


@dataclass
class Search:
    """What was asked, and what failed."""

    questions: int = 0
    refused: int = 0
    answers: int = 0
    findings: list[str] = field(default_factory=list)

    def run(self, family: Family, count: int, tell: Callable[[str], None] = len) -> None:
        """Ask questions of a family over its seven databases."""
        for build in family.questions(count):
            tell(f"building {build.__name__}")
            try:
                with _alarm():
                    question = build()
                    code = type_of(question)
                    question.check(family.card)
                    question.price(family.card)
            except wc.WhitecrowError:
                self.refused += 1
                continue
            except Exception:  # noqa: BLE001 - public, but an error that says nothing
                self.findings.append(f"priced: {build.__name__}\n{_cause()}")
                continue
            self.questions += 1
            asked = json.dumps({"kind": question.kind, **question.to_json()})[:600]
            tell(asked)
            causes = [_failure(question, code, *data) for data in family.data]
            causes.append(_public_failure(question, family.card))
            failed = [number for number, cause in enumerate(causes) if cause is not None]
            self.answers += len(family.data) - len([one for one in failed if one < 7])
            if failed:
                cause = next(cause for cause in causes if cause is not None)
                bounds = set(list(family.bounds.values())[:5])
                self.findings.append(f"{failed} of 7: {asked}\n{bounds}\n{cause}")


def _failure(question: Question, code: Any, dataset: Any, engine: Any) -> str | None:
    """Answer a question as it is answered between a spend and its answer, and show the answer."""
    try:
        with _alarm():
            released = code.release(question, code.gather(question, dataset, engine, None), None)
            kept = question.entered(json.loads(json.dumps(released, allow_nan=False)), "entry")
            question.says(question.reads(kept))
    except Exception:  # noqa: BLE001 - this is what is searched for
        return _cause()
    return None


def _public_failure(question: Question, card: wc.Card) -> str | None:
    """Describe a question from public facts; it may refuse to guess, and nothing else."""
    try:
        with _alarm():
            json.dumps(question.describe(card).to_json())
    except wc.WhitecrowError:
        return None
    except Exception:  # noqa: BLE001 - public, but an error that says nothing
        return _cause()
    return None


def _cause() -> str:
    return "".join(traceback.format_exc().splitlines(keepends=True)[-9:])


class TooLong(Exception):
    """An answer over a handful of records that does not come."""


@contextmanager
def _alarm() -> Iterator[None]:
    def ring(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def in_child(seed: int, asks: int, *, wide: int = 0) -> Search:
    """Search in a process of its own; how it ended, unless it ended well, is a finding."""
    words = [sys.executable, str(Path(__file__)), str(seed), str(asks), str(wide)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    said = done.stdout.splitlines() or ["nothing"]
    if done.returncode == 0:
        return Search(**json.loads(said[-1]))
    found = f"seed {seed} ended with {done.returncode}\n{said[-1]}\n{done.stderr[-2000:]}"
    return Search(findings=[found])


def main(seed: int, asks: int, wide: int) -> None:
    """Ask at least so many times, and write what is being asked and, last, what came of it."""
    warnings.simplefilter("error")
    scoring._FEW = 0  # compiled loops for few records too: they would not notice a wrong index
    search, draw = Search(), random.Random(seed)

    def tell(doing: str) -> None:
        sys.stdout.write(f"{doing}\n")
        sys.stdout.flush()

    while search.answers < asks and not search.findings:
        search.run(Family(draw, wide=wide or None), 14 if wide else 47, tell)
    sys.stdout.write(json.dumps(vars(search)) + "\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))

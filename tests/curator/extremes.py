"""A search for failures that depend on records: extreme questions over extreme neighbours.

A *family* is a card, seven databases that differ in few records (none, one, a lone extreme one,
...), and questions with extreme parameters. A question that its price does not refuse must be
answered over all seven; whatever is raised, and whatever takes longer than :data:`PATIENCE`, is a
finding.
"""

from __future__ import annotations

import json
import math
import random
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import whitecrow as wc
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
PRICES = ("1/1000000000", "1/1000", "1/10", "1", "3", "10", "100", "100000")
WIDTHS = (1, 1, 2, 2, 3, 4, 9, 25, 41, 64, 130)
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
        bounds = self.draw.choice([None, None, (-1e308, 1e308), (0.0, 1e300), (-1.0, 2.0**53)])
        self.pool = [v for v in EXTREMES if bounds is None or bounds[0] <= v <= bounds[1]]
        limits = {} if bounds is None else {"lower": bounds[0], "upper": bounds[1]}
        columns = [wc.Column(name, **limits) for name in self.names]  # type: ignore[arg-type]
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
        same = [base[0] if base else self.record()] * 3
        neighbours = [
            base,
            base[1:],
            [*base, self.record()],
            [*base, self.record()],
            [*base, self.record(lone=True)],
            [*base, *same],
            [] if self.draw.random() < 0.5 else [self.record(lone=True)],
        ]
        self.data = [self._opened(number, rows) for number, rows in enumerate(neighbours)]

    def _opened(self, number: int, rows: list[dict[str, Any]]) -> tuple[Any, Any]:
        """Open a database in this process or, given a folder, as a file that DuckDB reads."""
        if self.folder is None:
            return open_data(self._table(rows), self.card, "local")
        path = self.folder / f"{number}.parquet"
        pq.write_table(self._table(rows), path)
        return open_data(path, self.card, "sql")

    def record(self, *, lone: bool = False) -> dict[str, Any]:
        draw = self.draw
        one = max(self.pool, key=abs) if lone else draw.choice(self.pool)
        every = draw.random() < 0.5
        days = draw.choice((-40_000, 0, 1, 20, 27_000))
        return {
            **{name: one if every else draw.choice(self.pool) for name in self.names},
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
        kinds = (
            self.count, self.count, self.identify, self.screen, self.tune, self.subspaces,
            self.explain, self.publish, self.lookahead,
        )  # fmt: skip
        for number in range(count):
            yield kinds[number % len(kinds)]

    def model(self, *, metrics: tuple[str, ...] = ("euclidean", "manhattan", "chebyshev")) -> Any:
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


@dataclass
class Search:
    """What was asked, and what failed."""

    questions: int = 0
    refused: int = 0
    answers: int = 0
    findings: list[str] = field(default_factory=list)

    def run(self, family: Family, count: int) -> None:
        """Ask questions of a family over its seven databases."""
        for build in family.questions(count):
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
            causes = [_failure(question, code, *data) for data in family.data]
            self.answers += len(causes) - sum(cause is not None for cause in causes)
            failed = [number for number, cause in enumerate(causes) if cause is not None]
            if failed:
                asked = json.dumps({"kind": question.kind, **question.to_json()})[:600]
                cause = next(cause for cause in causes if cause is not None)
                self.findings.append(f"{failed} of 7: {asked}\n{cause}")


def _failure(question: Question, code: Any, dataset: Any, engine: Any) -> str | None:
    try:
        with _alarm():
            released = code.release(question, code.gather(question, dataset, engine, None), None)
            json.dumps(released, allow_nan=False)
    except Exception:  # noqa: BLE001 - this is what is searched for
        return _cause()
    return None


def _cause() -> str:
    return "".join(traceback.format_exc().splitlines(keepends=True)[-7:])


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

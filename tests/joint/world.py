"""Small worlds: a table in which one person or record may be missing, cards, and questions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

import pyarrow

import whitecrow as wc
from whitecrow.anomaly.detectors import Grubbs, LocalOutlierFactor
from whitecrow.data import Card, Column
from whitecrow.privacy import Zone, ZoneColumn

Row = Mapping[str, Any]
Rows = tuple[Row, ...]

TYPES = {
    "who": pyarrow.string(),
    "x": pyarrow.int64(),
    "y": pyarrow.int64(),
    "lat": pyarrow.float64(),
    "lon": pyarrow.float64(),
    "day": pyarrow.int64(),
    "ward": pyarrow.string(),
}
PLACES = ((0.0, 180.0), (0.0, -180.0), (90.0, 0.0), (90.0, 120.0), (0.0, 20.0))
"""On the globe; the first two are one place, and so are the next two."""

WARDS = ("a", "b")
TOPS = ((9, "reject"), (3, "clip"), (3, "reject"))
"""Up to where a card reads x, and what becomes of larger values."""

SEARCHES = ("uniform", "walk", "dfs", "bfs")
COUNTERS = ("tree", "buffered")

MOVING = "zoe"
"""Who is in one of the two databases and not in the other, or with other values."""


def table(rows: Iterable[Row]) -> pyarrow.Table:
    """Return rows as an Arrow table."""
    listed = list(rows)
    return pyarrow.table(
        {name: pyarrow.array([row[name] for row in listed], kind) for name, kind in TYPES.items()}
    )


def card(
    top: int = 9, outside: str = "reject", *, user: int | None = None, size: int | None = None
) -> Card:
    """Return a card that reads x up to a bound; ``user`` is how many records a person may have."""
    columns = (
        Column("who", "text"),
        Column("x", "integer", 0, top, outside=outside),
        Column("y", "integer", 0, 9),
        Column("lat", lower=-90, upper=90),
        Column("lon", lower=-180, upper=180),
        Column("day", "integer", 0, 9),
        Column("ward", "category", categories=WARDS),
    )
    unit: dict[str, Any] = (
        {} if user is None else {"unit": "user", "user_column": "who", "contribution": user}
    )
    public = {} if size is None else {"size_public": True, "size": size}
    return Card("visits", columns, **unit, **public)


@dataclass(frozen=True)
class World:
    """Two databases that differ in one unit of privacy, over one or two revisions of the data.

    Parameters
    ----------
    unit : {"add_remove", "replace_one"}
        How they differ.
    cards : tuple of Card
        The ways in which the data are read; all of one unit of privacy.
    revisions : tuple of pairs of tables
        For each revision of the data the rows here and there.
    engines : tuple of str
        Which engines answer, on one account.
    growth : {"any", "insert-only"}
        Whether records are corrected, moved and removed from revision to revision, or only added.
    """

    unit: str
    cards: tuple[Card, ...]
    revisions: tuple[tuple[Rows, Rows], ...]
    engines: tuple[str, ...] = ("local",)
    growth: str = "any"


@dataclass(frozen=True)
class Step:
    """One question, under one card and engine, of one revision."""

    question: Any
    card: int
    engine: str
    revision: int


@dataclass(frozen=True)
class Together(Step):
    """A question that is learned with another site.

    Parameters
    ----------
    label : str
        Of the attempt; drawn from a few, so that labels come twice.
    ends_after : int
        In which round this site's process dies.
    given_back : bool
        Whether the custodian first gives back whatever spend the ledger lets go.
    """

    label: str
    ends_after: int
    given_back: bool


def row(random: Random, who: str) -> Row:
    lat, lon = random.choice(PLACES)
    return {
        "who": who,
        "x": random.choice((0, 1, 2, 3, 3, 5, 9)),
        "y": random.choice((0, 1, 9)),
        "lat": lat,
        "lon": lon,
        "day": random.randrange(3),
        "ward": random.choice(WARDS),
    }


def world(random: Random, *, engines: tuple[str, ...] = ("local",), **fixed: Any) -> World:
    """Draw a world; what is fixed is not drawn."""
    replaced = not fixed and random.random() < 0.15
    user = None if replaced or random.random() < 0.6 else random.choice((1, 1, 2))
    user = fixed.get("user", user)
    others = [row(random, f"p{random.randrange(4)}") for _ in range(random.randrange(9))]
    own = [row(random, MOVING) for _ in range(1 if user is None else random.randint(1, 3))]
    if random.random() < fixed.get("crowd", 0.4):  # which somebody joins in one reading only
        here, there = random.choice(((0, 1), (1, 0), (2, 3), (4, 4)))
        crowd = {**row(random, ""), "x": 3, "y": 0}
        crowd["lat"], crowd["lon"] = PLACES[here]
        others.extend({**crowd, "who": f"q{place}"} for place in range(random.randint(2, 7)))
        spot = {"x": random.choice((3, 5, 9)), "lat": PLACES[there][0], "lon": PLACES[there][1]}
        own[0] = {**crowd, **spot, "who": MOVING}
    elif others and random.random() < 0.5:  # beside somebody: where much happens
        own[0] = {**random.choice(others), "who": MOVING}
        if random.random() < 0.5:
            others.extend({**own[0], "who": f"p{place}"} for place in range(random.randrange(5)))
    count = fixed.get("revisions", random.choices((1, 2, 3), (14, 4, 2))[0])
    growth = fixed.get("growth", "any" if replaced else random.choice(("any", "insert-only")))
    revisions: list[tuple[Rows, Rows]] = []
    joins = random.randrange(count) if growth == "insert-only" else 0
    for number in range(count):
        if growth == "insert-only":
            more = others if not revisions else [row(random, "p5")]
            there = [*more, *own] if number == joins else more
            here, before = list(more), revisions[-1] if revisions else ((), ())
            revisions.append(((*before[0], *here), (*before[1], *_shuffled(random, there))))
            continue
        here = list(others)
        if replaced:
            here.append(row(random, MOVING))
        revisions.append((_shuffled(random, here), _shuffled(random, [*others, *own])))
        # The next revision: one more, somebody was corrected, and zoe has moved.
        others = [*_corrected(random, others), row(random, "p5")]
        moved = {"x": random.choice((0, 3, 9)), "y": 0}
        own = [{**one, **moved, "day": random.randrange(3)} for one in own]
    fixed_size = replaced and len(revisions) == 1 and random.random() < 0.5
    known = len(revisions[0][0]) if fixed_size else None
    many = fixed.get("cards", random.choice((1, 1, 2)))
    tops = fixed.get("tops") or random.sample(TOPS, many)
    cards = tuple(card(*top, user=user, size=known) for top in tops)
    unit = "replace_one" if replaced else "add_remove"
    return World(unit, cards, tuple(revisions), engines, growth)


def _corrected(random: Random, rows: Sequence[Row]) -> list[Row]:
    """The rows with one of them in another period, or gone."""
    found = list(rows)
    if found and random.random() < 0.5:
        one = found.pop(random.randrange(len(found)))
        if random.random() < 0.5:
            found.append({**one, "day": random.randrange(3)})
    return found


def _shuffled(random: Random, rows: Sequence[Row]) -> Rows:
    """The order of rows says nothing, so both databases have one of their own."""
    return tuple(random.sample(list(rows), len(rows)))


# --- questions ------------------------------------------------------------------------------------


def steps(
    random: Random, there: World, most: int = 5, kinds: Sequence[str] | None = None
) -> list[Step]:
    """Draw a sequence of questions, in the order of the revisions."""
    makers = [make for make in _KINDS if kinds is None or make.__name__[1:] in kinds]
    count = random.randint(1, most)
    revisions = sorted(random.randrange(len(there.revisions)) for _ in range(count))
    found = []
    for revision in revisions:
        place = random.randrange(len(there.cards))
        make = random.choice(makers)
        question = make(random, there.unit, there.cards[place])
        found.append(Step(question, place, random.choice(there.engines), revision))
        if random.random() < 0.05:
            found.append(found[-1])  # asked twice: free
    if len(there.revisions) > 1 and _monitor in makers and random.random() < 0.6:
        place = random.randrange(len(there.cards))
        series = _monitor(random, there.unit, there.cards[place])
        found.append(Step(series, place, random.choice(there.engines), 0))
    found.extend(_going_on(random, there, found))
    found.extend([_once_more(random, there, s) for s in found if s.question.kind == "screening"])
    if "together" in kinds if kinds is not None else random.random() < 0.08:
        found.extend(_attempts(random, there))
    return sorted(found, key=lambda step: step.revision)


def _going_on(random: Random, there: World, asked: Sequence[Step]) -> Iterator[Step]:
    """Ask for further steps of each series, in the same revision and in later ones."""
    for step in asked:
        if step.question.kind != "monitor":
            continue
        said, revision = step.question.to_json(), step.revision
        for through in range(said["through"] + 1, said["horizon"] + 1):
            revision = min(len(there.revisions) - 1, revision + random.choice((0, 1, 1)))
            question = wc.Monitor.from_json({**said, "through": through})
            engine = random.choice(there.engines)
            yield replace(step, question=question, revision=revision, engine=engine)


def _once_more(random: Random, there: World, step: Step) -> Step:
    """Ask for more of a screening, and for what was asked before."""
    new = _asked(random, ("x",), there.cards[step.card])
    more = [{**one, **new} if "x" in one else one for one in step.question.batch[:2]]
    return replace(step, question=step.question.of_all([*more, *step.question.batch]))


def _attempts(random: Random, there: World) -> Iterator[Together]:
    """A few attempts to learn with another site: interrupted, repeated, given back."""
    place, price = random.randrange(len(there.cards)), {"epsilon": _epsilon(random)}
    if random.random() < 0.3:
        price = {"epsilon": Fraction(2), "delta": Fraction(1, 1000)}
    for _ in range(random.randint(1, 4)):
        yield Together(
            wc.Learn(random.choice((["x"], ["x", "y"])), **price),
            place,
            random.choice(there.engines),
            random.randrange(len(there.revisions)),
            random.choice(("first try", "first try", "second try")),
            random.choice((1, 2, 4, 99, 99)),
            random.random() < 0.5,
        )


def _epsilon(random: Random) -> Fraction:
    return Fraction(random.choice(("1/4", "1/2", "1", "2")))


def _asked(random: Random, columns: tuple[str, ...], read: Card) -> dict[str, Any]:
    if "lat" in columns:
        return dict(zip(("lat", "lon"), random.choice(PLACES), strict=True))
    places = (0, 1, 2, 3, 3, *((5, 9, 9) if read.column("x").upper == 9 else ()))
    return {name: random.choice(places) for name in columns}


def _model(random: Random, most: int = 6) -> tuple[Any, tuple[str, ...]]:
    columns: tuple[str, ...] = random.choice((("x",), ("x",), ("x", "y"), ("lat", "lon")))
    metric = "haversine" if "lat" in columns else "euclidean"
    radius = random.choice((0, 0, 1, 2)) if metric == "euclidean" else random.choice((0, 0, 50))
    if metric == "euclidean" and random.random() < 0.4:
        return _other_model(random, most), columns
    return wc.DistanceAnomaly(random.randint(1, most), radius, metric), columns


def _other_model(random: Random, most: int) -> Any:
    """Models that share columns, and so balls and zones, with the distance model."""
    if random.random() < 0.4:
        return wc.KthNeighbourAnomaly(random.randint(1, most), random.choice((0, 1, 2)))
    heights = random.choice(([2, 1], [3, 1], [2]))
    radii = [1, 2][: len(heights)]
    return wc.KernelAnomaly(heights[0] + random.randint(0, 6), radii=radii, heights=heights)


def _identify(random: Random, unit: str, read: Card) -> Any:
    model, columns = _model(random)
    how: dict[str, Any] = (
        {"notion": "differential"}
        if random.random() < 0.3
        else {"k": random.randint(1, model.threshold + 1)}
    )
    return wc.Identify(_asked(random, columns, read), model=model, epsilon=_epsilon(random), **how)


def _screen(random: Random, unit: str, read: Card) -> Any:
    model, columns = _model(random)
    return wc.Screen(_asked(random, columns, read), model=model, epsilon=_epsilon(random))


def _screening(random: Random, unit: str, read: Card) -> Any:
    model, columns = _model(random)
    if "lat" not in columns and random.random() < 0.4:
        columns = ("x", "ward")
        model = random.choice(
            (
                wc.ContextualAnomaly(random.randint(1, 4), 1, group=["ward"]),
                wc.SimilarityAnomaly(random.randint(1, 4), 1, weights={"x": 0.5, "ward": 1.0}),
            )
        )

    def one() -> dict[str, Any]:
        if columns == ("x", "ward"):
            return {**_asked(random, ("x",), read), "ward": random.choice(WARDS)}
        return _asked(random, columns, read)

    return wc.Screening(
        batch=[one() for _ in range(random.randint(1, 4))],
        columns=columns,
        model=model,
        epsilon=_epsilon(random),
        delta="1/1000",
        limit=random.choice((1, 2, None)),
    )


def _lookahead(random: Random, unit: str, read: Card) -> Any:
    beta = random.randint(1, 4)
    columns = random.choice(
        (["ward"], ["x"], ["ward", "x"], ["x", "day"], ["lat"], ["ward", "lat"])
    )
    of_copies = random.choice((wc.DistanceAnomaly, wc.KthNeighbourAnomaly))
    model, k = of_copies(beta, 0), random.randint(1, beta + 1)
    bins = random.choice((2, 3)) if "lat" in columns else None
    return wc.Lookahead(columns, model=model, k=k, epsilon=_epsilon(random), bins=bins)


def _numeric(random: Random) -> tuple[Any, list[str]]:
    columns = random.choice((["x"], ["y"], ["x", "y"]))
    return wc.DistanceAnomaly(random.randint(1, 3), random.choice((0, 1, 2))), columns


def _count(random: Random, unit: str, read: Card) -> Any:
    model, columns = _numeric(random)
    mechanism = random.choice(
        ("smooth", "smooth", "global", "global", "analytic_gaussian", "paper_gaussian")
    )
    delta = {"delta": "1/1000"} if "gaussian" in mechanism else {}
    return wc.Count(
        columns, model=model, epsilon=_epsilon(random), mechanism=mechanism, relation=unit, **delta
    )


def _subspaces(random: Random, unit: str, read: Card) -> Any:
    model = wc.DistanceAnomaly(random.randint(1, 3), random.choice((1, 2)))
    top = random.choice((1, 2))
    return wc.Subspaces(
        top=top,
        count_share=random.choice(("0", "1/2")) if top == 1 else "0",
        subspaces=[["x"], ["y"], ["x", "y"]],
        model=model,
        epsilon=_epsilon(random),
        relation=unit,
    )


def _tune(random: Random, unit: str, read: Card) -> Any:
    return wc.Tune(
        ["x"],
        share=random.choice(("1/3", "1/10")),
        radii=[1, 2, 4],
        beta=random.randint(1, 3),
        epsilon=_epsilon(random),
        relation=unit,
        method=random.choice(("auto", "search", "exponential")),
    )


def _explain(random: Random, unit: str, read: Card) -> Any:
    person = {"ward": random.choice(WARDS), "day": random.randrange(3), "x": random.randrange(4)}
    attributes = ["ward"]
    notion = random.choice(("differential", "conditional", "conditional"))
    detector: Any = wc.DistanceAnomaly(random.randint(1, 3), random.choice((0, 1, 2)))
    if notion == "conditional" and random.random() < 0.4:
        detector = random.choice((LocalOutlierFactor(2), Grubbs("1/20"), Grubbs("1/5")))
    return wc.Explain(
        person,
        metric="x",
        attributes=attributes,
        detector=detector,
        epsilon=_epsilon(random),
        notion=notion,
        **(
            {"search": random.choice(SEARCHES), "samples": 2}
            if notion == "conditional" and random.random() < 0.4
            else {}
        ),
    )


def _publish(random: Random, unit: str, read: Card) -> Any:
    price: dict[str, Any] = random.choice(
        ({"epsilon": _epsilon(random)}, {"rho": Fraction(random.choice(("1/8", "1/2")))})
    )
    what: dict[str, Any] = random.choice(
        ({"statistic": "count"}, {"column": "y", "statistic": random.choice(("mean", "sum"))})
    )
    how: dict[str, Any] = random.choice(
        (
            {"mechanism": "independent", "view": "each_period", "horizon": 3},
            {"mechanism": "independent", "horizon": random.choice((1, 3))},
            {"mechanism": "tree", "horizon": random.choice((1, 3))},
            {"mechanism": "tree", "horizon": None, "through": 3},
            {"mechanism": random.choice(COUNTERS), "horizon": random.choice((1, 3))},
            {"mechanism": "endless", "horizon": None, "through": 3},
        )
    )
    leaves = "y" if random.random() < 0.2 else None
    return wc.Publish(**what, time="day", start=0, period=1, leaves=leaves, **how, **price)


def _learn(random: Random, unit: str, read: Card) -> Any:
    price: dict[str, Any] = {"epsilon": _epsilon(random)}
    if random.random() < 0.3:
        price = {"epsilon": 2, "delta": "1/1000"}
    elif random.random() < 0.3:  # so dear that the thresholds are chosen and not refused
        price = {"epsilon": 8, "threshold_share": "1/2", "false_alarms": [0.1, 0.4]}
    return wc.Learn(random.choice((["x"], ["x", "y"])), relation=unit, **price)


def _monitor(random: Random, unit: str, read: Card) -> Any:
    price: dict[str, Any] = {"epsilon": _epsilon(random)}
    if random.random() < 0.3:
        price = {"epsilon": 2, "delta": "1/1000"}
    columns, horizon = random.choice((["x"], ["x", "y"])), random.choice((1, 2, 3))
    when: dict[str, Any] = {"time": "day", "start": 0, "period": 1, "horizon": horizon}
    return wc.Monitor(columns, **when, through=random.randint(1, horizon), **price)


def _profile(random: Random, unit: str, read: Card) -> Any:
    price: dict[str, Any] = {"epsilon": _epsilon(random)}
    columns = random.choice((["x"], ["ward"], ["y", "ward"]))
    if random.random() < 0.4:
        price = {"epsilon": 2, "delta": "1/1000", "discover": random.random() < 0.5}
        if price["discover"] and read.unit == "record":  # the names of all, where enough have one
            columns = ["who"]
    return wc.Profile(columns, relation=unit, **price)


_KINDS: tuple[Callable[[Random, str, Card], Any], ...] = (
    _identify,
    _identify,
    _identify,
    _screen,
    _screen,
    _screening,
    _lookahead,
    _count,
    _subspaces,
    _tune,
    _explain,
    _explain,
    _publish,
    _learn,
    _monitor,
    _profile,
)


# --- whom a promise covers, written down a second time --------------------------------------------


def kept(read: Card, one: Row) -> Row | None:
    """What a card makes of one row; None if it leaves it out."""
    column = read.column("x")
    assert column.upper is not None
    if one["x"] <= column.upper:
        return one
    return {**one, "x": column.upper} if column.outside == "clip" else None


def counted(read: Card, rows: Iterable[Row]) -> list[Row]:
    """The rows that count: of each person the first ones by value, where persons are protected."""
    passed = [mended for one in rows if (mended := kept(read, one)) is not None]
    if read.unit != "user":
        return passed
    order = ("x", "y", "lat", "lon", "day")
    people: dict[str, list[Row]] = {}
    for one in passed:
        people.setdefault(one["who"], []).append(one)
    return [
        one
        for theirs in people.values()
        for one in sorted(
            theirs, key=lambda each: (*(each[name] for name in order), WARDS.index(each["ward"]))
        )[: read.contribution]
    ]


def _number(one: Row, label: ZoneColumn) -> float:
    """The value that a promise speaks of: of a column, or which part of it."""
    name, cut = (label, "") if isinstance(label, str) else label
    value = one[name]
    if cut:
        parts = int(cut.removeprefix("in ").removesuffix(" equal parts"))
        return min(parts - 1, (value + 90) * parts // 180)
    return float(WARDS.index(value)) if isinstance(value, str) else float(value)


def _apart(metric: str, columns: Sequence[ZoneColumn], one: Row, two: Row) -> float:
    if metric != "haversine":
        return math.dist(*([_number(each, name) for name in columns] for each in (one, two)))
    places = []
    for each in (one, two):
        lon = 0.0 if abs(each["lat"]) == 90 else each["lon"] % 360
        places.append((each["lat"], lon))
    return 0.0 if places[0] == places[1] else math.inf  # all others are far apart


def covers(zone: Zone, there: World) -> bool:
    """Whether the record that moves has enough similar records, as the zone's reading has them."""
    if zone.everyone:
        return True
    fingerprint, _, revision = zone.card.partition("@")
    read = next(one for one in there.cards if one.fingerprint() == fingerprint)
    rows = counted(read, there.revisions[int(revision or 1) - 1][1])
    own = [one for one in rows if one["who"] == MOVING]
    columns: Sequence[ZoneColumn] = zone.columns or tuple(TYPES)
    steps = re.findall(r"within (\S+) counts (\d+)", zone.metric) or [(zone.radius, 1)]

    def weight(far: float) -> int:
        return max((int(height) for radius, height in steps if far <= float(radius)), default=0)

    return all(
        sum(weight(_apart(zone.metric, columns, one, other)) for other in rows) >= zone.tau
        for one in own
    )

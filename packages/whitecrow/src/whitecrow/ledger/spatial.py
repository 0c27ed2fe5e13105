"""The spatial index: which balls were asked about, and how much they cost where they overlap.

A located question (identify, screen) depends only on the records of one ball. A person is one
record, so what it can lose is the sum of epsilon over the balls it lies in. The price of a *sheet*
(balls over the same columns, metric and card) is a bound on the largest such sum; sheets add up.

The index lies in the store beside the entries, so that no process has to read the account to price
one more ball. Each ball keeps its *depth*: a bound on the sum at any point of it when it was asked,
itself included. The last ball over the deepest point has the largest depth, so the price of a sheet
is the largest depth of its balls, and a ball that is given back takes only its own depth with it.

The work for one ball is bounded. Balls are found by two coordinates, at most ``MOST_TOUCHED`` are
looked at, and where more touch the new one it is charged in full, which is never too little: one
more ball cannot add more than its own epsilon. So what takes long is computed before the write
transaction; inside it, every ball that came meanwhile and touches the new one adds its epsilon.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from whitecrow.errors import LedgerCorrupt
from whitecrow.ledger import statements as sql
from whitecrow.ledger.account import Located, charged, is_for_everyone
from whitecrow.ledger.database import Session
from whitecrow.privacy import Guarantee
from whitecrow.terms import canonical

if TYPE_CHECKING:
    from whitecrow.ledger.store import Batch


Location = dict[str, Any]
Weights = Sequence[tuple[Location, Fraction]]

# The index

ANYWHERE = "anywhere"
"""The sheet of balls of which only their sum is known."""

MOST_TOUCHED = 1024
"""How many balls are looked at to price one more."""

QUICK = 24
"""How many touching balls a write transaction weighs without compiled loops: half a millisecond."""

_ZERO = Fraction(0)
_fraction = lru_cache(maxsize=1024)(Fraction)  # most asks leave most prices as they are
_LINES = ("differential", "sensitive")
_SIDES = ("u_low", "u_high", "v_low", "v_high")
_EVERYBODY = ""
_ENDLESS = 64
"""Sizes are told apart from 2 to the -64 up to 2 to the 63: one look for each that occurs."""


Keys = tuple[float, float, float, float]
"""By what a ball is looked up: two coordinates, a reach, and how far rounding may move them."""


class Geometry(Protocol):
    """What must be known of balls; the ledger itself knows nothing of metrics."""

    quick: int
    """How many touching balls are weighed inside a write transaction; more are weighed before."""

    def sheet(self, ball: Location) -> str:
        """A name for the balls among which places are compared; other sheets add up."""

    def keys(self, ball: Location) -> Keys:
        """Two coordinates and a reach: balls touch only if each differs by at most both reaches.

        Rounding may make it more, by no more than the fourth number of either.
        """

    def touching(self, ball: Location, others: Sequence[Location]) -> Sequence[bool]:
        """Which of the others may share a point with a ball."""

    def depth(self, ball: Location, epsilon: Fraction, met: Weights, enough: Fraction) -> Fraction:
        """Bound the sum of epsilon at any point of a ball, over it and the balls it meets.

        A bound that is no more than ``enough`` need not be improved.
        """


class AddUp:
    """The geometry that knows no places: everything adds up, which is never too little."""

    quick = QUICK

    def sheet(self, ball: Location) -> str:
        return ANYWHERE

    def keys(self, ball: Location) -> Keys:
        return 0.0, 0.0, math.inf, 0.0

    def touching(self, ball: Location, others: Sequence[Location]) -> Sequence[bool]:
        return [True] * len(others)

    def depth(self, ball: Location, epsilon: Fraction, met: Weights, enough: Fraction) -> Fraction:
        return sum((weight for _, weight in met), epsilon)


@dataclass(frozen=True)
class Ball:
    """A located spend: where, how much, whose, and whether its promise is to everyone."""

    location: Location
    epsilon: Fraction
    analyst: str
    everyone: bool
    seq: int = 0

    @classmethod
    def of(cls, location: Location, price: Guarantee, analyst: str, seq: int = 0) -> Ball:
        """The ball of a release; only pure releases are located."""
        epsilon: Fraction = price.epsilon  # type: ignore[union-attr]
        return cls(location, charged(epsilon), analyst, is_for_everyone(price), seq)


class Crowded(Exception):
    """So many balls touch a new one that it should be weighed before the transaction."""


Depths = tuple[Fraction | None, ...]
"""Of one ball in four tallies: the dataset's two lines, the analyst's two lines."""


Place = tuple[str, int, float, float]
"""Where a ball is looked up: its sheet, the band of its size, and two coordinates."""


Bands = Mapping[int, int]
"""The sizes of balls on a sheet: of each band the largest reach, in sixteenths of the widest."""


@dataclass(frozen=True)
class Sheet:
    """What is kept of a sheet: the sizes of its balls, the prices of four tallies."""

    bands: Bands
    prices: tuple[Fraction, ...]


@dataclass(frozen=True)
class Weighed:
    """What one more ball adds, beside those of the entries before it."""

    # The new ball's, in each tally; None in a differential tally if its promise is not to all.
    depths: Depths
    bounds: Depths | None  # those, beside no price; None if it touches too many
    # extra, own: What it adds to the dataset's account and to the analyst's.
    extra: Located
    own: Located
    sheet: Sheet  # what was kept of its sheet then
    place: Place  # where the ball is looked up: sheet, size and two coordinates
    part: int  # how large it is among those of its band
    seq: int  # the entry that was to be the ball's
    many: bool = False  # whether so many balls touch it that it should be weighed beforehand
    head: str = ""  # the end of the chain then


class SpatialIndex:
    """The balls of one dataset, inside one transaction."""

    def __init__(self, session: Session, dataset: int, geometry: Geometry) -> None:
        self.session, self.dataset, self._geometry = session, dataset, geometry
        self._newest: tuple[Location, Keys] | None = None

    # Pricing

    def foresee(self, location: Location, analyst: str) -> None:
        """Send the queries ahead that weighing a ball begins with, among balls of its size."""
        keys, name = self._keys(location), self._geometry.sheet(location)
        self.session.ahead(sql.SHEET, **self._of_sheet(name, analyst))
        band = _band(keys[2])
        self.session.ahead(sql.NEAR, **self._near(name, band, _part(keys[2], band), keys))

    def weigh(
        self,
        ball: Ball,
        *,
        quick: bool = False,
        known: Weighed | None = None,
        pending: Batch | None = None,
    ) -> Weighed:
        """Say what one more ball would add, after those of the same batch that are ``pending``.

        ``quick`` raises :class:`Crowded` rather than compute for long. What was ``known`` before
        the transaction holds for the balls of that moment: one that came since deepens no point by
        more than its own epsilon, and balls that were given back make less of it.
        """
        place = self.place(ball)
        name = place[0]
        sheet = self.sheet(name, ball.analyst)
        prices, many = list(sheet.prices), False
        before: Sequence[tuple[Ball, Weighed]] = ()
        if pending is not None:
            prices, before = pending.prices(name, ball.analyst, prices), pending.on(name)
        if known is None:
            met = self.touched(name, sheet.bands, ball, before)
            many = met is not None and len(met) > self._geometry.quick
            if quick and many:
                raise Crowded
            bounds = None if met is None else self._bounds(ball, met, prices)
        elif (bounds := known.bounds) is not None:
            newer = {"dataset": self.dataset, "sheet": name, "since": known.seq}
            met = self._touching(ball, list(map(ball_of, self.session.rows(sql.NEWER, **newer))))
            bounds = tuple(
                bound and sum((b.epsilon for b in in_tally(tally, ball.analyst, met)), bound)
                for tally, bound in enumerate(bounds)
            )
        # One more ball adds no more than its own epsilon.
        depths: Depths = tuple(
            None
            if tally % 2 == 0 and not ball.everyone
            else min(price + ball.epsilon, bound or price + ball.epsilon)
            for tally, (price, bound) in enumerate(zip(prices, bounds or 4 * (None,), strict=True))
        )
        added = [
            _ZERO if depth is None or depth <= price else depth - price
            for depth, price in zip(depths, prices, strict=True)
        ]
        extra, own = Located(*added[:2]), Located(*added[2:])
        part = self.part(ball)
        return Weighed(depths, bounds, extra, own, sheet, place, part, ball.seq, many)

    def _bounds(self, ball: Ball, met: list[Ball], prices: Sequence[Fraction]) -> Depths:
        """Bound the depth of a new ball in each tally; tallies that are alike once."""
        cached: dict[tuple[tuple[int, ...], Fraction], Fraction] = {}

        def bound(tally: int, price: Fraction) -> Fraction | None:
            if tally % 2 == 0 and not ball.everyone:
                return None
            shown = in_tally(tally, ball.analyst, met)
            key = tuple(map(id, shown)), price
            if key not in cached:
                cached[key] = self.depth(ball, shown, price)
            return cached[key]

        return tuple(bound(tally, price) for tally, price in enumerate(prices))

    def depth(self, ball: Ball, met: list[Ball], enough: Fraction) -> Fraction:
        """Bound the sum at any point of a ball."""
        weights = [(other.location, other.epsilon) for other in met]
        depth = self._geometry.depth
        return depth(ball.location, ball.epsilon, weights, enough) if met else ball.epsilon

    def touched(
        self, name: str, bands: Bands, ball: Ball, pending: Sequence[tuple[Ball, Weighed]] = ()
    ) -> list[Ball] | None:
        """The balls that touch one; None if there are too many to look at."""
        keys = self._keys(ball.location)
        sizes = dict(bands)  # as they will be once the batch is asked
        for _, weighed in pending:
            band = weighed.place[1]
            sizes[band] = max(sizes.get(band, 0), weighed.part)
        windows = {band: _window(keys, band, part) for band, part in sizes.items()}
        balls = [
            other
            for other, weighed in pending
            if _in(windows[weighed.place[1]], *weighed.place[2:])
        ]
        queries = [self._near(name, band, part, keys) for band, part in sorted(sizes.items())]
        for query in queries:
            self.session.ahead(sql.NEAR, **query)
        for query in queries:
            if len(balls) > MOST_TOUCHED:
                return None
            balls += [ball_of(row) for row in self.session.rows(sql.NEAR, **query)]
        if len(balls) > MOST_TOUCHED:
            return None
        return self._touching(ball, balls)

    def _touching(self, ball: Ball, balls: list[Ball]) -> list[Ball]:
        """Those that touch a ball."""
        if not balls:
            return balls
        near = self._geometry.touching(ball.location, [other.location for other in balls])
        return [other for other, is_near in zip(balls, near, strict=True) if is_near]

    def _near(self, name: str, band: int, part: int, keys: Keys) -> dict[str, Any]:
        """What is asked for to find the balls of a band that one may touch."""
        at = {"dataset": self.dataset, "sheet": name, "band": band}
        sides = zip(_SIDES, _window(keys, band, part), strict=True)
        return {**at, **dict(sides), "most": MOST_TOUCHED + 1}

    # Writing

    def add(self, ball: Ball, weighed: Weighed) -> None:
        """Put a ball that was weighed in this transaction into the tallies."""
        (name, band, u, v), sheet = weighed.place, weighed.sheet
        self.session.run(
            sql.ADD,
            dataset=self.dataset,
            seq=ball.seq,
            sheet=name,
            band=band,
            u=u,
            v=v,
            analyst=ball.analyst,
            everyone=ball.everyone,
            epsilon=str(ball.epsilon),
            location=canonical(ball.location),
            depths=depths_text(weighed.depths),
        )
        prices = tuple(
            price if depth is None or depth <= price else depth
            for price, depth in zip(sheet.prices, weighed.depths, strict=True)
        )
        known = sheet.bands.get(band, 0)
        if known < weighed.part or prices != sheet.prices:
            grown = Sheet({**sheet.bands, band: max(known, weighed.part)}, prices)
            self.write(name, ball.analyst, grown, sheet)

    def part(self, ball: Ball) -> int:
        """How large a ball is among those of its band."""
        reach = self._keys(ball.location)[2]
        return _part(reach, _band(reach))

    def _keys(self, location: Location) -> Keys:
        """The coordinates of a ball, which is looked at several times in a row."""
        if self._newest is None or self._newest[0] is not location:
            self._newest = location, self._geometry.keys(location)
        return self._newest[1]

    def place(self, ball: Ball) -> Place:
        """Where a ball must be looked up: sheet, size and two coordinates."""
        u, v, reach, _ = self._keys(ball.location)
        return self._geometry.sheet(ball.location), _band(reach), _not_far(u), _not_far(v)

    # Sheets

    def sheet(self, name: str, analyst: str) -> Sheet:
        """Return what is kept of a sheet."""
        rows = {
            row.analyst: row
            for row in self.session.rows(sql.SHEET, **self._of_sheet(name, analyst))
        }
        shared, own = rows.get(_EVERYBODY), rows.get(analyst)
        prices = tuple(
            _ZERO if row is None else _fraction(getattr(row, line))
            for row in (shared, own)
            for line in _LINES
        )
        return Sheet(_bands(shared.bands) if shared else {}, prices)

    def _of_sheet(self, name: str, analyst: str) -> dict[str, Any]:
        return {"dataset": self.dataset, "sheet": name, "analyst": analyst}

    def write(self, name: str, analyst: str, sheet: Sheet, before: Sheet) -> None:
        """Keep what became of a sheet, where it changed; sizes are everybody's."""
        bands = " ".join(f"{band}:{part}" for band, part in sorted(sheet.bands.items()))
        for whose, lines in ((_EVERYBODY, slice(0, 2)), (analyst, slice(2, 4))):
            grown = not whose and sheet.bands != before.bands
            if grown or sheet.prices[lines] != before.prices[lines]:
                prices = dict(zip(_LINES, map(str, sheet.prices[lines]), strict=True))
                at = self._of_sheet(name, whose)
                self.session.run(sql.WRITE_SHEET, **at, bands=bands, **prices)


def in_tally(tally: int, analyst: str, met: Iterable[Ball]) -> list[Ball]:
    """The balls that count in a tally: an analyst's own, those whose promise is to everyone."""
    return [
        ball
        for ball in met
        if (tally < 2 or ball.analyst == analyst) and (tally % 2 == 1 or ball.everyone)
    ]


def _band(reach: float) -> int:
    """Balls of a similar size are looked up together: band b holds reaches below 2 to the b."""
    if not reach < 2.0 ** (_ENDLESS - 1):
        return _ENDLESS
    return max(-_ENDLESS, math.frexp(reach)[1])


def _part(reach: float, band: int) -> int:
    """How many sixteenths of the widest reach of its band are more than a reach."""
    return 16 if band == _ENDLESS else math.floor(math.ldexp(reach, 4 - band)) + 1


def _bands(text: str) -> Bands:
    """Read sizes; older versions wrote no sixteenths."""
    pairs = (each.partition(":") for each in text.split())
    return {int(band): int(part or 16) for band, _, part in pairs}


def _window(keys: Keys, band: int, part: int) -> tuple[float, float, float, float]:
    """Between which coordinates the balls of a band lie that a ball with these keys may touch."""
    u, v, reach, rounding = keys
    wide = _widest(band) * part / 16 + reach + rounding
    if not math.isfinite(wide):
        return -_FAR, _FAR, -_FAR, _FAR
    u, v = _not_far(u), _not_far(v)
    return u - wide, u + wide, v - wide, v + wide


def _in(window: tuple[float, float, float, float], u: float, v: float) -> bool:
    u_low, u_high, v_low, v_high = window
    return u_low <= u <= u_high and v_low <= v <= v_high


def _widest(band: int) -> float:
    return math.inf if band == _ENDLESS else 2.0**band


_FAR = 1.7e308


def _not_far(coordinate: float) -> float:
    return max(-_FAR, min(_FAR, coordinate))


def depths_text(depths: Iterable[Fraction | None]) -> str:
    return " ".join("-" if depth is None else str(depth) for depth in depths)


def read_depths(text: str) -> Depths:
    return tuple(None if depth == "-" else Fraction(depth) for depth in text.split())


def ball_of(row: Any) -> Ball:
    return _ball(row.seq, row.analyst, row.everyone, row.epsilon, row.location)


@lru_cache(maxsize=32 * MOST_TOUCHED)  # a ball is read again for every later one that comes near
def _ball(seq: int, analyst: str, everyone: bool, epsilon: str, location: str) -> Ball:
    return Ball(json.loads(location), _fraction(epsilon), analyst, bool(everyone), seq)


# Upkeep: balls that are given back, and the whole index once more

MOST_REFRESHED = 16
"""How many depths are computed anew when a ball is given back; the others stay as bounds."""

_AT_ONCE = 2000  # how many balls are read at once


def remove(index: SpatialIndex, seq: int, analyst: str) -> tuple[Located, Located]:
    """Take a ball out of the tallies; return the change of the dataset's price and the analyst's.

    Depths of later balls that touch it may have counted it. Those that rule the price are
    computed anew, a bounded number of them; the others remain, never too small.
    """
    row = _row(index, seq)
    gone, name = ball_of(row), str(row.sheet)
    sheet = index.sheet(name, analyst)
    index.session.run(sql.REMOVE, dataset=index.dataset, seq=seq)
    stored = index.session.rows(sql.DEPTHS, dataset=index.dataset, sheet=name)
    counts = Counter({(row.analyst, row.depths): row.number for row in stored})
    touched = index.touched(name, sheet.bands, gone) or []
    later = {new.seq: (new, str(_row(index, new.seq).depths)) for new in touched if new.seq > seq}
    for _ in range(MOST_REFRESHED):
        most = _deepest(counts, analyst)
        ruling = [
            seq
            for seq, (ball, depths) in later.items()
            if any(
                depth == most[tally] for tally, depth in _counting(ball.analyst, depths, analyst)
            )
        ]
        if not ruling:
            break
        ball, depths = later.pop(max(ruling))
        fresh = _refreshed(index, name, sheet.bands, ball, depths)
        if fresh is not None:
            counts[ball.analyst, depths] -= 1
            counts[ball.analyst, fresh] += 1
    left = tuple(_deepest(counts, analyst))
    index.write(name, analyst, replace(sheet, prices=left), sheet)
    less = [new - old for new, old in zip(left, sheet.prices, strict=True)]
    return Located(*less[:2]), Located(*less[2:])


def _row(index: SpatialIndex, seq: int) -> Any:
    row = index.session.one(sql.ONE_BALL, dataset=index.dataset, seq=seq)
    if row is None:
        raise LedgerCorrupt(
            "A ball is missing from the spatial index; run 'whitecrow ledger verify --full'."
        )
    return row


def _counting(whose: str, depths: str, analyst: str) -> Iterator[tuple[int, Fraction]]:
    """The depths of somebody's ball, each with its tally, that count beside an analyst's."""
    for tally, depth in enumerate(read_depths(depths)):
        if depth is not None and (tally < 2 or whose == analyst):
            yield tally, depth


def _deepest(counts: Counter[tuple[str, str]], analyst: str) -> list[Fraction]:
    """The largest depth in each tally, over all balls of a sheet."""
    most = [_ZERO] * 4
    for whose, depths in +counts:
        for tally, depth in _counting(whose, depths, analyst):
            most[tally] = max(most[tally], depth)
    return most


def _refreshed(index: SpatialIndex, name: str, bands: Bands, ball: Ball, stored: str) -> str | None:
    """Compute a ball's depths anew, from the balls that were asked before it, and write them.

    What is ``stored`` still bounds them, and may be less.
    """
    met = index.touched(name, bands, ball)
    if met is None:
        return None
    met = [other for other in met if other.seq < ball.seq]
    depths = depths_text(
        before and min(before, index.depth(ball, in_tally(tally, ball.analyst, met), _ZERO))
        for tally, before in enumerate(read_depths(stored))
    )
    index.session.run(sql.DEEPEN, dataset=index.dataset, seq=ball.seq, depths=depths)
    return depths


def rows(index: SpatialIndex) -> Iterator[tuple[Ball, Place, Depths]]:
    """Every ball in the order they were asked, with where it is looked up and its depths."""
    after = 0
    while True:
        batch = index.session.rows(sql.BALLS, dataset=index.dataset, after=after, most=_AT_ONCE)
        for row in batch:
            yield ball_of(row), (row.sheet, row.band, row.u, row.v), read_depths(row.depths)
        if len(batch) < _AT_ONCE:
            return
        after = batch[-1].seq


def stored_sheets(index: SpatialIndex) -> dict[tuple[str, str], tuple[Located, Bands]]:
    """What is kept of each sheet, everybody's under the empty name: its price and its bands."""
    return {
        (row.sheet, row.analyst): (
            Located(Fraction(row.differential), Fraction(row.sensitive)),
            _bands(row.bands),
        )
        for row in index.session.rows(sql.SHEETS, dataset=index.dataset)
    }


class Sheets:
    """What must be kept of each sheet, from its balls: the largest depths, and their sizes."""

    def __init__(self) -> None:
        self._most: dict[tuple[str, str], Located] = {}
        self._bands: dict[str, dict[int, int]] = {}

    def add(self, ball: Ball, place: Place, depths: Depths, part: int) -> None:
        """Count a ball with the depths that are kept of it."""
        name, band, *_ = place
        bands = self._bands.setdefault(name, {})
        bands[band] = max(part, bands.get(band, 0))
        for analyst, lines in (("", depths[:2]), (ball.analyst, depths[2:])):
            most = self._most.get((name, analyst), Located())
            differential, sensitive = (depth or _ZERO for depth in lines)
            self._most[name, analyst] = Located(
                max(most.differential, differential), max(most.sensitive, sensitive)
            )

    def differ(self, stored: dict[tuple[str, str], tuple[Located, Bands]]) -> bool:
        """Whether a sheet is kept that its balls do not make."""
        nothing: tuple[Located, Bands] = (Located(), {})
        for name, analyst in {*stored, *self._most}:
            price, bands = stored.get((name, analyst), nothing)
            most = self._most.get((name, analyst), Located())
            # An analyst's price may stay above when another one's ball was given back.
            own = self._bands.get(name, {}).items()
            smaller = any(bands.get(band, 0) < part for band, part in own)
            if not analyst and (price != most or smaller):
                return True
            if price.differential < most.differential or price.sensitive < most.sensitive:
                return True
        return False

"""Sequences of releases of every notion: what the account reports, against brute force.

The universe is a line of four points with up to three records on each: 256 databases, 768 pairs.
Every mechanism is given by its exact law, sequences by the law of all their answers together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest

from whitecrow.anomaly import law
from whitecrow.ledger import LINES, Budget, ChargeRequest, Ledger
from whitecrow.ledger.verification import verify
from whitecrow.place.balls import BALLS
from whitecrow.privacy import (
    ConditionalPrivacy,
    DifferentialPrivacy,
    Guarantee,
    SensitivePrivacy,
    ZeroConcentrated,
    totals,
)
from whitecrow_audit.verify import exhaust
from whitecrow_audit.verify.universes import Histogram, edges

CELLS, MOST = 4, 3
DELTA = Fraction(1, 1000)
Law = Mapping[Any, float]


@dataclass(frozen=True)
class Mechanism:
    """A release: its law, its price, and where it looks."""

    law: Callable[[Histogram], Law]
    price: Guarantee
    location: dict[str, Any] | None = None


def ball(place: int, radius: int) -> dict[str, Any]:
    return {
        "columns": ["x"],
        "metric": "euclidean",
        "center": [float(place)],
        "radius": float(radius),
        "ranges": [],
    }


def within(x: Histogram, place: int, radius: float) -> int:
    return sum(count for j, count in enumerate(x) if abs(j - place) <= radius)


def coin(truth: bool, epsilon: float) -> Law:
    right = 1 / (1 + math.exp(-epsilon))
    return {truth: right, not truth: 1 - right}


def response(place: int, more_than: int, epsilon: str) -> Mechanism:
    """Randomised response on one cell: the loss is epsilon, for everyone."""
    value = float(Fraction(epsilon))
    return Mechanism(lambda x: coin(x[place] > more_than, value), DifferentialPrivacy(epsilon))


def geometric(epsilon: str) -> Mechanism:
    """The number of records with two-sided geometric noise, cut off at both ends."""
    value = float(Fraction(epsilon))

    def release(x: Histogram) -> Law:
        found: dict[Any, float] = {}
        a = math.exp(-value)
        for shown in range(-1, CELLS * MOST + 2):
            distance = abs(shown - sum(x))
            weight = (1 - a) / (1 + a) * a**distance
            if shown in (-1, CELLS * MOST + 1):  # everything beyond
                weight = a**distance / (1 + a)
            found[shown] = weight
        return found

    return Mechanism(release, DifferentialPrivacy(epsilon))


def leaky(epsilon: str, delta: Fraction) -> Mechanism:
    """Randomised response that tells the whole database with probability delta."""
    value = float(Fraction(epsilon))

    def release(x: Histogram) -> Law:
        found = {k: v * float(1 - delta) for k, v in coin(sum(x) > 5, value).items()}
        return {**found, x: float(delta)}

    return Mechanism(release, DifferentialPrivacy(epsilon, delta))


def gaussian(rho: str) -> Mechanism:
    """The number of records with discrete Gaussian noise."""
    variance = 1 / (2 * float(Fraction(rho)))

    reach = range(-7, 8)
    weights = [math.exp(-(k**2) / (2 * variance)) for k in reach]

    def release(x: Histogram) -> Law:
        return {sum(x) + k: w / sum(weights) for k, w in zip(reach, weights, strict=True)}

    return Mechanism(release, ZeroConcentrated(rho))


def identify(place: int, beta: int, k: int, radius: int, epsilon: str) -> Mechanism:
    """Sensitive privacy at (beta + 1 - k, radius), by the product's own law."""
    value = Fraction(epsilon)

    def release(x: Histogram) -> Law:
        near = within(x, place, radius)
        truth = law.is_anomaly(x[place], near, beta=beta)
        bound = law.discrepancy(
            x[place], near, beta=beta, k=k, radius_is_zero=radius == 0, tight=True
        )
        wrong = 0.0 if bound is None else law.flip_probability(bound, value)
        return {truth: 1 - wrong, not truth: wrong}

    price = SensitivePrivacy.of(epsilon, beta=beta, k=k, radius=radius, columns=("x",))
    return Mechanism(release, price, ball(place, radius))


def screen(place: int, beta: int, radius: int, epsilon: str) -> Mechanism:
    """Differential privacy, looking at one ball."""
    value = Fraction(epsilon)

    def release(x: Histogram) -> Law:
        near = within(x, place, radius)
        truth = near + 1 <= beta
        wrong = law.flip_probability(beta - near if truth else near - beta + 1, value)
        return {truth: 1 - wrong, not truth: wrong}

    return Mechanism(release, DifferentialPrivacy(epsilon), ball(place, radius))


def tells_empty(places: tuple[int, ...], epsilon: str) -> Mechanism:
    """Tells exactly which of the places are empty; private only where that stays the same."""
    value = float(Fraction(epsilon))

    def release(x: Histogram) -> Law:
        empty = tuple(x[i] == 0 for i in places)
        return {(empty, k): p for k, p in coin(sum(x) > 4, value).items()}

    return Mechanism(release, ConditionalPrivacy(epsilon, f"empty {places} stays the same"))


def holds(condition: str, x: Histogram, y: Histogram) -> bool:
    places = eval(condition.removeprefix("empty ").removesuffix(" stays the same"))  # noqa: S307
    return all((x[i] == 0) == (y[i] == 0) for i in places)


A, B, C, D = range(4)
SEQUENCES: dict[str, tuple[Mechanism, ...]] = {
    "one response": (response(A, 1, "1/2"),),
    "two on one cell": (response(A, 1, "1/2"), response(A, 1, "1/4")),
    "two on two cells": (response(A, 1, "1/2"), response(B, 0, "1/4")),
    "count and response": (geometric("1/3"), response(C, 2, "1/5")),
    "two counts": (geometric("1/3"), geometric("1/10")),
    "one identify": (identify(A, 3, 1, 1, "1/2"),),
    "identify twice at one place": (identify(A, 3, 1, 1, "1/2"), identify(A, 3, 2, 1, "1/4")),
    "identify at both ends": (identify(A, 3, 1, 0, "1/2"), identify(D, 3, 1, 0, "1/2")),
    "identify far apart": (identify(A, 3, 1, 1, "1/2"), identify(D, 2, 1, 1, "1/3")),
    "identify, balls meet": (identify(A, 3, 1, 1, "1/2"), identify(C, 3, 1, 1, "1/2")),
    "identify, two radii": (identify(A, 3, 1, 1, "1/2"), identify(B, 4, 2, 2, "1/4")),
    "identify, four places": tuple(identify(i, 3, 1, 1, "1/4") for i in range(4)),
    "identify and response": (identify(A, 3, 1, 1, "1/2"), response(A, 2, "1/4")),
    "identify and count": (identify(B, 3, 1, 1, "1/2"), geometric("1/4")),
    "identify covering everyone": (identify(B, 3, 3, 1, "1/2"), response(B, 1, "1/4")),
    "screens far apart": (screen(A, 2, 1, "1/2"), screen(D, 2, 1, "1/2")),
    "screens that meet": (screen(A, 2, 1, "1/2"), screen(C, 2, 1, "1/3")),
    "screen and identify far apart": (screen(A, 2, 1, "1/2"), identify(D, 3, 1, 1, "1/2")),
    "screen and identify meet": (screen(B, 2, 1, "1/2"), identify(C, 3, 1, 1, "1/3")),
    "screens and a count": (screen(A, 2, 1, "1/2"), screen(D, 2, 1, "1/2"), geometric("1/5")),
    "a conditional release": (tells_empty((A, B), "1/2"),),
    "two conditions": (tells_empty((A, B), "1/2"), tells_empty((D,), "1/4")),
    "conditional and response": (tells_empty((A,), "1/2"), response(C, 1, "1/4")),
    "conditional and identify": (tells_empty((A, B), "1/2"), identify(C, 3, 1, 1, "1/4")),
    "all pure notions": (
        response(A, 0, "1/5"),
        screen(D, 2, 1, "1/4"),
        identify(B, 3, 1, 1, "1/3"),
        tells_empty((C,), "1/2"),
    ),
    "a leak": (leaky("1/2", Fraction(1, 2000)),),
    "a leak and a response": (leaky("1/2", Fraction(1, 2000)), response(B, 1, "1/4")),
    "a leak and identify": (leaky("1/2", Fraction(1, 2000)), identify(B, 3, 1, 1, "1/4")),
    "concentrated": (gaussian("1/2"),),
    "concentrated twice": (gaussian("1/2"), gaussian("1/4")),
    "concentrated and response": (gaussian("1/2"), response(A, 1, "1/4")),
    "concentrated and identify": (gaussian("1/2"), identify(B, 3, 1, 1, "1/4")),
    "concentrated and a leak": (gaussian("1/2"), leaky("1/4", Fraction(1, 2000))),
    "concentrated and conditional": (gaussian("1/2"), tells_empty((A,), "1/4")),
}


def joint(mechanisms: tuple[Mechanism, ...]) -> Callable[[Histogram], Law]:
    """The law of all answers together."""

    def release(x: Histogram) -> Law:
        found: dict[Any, float] = {(): 1.0}
        for mechanism in mechanisms:
            laws = mechanism.law(x)
            found = {
                (*before, answer): p * q
                for (before, p), (answer, q) in itertools.product(found.items(), laws.items())
            }
        return found

    return release


def reported(mechanisms: tuple[Mechanism, ...]) -> Any:
    """Spend it all on a fresh account and read the account."""
    with Ledger("sqlite://", geometry=BALLS) as ledger:
        ledger.open("line", budget=Budget.of(("100", DELTA)))
        for place, one in enumerate(mechanisms):
            order = ChargeRequest("ana", f"digest {place}", {}, one.price, one.location)
            held, _ = ledger.reserve("line", order)
            ledger.settle("line", held, None)  # type: ignore[arg-type]
            held.release()  # type: ignore[union-attr]
        assert verify(ledger, "line", geometry=BALLS).ok
        return ledger.snapshot("line").spent


def covered(total: Any, most: int = MOST) -> Iterator[tuple[Histogram, Histogram]]:
    """The pairs a promise speaks of."""
    for x, y, place in edges(CELLS, most):
        zones = getattr(total, "zones", ())
        conditions = getattr(total, "conditions", ())
        if all(z.everyone or within(y, place, z.radius) >= z.tau for z in zones) and all(
            holds(condition, x, y) for condition in conditions
        ):
            yield x, y


@pytest.mark.parametrize("name", SEQUENCES)
def test_the_real_loss_never_exceeds_the_report(name: str) -> None:
    mechanisms = SEQUENCES[name]
    account = reported(mechanisms)
    checked = 0
    for line in LINES:
        if account.unbounded(line):
            continue
        total = account.line(line, DELTA)
        # A loss with a delta takes long to measure: fewer databases, the same points.
        most = 1 if total.delta else MOST
        found = exhaust(
            joint(mechanisms), covered(total, most), float(total.epsilon), delta=float(total.delta)
        )
        assert found.ok, (line, found)
        checked += found.edges
    assert checked > 0


@pytest.mark.parametrize("name", SEQUENCES)
def test_an_account_agrees_with_plain_composition_where_nothing_is_located(name: str) -> None:
    prices = [mechanism.price for mechanism in SEQUENCES[name]]
    account = reported(tuple(Mechanism(m.law, m.price) for m in SEQUENCES[name]))
    composed = totals(prices, delta=DELTA / 2)
    for line, expected in zip(
        LINES, (composed.differential, composed.sensitive, composed.conditional), strict=True
    ):
        assert account.unbounded(line) == (expected is None)
        if expected is not None and not isinstance(expected, ZeroConcentrated):
            found = account.line(line, DELTA)
            assert found.epsilon == expected.epsilon
            assert getattr(found, "zones", ()) == getattr(expected, "zones", ())


def test_unbounded_is_said_when_it_is_so() -> None:
    """Where the report says unbounded, some pair does lose more than the sum of the prices."""
    for name, line in (
        ("identify at both ends", "differential"),
        ("identify and response", "differential"),
        ("a conditional release", "differential"),
        ("conditional and response", "sensitive"),
    ):
        mechanisms = SEQUENCES[name]
        account = reported(mechanisms)
        assert account.unbounded(line)
        total = float(sum(mechanism.price.epsilon for mechanism in mechanisms))
        everyone = ((x, y) for x, y, _ in edges(CELLS, MOST))
        assert not exhaust(joint(mechanisms), everyone, total).ok, name


def test_far_apart_costs_the_larger_and_not_the_sum() -> None:
    def cost(name: str) -> Fraction:
        return reported(SEQUENCES[name]).spent("sensitive", DELTA)

    assert cost("identify far apart") == Fraction(1, 2)
    assert cost("screens far apart") == Fraction(1, 2)
    assert cost("screen and identify far apart") == Fraction(1, 2)
    assert cost("identify, balls meet") == 1
    assert cost("screens that meet") == Fraction(5, 6)
    assert cost("screens and a count") == Fraction(7, 10)


def test_adaptive_questions_are_covered_by_what_their_path_cost() -> None:
    """The second question depends on the first answer; each path's report bounds that path."""
    first = identify(B, 3, 1, 1, "1/2")
    follow = {True: identify(A, 3, 1, 1, "1/3"), False: screen(D, 2, 0, "1/4")}

    def release(x: Histogram) -> Law:
        return {
            (answer, after): p * q
            for answer, p in first.law(x).items()
            for after, q in follow[answer].law(x).items()
        }

    totals_ = [reported((first, second)).line("sensitive", DELTA) for second in follow.values()]
    worst = max(total.epsilon for total in totals_)
    common = SensitivePrivacy(worst, max(t.tau for t in totals_), min(t.radius for t in totals_))
    assert exhaust(release, covered(common), float(worst)).ok


def test_a_broken_account_would_be_caught() -> None:
    """The check is sharp: charging the larger where balls meet would be too little."""
    mechanisms = SEQUENCES["screens that meet"]
    everyone = ((x, y) for x, y, _ in edges(CELLS, MOST))
    assert not exhaust(joint(mechanisms), everyone, 0.5).ok

"""Accounts as games: the most that any adaptive strategy gets beyond what an account claims.

One pair of neighbouring databases. A strategy chooses among a few releases, each as revealing as
its price allows: a coin that tells the world with odds e^ε, an approximate release tells it for
sure with probability δ. After every answer it may stop; stopping at a loss L of which the account
says ε is worth 1 - e^(ε - L), which on average must be at most the account's delta. The best
strategy is found backward over all numbers of releases and all losses, so it is the most there is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt

from whitecrow.exhaustive import Report
from whitecrow.ledger import Budget
from whitecrow.ledger.account import Account, Located
from whitecrow.privacy import UNITS_OF_LOSS, DifferentialPrivacy, Guarantee, ZeroConcentrated
from whitecrow_audit.verify.universes import Checks

UNIT = Fraction(1, 8)
"""Losses are whole multiples of this."""
DELTA = Fraction(1, 20)
BUDGET = Budget.of({"epsilon": "7/4", "delta": DELTA, "count_by": "either"})


@dataclass(frozen=True)
class Move:
    """A release: how many units its loss is, and what the account is told."""

    units: int
    told: float = 0.0  # the chance that it tells the world
    located: bool = False
    holds: bool = True  # whether its ball holds the record in question
    concentrated: bool = False

    @property
    def price(self) -> Guarantee:
        """Its price: no more than it reveals."""
        if self.concentrated:
            return ZeroConcentrated((self.units * UNIT) ** 2 / 2)
        return DifferentialPrivacy(self.units * UNIT, Fraction(self.told).limit_denominator(1000))


Counts = tuple[int, ...]
Claim = Callable[[Sequence[Move], Counts], float | None]
"""What is said of an account after so many of each move; None if the last was refused."""

PURE, LARGE = Move(1), Move(4)
APPROXIMATE = Move(1, told=float(DELTA / 4))
CONCENTRATED = Move(1, concentrated=True)
HERE, THERE = Move(1, located=True), Move(1, located=True, holds=False)
GAMES = {
    "pure and large": (PURE, LARGE),
    "pure and approximate": (PURE, APPROXIMATE),
    "pure and concentrated": (PURE, CONCENTRATED),
    "places": (HERE, THERE),
    "places and approximate": (HERE, THERE, APPROXIMATE),
}


def account(moves: Sequence[Move], counts: Counts, budget: Budget = BUDGET) -> Account:
    """Return the account after so many of each move."""
    sums, here, there = Account().counting(budget, 1), Fraction(0), Fraction(0)
    for move, many in zip(moves, counts, strict=True):
        for _ in range(many):
            extra = None
            if move.located:
                deepest = max(here, there)
                here += move.units * UNIT * move.holds
                there += move.units * UNIT * (not move.holds)
                extra = Located(*(max(here, there) - deepest,) * 2)
            sums = sums.with_release(move.price, extra)
    return sums


def as_charged(moves: Sequence[Move], counts: Counts) -> float | None:
    """What the ledger's rule says."""
    sums = account(moves, counts)
    stated = sums.spent("differential", DELTA)
    if stated is None or stated > BUDGET.differential or sums.delta > DELTA:
        return None
    return float(stated)


def most(moves: Sequence[Move], claim: Claim) -> tuple[float, int]:
    """The most that a strategy gets beyond the claim, and the number of accounts it may reach."""
    cache: dict[Counts, float | None] = {}

    def at(counts: Counts) -> float | None:
        if counts not in cache:
            cache[counts] = claim(moves, counts)
        return cache[counts]

    reached, edge = [(0,) * len(moves)], [(0,) * len(moves)]
    while edge:
        after = {_plus(counts, index) for counts in edge for index in range(len(moves))}
        edge = sorted(node for node in after if at(node) is not None)
        reached += edge
    widest = max(sum(n * move.units for n, move in zip(c, moves, strict=True)) for c in reached)
    losses = float(UNIT) * np.arange(-widest, widest + 1)
    values: dict[Counts, npt.NDArray[np.float64]] = {}
    for counts in reversed(reached):
        best = -np.expm1(-np.maximum(losses - (at(counts) or 0.0), 0))
        for index, move in enumerate(moves):
            rest = values.get(_plus(counts, index))
            if rest is not None:
                best = np.maximum(best, _asked(move, rest))
        values[counts] = best
    return float(values[reached[0]][widest]), len(reached)


def _plus(counts: Counts, index: int) -> Counts:
    return (*counts[:index], counts[index] + 1, *counts[index + 1 :])


def _asked(move: Move, rest: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """What a move is worth, at each loss before it."""
    if not move.holds:
        return rest
    true = 1 / (1 + math.exp(-move.units * float(UNIT)))
    up, down = np.zeros_like(rest), np.zeros_like(rest)
    up[: -move.units], down[move.units :] = rest[move.units :], rest[: -move.units]
    return move.told + (1 - move.told) * (true * up + (1 - true) * down)


def check(games: Sequence[str], claim: Claim = as_charged) -> Report:
    """Play games against a rule; what they get beyond its claim must be within delta."""
    worst, where, accounts = 0.0, "", 0
    for name in games:
        largest, many = most(GAMES[name], claim)
        accounts += many
        if largest >= worst:
            worst, where = largest, name
    return Report(accounts, len(games), worst, float(DELTA), where, "delta needed, of delta said")


# Mutants: rules that look right and are not


def _deltas_forgotten(moves: Sequence[Move], counts: Counts) -> float | None:
    """An approximate release counted as if it were pure."""
    return as_charged([Move(m.units, 0.0, m.located, m.holds) for m in moves], counts)


def _no_penalty(moves: Sequence[Move], counts: Counts) -> float | None:
    """The sum at the best order, read at a delta of 1."""
    sums = account(moves, counts).renyi
    assert sums is not None
    stated = min(sums.losses[0]) / UNITS_OF_LOSS
    return stated if stated <= BUDGET.differential else None


def _whole_delta(moves: Sequence[Move], counts: Counts) -> float | None:
    """Read at all of delta, while approximate releases may spend all of it too."""
    twice = Budget.of({"epsilon": "7/4", "delta": 2 * DELTA, "count_by": "either"})
    sums = account(moves, counts, twice)
    stated = sums.spent("differential", 2 * DELTA)
    return None if stated is None or stated > BUDGET.differential else float(stated)


def _when_wanted(moves: Sequence[Move], counts: Counts) -> float | None:
    """Half of delta set aside only by accounts that go beyond the sum of epsilon."""
    sums = account(moves, counts)
    if sums.epsilon <= BUDGET.differential and sums.delta <= DELTA:
        return float(sums.epsilon)
    return as_charged(moves, counts)


def _bounded_range(moves: Sequence[Move], counts: Counts) -> float | None:
    """Every pure release counted by ε²/8."""
    sums = account(moves, counts).renyi
    assert sums is not None
    read = sums.bounds(0, Fraction(0), DELTA / 2)
    losses = zip(sums.losses[0], read, strict=True)
    stated = min(bound - loss + loss / 4 for loss, (_, bound) in losses) / UNITS_OF_LOSS
    return stated if stated <= BUDGET.differential else None


def _other_balls(moves: Sequence[Move], counts: Counts) -> float | None:
    """Places priced by the balls that do not hold the record; after 60 that do, it is enough."""
    if sum(counts) > 60:
        return None
    others = [Move(m.units, m.told, m.located, not m.holds) for m in moves if not m.holds]
    return as_charged(others, tuple(n for m, n in zip(moves, counts, strict=True) if not m.holds))


def _fixed_number(moves: Sequence[Move], counts: Counts) -> float | None:
    """What is exact for so many pure releases, fixed beforehand, read along the way."""
    (many,) = counts
    return _exact(many) if _exact(many) <= BUDGET.differential else None


def _exact(many: int) -> float:
    """The least epsilon for which ``many`` coins need half of delta."""
    true = 1 / (1 + math.exp(-float(UNIT)))
    law = [
        (float(UNIT) * (2 * k - many), math.comb(many, k) * true**k * (1 - true) ** (many - k))
        for k in range(many + 1)
    ]
    low, high = 0.0, many * float(UNIT)
    for _ in range(50):
        middle = (low + high) / 2
        needed = sum(p * -math.expm1(min(0.0, middle - loss)) for loss, p in law)
        low, high = (middle, high) if needed > DELTA / 2 else (low, middle)
    return high


GAMES["pure"] = (PURE,)
CHECKS: Checks = {
    **{f"either rule: {name}": partial(check, [name]) for name in GAMES if name != "pure"},
    **{
        f"mutant: {words}": partial(check, [game], rule)
        for words, game, rule in (
            ("an approximate release counted as pure", "pure and approximate", _deltas_forgotten),
            ("read at a delta of 1", "pure and large", _no_penalty),
            ("all of delta read and spent", "pure and approximate", _whole_delta),
            ("delta set aside only when wanted", "pure and approximate", _when_wanted),
            ("every pure release counted by ε²/8", "pure", _bounded_range),
            ("places priced by other balls", "places", _other_balls),
            ("a sum fixed beforehand read along the way", "pure", _fixed_number),
        )
    },
}

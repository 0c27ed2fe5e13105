"""Sites that add up, audited: one cell's sum, through shares of noise and masks.

One person at the first of three sites is the whole difference.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from fractions import Fraction
from functools import partial

import numpy as np

from whitecrow.histogram.noise_budget import NoiseBudget
from whitecrow.sites import Circle, Member, SharedNoiseBudget, Words
from whitecrow_audit.audit.bounds import Loss
from whitecrow_audit.audit.case import Case, Draw, Laws, both
from whitecrow_audit.verify.learn import share_sum_law

_SITES = ("north", "south", "west")
_EPSILON = 2
_CELLS = 500
_SECRETS = {
    frozenset(pair): bytes([number]) * 32
    for number, pair in enumerate((("north", "south"), ("north", "west"), ("south", "west")))
}


def _round(count: int, silent: bool) -> list[Hashable]:
    """Run one round: every site sends in turn, the last to send is told the sum.

    A round is as dear for many cells as for one, so it has many: independent draws of one answer.
    """
    sent: list[Words] = []

    def exchange(number: int, hidden: Words) -> Words:
        sent.append(hidden)
        return np.asarray(np.sum(np.stack(sent), axis=0, dtype=np.uint64))

    circle = Circle("audit", _SITES, honest=3)
    total = np.zeros(_CELLS, dtype=np.int64)
    for name in _SITES:
        secrets = {other: _SECRETS[frozenset((name, other))] for other in _SITES if other != name}
        member = Member(circle, name, secrets, exchange)
        member.numbers = [0]  # one site after the other: nobody waits for the others' numbers
        budget = NoiseBudget("laplace", Fraction(_EPSILON), "add_remove", 1)
        counts = np.full(_CELLS, count if name == "north" else 0)
        if silent and name == "west":
            total = member.sum(counts)
        else:
            noise = SharedNoiseBudget.at(budget, member).histograms(Fraction(1), 1)
            total = noise.added(counts, None)
    return [bool(high) for high in total >= 1]


def _drawn(silent: bool, count: int) -> Draw:
    """Hand out the cells of rounds one by one."""
    left: list[Hashable] = []

    def draw() -> Hashable:
        if not left:
            left.extend(_round(count, silent))
        return left.pop()

    return draw


def _laws(shares: int, factor: Fraction) -> Laws:
    # The noise's scale is rounded up to a multiple of 1/1024.
    size = (
        NoiseBudget("laplace", _EPSILON * factor, "add_remove", 1).histograms(Fraction(1), 1).size
    )
    law = share_sum_law(float(1 / size), 3, shares)
    middle = len(law) // 2
    p, q = (float(law[middle + 1 - count :].sum()) for count in (0, 1))
    return {False: 1 - p, True: p}, {False: 1 - q, True: q}


def cases() -> Iterator[Case]:
    for name, silent in (
        ("a secure sum of three sites, Laplace", False),
        ("mutant: a secure sum whose third site adds no noise", True),
    ):
        drawn = partial(_drawn, silent)
        yield Case(
            "learn",
            name,
            Loss(float(_EPSILON)),
            "no records at three sites ~ one record at the first",
            partial(_laws, 2 if silent else 3),
            partial(both, drawn, (0, 1)),
            most=30_000,
            note="One cell of one histogram; the sum is what the coordinator adds up.",
        )

"""Private choice: the exponential mechanism, permute-and-flip, and the h best by peeling."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import partial

from whitecrow.noise._exact import COIN_WIDTH, WIDTH, Bounds, Table, exp_neg, toss
from whitecrow.noise._source import (
    Rational,
    Source,
    positive_whole,
    ratio,
    ratios,
    refuse,
    system_source,
)

_BITS = 128


def level_table(
    levels: Sequence[Rational], counts: Sequence[int], eta: Fraction, width: int = WIDTH
) -> Table:
    """Return the table of weights ``counts[l] * e^(-eta (best - levels[l]))``; arguments trusted.

    Levels are visited from the best down; each exponential is the one before times that of the
    step, so that thousands of evenly spaced levels cost one exponential.
    """
    order = sorted(filter(counts.__getitem__, range(len(levels))), key=lambda i: -levels[i])
    best = levels[order[0]]
    low, high = [0] * len(levels), [0] * len(levels)
    falls: dict[Rational, Bounds] = {}
    least, most, previous = 1 << _BITS, 1 << _BITS, best
    for index in order:
        step = previous - levels[index]
        if step:
            if step not in falls:
                falls[step] = exp_neg(*(eta * step).as_integer_ratio(), _BITS)
            least = least * falls[step][0] >> _BITS
            most = (most * falls[step][1] >> _BITS) + 1
            previous = levels[index]
        low[index], high[index] = counts[index] * least, counts[index] * most

    def refine(index: int, bits: int) -> Bounds:
        if not counts[index]:
            return 0, 0
        least, most = exp_neg(*(eta * (best - levels[index])).as_integer_ratio(), bits)
        return counts[index] * least, counts[index] * most

    return Table(low, high, _BITS, refine, width)


def exponential_levels(
    levels: Iterable[Rational], counts: Iterable[int], eta: Rational, source: Source | None = None
) -> int:
    """Return the index of a level with probability proportional to ``counts[l] e^(eta levels[l])``.

    The exponential mechanism over very many candidates that share few utilities: draw a level here,
    then one of its candidates uniformly. With utilities of sensitivity D the choice is ``2 eta
    D``-DP.

    Examples
    --------
    >>> exponential_levels([0, 1], [10**6, 1], eta=1000)
    1
    """
    owner = "exponential_levels"
    heights = ratios(levels, owner, "levels")
    sizes = ratios(counts, owner, "counts")
    if len(sizes) != len(heights):
        raise refuse(owner, "counts", "as long as 'levels'", "another length")
    whole = [int(size) for size in sizes]
    if any(size < 0 for size in sizes) or whole != sizes or not any(whole):
        raise refuse(owner, "counts", "whole numbers of at least 0, not all 0", "other numbers")
    rate = Fraction(*ratio(eta, owner, "eta", zero=True))
    return level_table(heights, whole, rate).draw(source or system_source())


def choose(utilities: Sequence[Rational], eta: Fraction, source: Source, width: int = WIDTH) -> int:
    """Draw by the exponential mechanism: a level, then one of its members; arguments trusted."""
    members: dict[Rational, list[int]] = {}
    for index, utility in enumerate(utilities):
        members.setdefault(utility, []).append(index)
    levels = list(members)
    table = level_table(levels, [len(members[level]) for level in levels], eta, width)
    chosen = members[levels[table.draw(source)]]
    return chosen[source.below(len(chosen))]


def exponential_mechanism(
    utilities: Iterable[Rational], eta: Rational, source: Source | None = None
) -> int:
    """Return an index with probability proportional to ``e^(eta * utilities[index])``.

    McSherry and Talwar (2007). With utilities of sensitivity D the choice is ``2 eta D``-DP, and
    ``eta D``-DP where a change of the data moves all utilities the same way (docs/mechanisms.md
    4.1).

    Examples
    --------
    >>> exponential_mechanism([0, 5, 1], eta=1000)
    1
    """
    owner = "exponential_mechanism"
    rate = Fraction(*ratio(eta, owner, "eta", zero=True))
    return choose(ratios(utilities, owner, "utilities"), rate, source or system_source())


def permute_and_flip(
    utilities: Iterable[Rational], eta: Rational, source: Source | None = None
) -> int:
    """Return an index by permute-and-flip: candidates in random order, the first heads wins.

    McKenna and Sheldon (2020): the coin of a candidate shows heads with probability ``e^(-eta (best
    - utility))``. Same price as :func:`exponential_mechanism`, never a worse expected utility.

    Examples
    --------
    >>> permute_and_flip([0, 5, 1], eta=1000)
    1
    """
    owner = "permute_and_flip"
    rate = Fraction(*ratio(eta, owner, "eta", zero=True))
    return flip_in_order(ratios(utilities, owner, "utilities"), rate, source or system_source())


def flip_in_order(
    utilities: Sequence[Rational], eta: Fraction, source: Source, width: int = COIN_WIDTH
) -> int:
    """Draw by permute-and-flip; the arguments are trusted.

    The random order is made as it is walked: a step of Fisher and Yates, then the coin.
    """
    best = max(utilities)
    order = list(range(len(utilities)))
    while True:
        pick = source.below(len(order))
        order[-1], order[pick] = order[pick], order[-1]
        candidate = order.pop()
        chance = partial(exp_neg, *(eta * (best - utilities[candidate])).as_integer_ratio())
        # The best candidate's coin always shows heads, so the walk ends before the list does.
        if toss(source, chance, width):
            return candidate


def top(
    utilities: Iterable[Rational], eta: Rational, h: int, source: Source | None = None
) -> list[int]:
    """Return ``h`` different indices, best first, by peeling.

    The exponential mechanism ``h`` times, each on the candidates that are left: with utilities of
    sensitivity D the list is ``2 h eta D``-DP (docs/mechanisms.md 3.4).

    Examples
    --------
    >>> top([0, 5, 1], eta=1000, h=2)
    [1, 2]
    """
    rate = Fraction(*ratio(eta, "top", "eta", zero=True))
    values = ratios(utilities, "top", "utilities")
    if positive_whole(h, "top", "h") > len(values):
        raise refuse("top", "h", "at most the number of utilities", "a greater number")
    source = source or system_source()
    left = list(range(len(values)))
    chosen = []
    for _ in range(h):
        pick = choose([values[index] for index in left], rate, source)
        chosen.append(left.pop(pick))
    return chosen

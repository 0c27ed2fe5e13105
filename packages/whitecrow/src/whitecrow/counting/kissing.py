"""How many points fit in a ball when no two of them are close: the bound under every count.

If one record comes or goes, the records whose status flips all lie within the radius of one place
and each has at most ``beta - 1`` others of them within its own radius. A largest subset of them
without close pairs therefore has at least a ``beta``-th of them, and such a subset has at most
K members, K the number this module bounds. So the count of outliers moves by at most
``beta * K`` (docs/mechanisms.md 3.2).

Euclidean space. Two points of a ball, more than a radius apart, are seen from its centre under an
angle above 60 degrees, so K is at most the kissing number. The table holds proved upper bounds:

* 1 and 3: the kissing numbers 2 and 12 (Schütte and van der Waerden 1953);
* 2: 5, because six points at angles *above* 60 degrees do not fit, see below;
* 4: 24 (Musin 2008); 8: 240 and 24: 196560 (Levenshtein 1979; Odlyzko and Sloane 1979);
* 5 to 7 and 9 to 13: semidefinite programming (Mittelmann and Vallentin 2010);
* 14 to 23: linear programming (Odlyzko and Sloane 1979); the sharper semidefinite values could
  not be confirmed at the source and are left out;
* above 24: 3^d, by volume.

**Rounding.** Nearness is decided in double precision. Six doubles near the corners of a regular
hexagon can be close to its centre and, by a rounding in the last bit, not close to each other
(`tests/count/test_kissing.py` has such six). In the plane the bound is then 6. It is 5 where the
arithmetic is exact: whole numbers of moderate size. In the other dimensions of the table one
more point needs angles well below 60 degrees, out of reach of rounding; on the line monotone
rounding proves 2 directly.
"""

from __future__ import annotations

from collections.abc import Sequence

from whitecrow.data import Card
from whitecrow.errors import InvalidInput

KISSING: tuple[int, ...] = (
    2, 6, 12, 24, 44, 78, 134, 240, 364, 554, 870, 1357, 2069,
    3492, 5431, 8313, 12215, 17877, 25901, 37974, 56852, 86537, 128096, 196560,
)  # fmt: skip
"""Upper bounds of the kissing number in dimension 1, 2, ..., 24."""

_WHOLE = 1 << 24
_MARGIN = 1.0 + 1e-9
_MOST_SUMS = 100_000


def separated(
    dimension: int, metric: str = "euclidean", *, radius: float = 1.0, exactly: bool = True
) -> int:
    """Bound the number of points of a closed ball no two of which are within its radius.

    In a maximum norm two points of one orthant about the centre are close, so 2^d; for a norm in
    general 3^d, by volume. Records within a radius of 0 are equal, hence close to each other.
    ``exactly`` says that distances are computed without rounding.

    Examples
    --------
    >>> [separated(d) for d in (1, 2, 3, 4, 7)]
    [2, 5, 12, 24, 134]
    >>> separated(2, exactly=False)
    6
    """
    if radius == 0 or dimension == 0:
        return 1
    if dimension == 1:
        return 2
    if metric == "chebyshev":
        return int(2**dimension)
    if metric != "euclidean" or dimension > len(KISSING):
        return int(3**dimension)
    if dimension == 2 and exactly:
        return 5
    return KISSING[dimension - 1]


def separated_mixed(numbers: int, categories: Sequence[tuple[int, float]], radius: float) -> int:
    """Bound the same number where distances are summed over numbers and categories.

    Sort the points of the ball by their categories. Those that differ from the centre by a weight
    ``w`` in all are within ``radius - w`` of it in their numbers, and closer to each other than
    twice that: one alone where ``w`` is more than half the radius, else as many as the numbers
    allow; where ``w`` is more than the radius, none (`count/proof.md`, "Numbers and categories").

    ``numbers`` is the bound for the columns of numbers alone, 1 if there are none; ``categories``
    has for each column of them how many there are, and the distance of two.

    Examples
    --------
    >>> separated_mixed(2, [(5, 1.0)], 0.5), separated_mixed(2, [(5, 1.0)], 1.5)
    (2, 6)
    >>> separated_mixed(2, [(5, 1.0)], 4.0), separated_mixed(1, [(2, 1.0), (2, 1.0)], 1.0)
    (10, 3)
    """
    ways: dict[float, int] = {0.0: 1}
    for level, weight in categories:
        grown = dict(ways)
        for total, number in ways.items():
            # A margin, that no rounding on the way to the distance may put a record nearer.
            if (more := total + weight) <= radius * _MARGIN:
                grown[more] = grown.get(more, 0) + number * (level - 1)
        if len(grown) > _MOST_SUMS:
            raise InvalidInput(
                "The scales of these categories make too many different distances to bound how "
                "many records one can be near. Use a smaller radius, fewer columns, or equal "
                "scales."
            )
        ways = grown
    return sum(
        number * (1 if 2.0 * total > radius * _MARGIN else numbers)
        for total, number in ways.items()
    )


def computed_exactly(columns: Sequence[str], card: Card) -> bool:
    """Say whether distances over these columns are free of rounding, by the card alone.

    Whole numbers up to 2^24 in size have differences below 2^26 whose squares, and the sum of
    two of them, are whole numbers below 2^53. Bounds and fills of such columns are whole.

    Examples
    --------
    >>> from whitecrow.data import Column
    >>> card = Card("c", (Column("age", "integer", 0, 120), Column("bmi", lower=10, upper=80)))
    >>> computed_exactly(["age"], card), computed_exactly(["age", "bmi"], card)
    (True, False)
    """
    return all(
        column.type in ("integer", "date")
        and column.lower is not None
        and column.upper is not None
        and max(abs(column.lower), abs(column.upper)) <= _WHOLE
        for column in map(card.column, columns)
    )


def global_sensitivity(
    beta: int,
    dimension: int,
    relation: str,
    *,
    metric: str = "euclidean",
    radius: float = 1.0,
    exactly: bool = True,
    size: int | None = None,
    categories: Sequence[tuple[int, float]] = (),
) -> int:
    """Bound how far the number of outliers moves when one record changes.

    Under ``replace_one`` the record may itself change its status, and the size is the same on
    both sides of every pair, so it may serve as a bound (errata E14, E17: not under
    ``add_remove``). ``categories`` are those of :func:`separated_mixed`; the dimension counts
    their columns too.

    Examples
    --------
    >>> global_sensitivity(3, 2, "add_remove"), global_sensitivity(3, 2, "replace_one")
    (15, 16)
    """
    numbers = dimension - len(categories)
    alone = separated(numbers, metric, radius=radius, exactly=exactly)
    most = beta * (separated_mixed(alone, categories, radius) if categories else alone)
    if relation == "add_remove":
        return most
    return most + 1 if size is None else min(size, most + 1)

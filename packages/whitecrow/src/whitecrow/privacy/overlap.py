"""What several releases about several datasets promise each person together."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from whitecrow.errors import InvalidInput, invalid
from whitecrow.privacy.guarantees import DifferentialPrivacy


def joint_promise(
    prices: Sequence[DifferentialPrivacy], apart: bool, overlap: int
) -> tuple[DifferentialPrivacy, str]:
    """Return the promise of releases that were made by several sites, and why it is that.

    A person loses what the datasets cost that hold their records: at most the dearest few. Each
    site's release is private for every person, whatever the other sites' data are, so the losses
    of those that a person is in add up, and the others have none.

    Parameters
    ----------
    prices : sequence of DifferentialPrivacy
        One a site, in one unit.
    apart : bool
        Whether nobody has records at two sites.
    overlap : int
        At how many sites one person may have records; 0 for all of them, or one if apart.

    Examples
    --------
    >>> prices = [DifferentialPrivacy(one) for one in ("1", "1/2", "1/4")]
    >>> joint_promise(prices, False, 2)[0].epsilon
    Fraction(3, 2)
    """
    count = len(prices)
    overlap = overlap or (1 if apart else count)
    if not 1 <= overlap <= count or (apart and overlap != 1):
        raise invalid("merge", "overlap", f"from 1 to {count}, and 1 if apart", overlap)
    if len({price.unit for price in prices}) > 1:
        raise InvalidInput("Releases whose promises have different units do not merge.")
    joint = DifferentialPrivacy(
        _dearest([price.epsilon for price in prices], overlap),
        _dearest([price.delta for price in prices], overlap),
        prices[0].unit,
    )
    return joint, _reason(overlap, count)


def _dearest(parts: list[Fraction], overlap: int) -> Fraction:
    return sum(sorted(parts)[-overlap:], Fraction(0))


def _reason(overlap: int, count: int) -> str:
    if overlap == 1:
        return "nobody has records in two of their datasets"
    if overlap < count:
        return f"nobody has records in more than {overlap} of their datasets"
    return "their promises add up"

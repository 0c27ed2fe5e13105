"""What ``describe`` says of a detector, from public facts alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whitecrow.data import Card
from whitecrow.learn.recipe import families, marginal_share
from whitecrow.question import Description

if TYPE_CHECKING:
    from whitecrow.learn.question import Learn

__all__ = ["described", "enough_records"]


def enough_records(question: Learn, card: Card) -> int:
    """Return from about how many records on a detector is worth its price.

    Measured on public sets (``research``): where the noise of a count is below about an eighth of
    the records, detectors were level with Isolation Forest without privacy.
    """
    money = question.money(card)
    first = marginal_share(money.law, money.total)
    wanted = families(money.law, 4000.0, money.total)
    tables = sum(count for _, count in wanted)
    noise = money.histograms(question.shares[0] * (1 - first), tables).deviation
    return int(-(-8 * noise // 100) * 100)


def described(question: Learn, card: Card) -> Description:
    """Return the words and the figures of a description."""
    price = question.price(card)
    names = question.names(card)
    bought = [name for name in names if not card.column(name).bounded and not _category(card, name)]
    enough = enough_records(question, card)
    words = [
        f"A detector over {len(names)} columns: noisy counts of all records in a few hundred "
        "public tables. It scores any number of records at no further price.",
        f"On public data such detectors were level with Isolation Forest from about {enough:,} "
        "records on, and ahead from five times as many; with fewer, noise rules.",
    ]
    if bought:
        words.append(
            f"The card has no bounds for {', '.join(bought[:5])}"
            f"{', ...' if len(bought) > 5 else ''}; a grid for them is bought within the price."
        )
    if question.rates:
        rates = ", ".join(f"{float(rate):.2%}" for rate in question.rates)
        words.append(
            f"Thresholds for false alarms of {rates} take {float(question.shares[1]):.0%} of the "
            "price; where the data are too few for one, the detector says so."
        )
    else:
        words.append("No threshold is bought: name false_alarms to get one.")
    figures = {
        "columns": list(names),
        "enough_records": enough,
        "columns_without_bounds": bought,
        "threshold_share": float(question.shares[1]),
    }
    return Description(f"{' '.join(words)} {price.statement()}", price, figures)


def _category(card: Card, name: str) -> bool:
    return card.column(name).type == "category"

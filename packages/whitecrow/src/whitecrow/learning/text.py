"""What ``describe`` says of a detector, from public facts alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whitecrow.data import Card
from whitecrow.learning.quality import expected, worth_it
from whitecrow.question import JSON

if TYPE_CHECKING:
    from whitecrow.learning.question import Learn


def described(question: Learn, card: Card, records: int | None) -> tuple[str, dict[str, JSON]]:
    """Return the words and the figures of a description.

    Parameters
    ----------
    question : Learn
    card : Card
    records : int, optional
        A public guess; the card's size where it has one.
    """
    names = question.names(card)
    bought = [name for name in names if not card.column(name).bounded and not _category(card, name)]
    # Noise grows with the records of a person, so the price is worth that much less.
    paid = float(question.epsilon * question.shares[0]) / card.contribution
    law = question.money(card).law
    enough = worth_it(law, paid, len(names))
    words = [
        f"A detector over {len(names)} columns: noisy counts of all records in a few hundred "
        "public tables. It scores any number of records at no further price.",
    ]
    size = records or card.size
    figures: dict[str, JSON] = {}
    if size:
        found = expected(law, paid, len(names), size)
        figures = {"expected_auc": round(found.auc, 3), "expected_lead": round(found.lead, 3)}
        words.append(
            f"On public sets of about {size:,} records such detectors had a mean ROC-AUC of "
            f"{found.auc:.2f}, {abs(found.lead):.2f} {'above' if found.lead >= 0 else 'below'} an "
            "Isolation Forest without privacy."
        )
        if found.too_small:
            words.append("Epsilon is too small for so few records: noise rules.")
    words.append(
        "At this price 30,000 records were still too few to be level with such a forest."
        if enough is None
        else f"They were level with such a forest from about {enough:,} records on."
    )
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
    figures |= {
        "columns": list(names),
        "enough_records": enough,
        "columns_without_bounds": bought,
        "threshold_share": float(question.shares[1]),
    }
    return " ".join(words), figures


def _category(card: Card, name: str) -> bool:
    return card.column(name).type == "category"

"""Cards from and to the metadata that others publish: CSVW and Croissant."""

from __future__ import annotations

from typing import Any

from whitecrow.card import Card
from whitecrow.errors import InvalidInput, invalid
from whitecrow_metadata._carried import Carried, parsed
from whitecrow_metadata._croissant import from_croissant, is_croissant, to_croissant
from whitecrow_metadata._csvw import from_csvw, is_csvw, to_csvw

__all__ = ["FORMATS", "Carried", "exported", "imported"]

FORMATS = ("csvw", "croissant")


def imported(text: str) -> Carried[Card]:
    """Return the card that a CSVW or Croissant description says, and what of it is not carried.

    Raises
    ------
    InvalidInput
        It is neither, or describes no single table.
    """
    content = parsed(text)
    if is_csvw(content):
        return from_csvw(content)
    if is_croissant(content):
        return from_croissant(content)
    raise InvalidInput(
        "The metadata are neither CSVW (@context http://www.w3.org/ns/csvw, with a tableSchema) "
        "nor Croissant (@type sc:Dataset, with a recordSet)."
    )


def exported(card: Card, form: str, *, file: str = "") -> Carried[dict[str, Any]]:
    """Return a card as CSVW or Croissant metadata, and what of it they have no place for.

    Parameters
    ----------
    card : Card
    form : {"csvw", "croissant"}
    file : str, optional
        The CSV file that CSVW metadata describe; by default called like the card.
    """
    if form not in FORMATS:
        raise invalid("the metadata", "format", "'csvw' or 'croissant'", form)
    return to_csvw(card, file=file) if form == "csvw" else to_croissant(card)

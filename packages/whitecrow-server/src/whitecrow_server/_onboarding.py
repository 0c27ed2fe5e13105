"""From a file that nobody has described to a first question: drafted cards, and a model to ask by.

Each act with its authorisation, as in :mod:`whitecrow_server._service`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from whitecrow.card import Card, CsvFormat, TableChoice
from whitecrow.curator.drafts import Draft, reviewed
from whitecrow.curator.models import ModelAdvice, compared
from whitecrow.errors import InvalidInput
from whitecrow_server import _uploads as uploads
from whitecrow_server._people import Person, need
from whitecrow_server._processes import sketched
from whitecrow_server._untrusted_input import well_formed

if TYPE_CHECKING:
    from whitecrow_server._service import Service

MOST_COMPARED = 32
"""Over how many columns a service advises: made-up records are compared in all of them."""


class Onboarding:
    """The steps before the first question."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def sketch(
        self,
        who: Person,
        source: Mapping[str, Any],
        *,
        csv: Mapping[str, Any],
        table: Mapping[str, Any],
    ) -> tuple[Card, bool]:
        """Return the names and types of a source's columns, and whether the types are guesses.

        The types of a CSV are guessed from its first rows: for the custodian's eyes, to be checked.
        """
        need(who, "custodian")
        records = self._service.catalogue.records(source)
        CsvFormat(**csv), TableChoice(**table)  # refused here, in words for the form
        return sketched(records, csv=csv, table=table, guess=True)

    def clean_uploads(self) -> None:
        """Remove what was sent and never registered, or did not arrive whole."""
        sources = [one.source for one in self._service.catalogue.all()]
        files = [str(source["file"]) for source in sources if "file" in source]
        uploads.clean(self._service.settings, files)

    def drafts(self, who: Person, name: str) -> list[Draft]:
        """The cards that profiles of a dataset drafted, the newest first."""
        need(who, "custodian")
        self._service.listing(who, name)
        return self._service.told.drafts(name)

    def accept(
        self, who: Person, name: str, draft: Mapping[str, Any] | str, *, reason: str = ""
    ) -> dict[str, Any]:
        """Put a drafted card in force, as it is or edited; the chain keeps which lines were."""
        need(who, "custodian")
        self._service.listing(who, name)
        found = well_formed(lambda: reviewed(draft, self._service.ledger, name))
        self._service.amend(who, name, reason=found.reason(reason), card=found.card.to_json())
        return {"card": found.card.to_json(), "edited": list(found.edited)}

    def advise(
        self,
        who: Person,
        name: str,
        *,
        contamination: str | float,
        columns: Sequence[str] | None = None,
        metric: str = "standardised",
        **how: Any,
    ) -> ModelAdvice:
        """Find a model for a wanted share of outliers, from public facts; spends nothing.

        Where a profile was bought, made-up records are drawn from the newest: for an analyst from
        their own, since what others asked is not theirs to know.
        """
        need(who, "analyst", "custodian")
        curator = self._service.curator(who, name)
        over = compared(curator.card, metric) if columns is None else tuple(columns)
        if len(over) > MOST_COMPARED:
            raise InvalidInput(
                f"A service advises over at most {MOST_COMPARED} columns; name those that matter."
            )
        mine = who.name if who.role == "analyst" else None
        found = self._service.told.drafts(name, analyst=mine, limit=1)
        profile = found[0].profile if found else None
        # As it is written: 0.01 and not the double next to it.
        share = str(contamination)
        how |= {"columns": list(over), "metric": metric}
        bought = None if profile is None else profile.to_json()
        advice = self._service.aside.advice(curator, who.name, share, bought, how)
        return ModelAdvice.from_json(advice)

"""The custodian's acts on an account, as methods of a curator; the chain keeps each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from whitecrow.curator.drafts import Accepted, accept_draft
from whitecrow.curator.execution import Elsewhere
from whitecrow.data import Records
from whitecrow.data.intake import intake_of
from whitecrow.errors import AccountConflict, RecordsElsewhere
from whitecrow.histogram.table import TableProfile
from whitecrow.ledger import Entry, Ledger
from whitecrow.ledger.failures import failures, review
from whitecrow.terms import Budget, Policy


class Custody:
    """Change the promise, accept cards, cap analysts, give spends back, review failures."""

    name: str
    _ledger: Ledger
    _dataset: Records | Elsewhere

    def intake(self) -> dict[str, Any]:
        """Say how many rows were read, kept, left out and mended, by reason: facts.

        For the custodian alone, who holds the data; an analyst must never see them.

        Raises
        ------
        RecordsElsewhere
            If another process holds the records: a service shows them to its custodians.
        """
        found = intake_of(self._dataset)
        if found is None:
            raise RecordsElsewhere(
                "What became of the rows is shown to the service's custodians alone."
            )
        return found

    def amend(
        self,
        *,
        reason: str,
        budget: object = None,
        policy: Policy | Mapping[str, Any] | str | Path | None = None,
    ) -> None:
        """Change the promise: the budget, the policy, or both. The chain keeps the reason."""
        rules = None if policy is None else Policy.of(policy)
        if rules is not None and rules.unit != self._ledger.snapshot(self.name).rules.unit:
            raise AccountConflict("The unit of an account is fixed when it is opened.")
        self._ledger.amend(
            self.name,
            reason=reason,
            budget=None if budget is None else Budget.of(budget),
            policy=None if rules is None else rules.to_json(),
        )

    def accept(
        self, draft: TableProfile | Mapping[str, Any] | str, *, reason: str = ""
    ) -> Accepted:
        """Accept the card that a profile of this account drafted, as it is or edited.

        The chain keeps the card and which lines were edited. Open the data with it from then on:
        ``Curator.open(data, card=curator.accept(profile).card)``.

        Parameters
        ----------
        draft : TableProfile, mapping or str
            The profile, or its draft as JSON (:meth:`whitecrow.TableProfile.draft`) or TOML; lines
            that were changed become the custodian's own word.
        reason : str, optional
            Why, in words.
        """
        return accept_draft(draft, self._ledger, self.name, reason=reason)

    def allow(self, analyst: str, budget: object, *, reason: str) -> None:
        """Cap what one analyst may spend, beside the dataset's own cap; None lifts the cap."""
        self._ledger.allow(
            self.name, analyst, None if budget is None else Budget.of(budget), reason=reason
        )

    def unsettled(self) -> list[Entry]:
        """Spends without an answer (interrupted or failed): kept, and voidable."""
        return self._ledger.unsettled(self.name)

    def void(self, seq: int, *, reason: str) -> None:
        """Give back a spend that never led to an answer."""
        self._ledger.void(self.name, seq, reason=reason)

    def failures(self) -> list[Entry]:
        """Failures that nobody has reviewed: while there are any, no new question is answered."""
        return failures(self._ledger, self.name)

    def review(self, seq: int, *, reason: str) -> None:
        """Say that a failure was looked at; after the last one, questions are answered again.

        The spend is kept. :meth:`void` gives it back and is a review as well. Look into the
        custodian's log first: a failure that depends on the records tells about them, and asked
        again it tells once more.
        """
        review(self._ledger, self.name, seq, reason=reason)

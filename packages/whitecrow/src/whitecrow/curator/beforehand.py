"""What is known before a question is asked: its refusal, or an answer that was given before.

Nothing is computed, written or spent here, and everything depends on public facts: the question,
the card, the policy, the account, and answers that may be told already. So a refusal or an answer
of this kind may leave at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whitecrow.curator.execution import failure
from whitecrow.curator.series import series_order
from whitecrow.ledger.lookup import stored
from whitecrow.question import Question, Release, released
from whitecrow.questions import type_of

if TYPE_CHECKING:
    from whitecrow.curator.curator import Curator


def known_answer(curator: Curator, question: Question, *, analyst: str) -> Release | None:
    """Return an answer that may be told already, free; None if the question has to be asked.

    Raises
    ------
    InvalidInput, PolicyViolation, BudgetExhausted
        What asking would refuse.
    ComputationFailed
        It was asked before, and that failed.
    """
    price = curator.price(question)
    order = series_order(curator._order(question, price, analyst), question, curator)
    known = stored(curator.ledger, curator.name, order.digest, analyst, curator._rule(order))
    if known is None:
        refusal = curator.ledger.quote(curator.name, [order]).refusal
        if refusal is not None:
            raise refusal
        return None
    # What is kept of a series is shown by asking for a step of it.
    if known.outcome is None or type_of(question).series is not None:
        return None
    if not known.outcome.answered:
        raise failure()
    said = curator._wording.said(question, price, curator.card, curator.revision)
    answer = known.outcome.answer
    return released(question, price, analyst, answer, known.snapshot, said, charged=False)


def public_facts(curator: Curator) -> dict[str, Any]:
    """What another process must know to price questions as this curator does, as plain JSON."""
    held = curator._identity
    facts = {"revision": held.revision, "since": held.since, "steady": held.steady}
    return {"name": curator.name, "card": curator.card.to_json(), **facts}

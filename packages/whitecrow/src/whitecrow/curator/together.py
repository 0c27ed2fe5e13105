"""Taking part in a computation of several sites: charged as a question, released as a sum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whitecrow.curator.execution import Answer, InProcess, behind
from whitecrow.custodian import failure
from whitecrow.errors import InvalidInput, NotReady, RecordsElsewhere, Unreachable
from whitecrow.ledger import Reservation
from whitecrow.ledger.states import States
from whitecrow.question import Question
from whitecrow.questions import type_of

if TYPE_CHECKING:
    from whitecrow.curator.curator import Curator

Compute = Callable[[Any], Any]


def take_part(
    curator: Curator, question: Question, label: str, agreement: str, release: Compute
) -> Any:
    """Charge a question, compute with other sites, and store what came of it before it is shown.

    A label is burned before anything is sent: its spend is entered as answered, which is never
    taken up again and never given back. Whatever becomes of the attempt then, numbers may have been
    sent; a site that drops out makes it void, and whoever asks under the same label is refused.

    ``label`` is the digest of the attempt's label, whatever is asked; ``agreement`` that of the
    question and of everything the sites agreed upon.
    """
    execution = curator._execution
    if not isinstance(execution, InProcess):
        raise RecordsElsewhere(
            "Sites compute together in the process that holds the records: open the dataset "
            "without private execution."
        )

    def burned(reservation: Reservation) -> dict[str, str]:
        if not reservation.fresh:  # of an attempt that ended before it sent anything
            raise _used()
        return {"label": agreement}

    order = replace(curator.inquire(question).request, digest=label, location=None)
    outcome, _, charged = curator._paid_once(order, burned)
    if not outcome.answered:
        raise failure()
    states = States(curator.ledger, curator.name)
    if charged:
        answer = _computed(execution, question, release, states)
        states.save(label, 0, {"agreement": agreement, "answer": answer})
        return answer
    _, kept = states.load(label) or (0, {})
    if kept.get("agreement") != agreement:
        raise _used()
    return kept["answer"]


def _computed(execution: InProcess, question: Question, release: Compute, states: States) -> Any:
    dropped_out = False

    def compute() -> Answer | None:
        nonlocal dropped_out
        try:
            facts = type_of(question).gather(question, execution._dataset, execution._engine, None)
            return Answer.of(release(facts))
        except (NotReady, Unreachable):
            dropped_out = True
            return None

    answer = behind(question.kind, execution._log, compute)
    if answer is not None:
        return answer.value
    if dropped_out:
        raise InvalidInput(
            "This attempt is void: a site dropped out of it. Begin again without that site, under "
            "a new label; what was sent counts as spent."
        )
    states.fail()
    raise failure()


def _used() -> InvalidInput:
    return InvalidInput(
        "This label was used before, by an attempt that was interrupted or that asked something "
        "else, so nothing was sent or spent now. Begin again under a new label, at the price again."
    )

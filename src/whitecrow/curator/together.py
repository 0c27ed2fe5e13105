"""Taking part in a computation of several sites: charged as a question, released as a sum."""

from __future__ import annotations

import contextlib
import json
import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whitecrow.curator.execution import InProcess, failure, write_down
from whitecrow.errors import InvalidInput, RecordsElsewhere, Unreachable
from whitecrow.ledger import RecordedOutcome, Reservation
from whitecrow.question import Question
from whitecrow.questions import type_of

if TYPE_CHECKING:
    from whitecrow.curator.curator import Curator

__all__ = ["take_part"]

_VOID = {"void": "a site dropped out"}


def take_part(
    curator: Curator, question: Question, digest: str, release: Callable[[Any], Any]
) -> Any:
    """Charge a question, compute with other sites, and store what came of it before it is shown.

    A site that drops out makes the attempt void. That is no secret and no fault of the records, so
    everybody is told; the price stays charged, for numbers were sent.

    Parameters
    ----------
    curator : Curator
        Of this site's records.
    question : Question
        What is paid for.
    digest : str
        Of the question and of everything the sites agreed upon.
    release : callable
        Turns the question's facts into the answer, together with the others.
    """
    execution = curator._execution
    if not isinstance(execution, InProcess):
        raise RecordsElsewhere(
            "Sites compute together in the process that holds the records: open the dataset "
            "without private execution."
        )
    order = curator._order(question, curator.price(question), curator.analyst)
    found, _ = curator._reserve(replace(order, digest=digest, location=None))
    if isinstance(found, Reservation):
        found = _settled(curator, question, found, release)
    if not found.answered:
        raise failure()
    if found.answer == _VOID:
        raise InvalidInput(
            "This attempt is void: a site dropped out of it. Begin again without that site, under "
            "a new label; what was sent counts as spent."
        )
    return found.answer


def _settled(
    curator: Curator, question: Question, held: Reservation, release: Callable[[Any], Any]
) -> RecordedOutcome:
    execution = curator._execution
    assert isinstance(execution, InProcess)
    try:
        facts = type_of(question).gather(question, execution._dataset, execution._engine, None)
        answer = json.loads(json.dumps(release(facts), allow_nan=False))
        return curator._ledger.settle(curator.name, held, answer)
    except Unreachable:
        return curator._ledger.settle(curator.name, held, _VOID)
    except Exception:  # noqa: BLE001 - whatever it was, nobody else must see it
        with contextlib.suppress(Exception):
            write_down(execution._log, question.kind, traceback.format_exc())
        return curator._ledger.fail(curator.name, held)
    finally:
        held.release()

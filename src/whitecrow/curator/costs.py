"""How long a question may take and how much memory it may need, whatever the records are.

A limit that some records reach and others do not would answer a question about them. So the limits
of a question are computed before it is charged, from the card, the question and a public bound on
the number of records, for the worst records within these bounds; and a question whose worst case is
more than the operator lends is refused when it is priced.

The model counts elementary steps (one coordinate of one pair of records compared, one record sorted
into a cell, one noise drawn) and divides by rates some 25 times below the slowest measured on one
core of a laptop (`benchmarks/`), so that a busy machine does not reach what the records cannot.
Where a step's own number has no useful bound (the balls a smooth sensitivity looks at), the model
takes many times what was seen; `docs/private-execution.md` says which.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from whitecrow.anomaly.calibration import Calibration
from whitecrow.anomaly.detectors import FittedDetector
from whitecrow.anomaly.smooth import horizon
from whitecrow.data import Card
from whitecrow.errors import TooCostly
from whitecrow.limits import UNLIMITED, Limits
from whitecrow.question import Question
from whitecrow.questions import type_of

__all__ = ["checked_limits", "limits_of"]

_STEPS_A_SECOND = 1e9
"""Coordinates of pairs compared; measured are 25 thousand million and more."""
_DRAWS_A_SECOND = 1e4
"""Exact noises drawn, cells released, contexts judged; measured are 200 thousand and more."""
_START_SECONDS = 20.0
"""To load kernels, or to compile them."""
_START_BYTES = 1 << 30
_COPIES = 8
"""How many times the records of the question are in memory at once, at the most: indexes too."""
_A_RECORD = 256
"""Bytes of bookkeeping for a record, a cell or a period."""


def limits_of(question: Question, card: Card, records: int | None = None) -> Limits:
    """Return what a question may use, for any records within the public bounds.

    Parameters
    ----------
    question : Question
        What is asked.
    card : Card
        The public facts.
    records : int, optional
        A public bound on the number of records, where the card gives none. Without any the
        limits are infinite.
    """
    most = records if card.most_records is None else card.most_records
    model: Callable[[Any, Card, int], Limits] | None = _MODELS.get(question.kind)
    model = model or type_of(question).cost
    if most is None or model is None:
        return UNLIMITED
    return model(question, card, max(1, most))


def checked_limits(
    question: Question, card: Card, lent: Limits, records: int | None = None
) -> Limits:
    """Return the limits of a question, or refuse one that may need more than is lent.

    Raises
    ------
    TooCostly
        From public facts alone: the same question is refused over any records.
    """
    found = limits_of(question, card, records)
    for what, needed, most, unit in (
        ("time", found.seconds, lent.seconds, "seconds"),
        ("memory", found.bytes, lent.bytes, "bytes"),
    ):
        if math.isfinite(needed) and needed > most:
            raise TooCostly(
                f"This {question.kind} question may need {needed:.3g} {unit} for the worst records "
                f"that the card allows, and {most:.3g} {unit} of {what} are lent to a question. "
                "Ask for fewer columns, contexts or periods, or let the custodian write a smaller "
                "bound on the number of records (records_at_most) on the card."
            )
    return found


def _limits(steps: float, *, draws: float = 0.0, values: float = 0.0, kept: float = 0.0) -> Limits:
    """Steps of comparing, draws, doubles held with their copies, records and cells kept."""
    return Limits(
        seconds=_START_SECONDS + steps / _STEPS_A_SECOND + draws / _DRAWS_A_SECOND,
        bytes=_START_BYTES + 8 * _COPIES * values + _A_RECORD * kept,
    )


def _together(parts: list[Limits], times: float = 1.0) -> Limits:
    """One after the other: times add up, memory is given back."""
    return Limits(
        seconds=_START_SECONDS + times * sum(part.seconds - _START_SECONDS for part in parts),
        bytes=max(part.bytes for part in parts),
    )


def _place(question: Any, card: Card, records: int) -> Limits:
    """One record is compared with all, or an index of them is built first."""
    width = len(question.columns)
    depth = 1 + math.log2(records)
    return _limits(64 * records * width * depth, values=records * width, kept=records)


def _degrees(width: int, records: int) -> Limits:
    """Every record is compared with every other."""
    return _limits(float(records) ** 2 * width, values=records * width, kept=records)


def _counted(width: int, records: int, noise: Calibration, beta: int) -> Limits:
    """The degrees, and for a smooth sensitivity the balls of each number of changes."""
    found = _degrees(width, records)
    if noise.decay is None:
        return found
    last = horizon(noise.cap, noise.decay, noise.relation, records)
    terms = (last + 1) * (min(beta, last) + 1)
    balls = 64.0 * records * width * (1 + math.log2(records)) * (last + 1)
    return _together(
        [found, _limits(balls + 1000.0 * terms, draws=last, values=records * width, kept=records)]
    )


def _count(question: Any, card: Card, records: int) -> Limits:
    width = len(question.subspace(card))
    return _counted(width, records, question.calibration(card), question.model.beta)


def _subspaces(question: Any, card: Card, records: int) -> Limits:
    candidates = question.candidates(card)
    parts = [_degrees(len(columns), records) for columns in candidates]
    if question.count_share:
        widest = max(candidates, key=len)
        noise, beta = question.count_noise(widest, card), question.model.beta
        parts += [_counted(len(widest), records, noise, beta)] * question.top
    return _together(parts)


def _tune(question: Any, card: Card, records: int) -> Limits:
    width = len(question.subspace(card))
    if question.chosen_method(card) == "exponential":
        return _together([_degrees(width, records)], times=len(question.radii))
    noise = question.noise(card)
    return _together([_counted(width, records, noise, question.beta)], times=question.steps)


def _lookahead(question: Any, card: Card, records: int) -> Limits:
    cells = min(question.cells(card), records) if question.threshold else question.cells(card)
    sorting = 64.0 * records * len(question.columns) * (1 + math.log2(records))
    return _limits(
        sorting, draws=cells, values=records * len(question.columns), kept=records + cells
    )


def _explain(question: Any, card: Card, records: int) -> Limits:
    """Contexts, each judged over the records in it; a fitted detector takes its estimators."""
    from whitecrow.explain.draws import TRIES

    space = question.space(card)
    search = question.searching(space)
    if search == "direct":
        contexts = 2.0**space.bits
    elif search == "uniform":
        contexts = float(question.samples) * TRIES
    else:  # one start, then the neighbours of each context visited
        contexts = TRIES + float(question.samples + 1) * space.bits
    each = 1.0
    if isinstance(question.detector, FittedDetector):  # fitted anew in each context
        written = question.detector.to_json()["parameters"]
        each = 100.0 * float(written.get("n_estimators", 100))
    # Records of the same attributes and the same rounded value are one cell; judging a context
    # looks at each cell once, sorting it first.
    judged = contexts * records * (1 + math.log2(records)) * each
    return _limits(judged, draws=contexts / 100, values=records * 4, kept=contexts + records)


def _publish(question: Any, card: Card, records: int) -> Limits:
    periods = float(question.through)
    return _limits(
        64.0 * records * (1 + math.log2(records)),
        draws=2 * periods * (1 + math.log2(periods)),
        values=3 * records,
        kept=records + 16 * periods,
    )


_MODELS: dict[str, Callable[[Any, Card, int], Limits]] = {
    "identify": _place,
    "screen": _place,
    "lookahead": _lookahead,
    "count": _count,
    "subspaces": _subspaces,
    "tune": _tune,
    "explain": _explain,
    "publish": _publish,
}

"""The crossing: from counts of active records to answers, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.noise import Source, system_source
from whitecrow.noise.bulk import draw_words
from whitecrow.screening.facts import (
    ActiveCounts,
    ActiveRecords,
    Counters,
    Places,
    ScreeningFacts,
    kept_places,
)
from whitecrow.screening.law import Law
from whitecrow.screening.question import Screening


def answered(
    law: Law, active: ActiveRecords, counters: Counters, asked: Places, source: Source | None
) -> npt.NDArray[np.bool_]:
    """Answer a batch in its order; the counters are left as they were.

    Each place has its own random word, which decides its answer once the counts of its turn are
    known: they change only when a flag leaves records out, so in between all are decided at once.
    The flags take effect for good when the answers are written down and come back as flags.
    """
    words = draw_words(source or system_source(), len(asked))
    batch = ActiveCounts(active, counters, asked, law)
    answers = words < law.chances(batch.counts())
    flagged, place = [], 0
    try:
        while len(ahead := np.flatnonzero(answers[place:])):
            place += int(ahead[0]) + 1
            flagged.append(counters.flag(batch.places[place - 1]))
            gone = flagged[-1].gone
            if len(gone):
                batch.leave_out(gone, place)
                answers[place:] = words[place:] < law.chances(batch.counts(place))
    finally:
        counters.take_back(flagged)
    return answers


def resume(
    question: Screening,
    facts: ScreeningFacts,
    kept: Mapping[str, Any],
    source: Source | None = None,
) -> dict[str, Any]:
    """Answer the next places of a series.

    ``kept`` has ``series`` (its name), ``law``, ``since`` and ``flags`` (the places of all flags
    from that number on), ``asked`` (the places to answer): all public. Returned are ``anomalies``,
    the numbers of the places called so; or ``known``, how many flags are known here, if those that
    are given begin later, or end earlier.
    """
    if not kept:
        return {"anomalies": []}
    law, active = Law.from_json(kept["law"]), facts.exact_active
    with active.lock:
        counters = active.counters(kept["series"], law.limit)
        flags, since = kept_places(kept, "flags", active.width), int(kept["since"])
        if not since <= counters.replayed <= since + len(flags):
            return {"known": counters.replayed}
        counters.replay(active.form.placed(flags[counters.replayed - since :]))
        asked = kept_places(kept, "asked", active.width)
        answers = answered(law, active, counters, asked, source)
    return {"anomalies": np.flatnonzero(answers).tolist()}


def release(question: Screening, facts: ScreeningFacts, source: Source | None = None) -> Any:
    """Answer a question as the first of its series: nothing was asked before."""
    active = facts.exact_active
    law, asked = question.law(active.card), question.places(active.card)
    answers = answered(law, active, active.fresh(law.limit), asked, source)
    return shaped(question, law, answers.tolist())


def shaped(question: Screening, law: Law, answers: list[bool]) -> Any:
    """Return answers as the question asked for them: one, several, or that the series is open."""
    if question.batch is not None:
        return answers
    return {"open": law.to_json()} if question.record is None else answers[0]

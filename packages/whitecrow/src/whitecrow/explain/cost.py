"""What a search for a context may take."""

from __future__ import annotations

import math

from whitecrow.anomaly.detectors import FittedDetector
from whitecrow.data import Card
from whitecrow.explain.draws import TRIES
from whitecrow.explain.question import Explain
from whitecrow.limits import Limits, worst_case


def cost(question: Explain, card: Card, records: int) -> Limits:
    """Contexts, each judged over the records in it; a fitted detector takes its estimators."""
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
    return worst_case(judged, draws=contexts / 100, values=records * 4, kept=contexts + records)

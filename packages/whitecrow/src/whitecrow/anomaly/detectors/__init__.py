"""Detectors for one record in one population, each an exact function of the two.

============================  ====================================================================
:class:`Grubbs`               too many standard deviations from the mean
:class:`LocalOutlierFactor`   much less dense than its neighbours
:class:`Histogram`            in a bin with too small a share
:class:`FewWithin`            the distance model: few records within reach
:class:`FittedDetector`       a registered detector of scikit-learn, PyOD or the operator (slow)
============================  ====================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whitecrow.anomaly.detectors.exact import (
    Detector,
    FewWithin,
    Grubbs,
    Histogram,
    LocalOutlierFactor,
    Values,
)
from whitecrow.anomaly.detectors.libraries import (
    FittedDetector,
    Parameter,
    Registered,
    register_detector,
)
from whitecrow.errors import InvalidInput, invalid

__all__ = [
    "Detector",
    "FewWithin",
    "FittedDetector",
    "Grubbs",
    "Histogram",
    "LocalOutlierFactor",
    "Parameter",
    "Registered",
    "Values",
    "detector_from_json",
    "register_detector",
]

_KINDS: dict[str, type[Detector]] = {
    detector.kind: detector
    for detector in (Grubbs, LocalOutlierFactor, Histogram, FewWithin, FittedDetector)
}


def detector_from_json(data: Mapping[str, Any]) -> Detector:
    """Build any detector from the JSON object it wrote."""
    kind = data.get("kind") if isinstance(data, Mapping) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise invalid("the question", "detector", f"of a kind among {', '.join(_KINDS)}", kind)
    try:
        return _KINDS[kind].from_json(data)
    except KeyError as missing:
        raise InvalidInput(f"The detector '{kind}' lacks its parameter {missing}.") from None

"""Parameters that only an explanation has: a detector, a utility, a starting context."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, ClassVar

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.anomaly.detectors import Detector, FewWithin, FittedDetector, detector_from_json
from whitecrow.declaration import Parameter
from whitecrow.declaration.parameter import FARTHEST, json_object
from whitecrow.errors import InvalidInput, invalid
from whitecrow.explain._utilities import (
    CustomUtility,
    Isolation,
    Overlap,
    Population,
    Utility,
    utility_from_json,
)

Rule = Detector | DistanceAnomaly

DETECTORS: dict[str, dict[str, Any]] = {
    "lof": {"k": 20, "threshold": "3/2"},
    "grubbs": {"level": "1/20", "sides": "both"},
    "histogram": {"bins": "sqrt", "frequency": "1/400"},
}
"""The detectors that have defaults, and what these are."""

_LINE_METRICS = ("euclidean", "manhattan", "chebyshev")


class DetectorChoice(Parameter[Rule, Any]):
    """When a record is an outlier: a name, a JSON object, or a detector."""

    control = "select"
    written = '{"distance", "lof", "grubbs", "histogram"}, DistanceAnomaly or Detector'
    choices: ClassVar[Mapping[str, str]] = {
        "distance": "Few records near it (β, radius)",
        "lof": "Local outlier factor",
        "grubbs": "Grubbs' test",
        "histogram": "A rare bin of the histogram",
    }

    def parse(self, value: object, owner: str) -> Rule:
        if isinstance(value, Mapping):
            far = value.get("kind") == FewWithin.kind and "radius" in value
            rest = {key: one for key, one in value.items() if key != "kind"}
            value = DistanceAnomaly.from_json(rest) if far else detector_from_json(value)
        if isinstance(value, str):
            value = self._named(value, owner)
        if isinstance(value, DistanceAnomaly):
            if value.metric not in _LINE_METRICS:
                must = f"measured by one of {', '.join(_LINE_METRICS)} (equal on one column)"
                raise invalid(owner, self.name, must, value.metric)
            return value
        if not isinstance(value, Detector):
            raise invalid(owner, self.name, "a detector, a DistanceAnomaly or a name", value)
        return value

    def _named(self, name: str, owner: str) -> Detector:
        if name in DETECTORS:
            return detector_from_json({"kind": name, **DETECTORS[name]})
        try:
            return FittedDetector(name)
        except InvalidInput:
            must = (
                f"one of {', '.join(DETECTORS)}, a registered detector's name, "
                "a DistanceAnomaly or a detector"
            )
            raise invalid(owner, self.name, must, name) from None

    def dump(self, value: Rule) -> dict[str, Any]:
        if isinstance(value, DistanceAnomaly):
            return {"kind": FewWithin.kind, **value.to_json()}
        return value.to_json()

    def schema(self) -> dict[str, Any]:
        far = DistanceAnomaly.json_schema(kind=FewWithin.kind)
        named = {"type": "string", "description": "A detector with its defaults, by name."}
        other = {
            "type": "object",
            "required": ["kind"],
            "properties": {"kind": {"type": "string", "enum": [*DETECTORS, FittedDetector.kind]}},
            "description": "A detector with its own parameters, as the library writes it.",
        }
        return {"anyOf": [named, far, other]}

    def to_text(self, written: Any) -> str:
        if isinstance(written, str):
            return written
        raise TypeError("the detector's own options say it")


class UtilityChoice(Parameter[Utility, Any]):
    """What makes one context better than another: a name, a JSON object, or a utility."""

    control = "select"
    written = '{"population", "overlap", "isolation"} or CustomUtility'
    choices: ClassVar[Mapping[str, str]] = {
        "population": "many records in the context",
        "overlap": "many records in common with the start",
        "isolation": "few records near, many far",
    }

    def parse(self, value: object, owner: str) -> Utility:
        found = utility_from_json(value) if isinstance(value, str | Mapping) else value
        if not isinstance(found, Population | Overlap | Isolation | CustomUtility):
            must = "population, overlap, isolation or a CustomUtility"
            raise invalid(owner, self.name, must, found)
        return found

    def dump(self, value: Utility) -> dict[str, Any]:
        return value.to_json()

    def schema(self) -> dict[str, Any]:
        named = {"type": "string", "enum": list(self.choices)}
        kind = {"type": "string", "enum": [*self.choices, "custom"]}
        other = {"type": "object", "required": ["kind"], "properties": {"kind": kind}}
        return {"anyOf": [named, other]}

    def to_text(self, written: Any) -> str:
        if isinstance(written, str):
            return written
        raise TypeError("a utility of one's own has no short name")


class Start(Parameter[Mapping[str, tuple[Any, ...]], Mapping[str, Any]]):
    """A public context: for each attribute the values in it."""

    control = "object"
    written = "mapping of attribute to values"

    def parse(self, value: object, owner: str) -> dict[str, tuple[Any, ...]]:
        if not isinstance(value, Mapping):
            raise invalid(owner, self.name, "a mapping of attributes to lists of values", value)
        listed = {
            name: tuple(values) if isinstance(values, list | tuple | set | frozenset) else (values,)
            for name, values in value.items()
        }
        for name, values in listed.items():
            for one in (name, *values):
                known = isinstance(one, str | int | float)
                if not known or (not isinstance(one, str) and not abs(one) <= FARTHEST):
                    raise invalid(owner, self.name, "texts and numbers for each attribute", one)
            if not isinstance(name, str):
                raise invalid(owner, self.name, "a mapping whose keys are column names", name)
        return {name: tuple(sorted(set(listed[name]), key=str)) for name in sorted(listed)}

    def dump(self, value: Mapping[str, tuple[Any, ...]]) -> dict[str, list[Any]]:
        return {name: list(values) for name, values in value.items()}

    def schema(self) -> dict[str, Any]:
        one: list[dict[str, Any]] = [{"type": "string"}, {"type": "number"}]
        many = {"type": "array", "items": {"anyOf": one}}
        return {"type": "object", "additionalProperties": {"anyOf": [many, *one]}}

    def from_text(self, text: str, owner: str) -> object:
        return json_object(text, self.flag)

    def to_text(self, written: Any) -> str:
        return json.dumps(written, ensure_ascii=False)


def number_of(record: Mapping[str, Any], name: str, owner: str) -> float:
    """Return a value of the record that must be a finite number."""
    value = record[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise invalid(owner, name, "a number", value)
    if not math.isfinite(value):
        raise invalid(owner, name, "a finite number", value)
    return value

"""Parameters that only an explanation has: a detector, a utility, a starting context."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.anomaly.detectors import Detector, FewWithin, FittedDetector, detector_from_json
from whitecrow.declaration import Choice, Exact, Maybe, Name, Number, Parameter, Whole
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
from whitecrow.privacy import Exactly
from whitecrow.question import Shortcuts

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


_OF = {
    "distance": ("beta", "radius"),
    "lof": ("neighbours", "threshold"),
    "grubbs": ("level", "sides"),
    "histogram": ("bins", "frequency"),
}


class DetectorOptions(Shortcuts):
    """The parameters of the detectors that have short names, and of the isolation utility."""

    beta: Maybe[int, int] = Maybe(
        Whole(help="distance: an outlier has at most this many records near.", group="model"),
        default=None,
    )
    radius: Maybe[float, float] = Maybe(
        Number(least=0, help="distance: how near is near.", group="model"), default=None
    )
    neighbours: Maybe[int, int] = Maybe(
        Whole(help="lof: neighbours (20).", option="k", group="details"),
        default=None,
        option="k",
    )
    threshold: Maybe[Fraction, Exactly] = Maybe(
        Exact(help="lof: an outlier's factor is above it (3/2).", group="details"), default=None
    )
    level: Maybe[Fraction, Exactly] = Maybe(
        Exact(help="grubbs: the test's level (1/20).", group="details"), default=None
    )
    sides: Maybe[str, str] = Maybe(
        Choice(("both", "high", "low"), help="grubbs: which ends (both).", group="details"),
        default=None,
    )
    bins: Maybe[str, str] = Maybe(
        Name(help="histogram: how many, or sqrt (sqrt).", group="details"), default=None
    )
    frequency: Maybe[Fraction, Exactly] = Maybe(
        Exact(help="histogram: an outlier's bin holds a smaller share (1/400).", group="details"),
        default=None,
    )
    crowd: Maybe[int, int] = Maybe(
        Whole(help="isolation: how many far records count fully.", group="details"), default=None
    )

    def expand(self, given: dict[str, Any]) -> dict[str, Any]:
        """Put the options into the detector and the utility that they belong to."""
        kind = given.get("detector", "distance")
        if not isinstance(kind, str):
            return given
        said = {name: one for name, one in self.to_json().items() if one is not None}
        crowd = said.pop("crowd", None)
        for other, names in _OF.items():
            for name in set(names) & set(said):
                if other != kind:
                    flag = self.parameters[name].flag
                    raise InvalidInput(f"{flag} belongs to --detector {other}, not to {kind}.")
        found = {**given, "detector": self._detector(kind, said)}
        if crowd is not None:
            if given.get("utility") not in (None, "isolation"):
                raise InvalidInput(
                    f"--crowd belongs to --utility isolation, not to {given['utility']}."
                )
            found["utility"] = {"kind": "isolation", "crowd": crowd}
        return found

    @classmethod
    def contract(cls, written: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Say a detector by its name and options."""
        rest, detector, said = dict(written), written.get("detector"), {}
        if isinstance(detector, Mapping) and detector.get("kind") in _OF:
            rest["detector"] = detector["kind"]
            known = set(_OF[detector["kind"]]) | {"k"}
            said = {
                "neighbours" if name == "k" else name: value
                for name, value in detector.items()
                if name in known
            }
        utility = written.get("utility")
        if isinstance(utility, Mapping) and utility.get("kind") == "isolation":
            rest["utility"], said["crowd"] = "isolation", utility.get("crowd")
        return rest, said

    def _detector(self, kind: str, said: dict[str, Any]) -> Any:
        if kind == "distance":
            if len(said) < 2:
                raise InvalidInput("The rule 'distance' needs both a beta and a radius.")
            return {"kind": "distance", **said}
        if not said:
            return kind
        if str(said.get("bins", "")).isdigit():
            said["bins"] = int(said["bins"])
        if "neighbours" in said:
            said["k"] = said.pop("neighbours")
        return {"kind": kind, **DETECTORS[kind], **said}

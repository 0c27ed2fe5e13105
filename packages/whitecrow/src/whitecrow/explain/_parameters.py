"""Parameters that only an explanation has: a detector, a utility, a starting context."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

from whitecrow.anomaly import DistanceAnomaly, read_model
from whitecrow.anomaly.detectors import (
    Detector,
    FewWithin,
    FittedDetector,
    Grubbs,
    Histogram,
    LocalOutlierFactor,
    detector_from_json,
)
from whitecrow.declaration import (
    FARTHEST,
    Choice,
    Exact,
    Maybe,
    Name,
    Number,
    Parameter,
    Whole,
    json_object,
)
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

_DETECTORS: dict[str, type[LocalOutlierFactor | Grubbs | Histogram]] = {
    kind.kind: kind for kind in (LocalOutlierFactor, Grubbs, Histogram)
}  # the detectors that have defaults

_LINE_METRICS = ("euclidean", "manhattan", "chebyshev")


class DetectorChoice(Parameter[Rule, Any]):
    """When a record is an outlier: a name, a JSON object, or a detector."""

    control = "select"
    type_text = '{"distance", "lof", "grubbs", "histogram"}, DistanceAnomaly or Detector'
    choices: ClassVar[Mapping[str, str]] = {
        "distance": "Few records near it (β, radius)",
        "lof": "Local outlier factor",
        "grubbs": "Grubbs' test",
        "histogram": "A rare bin of the histogram",
    }

    def parse(self, value: object, owner: str) -> Rule:
        if isinstance(value, Mapping):
            model = value.get("kind") == FewWithin.kind and "radius" in value
            value = read_model(value) if model else detector_from_json(value)
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
        if name in _DETECTORS:
            return _DETECTORS[name]()
        try:
            return FittedDetector(name)
        except InvalidInput:
            must = (
                f"one of {', '.join(_DETECTORS)}, a registered detector's name, "
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
            "properties": {"kind": {"type": "string", "enum": [*_DETECTORS, FittedDetector.kind]}},
            "description": "A detector with its own parameters, as the library writes it.",
        }
        return {"anyOf": [named, far, other]}

    def to_text(self, value: Any) -> str:
        if isinstance(value, str):
            return value
        raise TypeError("the detector's own options say it")


class UtilityChoice(Parameter[Utility, Any]):
    """What makes one context better than another: a name, a JSON object, or a utility."""

    control = "select"
    type_text = '{"population", "overlap", "isolation"} or CustomUtility'
    choices: ClassVar[Mapping[str, str]] = {
        "population": "many records in the context",
        "overlap": "many records in common with the start",
        "isolation": "few records near, many far",
    }

    def parse(self, value: object, owner: str) -> Utility:
        utility = utility_from_json(value) if isinstance(value, str | Mapping) else value
        if not isinstance(utility, Population | Overlap | Isolation | CustomUtility):
            must = "population, overlap, isolation or a CustomUtility"
            raise invalid(owner, self.name, must, utility)
        return utility

    def dump(self, value: Utility) -> dict[str, Any]:
        return value.to_json()

    def schema(self) -> dict[str, Any]:
        named = {"type": "string", "enum": list(self.choices)}
        kind = {"type": "string", "enum": [*self.choices, "custom"]}
        other = {"type": "object", "required": ["kind"], "properties": {"kind": kind}}
        return {"anyOf": [named, other]}

    def to_text(self, value: Any) -> str:
        if isinstance(value, str):
            return value
        raise TypeError("a utility of one's own has no short name")


class Start(Parameter[Mapping[str, tuple[Any, ...]], Mapping[str, Any]]):
    """A public context: for each attribute the values in it."""

    control = "object"
    type_text = "mapping of attribute to values"

    def parse(self, value: object, owner: str) -> dict[str, tuple[Any, ...]]:
        if not isinstance(value, Mapping):
            raise invalid(owner, self.name, "a mapping of attributes to lists of values", value)
        listed = {
            name: tuple(values) if isinstance(values, list | tuple | set | frozenset) else (values,)
            for name, values in value.items()
        }
        for name, values in listed.items():
            for value in (name, *values):
                number = isinstance(value, int | float) and abs(value) <= FARTHEST
                if not isinstance(value, str) and not number:
                    raise invalid(owner, self.name, "texts and numbers for each attribute", value)
            if not isinstance(name, str):
                raise invalid(owner, self.name, "a mapping whose keys are column names", name)
        return {name: tuple(sorted(set(listed[name]), key=str)) for name in sorted(listed)}

    def dump(self, value: Mapping[str, tuple[Any, ...]]) -> dict[str, list[Any]]:
        return {name: list(values) for name, values in value.items()}

    def schema(self) -> dict[str, Any]:
        value: list[dict[str, Any]] = [{"type": "string"}, {"type": "number"}]
        values = {"type": "array", "items": {"anyOf": value}}
        return {"type": "object", "additionalProperties": {"anyOf": [values, *value]}}

    def from_text(self, text: str, owner: str) -> object:
        return json_object(text, self.flag)


_OPTIONS = {
    "distance": ("beta", "radius"),
    "lof": ("k", "threshold"),
    "grubbs": ("level", "sides"),
    "histogram": ("bins", "frequency"),
}  # whose options they are, by the names that the detectors use too


class DetectorOptions(Shortcuts):
    """The parameters of the detectors that have short names, and of the isolation utility."""

    beta: Maybe[int, int] = Maybe(
        Whole(help="distance: an outlier has at most this many records near.", group="model")
    )
    radius: Maybe[float, float] = Maybe(
        Number(least=0, help="distance: how near is near.", group="model")
    )
    k: Maybe[int, int] = Maybe(
        Whole(help="lof: neighbours (20).", label="Neighbours", group="details")
    )
    threshold: Maybe[Fraction, Exactly] = Maybe(
        Exact(help="lof: an outlier's factor is above it (3/2).", group="details")
    )
    level: Maybe[Fraction, Exactly] = Maybe(
        Exact(help="grubbs: the test's level (1/20).", group="details")
    )
    sides: Maybe[str, str] = Maybe(
        Choice(("both", "high", "low"), help="grubbs: which ends (both).", group="details")
    )
    bins: Maybe[str, str] = Maybe(
        Name(help="histogram: how many, or sqrt (sqrt).", group="details")
    )
    frequency: Maybe[Fraction, Exactly] = Maybe(
        Exact(help="histogram: an outlier's bin holds a smaller share (1/400).", group="details")
    )
    crowd: Maybe[int, int] = Maybe(
        Whole(help="isolation: how many far records count fully.", group="details")
    )

    def expand(self, given: dict[str, Any]) -> dict[str, Any]:
        """Put the options into the detector and the utility that they belong to."""
        kind = given.get("detector", "distance")
        if not isinstance(kind, str):
            return given
        options = {name: value for name, value in self.to_json().items() if value is not None}
        crowd = options.pop("crowd", None)
        for owner, names in _OPTIONS.items():
            for name in set(names) & set(options):
                if owner != kind:
                    flag = self.parameters[name].flag
                    raise InvalidInput(f"{flag} belongs to --detector {owner}, not to {kind}.")
        asked = {**given, "detector": _with_options(kind, options)}
        if crowd is not None:
            if given.get("utility") not in (None, "isolation"):
                raise InvalidInput(
                    f"--crowd belongs to --utility isolation, not to {given['utility']}."
                )
            asked["utility"] = {"kind": "isolation", "crowd": crowd}
        return asked

    @classmethod
    def contract(cls, document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Say a detector by its name and options."""
        rest, options = dict(document), {}
        detector, utility = document.get("detector"), document.get("utility")
        if isinstance(detector, Mapping) and detector.get("kind") in _OPTIONS:
            rest["detector"] = detector["kind"]
            names = _OPTIONS[detector["kind"]]
            options = {name: value for name, value in detector.items() if name in names}
        if isinstance(utility, Mapping) and utility.get("kind") == "isolation":
            rest["utility"], options["crowd"] = "isolation", utility.get("crowd")
        return rest, options


def _with_options(kind: str, options: dict[str, Any]) -> Any:
    if kind == "distance":
        if len(options) < 2:
            raise InvalidInput("The rule 'distance' needs both a beta and a radius.")
        return {"kind": "distance", **options}
    if not options:
        return kind
    if str(options.get("bins", "")).isdigit():
        options["bins"] = int(options["bins"])
    return {**_DETECTORS[kind]().to_json(), **options}

"""The detectors' parameters as options of the terminal and fields of a form."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from whitecrow.declaration import Choice, Exact, Maybe, Name, Number, Whole
from whitecrow.errors import InvalidInput
from whitecrow.explain._parameters import DETECTORS
from whitecrow.privacy import Exactly
from whitecrow.question import Shortcuts

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

"""The custodian's policy: what may be asked of a dataset, by whom, under which promise."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

from whitecrow.errors import InvalidInput, NotAllowed, invalid
from whitecrow.privacy import (
    ConditionalPrivacy,
    DifferentialPrivacy,
    Guarantee,
    SensitivePrivacy,
    Unit,
    ZeroConcentrated,
    exact,
    rounded_up,
    text,
    to_concentrated,
)

__all__ = ["Policy"]

_NOTIONS = ("differential", "concentrated", "sensitive", "conditional")

_BREAKS = {
    "sensitive": "From then on no bound would hold for everyone alike: the differential total "
    "becomes unbounded.",
    "conditional": "From then on every unconditional total would be unbounded.",
}


@dataclass(frozen=True)
class Policy:
    """What may be asked.

    Parameters
    ----------
    notions : tuple of str
        Which promises a release may make: "differential", "concentrated", "sensitive",
        "conditional". The first sensitive release makes the dataset's differential total unbounded,
        the first conditional one every unconditional total; so "conditional" must be named, and a
        dataset promised to everyone alike leaves "sensitive" out.
    questions : tuple of str, optional
        The kinds that may be asked; all if left out.
    analysts : mapping of str to tuple of str
        Who may ask which kinds; ``"*"`` stands for everybody else. Empty: anyone may ask.
    max_epsilon : exact number, optional
        The most one question may cost; for a concentrated one rho is at most half its square, which
        is what a pure release of that epsilon costs in rho.
    max_tau, min_radius : optional
        The weakest sensitive promise admitted: a record with ``max_tau`` records within
        ``min_radius``, in the columns and by the metric of the question, is covered by its release
        (the promise is stronger the smaller tau and the larger the radius). Questions about other
        columns measure other distances.
    min_tau, max_radius : optional
        Limits at the other end of the range, for a custodian who wants models kept near a
        reviewed one. They do not make any promise stronger.
    unit : {"add_remove", "replace_one"}
        The unit in which the account is kept; it is fixed when the account is opened.

    Examples
    --------
    >>> Policy(notions=("differential",), max_epsilon="1/2").to_json()["max_epsilon"]
    '1/2'
    """

    notions: tuple[str, ...] = ("differential", "concentrated", "sensitive")
    questions: tuple[str, ...] | None = None
    analysts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    max_epsilon: Fraction | None = None
    max_tau: int | None = None
    min_radius: float | None = None
    min_tau: int | None = None
    max_radius: float | None = None
    unit: Unit = "add_remove"

    def __post_init__(self) -> None:
        notions = tuple(dict.fromkeys(_texts("notions", self.notions)))
        if not notions or not set(notions) <= set(_NOTIONS):
            raise invalid("Policy", "notions", f"among {', '.join(_NOTIONS)}", self.notions)
        object.__setattr__(self, "notions", tuple(n for n in _NOTIONS if n in notions))
        if self.questions is not None:
            object.__setattr__(self, "questions", _texts("questions", self.questions))
        if not isinstance(self.analysts, Mapping):
            raise invalid("Policy", "analysts", "a table of names and kinds", self.analysts)
        object.__setattr__(
            self,
            "analysts",
            {str(name): _texts(f"analysts.{name}", kinds) for name, kinds in self.analysts.items()},
        )
        if self.max_epsilon is not None:
            most = exact(self.max_epsilon, owner="Policy", parameter="max_epsilon")
            object.__setattr__(self, "max_epsilon", most)
        for name in ("max_tau", "min_tau"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
                raise invalid("Policy", name, "a whole number", value)
        for name in ("min_radius", "max_radius"):
            value = getattr(self, name)
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int | float)
            ):
                raise invalid("Policy", name, "a number", value)
        if self.unit not in ("add_remove", "replace_one"):
            raise invalid("Policy", "unit", "'add_remove' or 'replace_one'", self.unit)

    @classmethod
    def of(cls, value: object) -> Policy:
        """Read a policy: a :class:`Policy`, a mapping, or the name of a TOML file."""
        if isinstance(value, Policy):
            return value
        if isinstance(value, Mapping):
            return cls.from_json(value)
        if not isinstance(value, str | Path):
            raise invalid("Curator.open", "policy", "a Policy, a table or a TOML file", value)
        try:
            return cls.from_json(tomllib.loads(Path(value).read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"The policy {str(value)!r} cannot be read: {error}.") from None
        except tomllib.TOMLDecodeError as error:
            raise InvalidInput(f"{value} is not valid TOML: {error}.") from None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Policy:
        """Build the policy that :meth:`to_json` wrote, or that a TOML file says."""
        known = {item.name for item in fields(cls)}
        unknown = sorted(set(data) - known)
        if unknown:
            raise InvalidInput(
                f"A policy has no {unknown[0]!r}; it has {', '.join(sorted(known))}."
            )
        return cls(**data)

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object, defaults left out."""
        found: dict[str, Any] = {"notions": list(self.notions), "unit": self.unit}
        if self.questions is not None:
            found["questions"] = list(self.questions)
        if self.analysts:
            found["analysts"] = {name: list(kinds) for name, kinds in self.analysts.items()}
        if self.max_epsilon is not None:
            found["max_epsilon"] = text(self.max_epsilon)
        for name in ("max_tau", "min_radius", "min_tau", "max_radius"):
            if getattr(self, name) is not None:
                found[name] = getattr(self, name)
        return found

    def check(self, kind: str, price: Guarantee, analyst: str) -> None:
        """Refuse what the policy forbids, before anything is spent or read."""
        self._check_asker(kind, analyst)
        if price.notion not in self.notions:
            raise NotAllowed(
                f"The policy of this dataset allows no {price.notion} release; it allows "
                f"{', '.join(self.notions)}. {_BREAKS.get(price.notion, '')}".strip()
            )
        if self.max_epsilon is not None:
            if isinstance(price, ZeroConcentrated):
                unit, requested, most = "rho", price.rho, self.max_epsilon**2 / 2
            else:
                unit, requested, most = "epsilon", price.epsilon, self.max_epsilon
            if requested > most:
                raise NotAllowed(
                    f"One question may cost at most {unit} {text(most)}: requested "
                    f"{text(requested)}, over by {rounded_up(requested - most)}."
                )
        if isinstance(price, SensitivePrivacy | ConditionalPrivacy):
            for zone in price.zones:
                if not zone.everyone:
                    self._check_zone(zone.tau, zone.radius)

    @staticmethod
    def _check_size(price: Guarantee, most: Fraction) -> None:
        if isinstance(price, ZeroConcentrated):
            what, requested = "rho", price.rho
            most = to_concentrated(DifferentialPrivacy(most)).rho
        else:
            what, requested = "epsilon", price.epsilon
        if requested > most:
            raise NotAllowed(
                f"One question may cost at most {what} {text(most)}: requested "
                f"{text(requested)}, over by {rounded_up(requested - most)}."
            )

    def _check_asker(self, kind: str, analyst: str) -> None:
        if self.questions is not None and kind not in self.questions:
            raise NotAllowed(
                f"The policy of this dataset allows no {kind} question; it allows "
                f"{', '.join(self.questions)}."
            )
        if not self.analysts:
            return
        allowed = self.analysts.get(analyst, self.analysts.get("*", ()))
        if kind not in allowed:
            raise NotAllowed(
                f"Analyst {analyst!r} may not ask {kind} questions of this dataset; allowed: "
                f"{', '.join(allowed) or 'none'}."
            )

    def _check_zone(self, tau: int, radius: float) -> None:
        for name, value, limit in (
            ("tau", tau, self.max_tau),
            ("radius", radius, self.max_radius),
        ):
            if limit is not None and value > limit:
                raise NotAllowed(
                    f"The policy of this dataset allows {name} up to {limit:g}: got {value:g}."
                )
        for name, value, limit in (
            ("tau", tau, self.min_tau),
            ("radius", radius, self.min_radius),
        ):
            if limit is not None and value < limit:
                raise NotAllowed(
                    f"The policy of this dataset allows {name} from {limit:g}: got {value:g}."
                )


def _texts(name: str, given: object) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, tuple | list | set | frozenset):
        raise invalid("Policy", name, "a list of texts", given)
    listed = sorted(given) if isinstance(given, set | frozenset) else given
    if not all(isinstance(item, str) for item in listed):
        raise invalid("Policy", name, "a list of texts", given)
    return tuple(listed)

"""The terms on which a dataset answers: policy, caps, what is left, what a batch would cost.

They are public and light: a client of a service needs them as much as the curator does.

There is one cap a *line*, and the lines are nested as the notions are (docs/mechanisms.md 6):

* **differential**: the joint loss of the releases that protect everyone alike. A sensitive or
  conditional release makes this total *unbounded*; the policy must allow that, and the account says
  so from then on. The releases that do protect everyone go on counting against their cap.
* **sensitive**: the joint loss of differential *and* sensitive releases, for the records that are
  sensitive in every one of them. Unbounded once a conditional release exists.
* **conditional**: the joint loss of all releases, for the records that are sensitive in all of
  them, on the pairs of databases where all conditions hold.

A plain ``"1"`` caps all three lines at 1, so it caps the joint loss of everything ever released.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from whitecrow.errors import BudgetExhausted, InvalidInput, NotAllowed, invalid
from whitecrow.privacy import (
    ConditionalPrivacy,
    Guarantee,
    SensitivePrivacy,
    Unit,
    ZeroConcentrated,
    Zone,
    exact,
    rounded_down,
    rounded_up,
)
from whitecrow.rendering import notebook

LINES = ("differential", "sensitive", "conditional")
"""The lines of an account, the strongest promise first."""

COVERS = {
    "differential": "everyone",
    "concentrated": "everyone, Gaussian noise",
    "sensitive": "records with enough similar records",
    "conditional": "those whose condition holds",
}
"""Whom the releases of each notion cover, in the words of every page and command."""

_NOTIONS = ("differential", "concentrated", "sensitive", "conditional")

_BREAKS = {
    "sensitive": "From then on the guarantee for everyone would no longer cover the total.",
    "conditional": "From then on no guarantee without a condition would cover the total. The "
    "custodian may admit it: with --allow conditional when the account is new, or by a policy that "
    "names it.",
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
        notions = _texts("notions", self.notions)
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
        for name in ("max_tau", "min_tau", "min_radius", "max_radius"):
            value, whole = getattr(self, name), name.endswith("tau")
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int if whole else int | float)
            ):
                raise invalid("Policy", name, "a whole number" if whole else "a number", value)
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
        names = {item.name for item in fields(cls)}
        if unknown := sorted(set(data) - names):
            raise InvalidInput(
                f"A policy has no {unknown[0]!r}; it has {', '.join(sorted(names))}."
            )
        return cls(**data)

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object, defaults left out."""
        document: dict[str, Any] = {**vars(self), "notions": list(self.notions)}
        document["questions"] = None if self.questions is None else list(self.questions)
        document["analysts"] = {name: list(kinds) for name, kinds in self.analysts.items()} or None
        document["max_epsilon"] = None if self.max_epsilon is None else str(self.max_epsilon)
        return {name: value for name, value in document.items() if value is not None}

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
                    f"One question may cost at most {unit} {most!s}: requested "
                    f"{requested!s}, over by {rounded_up(requested - most)}."
                )
        if isinstance(price, SensitivePrivacy | ConditionalPrivacy):
            for zone in price.zones:
                if not zone.everyone:
                    self._check_zone(zone)

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

    def _check_zone(self, zone: Zone) -> None:
        for name, value, least, most in (
            ("tau", zone.tau, self.min_tau, self.max_tau),
            ("radius", zone.radius, self.min_radius, self.max_radius),
        ):
            if most is not None and value > most:
                allowed = f"up to {most:g}"
            elif least is not None and value < least:
                allowed = f"from {least:g}"
            else:
                continue
            raise NotAllowed(f"The policy of this dataset allows {name} {allowed}: got {value:g}.")


@lru_cache(maxsize=64)
def policy_of(text: str) -> Policy:
    """Read a policy from the ledger's canonical JSON."""
    return Policy.from_json(json.loads(text))


def canonical(value: object) -> str:
    """Write plain JSON in its one canonical spelling."""
    return _ENCODER.encode(value)


_ENCODER = json.JSONEncoder(
    separators=(",", ":"), sort_keys=True, allow_nan=False, check_circular=False
)


def _texts(name: str, given: object) -> tuple[str, ...]:
    if not isinstance(given, tuple | list | set | frozenset) or not all(
        isinstance(item, str) for item in given
    ):
        raise invalid("Policy", name, "a list of texts", given)
    return tuple(sorted(given) if isinstance(given, set | frozenset) else given)


CountBy = Literal["sum", "either"]


@dataclass(frozen=True)
class Budget:
    """Caps on the lines of an account.

    Parameters
    ----------
    differential, sensitive, conditional : exact numbers
        The largest epsilon of each line.
    delta : exact number
        The largest delta of any line. At 0 only pure releases are admitted. Once there is a
        concentrated release, half of it is for reading the sum of these.
    count_by : {"sum", "either"}
        How pure releases count: by the sum of epsilon; or by that or the sum of rho = ε²/2, read
        at half of delta, whichever says less. With "either" that half is set aside from the
        beginning, so that approximate releases may spend the other half only, and it is never
        taken back.

    Examples
    --------
    >>> Budget.of("1").sensitive
    Fraction(1, 1)
    >>> Budget.of("1, 1e-6").delta
    Fraction(1, 1000000)
    >>> Budget.of("1, 1e-6, either").count_by
    'either'
    >>> Budget.of({"epsilon": "2", "differential": "1/2"}).to_json()["differential"]
    '1/2'
    """

    differential: Fraction
    sensitive: Fraction
    conditional: Fraction
    delta: Fraction = Fraction(0)
    count_by: CountBy = "sum"

    def __post_init__(self) -> None:
        for name in (*LINES, "delta"):
            given = getattr(self, name)
            cap = exact(given, owner="Budget", parameter=name, positive=False)
            if name == "delta" and cap >= 1:
                raise invalid("Budget", "delta", "at least 0 and below 1", given)
            object.__setattr__(self, name, cap)
        if self.count_by not in ("sum", "either"):
            raise invalid("Budget", "count_by", "'sum' or 'either'", self.count_by)
        if self.count_by == "either" and not self.delta:
            must = "above 0 where pure releases count by either rule"
            raise invalid("Budget", "delta", must, self.delta)

    @classmethod
    def of(cls, value: object) -> Budget:
        """Read a budget: a number, ``"epsilon, delta"``, a pair, a mapping, or a budget.

        ``"epsilon, delta, either"`` lets pure releases count by either rule.
        """
        if isinstance(value, Budget):
            return value
        if isinstance(value, Mapping):
            return cls._of_mapping(value)
        if isinstance(value, str) and "," in value:
            value = tuple(part.strip() for part in value.split(","))
        if isinstance(value, tuple | list):
            if len(value) not in (2, 3):
                raise invalid("Budget", "budget", "an epsilon, or an epsilon and a delta", value)
            return cls._of_mapping(dict(zip(("epsilon", "delta", "count_by"), value, strict=False)))
        return cls._of_mapping({"epsilon": value})

    @classmethod
    def _of_mapping(cls, value: Mapping[str, Any]) -> Budget:
        unknown = sorted(set(value) - {"epsilon", "delta", "count_by", *LINES})
        if unknown:
            raise InvalidInput(
                f"A budget has the keys epsilon, delta, count_by, {', '.join(LINES)}. "
                f"Got {unknown[0]!r}."
            )
        given = dict(value)
        if "epsilon" in given:
            epsilon = exact(given.pop("epsilon"), owner="Budget", positive=False)
            given = {**dict.fromkeys(LINES, epsilon), **given}
        if not set(LINES) <= set(given):
            raise InvalidInput("A budget needs an epsilon, or a cap for each line.")
        return cls(**given)

    def to_json(self) -> dict[str, str]:
        """Return a plain JSON object; rationals as text."""
        document = {line: str(getattr(self, line)) for line in (*LINES, "delta")}
        return document if self.count_by == "sum" else {**document, "count_by": self.count_by}

    def text(self) -> str:
        """Say it for people: its epsilon, by line where they differ, and its delta."""
        caps = _together({line: f"ε = {rounded_down(self.cap(line))}" for line in LINES})
        return f"{caps}, δ = {rounded_down(self.delta)}"

    def cap(self, line: str) -> Fraction:
        """The cap of one line."""
        cap: Fraction = getattr(self, line)
        return cap


def _together(amounts: Mapping[str, str]) -> str:
    """Say amounts with what each is of, unless they are all the same."""
    if len(set(amounts.values())) == 1:
        return next(iter(amounts.values()))
    return ", ".join(f"{amount} ({name})" for name, amount in amounts.items())


_GONE = "The guarantee for everyone no longer covers the total"


@dataclass(frozen=True)
class Remaining(Mapping[str, Fraction]):
    """The largest epsilon that one more question of each notion may cost.

    A mapping from notion to an exact rational. A differential release counts on every line of the
    account, so what is left for it is the least of them; a conditional one counts only on the last.

    Parameters
    ----------
    left : mapping
        By notion; only notions that the policy allows.
    delta : Fraction
        How much delta is left.
    unbounded : tuple of str
        The lines on which the total of all releases is unbounded.
    """

    left: Mapping[str, Fraction]
    delta: Fraction = Fraction(0)
    unbounded: tuple[str, ...] = ()

    def __getitem__(self, notion: str) -> Fraction:
        return self.left[notion]

    def __iter__(self) -> Iterator[str]:
        return iter(self.left)

    def __len__(self) -> int:
        return len(self.left)

    def __str__(self) -> str:
        words = ", ".join(f"{notion} {rounded_down(left)}" for notion, left in self.left.items())
        if self.delta:
            words += f", delta {rounded_down(self.delta)}"
        return f"{words}. {_GONE}." if "differential" in self.unbounded else words

    def text(self, budget: Budget) -> str:
        """Say what is left of a budget: "3.5 of 8", with the notions only where they differ."""
        words = _together(
            {
                notion: f"{rounded_down(left)} of {rounded_down(budget.cap(notion))}"
                for notion, left in self.left.items()
            }
        )
        return f"{words}. {_GONE}" if "differential" in self.unbounded else words

    def to_json(self) -> dict[str, str]:
        """Return a plain JSON object; rationals as text."""
        document = {notion: str(left) for notion, left in self.left.items()}
        return {**document, "delta": str(self.delta)} if self.delta else document


@dataclass(frozen=True)
class Plan:
    """The price of a batch.

    Parameters
    ----------
    questions : int
        How many were given.
    charged : int
        How many would be charged; the others were answered before, or come twice.
    price : mapping
        What the batch would add to each line of the account. Questions about places that do not
        meet share one price (spatial accounting).
    apart : Fraction
        The plain sum of epsilon over the different questions, for comparison.
    fits : bool
        Whether the budget suffices for all of them, in the given order.
    reason : str
        Why not.
    fitting : int
        How many fit, counted from the first.
    more : int
        How many more like the last would fit after them, even all about the same place; at most a
        million is counted.
    refused : mapping of int to str
        Which questions the policy refuses to whoever would ask, counted from 1, and why. The price
        is that of the others.
    """

    questions: int
    charged: int
    price: dict[str, Fraction]
    apart: Fraction
    fits: bool
    reason: str = ""
    fitting: int = 0
    more: int = 0
    refused: dict[int, str] = field(default_factory=dict)

    def refusing(self, refused: dict[int, str], others: Sequence[int]) -> Plan:
        """The plan of a batch of which this one has the ``others``, by their numbers."""
        if not refused:
            return self
        first = min([*refused, *([] if self.fits else [others[self.fitting]])])
        return replace(
            self,
            questions=len(refused) + len(others),
            fits=False,
            reason=refused.get(first, self.reason),
            fitting=first - 1,
            refused=refused,
        )

    def check(self) -> None:
        """Refuse a batch that does not fit, before any of it is asked."""
        for number, reason in self.refused.items():
            raise NotAllowed(f"None of the batch was asked. Its question {number}: {reason}")
        if not self.fits:
            raise BudgetExhausted(
                f"The batch does not fit, and none of it was asked: of its {self.questions} "
                f"questions the first {self.fitting} fit. {self.reason}"
            )

    def __str__(self) -> str:
        cost = max((self.price[line] for line in LINES if line in self.price), default=Fraction(0))
        words = (
            f"{self.questions} questions, {self.charged} to be charged. Total ε {_decimals(cost)}"
        )
        if cost < self.apart:
            words += f" ({_decimals(self.apart)} if they were added up)"
        if self.fits:
            more = f", and {self.more:,} more like the last would" if self.more else ""
            return f"{words}. They fit{more}."
        return f"{words}. The first {self.fitting} fit. {self.reason}"

    def _repr_html_(self) -> str:
        rows = [(line, rounded_up(amount)) for line, amount in self.price.items() if amount]
        return notebook(str(self), rows, head=("account", "adds") if rows else ())

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object; rationals as text."""
        price = {line: str(amount) for line, amount in self.price.items()}
        document = {**vars(self), "price": price, "apart": str(self.apart)}
        document["refused"] = {str(number): why for number, why in self.refused.items()}
        if not self.refused:
            del document["refused"]
        return document

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Plan:
        price = {line: Fraction(amount) for line, amount in data["price"].items()}
        refused = {int(number): why for number, why in data.get("refused", {}).items()}
        apart = Fraction(data["apart"])
        return cls(**{**data, "price": price, "apart": apart, "refused": refused})


def _decimals(amount: Fraction) -> str:
    """A total with two decimals, rounded up; four significant digits where that says nothing."""
    if amount < Fraction(1, 10):
        return rounded_up(amount)
    return f"{math.ceil(amount * 100) / 100:.2f}"

"""What a dataset or an analyst may spend.

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

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from whitecrow.errors import InvalidInput, invalid
from whitecrow.privacy import exact, text

__all__ = ["LINES", "Budget"]

LINES = ("differential", "sensitive", "conditional")
"""The lines of an account, the strongest promise first."""


@dataclass(frozen=True)
class Budget:
    """Caps on the lines of an account.

    Parameters
    ----------
    differential, sensitive, conditional : exact numbers
        The largest epsilon of each line.
    delta : exact number
        The largest delta of any line. At 0 only pure releases are admitted; above 0 it is also the
        delta at which the sum of concentrated releases is read.

    Examples
    --------
    >>> Budget.of("1").sensitive
    Fraction(1, 1)
    >>> Budget.of("1, 1e-6").delta
    Fraction(1, 1000000)
    >>> Budget.of({"epsilon": "2", "differential": "1/2"}).to_json()["differential"]
    '1/2'
    """

    differential: Fraction
    sensitive: Fraction
    conditional: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        for line in LINES:
            given = getattr(self, line)
            object.__setattr__(
                self, line, exact(given, owner="Budget", parameter=line, positive=False)
            )
        delta = exact(self.delta, owner="Budget", parameter="delta", positive=False)
        if delta >= 1:
            raise invalid("Budget", "delta", "at least 0 and below 1", self.delta)
        object.__setattr__(self, "delta", delta)

    @classmethod
    def of(cls, value: object) -> Budget:
        """Read a budget: a number, ``"epsilon, delta"``, a pair, a mapping, or a budget."""
        if isinstance(value, Budget):
            return value
        if isinstance(value, Mapping):
            return cls._of_mapping(value)
        if isinstance(value, str) and "," in value:
            value = tuple(part.strip() for part in value.split(","))
        if isinstance(value, tuple | list):
            if len(value) != 2:
                raise invalid("Budget", "budget", "an epsilon, or an epsilon and a delta", value)
            return cls._of_mapping({"epsilon": value[0], "delta": value[1]})
        return cls._of_mapping({"epsilon": value})

    @classmethod
    def _of_mapping(cls, value: Mapping[str, Any]) -> Budget:
        unknown = sorted(set(value) - {"epsilon", "delta", *LINES})
        if unknown:
            raise InvalidInput(
                f"A budget has the keys epsilon, delta, {', '.join(LINES)}. Got {unknown[0]!r}."
            )
        if "epsilon" not in value and not set(LINES) <= set(value):
            raise InvalidInput("A budget needs an epsilon, or a cap for each line.")
        caps = {
            line: exact(
                value.get(line, value.get("epsilon")),
                owner="Budget",
                parameter=line if line in value else "epsilon",
                positive=False,
            )
            for line in LINES
        }
        return cls(**caps, delta=value.get("delta", Fraction(0)))

    def to_json(self) -> dict[str, str]:
        """Return a plain JSON object; rationals as text."""
        return {line: text(getattr(self, line)) for line in (*LINES, "delta")}

    def cap(self, line: str) -> Fraction:
        """The cap of one line."""
        found: Fraction = getattr(self, line)
        return found

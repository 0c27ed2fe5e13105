"""The detectors of other libraries that a question may name.

A request, a card, a policy and a ledger are data: the texts in them choose from what is registered
here and cause no import. Names get here in three ways, all of them code that the process's owner
runs: whitecrow registers its own (:mod:`~whitecrow.anomaly.detectors.libraries`), an operator
calls :func:`register_detector`, or an operator lists entry points of the group
``whitecrow.detectors`` in the environment variable ``WHITECROW_DETECTORS``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from whitecrow import plugins
from whitecrow.errors import BrokenPlugin, InvalidInput, MissingExtra, invalid
from whitecrow.privacy import exact

ENABLED = "WHITECROW_DETECTORS"
"""The environment variable in which an operator lists the entry points to use, with commas."""

Fit = Callable[..., NDArray[np.bool_]]
"""Takes an ascending column of shape (n, 1) and the parameters; says which rows are outliers."""

Given = int | str | Fraction | None
"""A checked value of a parameter."""

_LONGEST = 10**6


@dataclass(frozen=True)
class Parameter:
    """A parameter that a question may set: its type, its range, its default."""

    name: str  # as the detector's function calls it
    # {"whole", "number", "choice"}: Whole and other numbers lie between ``least`` and ``most``,
    # which bound what a request can cost; a choice is one of ``choices``.
    kind: Literal["whole", "number", "choice"]
    default: Given  # used where a question does not say; with None a question may say null
    # least, most: The range, ends included.
    least: int | Fraction = 0
    most: int | Fraction = 0
    choices: tuple[str, ...] = ()

    def checked(self, value: object, owner: str) -> Given:
        """Return a value of this parameter, or refuse it."""
        if value is None and self.default is None:
            return None
        if self.kind == "choice":
            if not isinstance(value, str) or value not in self.choices:
                raise invalid(owner, self.name, f"one of {', '.join(self.choices)}", value)
            return value
        if self.kind == "whole":
            whole = isinstance(value, int) and not isinstance(value, bool)
            if not whole or not self.least <= value <= self.most:  # type: ignore[operator]
                must = f"a whole number between {self.least} and {self.most}"
                raise invalid(owner, self.name, must, value)
            return int(value)  # type: ignore[call-overload, no-any-return]
        number = exact(value, owner=owner, parameter=self.name)
        if not self.least <= number <= self.most or number.denominator > _LONGEST:
            must = f"between {Fraction(self.least)!s} and {Fraction(self.most)!s}"
            hint = f"Its denominator may be at most {_LONGEST}."
            raise invalid(owner, self.name, must, value, hint)
        return number


@dataclass(frozen=True)
class Registered:
    """A detector that questions may name.

    Parameters
    ----------
    name : str
        What a question says.
    fit : callable
        ``fit(column, **parameters)``: a deterministic function of an ascending float64 column of
        shape (n, 1), which says for each row whether it is an outlier. It prints nothing and
        writes nothing: what it sees is private.
    parameters : tuple of Parameter
        All that a question may set.
    packages : tuple of str
        The installed distributions whose code decides. Their versions are written into the
        condition of a promise, because other versions may decide otherwise.
    version : str
        The same for code that is no distribution; change it whenever verdicts may change.
    """

    name: str
    fit: Fit
    parameters: tuple[Parameter, ...] = ()
    packages: tuple[str, ...] = ()
    version: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.isidentifier():
            raise invalid("register_detector", "name", "a plain name such as my_rule", self.name)
        if not self.packages and not self.version:
            must = "a text that changes when verdicts may change (or name packages)"
            raise invalid("register_detector", "version", must, self.version)

    def checked(self, given: Mapping[str, Any]) -> dict[str, Given]:
        """Return the value of every parameter, or refuse what is not declared."""
        owner = f"the detector '{self.name}'"
        if not isinstance(given, Mapping):
            raise invalid(owner, "parameters", "an object of names and values", given)
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in given:
            if name not in known:
                must = f"among {', '.join(known)}" if known else "left out: it has none"
                raise invalid(owner, "parameters", must, name)
        return {
            name: parameter.checked(given.get(name, parameter.default), owner)
            for name, parameter in sorted(known.items())
        }

    def origin(self) -> str:
        """Name the code that decides, with its version; refuse where it is not installed."""
        try:
            found = [f"{package} {version(package)}" for package in self.packages]
        except PackageNotFoundError:
            raise MissingExtra(
                f"The detector '{self.name}' needs {' and '.join(self.packages)}: "
                "pip install 'whitecrow[detectors]'."
            ) from None
        return " with ".join([*found, *([f"version {self.version}"] if self.version else [])])


_REGISTERED: dict[str, Registered] = {}


def register_detector(
    name: str,
    fit: Fit,
    *,
    parameters: Sequence[Parameter] = (),
    packages: Sequence[str] = (),
    version: str = "",
) -> None:
    """Let questions of this process name a detector of your own.

    .. warning:: The proofs need a deterministic function of the column alone. A detector that
       draws randomness, keeps state or fails on some columns breaks the promise.

    Parameters
    ----------
    name, fit, parameters, packages, version
        See :class:`Registered`.

    Examples
    --------
    >>> def far(column, *, steps):
    ...     return abs(column[:, 0] - np.median(column)) > steps
    >>> steps = Parameter("steps", "whole", 100, least=1, most=10_000)
    >>> register_detector("far_from_median", far, parameters=[steps], version="1")
    """
    _add(Registered(name, fit, tuple(parameters), tuple(packages), version))


def registered(name: object) -> Registered:
    """Return the detector of this name; nothing is imported because of the name."""
    _enable()
    found = _REGISTERED.get(name) if isinstance(name, str) else None
    if found is None:
        raise invalid("FittedDetector", "name", f"one of {', '.join(sorted(_REGISTERED))}", name)
    return found


def _add(detector: Registered) -> None:
    known = _REGISTERED.setdefault(detector.name, detector)
    if known != detector:
        raise InvalidInput(f"The detector name {detector.name!r} is taken.")


@cache
def _enable() -> None:
    """Register whitecrow's own detectors and the entry points that the operator listed."""
    from whitecrow.anomaly.detectors.libraries import SHIPPED

    for detector in SHIPPED:
        _add(detector)
    for name in filter(None, map(str.strip, os.environ.get(ENABLED, "").split(","))):
        found = plugins.load(plugins.DETECTORS, name, Registered)
        if found.name != name:
            raise BrokenPlugin(
                f"{ENABLED} lists {name!r}, and that detector calls itself {found.name!r}."
            )
        _add(found)

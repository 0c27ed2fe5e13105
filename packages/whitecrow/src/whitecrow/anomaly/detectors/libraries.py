"""The detectors of other libraries that a question may name, fitted anew on every population.

A request, a card, a policy and a ledger are data: the texts in them choose from what is registered
here and cause no import. Names get here in three ways, all of them code that the process's owner
runs: whitecrow registers its own (:data:`SHIPPED`), an operator calls :func:`register_detector`, or
an operator lists entry points of the group ``whitecrow.detectors`` in the environment variable
``WHITECROW_DETECTORS``.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from whitecrow import plugins
from whitecrow.anomaly.detectors.exact import Values, plain
from whitecrow.declaration import whole
from whitecrow.errors import BrokenPlugin, InvalidInput, MissingExtra, invalid
from whitecrow.privacy import exact

ENABLED = "WHITECROW_DETECTORS"
"""The environment variable in which an operator lists the entry points to use, with commas."""

Column = NDArray[np.float64]
Outliers = NDArray[np.bool_]

Fit = Callable[..., Outliers]
"""Takes an ascending column of shape (n, 1) and the parameters; says which rows are outliers."""

Given = int | str | Fraction | None
"""A checked value of a parameter."""

_LONGEST = 10**6
_LEAST_RECORDS = 3


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
            return whole(value, owner, self.name, least=int(self.least), most=int(self.most))
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
        declared = {parameter.name: parameter for parameter in self.parameters}
        for name in given:
            if name not in declared:
                must = f"among {', '.join(declared)}" if declared else "left out: it has none"
                raise invalid(owner, "parameters", must, name)
        return {
            name: parameter.checked(given.get(name, parameter.default), owner)
            for name, parameter in sorted(declared.items())
        }

    def origin(self) -> str:
        """Name the code that decides, with its version; refuse where it is not installed."""
        try:
            versions = [f"{package} {version(package)}" for package in self.packages]
        except PackageNotFoundError:
            raise MissingExtra(
                f"The detector '{self.name}' needs {' and '.join(self.packages)}: "
                "pip install 'whitecrow[detectors]'."
            ) from None
        return " with ".join([*versions, *([f"version {self.version}"] if self.version else [])])


class FittedDetector:
    """A registered detector, fitted anew on every population.

    It sees the population's values minus the record's own, in steps of the metric's resolution
    and in ascending order, so that its verdict is a function of the multiset of values.
    A population of fewer than three records, or one that the detector refuses, has no outliers.

    Parameters
    ----------
    name : str
        ``isolation_forest``, ``local_outlier_factor``, ``elliptic_envelope`` (scikit-learn),
        ``ecod``, ``knn``, ``mad`` (PyOD), or one that the operator registered
        (:func:`~whitecrow.anomaly.detectors.register_detector`).
    **parameters
        Its declared parameters; those left out have their defaults.

    Examples
    --------
    >>> detector = FittedDetector("local_outlier_factor", n_neighbors=3)
    >>> detector.outlier(np.array([0, 1, 2, 3, 4, 5, 60]), 60)
    True
    """

    kind: ClassVar[str] = "fitted"

    def __init__(self, name: str, /, **parameters: Any) -> None:
        self._detector = registered(name)
        self._parameters = self._detector.checked(parameters)
        self._plain = plain(self._parameters)
        self._settings = [f"{key}={value}" for key, value in self._plain.items()]

    def __repr__(self) -> str:
        return f"FittedDetector({', '.join([repr(self._detector.name), *self._settings])})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FittedDetector) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self._detector.name, tuple(self._parameters.items())))

    def ready(self) -> None:
        """Refuse if the detector's package is not installed; loads nothing."""
        self._detector.origin()

    def outlier(self, values: Values, own: int) -> bool:
        if len(values) < _LEAST_RECORDS:
            return False
        column = (values - own).astype(np.float64).reshape(-1, 1)
        index = int(np.searchsorted(values, own))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its warnings would depend on private values
            try:
                return bool(self._detector.fit(column, **self._parameters)[index])
            except (MemoryError, ImportError):
                raise  # says nothing of the values, so it is no verdict on them
            except Exception:  # noqa: BLE001  whatever it raises depends on private values
                return False

    def words(self) -> str:
        """Say when a record is an outlier: the detector, every parameter, whose code decides."""
        called = f"{self._detector.name}({', '.join(self._settings)})"
        return f"{called} of {self._detector.origin()}, fitted on the population, says so"

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "name": self._detector.name, "parameters": dict(self._plain)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Build the detector that :meth:`to_json` wrote; texts choose, and import nothing."""
        detector = registered(data["name"])
        # Checked before they become keyword arguments, where any name would do.
        return cls(detector.name, **detector.checked(data.get("parameters", {})))


# What whitecrow itself offers of scikit-learn and PyOD, with the ranges a question may use. Each is
# a deterministic function of the sorted column: those that draw take a public seed. The ranges
# bound time and memory of one fit by the number of records. Detectors whose cost grows with the
# square of the number of records (the one-class support vector machine) are left out.


def _scikit_learn(module: str, name: str, column: Column, /, **given: Any) -> Outliers:
    detector = _made(f"sklearn.{module}", name, column, given)
    return np.asarray(detector.fit_predict(column) == -1)


def _pyod(module: str, name: str, column: Column, /, **given: Any) -> Outliers:
    detector = _made(f"pyod.models.{module}", name, column, given)
    return np.asarray(detector.fit(column).labels_ == 1)


def _made(module: str, name: str, column: Column, given: Mapping[str, Given]) -> Any:
    """Rationals as floats, scikit-learn's word for the seed, and for no share: its own cut."""
    arguments: dict[str, Any] = {
        name: float(value) if isinstance(value, Fraction) else value
        for name, value in given.items()
    }
    if "seed" in arguments:
        arguments["random_state"] = arguments.pop("seed")
    if "max_samples" in arguments:
        arguments["max_samples"] = min(arguments["max_samples"], len(column))
    if "contamination" in arguments and arguments["contamination"] is None:
        arguments["contamination"] = "auto"
    return getattr(import_module(module), name)(**arguments)


_LEAST, _MOST = Fraction(1, 1000), Fraction(1, 2)
_SEED = Parameter("seed", "whole", 0, least=0, most=2**32 - 1)
_OWN_CUT = Parameter("contamination", "number", None, least=_LEAST, most=_MOST)
_CONTAMINATION = Parameter("contamination", "number", Fraction(1, 10), least=_LEAST, most=_MOST)
_NEIGHBOURS = Parameter("n_neighbors", "whole", 20, least=1, most=100)
_SKLEARN = ("scikit-learn",)
_PYOD = ("pyod", *_SKLEARN)

SHIPPED = (
    Registered(
        "isolation_forest",
        partial(_scikit_learn, "ensemble", "IsolationForest"),
        (
            Parameter("n_estimators", "whole", 100, least=1, most=1000),
            Parameter("max_samples", "whole", 256, least=2, most=512),
            _OWN_CUT,
            _SEED,
        ),
        _SKLEARN,
    ),
    Registered(
        "local_outlier_factor",
        partial(_scikit_learn, "neighbors", "LocalOutlierFactor"),
        (_NEIGHBOURS, _OWN_CUT),
        _SKLEARN,
    ),
    Registered(
        "elliptic_envelope",
        partial(_scikit_learn, "covariance", "EllipticEnvelope"),
        (_CONTAMINATION, _SEED),
        _SKLEARN,
    ),
    Registered("ecod", partial(_pyod, "ecod", "ECOD"), (_CONTAMINATION,), _PYOD),
    Registered(
        "knn",
        partial(_pyod, "knn", "KNN"),
        (
            Parameter("n_neighbors", "whole", 5, least=1, most=100),
            Parameter("method", "choice", "largest", choices=("largest", "mean", "median")),
            _CONTAMINATION,
        ),
        _PYOD,
    ),
    Registered(
        "mad",
        partial(_pyod, "mad", "MAD"),
        (Parameter("threshold", "number", Fraction(7, 2), least=Fraction(1, 1000), most=10**6),),
        _PYOD,
    ),
)

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
    if not isinstance(name, str) or name not in _REGISTERED:
        raise invalid("FittedDetector", "name", f"one of {', '.join(sorted(_REGISTERED))}", name)
    return _REGISTERED[name]


def _add(detector: Registered) -> None:
    if _REGISTERED.setdefault(detector.name, detector) != detector:
        raise InvalidInput(f"The detector name {detector.name!r} is taken.")


@cache
def _enable() -> None:
    """Register whitecrow's own detectors and the entry points that the operator listed."""
    for detector in SHIPPED:
        _add(detector)
    for name in filter(None, map(str.strip, os.environ.get(ENABLED, "").split(","))):
        detector = plugins.load(plugins.DETECTORS, name, Registered)
        if detector.name != name:
            raise BrokenPlugin(
                f"{ENABLED} lists {name!r}, and that detector calls itself {detector.name!r}."
            )
        _add(detector)

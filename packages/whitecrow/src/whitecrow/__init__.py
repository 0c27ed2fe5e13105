"""whitecrow: outlier analysis on sensitive data, under provable privacy.

The names below are the whole public surface; they are loaded when first used.
"""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any

__version__ = "0.3.0"

if TYPE_CHECKING:  # for those who read types: the same names
    from whitecrow.anomaly import AnomalyModel as AnomalyModel
    from whitecrow.anomaly import ContextualAnomaly as ContextualAnomaly
    from whitecrow.anomaly import CountingModel as CountingModel
    from whitecrow.anomaly import DistanceAnomaly as DistanceAnomaly
    from whitecrow.anomaly import KernelAnomaly as KernelAnomaly
    from whitecrow.anomaly import KthNeighbourAnomaly as KthNeighbourAnomaly
    from whitecrow.anomaly import SimilarityAnomaly as SimilarityAnomaly
    from whitecrow.anomaly import register_model as register_model
    from whitecrow.client import Client as Client
    from whitecrow.count import Count as Count
    from whitecrow.curator import Curator as Curator
    from whitecrow.curator import Policy as Policy
    from whitecrow.curator.undescribed import learn as learn
    from whitecrow.data import Card as Card
    from whitecrow.data import Column as Column
    from whitecrow.data import SqlQuery as SqlQuery
    from whitecrow.data import read as read
    from whitecrow.detector import Detector as Detector
    from whitecrow.errors import BudgetExhausted as BudgetExhausted
    from whitecrow.errors import DataChanged as DataChanged
    from whitecrow.errors import InvalidInput as InvalidInput
    from whitecrow.errors import LedgerCorrupt as LedgerCorrupt
    from whitecrow.errors import PolicyViolation as PolicyViolation
    from whitecrow.errors import Unavailable as Unavailable
    from whitecrow.errors import WhitecrowError as WhitecrowError
    from whitecrow.explain import Explain as Explain
    from whitecrow.histogram.table import TableProfile as TableProfile
    from whitecrow.identify import Identify as Identify
    from whitecrow.learning import Learn as Learn
    from whitecrow.lookahead import Lookahead as Lookahead
    from whitecrow.monitor import Monitor as Monitor
    from whitecrow.privacy import ConditionalPrivacy as ConditionalPrivacy
    from whitecrow.privacy import DifferentialPrivacy as DifferentialPrivacy
    from whitecrow.privacy import SensitivePrivacy as SensitivePrivacy
    from whitecrow.privacy import ZeroConcentrated as ZeroConcentrated
    from whitecrow.profile import Profile as Profile
    from whitecrow.publish import Publish as Publish
    from whitecrow.question import Description as Description
    from whitecrow.question import Release as Release
    from whitecrow.screen import Screen as Screen
    from whitecrow.screening import Screening as Screening
    from whitecrow.subspaces import Subspaces as Subspaces
    from whitecrow.tune import Tune as Tune

_WHERE = {
    name: f"whitecrow.{module}"
    for module, names in {
        "curator.undescribed": "learn",
        "curator": "Curator Policy",
        "client": "Client",
        "question": "Description Release",
        "anomaly": "AnomalyModel ContextualAnomaly CountingModel DistanceAnomaly KernelAnomaly "
        "KthNeighbourAnomaly SimilarityAnomaly register_model",
        "learning": "Learn",
        "histogram.table": "TableProfile",
        "detector": "Detector",
        "privacy": "ConditionalPrivacy DifferentialPrivacy SensitivePrivacy ZeroConcentrated",
        "data": "Card Column SqlQuery read",
        "errors": "BudgetExhausted DataChanged InvalidInput LedgerCorrupt PolicyViolation "
        "Unavailable WhitecrowError",
    }.items()
    for name in names.split()
}
_QUESTIONS = (
    "Count Explain Identify Lookahead Monitor Profile Publish Screen Screening Subspaces Tune"
)
_WHERE |= {name: f"whitecrow.{name.lower()}" for name in _QUESTIONS.split()}

_MODULES = ("attack", "hazmat", "privacy", "sklearn", "testing")
_MOVED = {"verify": "whitecrow_audit.verify"}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"whitecrow.{name}")
    if name in _MOVED:
        warnings.warn(f"whitecrow.{name} is now {_MOVED[name]}.", DeprecationWarning, stacklevel=2)
        return importlib.import_module(_MOVED[name])
    raise AttributeError(f"whitecrow has no {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES, "__version__"])

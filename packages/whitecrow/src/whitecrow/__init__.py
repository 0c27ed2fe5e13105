"""whitecrow: outlier analysis on sensitive data, under provable privacy.

The names below are the whole public surface; they are loaded when first used.
"""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any

__version__ = "0.3.0"

if TYPE_CHECKING:
    from whitecrow.anomaly import (
        AnomalyModel,
        ContextualAnomaly,
        CountingModel,
        DistanceAnomaly,
        KernelAnomaly,
        KthNeighbourAnomaly,
        SimilarityAnomaly,
        register_model,
    )
    from whitecrow.client import Client
    from whitecrow.count import Count
    from whitecrow.curator import Curator, Policy
    from whitecrow.curator.undescribed import learn
    from whitecrow.data import Card, Column, SqlQuery, read
    from whitecrow.detector import Detector
    from whitecrow.errors import (
        BudgetExhausted,
        DataChanged,
        InvalidInput,
        LedgerCorrupt,
        PolicyViolation,
        Unavailable,
        WhitecrowError,
    )
    from whitecrow.explain import Explain
    from whitecrow.histogram.table import TableProfile
    from whitecrow.identify import Identify
    from whitecrow.learning import Learn
    from whitecrow.lookahead import Lookahead
    from whitecrow.monitor import Monitor
    from whitecrow.privacy import (
        ConditionalPrivacy,
        DifferentialPrivacy,
        SensitivePrivacy,
        ZeroConcentrated,
    )
    from whitecrow.profile import Profile
    from whitecrow.publish import Publish
    from whitecrow.question import Description, Release
    from whitecrow.screen import Screen
    from whitecrow.screening import Screening
    from whitecrow.subspaces import Subspaces
    from whitecrow.tune import Tune

_WHERE = {
    # five lines, no card
    "learn": "whitecrow.curator.undescribed",
    # the curator and what comes back
    "Curator": "whitecrow.curator",
    "Client": "whitecrow.client",
    "Policy": "whitecrow.curator",
    "Description": "whitecrow.question",
    "Release": "whitecrow.question",
    # what an anomaly is, and the questions
    "AnomalyModel": "whitecrow.anomaly",
    "CountingModel": "whitecrow.anomaly",
    "DistanceAnomaly": "whitecrow.anomaly",
    "KernelAnomaly": "whitecrow.anomaly",
    "KthNeighbourAnomaly": "whitecrow.anomaly",
    "ContextualAnomaly": "whitecrow.anomaly",
    "SimilarityAnomaly": "whitecrow.anomaly",
    "register_model": "whitecrow.anomaly",
    "Identify": "whitecrow.identify",
    "Screen": "whitecrow.screen",
    "Screening": "whitecrow.screening",
    "Lookahead": "whitecrow.lookahead",
    "Count": "whitecrow.count",
    "Subspaces": "whitecrow.subspaces",
    "Tune": "whitecrow.tune",
    "Explain": "whitecrow.explain",
    "Publish": "whitecrow.publish",
    "Profile": "whitecrow.profile",
    "TableProfile": "whitecrow.histogram.table",
    "Learn": "whitecrow.learning",
    "Monitor": "whitecrow.monitor",
    "Detector": "whitecrow.detector",
    # guarantees
    "ConditionalPrivacy": "whitecrow.privacy",
    "DifferentialPrivacy": "whitecrow.privacy",
    "SensitivePrivacy": "whitecrow.privacy",
    "ZeroConcentrated": "whitecrow.privacy",
    # data
    "Card": "whitecrow.data",
    "Column": "whitecrow.data",
    "SqlQuery": "whitecrow.data",
    "read": "whitecrow.data",
    # errors
    "BudgetExhausted": "whitecrow.errors",
    "InvalidInput": "whitecrow.errors",
    "LedgerCorrupt": "whitecrow.errors",
    "DataChanged": "whitecrow.errors",
    "PolicyViolation": "whitecrow.errors",
    "Unavailable": "whitecrow.errors",
    "WhitecrowError": "whitecrow.errors",
}

_MODULES = ("attack", "hazmat", "privacy", "sklearn", "testing")
_MOVED = {"verify": "whitecrow_audit.verify"}

__all__ = [
    "AnomalyModel",
    "BudgetExhausted",
    "Card",
    "Client",
    "Column",
    "ConditionalPrivacy",
    "ContextualAnomaly",
    "Count",
    "CountingModel",
    "Curator",
    "DataChanged",
    "Description",
    "Detector",
    "DifferentialPrivacy",
    "DistanceAnomaly",
    "Explain",
    "Identify",
    "InvalidInput",
    "KernelAnomaly",
    "KthNeighbourAnomaly",
    "Learn",
    "LedgerCorrupt",
    "Lookahead",
    "Monitor",
    "Policy",
    "PolicyViolation",
    "Profile",
    "Publish",
    "Release",
    "Screen",
    "Screening",
    "SensitivePrivacy",
    "SimilarityAnomaly",
    "SqlQuery",
    "Subspaces",
    "TableProfile",
    "Tune",
    "Unavailable",
    "WhitecrowError",
    "ZeroConcentrated",
    "learn",
    "read",
    "register_model",
]


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

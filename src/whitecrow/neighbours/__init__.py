"""Counting neighbours fast and exactly: neighbour relations, plain-array counts, engines.

Everything here returns exact private facts; only a mechanism may release anything about them.
"""

from __future__ import annotations

from whitecrow._former import former
from whitecrow.neighbours.counts import copies, count_all, count_close, count_related
from whitecrow.neighbours.engine import Engine
from whitecrow.neighbours.local import LocalEngine
from whitecrow.neighbours.opening import (
    ENGINES,
    REMOTE,
    EngineType,
    engine_names,
    open_data,
    open_engine,
)
from whitecrow.neighbours.plans import KERNELS
from whitecrow.neighbours.relation import (
    METRICS,
    NeighbourRelation,
    relation_on,
)
from whitecrow.neighbours.sphere import EARTH_RADIUS_KM
from whitecrow.neighbours.store import beside

__all__ = [
    "EARTH_RADIUS_KM",
    "ENGINES",
    "METRICS",
    "REMOTE",
    "Engine",
    "EngineType",
    "LocalEngine",
    "NeighbourRelation",
    "beside",
    "copies",
    "count_all",
    "count_close",
    "count_related",
    "engine_names",
    "open_data",
    "open_engine",
    "relation_on",
    "use_compiled",
]

use_compiled = KERNELS.use

__getattr__ = former(__name__, {"Closeness": NeighbourRelation})

"""Counting neighbours fast and exactly: neighbour relations, plain-array counts, engines.

Everything here returns exact private facts; only a mechanism may release anything about them.
"""

from __future__ import annotations

from whitecrow._compiled import KERNELS
from whitecrow.neighbours._counts import copies, count_all, count_close, count_related
from whitecrow.neighbours._engine import Engine
from whitecrow.neighbours._local import LocalEngine
from whitecrow.neighbours._opening import (
    ENGINES,
    READ_AGAIN,
    REMOTE,
    EngineType,
    current_name,
    engine_names,
    open_data,
    open_engine,
)
from whitecrow.neighbours.devices import Device, find_device
from whitecrow.neighbours.gpu import GpuEngine
from whitecrow.neighbours.relation import METRICS, NeighbourRelation, relation_on
from whitecrow.neighbours.sphere import EARTH_RADIUS_KM

__all__ = [
    "EARTH_RADIUS_KM",
    "ENGINES",
    "METRICS",
    "READ_AGAIN",
    "REMOTE",
    "Device",
    "Engine",
    "EngineType",
    "GpuEngine",
    "LocalEngine",
    "NeighbourRelation",
    "copies",
    "count_all",
    "count_close",
    "count_related",
    "current_name",
    "engine_names",
    "find_device",
    "open_data",
    "open_engine",
    "relation_on",
    "use_compiled",
]

use_compiled = KERNELS.use

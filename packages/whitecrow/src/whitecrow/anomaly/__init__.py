"""What counts as an anomaly."""

from whitecrow.anomaly.model import (
    AnomalyModel,
    CountingModel,
    model_type,
    models,
    read_model,
    register_model,
)
from whitecrow.anomaly.shipped import (
    ContextualAnomaly,
    DistanceAnomaly,
    KernelAnomaly,
    KthNeighbourAnomaly,
    SimilarityAnomaly,
)

__all__ = [
    "AnomalyModel",
    "ContextualAnomaly",
    "CountingModel",
    "DistanceAnomaly",
    "KernelAnomaly",
    "KthNeighbourAnomaly",
    "SimilarityAnomaly",
    "model_type",
    "models",
    "read_model",
    "register_model",
]

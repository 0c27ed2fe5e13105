"""What counts as an anomaly."""

from whitecrow.anomaly.model import (
    AnomalyModel,
    model_type,
    models,
    read_model,
    register_model,
)
from whitecrow.anomaly.shipped import (
    ContextualAnomaly,
    KernelAnomaly,
    KthNeighbourAnomaly,
    SimilarityAnomaly,
)
from whitecrow.anomaly.weights import CountingModel, DistanceAnomaly

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

"""What counts as an anomaly."""

from whitecrow.anomaly.model import AnomalyModel, model_type, models, read_model, register_model
from whitecrow.anomaly.weights import (
    ContextualAnomaly,
    CountingModel,
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

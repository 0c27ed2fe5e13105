"""What counts as an anomaly."""

from whitecrow.anomaly.model import DistanceAnomaly

__all__ = ["DistanceAnomaly"]

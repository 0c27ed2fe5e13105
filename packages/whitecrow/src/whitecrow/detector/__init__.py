"""Learned detectors: public objects that score records; they import neither numba nor a curator."""

from whitecrow.detector.detector import Detector
from whitecrow.detector.model import Model, Threshold

__all__ = ["Detector", "Model", "Threshold"]

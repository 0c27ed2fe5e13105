"""Learned detectors: public objects that score records; they import neither numba nor a curator."""

from whitecrow.detector.detector import Detector, Threshold
from whitecrow.detector.model import Model

__all__ = ["Detector", "Model", "Threshold"]

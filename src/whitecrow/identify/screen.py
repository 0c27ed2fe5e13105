"""Moved: this is :mod:`whitecrow.screen` now. The old name works for one release."""

from whitecrow._moved import moved

__getattr__ = moved(__name__, "whitecrow.screen")

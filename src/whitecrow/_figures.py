"""Pictures without a screen: matplotlib's figures, where it is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from whitecrow.errors import MissingExtra

__all__ = ["can_draw", "new_figure"]


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def new_figure(width: float, height: float) -> Any:
    """An empty figure of this size in inches. It needs no screen and no state of pyplot's."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise MissingExtra("Pictures need matplotlib: pip install 'whitecrow[plots]'.") from None
    return Figure(figsize=(width, height), layout="constrained")

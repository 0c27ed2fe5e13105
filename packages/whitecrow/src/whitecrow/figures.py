"""Pictures without a screen: matplotlib's figures, where it is installed."""

from __future__ import annotations

from typing import Any

from whitecrow.errors import MissingExtra


def new_figure(width: float, height: float) -> Any:
    """An empty figure of this size in inches. It needs no screen and no state of pyplot's."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise MissingExtra("Pictures need matplotlib: pip install 'whitecrow[plots]'.") from None
    return Figure(figsize=(width, height), layout="constrained")


def panels(count: int) -> tuple[Any, Any]:
    """A figure with so many small axes, four in a row, and the axes."""
    wide = min(4, count)
    tall = -(-count // wide)
    figure = new_figure(3 * wide, 2.2 * tall)
    axes = figure.subplots(tall, wide, squeeze=False).flat
    for axis in axes[count:]:
        axis.set_axis_off()
    return figure, axes[:count]

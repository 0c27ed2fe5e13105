"""Line pictures, where matplotlib is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path


def draw(
    path: Path,
    across: Sequence[float],
    lines: Mapping[str, Sequence[float]],
    labels: tuple[str, str],
    *,
    log: bool = False,
    dashed: Sequence[str] = (),
) -> tuple[Path, ...]:
    """Draw lines over one axis; return the picture's path, or nothing without matplotlib."""
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        return ()
    mpl.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    for name, values in lines.items():
        axes.plot(across, values, marker=".", linestyle="--" if name in dashed else "-", label=name)
    axes.set(xlabel=labels[0], ylabel=labels[1], yscale="log" if log else "linear")
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return (path,)

"""One look for what people read outside the console: reports, notebooks, pictures.

Pages stand alone: style, scripts and pictures are inside the file, and nothing is loaded from
elsewhere. The style is the console's own sheet.
"""

from whitecrow.rendering.chart import Axis, Dot, Interactive, Picture, Plot, series
from whitecrow.rendering.notebook import notebook, notebook_table, progress_bar
from whitecrow.rendering.numbers import PRACTICALLY_NEVER, bound, chance, figure_rows, number
from whitecrow.rendering.page import (
    badge,
    escaped,
    figure,
    fold,
    gauge,
    page,
    panel,
    paragraphs,
    quoted,
    slider,
    table,
)

__all__ = [
    "PRACTICALLY_NEVER",
    "Axis",
    "Dot",
    "Interactive",
    "Picture",
    "Plot",
    "badge",
    "bound",
    "chance",
    "escaped",
    "figure",
    "figure_rows",
    "fold",
    "gauge",
    "notebook",
    "notebook_table",
    "number",
    "page",
    "panel",
    "paragraphs",
    "progress_bar",
    "quoted",
    "series",
    "slider",
    "table",
]

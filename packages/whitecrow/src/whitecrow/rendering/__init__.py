"""One look for what people read outside the console: reports, notebooks, pictures.

Pages stand alone: style, scripts and pictures are inside the file, and nothing is loaded from
elsewhere. The style is the console's own sheet.
"""

from whitecrow.rendering.chart import Axis, Dot, Plot
from whitecrow.rendering.notebook import notebook, notebook_table
from whitecrow.rendering.numbers import bound, chance, figure_rows, number
from whitecrow.rendering.page import page, panel
from whitecrow.rendering.parts import (
    badge,
    escaped,
    figure,
    fold,
    gauge,
    paragraphs,
    quoted,
    slider,
    table,
)
from whitecrow.rendering.picture import Interactive, Picture, series
from whitecrow.rendering.progress import progress_bar

__all__ = [
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

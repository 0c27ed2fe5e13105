"""One look for what people read outside the console: reports, notebooks, pictures.

Pages stand alone: style, scripts and pictures are inside the file, and nothing is loaded from
elsewhere. The style is the console's own sheet.
"""

from whitecrow.look.chart import Axis, Dot, Plot
from whitecrow.look.notebook import notebook, notebook_table
from whitecrow.look.numbers import bound, chance, figure_rows, number
from whitecrow.look.page import page, panel
from whitecrow.look.parts import (
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
from whitecrow.look.picture import Interactive, Picture, series
from whitecrow.look.progress import progress_bar

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

"""Naghizade et al., redone: the attack on naive releases, and the same attack on ours."""

from whitecrow_research.papers.openworld.defence import (
    our_publisher,
    outlier_value,
    strongest_adversary,
)
from whitecrow_research.papers.openworld.errata import ERRATA
from whitecrow_research.papers.openworld.exhibits import EXHIBITS
from whitecrow_research.papers.openworld.figures import argument, figure_1, figure_2, figure_3
from whitecrow_research.papers.openworld.tables import table_1, table_2, table_3, table_4
from whitecrow_research.papers.report import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    "openworld",
    "Challenges of Differentially Private Release of Data Under an Open-world Assumption",
    "Elham Naghizade, James Bailey, Lars Kulik, Egemen Tanin (SSDBM 2017)",
    {
        "argument": argument,
        "figure1": figure_1,
        "figure2": figure_2,
        "table1": table_1,
        "table2": table_2,
        "table3": table_3,
        "table4": table_4,
        "figure3": figure_3,
        "publisher": our_publisher,
        "adversary": strongest_adversary,
        "value": outlier_value,
    },
    EXHIBITS,
    ERRATA,
)

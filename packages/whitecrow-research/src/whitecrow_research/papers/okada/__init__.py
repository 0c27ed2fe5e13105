"""Okada et al., redone: the global bound, the noise of counting, the discovery of subspaces."""

from whitecrow_research.papers.okada.counting import (
    figure_1,
    figure_3,
    figure_4,
    printed_algorithms,
)
from whitecrow_research.papers.okada.discovery import figure_5, figure_6, figure_7
from whitecrow_research.papers.okada.errata import ERRATA
from whitecrow_research.papers.okada.exhibits import EXHIBITS
from whitecrow_research.papers.okada.settings import figure_2, tables_1_2
from whitecrow_research.papers.report import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    "okada",
    "Differentially Private Analysis of Outliers",
    "Rina Okada, Kazuto Fukuchi, Kazuya Kakizaki, Jun Sakuma (2015)",
    {
        "figure1": figure_1,
        "figure2": figure_2,
        "tables1-2": tables_1_2,
        "algorithms": printed_algorithms,
        "figure3": figure_3,
        "figure4": figure_4,
        "figure5": figure_5,
        "figure6": figure_6,
        "figure7": figure_7,
    },
    EXHIBITS,
    ERRATA,
    apart=("figure4", "figure3"),
)

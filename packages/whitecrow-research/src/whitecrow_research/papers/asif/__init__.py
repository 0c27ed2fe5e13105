"""Identifying anomalies while preserving privacy: every table and figure, redone."""

from whitecrow_research.papers.asif import errata, figures, tables
from whitecrow_research.papers.asif.exhibits import EXHIBITS
from whitecrow_research.papers.report import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    name="asif",
    title="Identifying Anomalies while Preserving Privacy",
    citation="Hafiz Asif, Jaideep Vaidya, Periklis A. Papakonstantinou (journal version).",
    sections={
        "table1": tables.table1,
        "table2": tables.table2,
        "table3": tables.table3,
        "figure1": figures.figure1,
        "figure2": figures.figure2,
        "figure3": figures.figure3,
        "figure4": figures.figure4,
        "figure5": figures.figure5,
        "errata": errata.errata,
    },
    exhibits=EXHIBITS,
    errata=errata.ERRATA,
)

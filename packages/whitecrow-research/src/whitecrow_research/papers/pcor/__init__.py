"""PCOR, redone: every table and figure, on salaries and homicides of other years and states."""

from whitecrow_research.papers.pcor.beyond import unconditional
from whitecrow_research.papers.pcor.errata import ERRATA
from whitecrow_research.papers.pcor.example import example
from whitecrow_research.papers.pcor.exhibits import EXHIBITS
from whitecrow_research.papers.pcor.sweep import sweep
from whitecrow_research.papers.pcor.tables import (
    coe_homicide,
    coe_salary,
    detectors,
    epsilons,
    overlap,
    samples,
    searches,
)
from whitecrow_research.papers.report import Paper

__all__ = ["PAPER"]

PAPER = Paper(
    "pcor",
    "PCOR: Private Contextual Outlier Release via Differentially Private Search",
    "M. Shafieinejad, F. Kerschbaum, I. F. Ilyas, SIGMOD 2021.",
    {
        "table1": example,
        "tables2-3": searches,
        "tables4-5": overlap,
        "tables6-7": detectors,
        "tables8-9": epsilons,
        "tables10-11": samples,
        "table12": coe_salary,
        "table13": coe_homicide,
        "lof": sweep,
        "unconditional": unconditional,
    },
    EXHIBITS,
    ERRATA,
    apart=("table13", "lof", "unconditional", "table12", "tables6-7", "tables4-5"),
)

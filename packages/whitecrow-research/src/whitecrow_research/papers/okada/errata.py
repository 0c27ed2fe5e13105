"""Where the paper is wrong or unclear, and what is done here instead."""

from whitecrow_research.papers.report import Erratum

ERRATA = (
    Erratum(
        "E9",
        "Algorithm 1 recurs while i < |P|",
        "The last point is never looked at, so the bound can be below the local sensitivity.",
    ),
    Erratum(
        "E10",
        "Algorithm 2 caps its stopping rule at N and not the maximum it returns",
        "The value is not smooth then. One cap is used throughout.",
    ),
    Erratum(
        "E11",
        "Section 4.2.2 writes epsilon for the smoothing parameter",
        "Theorem 2 needs epsilon / (4 (1 + ln(2/delta))), many times smaller.",
    ),
    Erratum(
        "E12",
        "Figures 3 and 4 show deviations below 7",
        "Theorem 2 gives above 23 even at a sensitivity of 1; on Synthetic 1 it is hundreds.",
    ),
    Erratum(
        "E13",
        "Algorithm 3 claims epsilon",
        "It spends up to 2 epsilon under the paper's relation. Draws are charged at their price.",
    ),
    Erratum(
        "E14",
        "The lower bound min(N, 2dk+1) is called trivial",
        "False for N < 2dk+1: with N up to k nothing ever flips.",
    ),
    Erratum(
        "E15",
        "Definition 7 and Theorem 5 exchange variables and compare values",
        "Records are compared, so that duplicates are neighbours.",
    ),
    Erratum(
        "E16",
        "Columns are scaled by, and the radius tuned on, the private records",
        "Unpaid releases. Scales are public here, and `tune` charges for the radius.",
    ),
    Erratum(
        "E17",
        "The cap min(N, .) is used as if N were fixed",
        "Unsound where records come and go. The cap is k times a public packing number.",
    ),
)

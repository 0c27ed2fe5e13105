"""The conference paper on sensitive privacy, as far as it is available: the example of Figure 4."""

from whitecrow_research.papers.asif.errata import ERRATA
from whitecrow_research.papers.ccs.distance import accuracy, figure4
from whitecrow_research.papers.report import Exhibit, Paper

__all__ = ["PAPER"]

PAPER = Paper(
    name="ccs",
    title="How to Accurately and Privately Identify Anomalies",
    citation=(
        "Hafiz Asif, Periklis A. Papakonstantinou, Jaideep Vaidya, CCS 2019. Two pages of it were "
        "available (section 4, pages 724 and 725): one figure, no table. What the journal version "
        "repeats is redone there; the statement of Construction 2 is cut off and reconstructed in "
        "`identify/compiler.md`, with its proof."
    ),
    sections={"figure4": figure4, "theorem4.6": accuracy},
    exhibits=(
        Exhibit(
            "Figure 4",
            "distances to the other answer in the 1-sensitive graph, beta 3, r 1",
            "figure4",
        ),
    ),
    errata=tuple(erratum for erratum in ERRATA if erratum.number in ("E1", "E4", "E6")),
)

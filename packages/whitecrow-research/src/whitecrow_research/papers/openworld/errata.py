"""Where the paper is wrong or unclear, and what is done here instead."""

from whitecrow_research.papers.report import Erratum

ERRATA = (
    Erratum(
        "E25",
        "The privacy argument compares the densities of two different outputs",
        "At one output the log-ratio is unbounded: not private at any epsilon, even once.",
    ),
    Erratum(
        "E26",
        "Threshold, centring, and growing or daily data are not stated",
        "Choices are stated here; from precision and recall about 60 % were flagged.",
    ),
    Erratum(
        "E27",
        "Precision and recall are printed without the base rate",
        "24 of 36 segments hold an outlier, so flagging at random has precision 0.67.",
    ),
)

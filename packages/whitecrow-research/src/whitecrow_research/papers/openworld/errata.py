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
        "Threshold, centring, growing or daily data, one Gaussian or one a day are not stated",
        "Choices are stated here; from precision and recall about 60 % were flagged. With one "
        "Gaussian a day the growing window's AUC is about 0.7, with one for all near 0.5.",
    ),
    Erratum(
        "E27",
        "Precision and recall are printed without the base rate",
        "24 of 36 segments hold an outlier, so flagging at random has precision 0.67.",
    ),
    Erratum(
        "E36",
        "Noise of scale m mean / (n epsilon) is added to the sum (section 3.2.1)",
        "That scale fits the mean, as in section 4.2; the sum needs n times as much.",
    ),
    Erratum(
        "E37",
        "Figure 1: the average stays, the noise changes considerably",
        "The noise is proportional to the average: both change, or neither.",
    ),
)

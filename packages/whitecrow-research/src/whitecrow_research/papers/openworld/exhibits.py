"""Every table and figure that the paper prints."""

from whitecrow_research.papers.report import Exhibit

_CHANCE = (
    "one Gaussian for all days leaves the growing window near chance at 1,000 records a day, one "
    "for each day does not (E26); most of the printed figures are what the base rate gives (E27)"
)
_PORTO = "a skewed synthetic year with the paper's mean and 20 outliers, and New York taxi trips"

EXHIBITS = (
    Exhibit(
        "Figure 1",
        "noisy average salaries before and after an outlier",
        "figure1",
        why="the noise grows as printed; the average cannot stay the same, since noise and mean "
        "grow by one factor",
    ),
    Exhibit(
        "Figure 2",
        "average distance of daily trips, real and synthetic",
        "figure2",
        stand_in="New York taxi trips of March 2019 instead of Porto's",
    ),
    Exhibit("Table 1", "settings: n, w, epsilon", "table1"),
    Exhibit("Table 2", "precision and recall by epsilon", "table2", why=_CHANCE),
    Exhibit("Table 3", "precision and recall by segment size", "table3", why=_CHANCE),
    Exhibit(
        "Table 4",
        "precision and recall by records a day",
        "table4",
        why=f"at 55 records a day the attack works, as printed; beyond, {_CHANCE}",
        stand_in=_PORTO,
    ),
    Exhibit(
        "Figure 3",
        "relative error, and F by epsilon, w and n",
        "figure3",
        why=_CHANCE,
        stand_in=_PORTO,
    ),
)

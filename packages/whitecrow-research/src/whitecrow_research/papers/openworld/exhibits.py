"""Every table and figure that the paper prints."""

from whitecrow_research.papers.report import Exhibit

_WINDOWS = (
    "the printed growing window is that of a Gaussian for each day, the printed fixed one, near "
    "chance, that of one for all days: no one reading gives both (E26)"
)
_ERRATA = "tests/docs/test_errata.py::test_e"
_READINGS = (f"{_ERRATA}26_no_one_reading_gives_both_windows",)
_PORTO = "a skewed synthetic year with the paper's mean and 20 outliers, and New York taxi trips"

EXHIBITS = (
    Exhibit(
        "Figure 1",
        "noisy average salaries before and after an outlier",
        "figure1",
        why="the noise grows as printed; the average cannot stay the same, since noise and mean "
        "grow by one factor",
        tests=(f"{_ERRATA}37_noise_and_average_grow_by_one_factor",),
    ),
    Exhibit(
        "Figure 2",
        "average distance of daily trips, real and synthetic",
        "figure2",
        stand_in="New York taxi trips of March 2019 instead of Porto's",
    ),
    Exhibit("Table 1", "settings: n, w, epsilon", "table1"),
    Exhibit("Table 2", "precision and recall by epsilon", "table2", why=_WINDOWS, tests=_READINGS),
    Exhibit(
        "Table 3", "precision and recall by segment size", "table3", why=_WINDOWS, tests=_READINGS
    ),
    Exhibit(
        "Table 4",
        "precision and recall by records a day",
        "table4",
        why=f"{_WINDOWS}; at 100 and 10,000 a day the base rates are others than printed",
        stand_in=_PORTO,
        tests=_READINGS,
    ),
    Exhibit(
        "Figure 3",
        "relative error, and F by epsilon, w and n",
        "figure3",
        why="a Gaussian for each day gives all but the smallest epsilon and segment and the "
        "largest set; there the printed F lies between the two readings (E26)",
        stand_in=_PORTO,
        tests=(f"{_ERRATA}26_a_gaussian_for_each_day_gives_the_series_away",),
    ),
)

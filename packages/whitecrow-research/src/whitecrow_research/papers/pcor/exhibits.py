"""Every table and figure that the paper prints."""

from whitecrow_research.papers.report import Exhibit

_SALARIES = "65,231 salaries of other years of the same publication"
_TIMES = "seconds instead of minutes: compiled windows instead of a detector run on each population"
_START = "other years, LOF parameters that the paper does not give, another start (E21)"
_HERE = "packages/whitecrow-research/tests/papers/test_pcor.py::test_"
_SWEPT = (f"{_HERE}the_parameters_of_lof_move_the_utility_by_more_than_its_interval",)
_OTHERS = (f"{_HERE}other_years_have_other_utilities",)
_MATCHED = (f"{_HERE}tables_6_7_and_12_come_out_on_the_reduced_data",)
_PLOTS = "as in the tables; the printed histograms have no numbers"

EXHIBITS = (
    Exhibit(
        "Table 1",
        "ten records of an example, salaries as symbols",
        "table1",
        stand_in="the example's attributes; its salaries S1 to S10 have no values",
    ),
    Exhibit("Table 2", "run time of four searches", "tables2-3", "mean time", _TIMES, _SALARIES),
    Exhibit(
        "Table 3", "utility of four searches", "tables2-3", ": utility", _START, _SALARIES, _SWEPT
    ),
    Exhibit("Table 4", "run time, overlap utility", "tables4-5", "mean time", _TIMES, _SALARIES),
    Exhibit(
        "Table 5", "utility, overlap utility", "tables4-5", ": utility", _START, _SALARIES, _SWEPT
    ),
    Exhibit("Table 6", "run time, other detectors", "tables6-7", "mean time", _TIMES, _SALARIES),
    Exhibit(
        "Table 7", "utility, other detectors", "tables6-7", ": utility", _START, _SALARIES, _OTHERS
    ),
    Exhibit("Table 8", "run time by epsilon", "tables8-9", "mean time", _TIMES, _SALARIES),
    Exhibit("Table 9", "utility by epsilon", "tables8-9", ": utility", _START, _SALARIES, _SWEPT),
    Exhibit("Table 10", "run time by samples", "tables10-11", "mean time", _TIMES, _SALARIES),
    Exhibit(
        "Table 11", "utility by samples", "tables10-11", ": utility", _START, _SALARIES, _SWEPT
    ),
    Exhibit(
        "Table 12",
        "how often the matching contexts stay the same, salaries",
        "table12",
        why="other years, and the paper does not define its match; the loss where the sets differ "
        "is infinite (E22)",
        stand_in="11,000 salaries of other years",
        tests=_MATCHED,
    ),
    Exhibit(
        "Table 13",
        "how often the matching contexts stay the same, homicides",
        "table13",
        why="other states, and the paper does not define its match; the loss where the sets "
        "differ is infinite (E22)",
        stand_in="28,000 homicide reports of other states",
        tests=_MATCHED,
    ),
    Exhibit(
        "Figure 1", "histograms behind Tables 2-3", "tables2-3", "Figure", _PLOTS, _SALARIES, _SWEPT
    ),
    Exhibit(
        "Figure 2",
        "histograms behind Tables 4-5 (caption: epsilon 0.1, tables: 0.2)",
        "tables4-5",
        "Figure",
        _PLOTS,
        _SALARIES,
        _SWEPT,
    ),
    Exhibit(
        "Figure 3",
        "histograms behind Tables 6-7 (caption: epsilon 0.1, tables: 0.2)",
        "tables6-7",
        "Figure",
        _PLOTS,
        _SALARIES,
        _OTHERS,
    ),
    Exhibit(
        "Figure 4", "histograms behind Tables 8-9", "tables8-9", "Figure", _PLOTS, _SALARIES, _SWEPT
    ),
    Exhibit(
        "Figure 5",
        "histograms behind Tables 10-11",
        "tables10-11",
        "Figure",
        _PLOTS,
        _SALARIES,
        _SWEPT,
    ),
)

"""What the paper does not say of LOF, varied: how far do the printed figures move with it?"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from whitecrow.anomaly.detectors import LocalOutlierFactor
from whitecrow_research.papers.pcor.data import outliers, salary
from whitecrow_research.papers.pcor.runs import references, repeated
from whitecrow_research.papers.pcor.study import match_study
from whitecrow_research.papers.report import Context, Row, Section, mean_interval

NEIGHBOURS = (5, 10, 20, 40)
THRESHOLDS = (Fraction(5, 4), Fraction(3, 2), Fraction(2))
MATCH = 89.0
"""Per cent, of one record less, as Table 12 prints it."""


def sweep(context: Context) -> Section:
    """Utility of the breadth-first search and match of one record less, over LOF's parameters."""
    title = "LOF's parameters, which the paper does not give"
    study = salary(context, small=True)
    if study is None:
        return Section(title, rows=[Row(title, "-", "-", "needs data", "pass --data")])
    count, databases = (2, 2) if context.quick else (12, 10)
    rows: list[Row] = []
    utilities, matches = [], []
    for k, threshold in product(NEIGHBOURS, THRESHOLDS):
        detector = LocalOutlierFactor(k, threshold)
        records = outliers(study, detector, count, context.seed)
        reference_list = references(study, records, detector)
        eta = Fraction(1, 5) / (2 * 51)  # the paper's price of each of 51 draws
        useful = repeated(
            reference_list, "bfs", eta=eta, samples=50, runs=3, seed=context.seed, shipped=False
        )
        same = [
            match_study(reference.question, study.data, neighbours=databases, seed=number).unchanged
            for number, reference in enumerate(reference_list)
        ]
        low, high = mean_interval(same)
        utilities.append(useful.mean)
        matches.append(100 * sum(same) / len(same))
        rows.append(
            Row(
                f"k = {k}, threshold {float(threshold):g}: utility of BFS; match, 1 fewer",
                "0.90 (0.88, 0.93); 89.0 %",
                f"{useful.shown()}; {matches[-1]:.1f} % "
                f"({100 * max(low, 0):.1f}, {100 * min(high, 1):.1f})",
                "beyond the paper",
                f"{count} outliers of the reduced salaries, {databases} databases each",
                useful.interval,
            )
        )
    text = (
        "Tables 2 to 5 and 8 to 13 use LOF without its number of neighbours or its threshold. Both "
        "decide which contexts match, and with them the utility and how often one record changes "
        f"the set. Utilities go from {min(utilities):.2f} to {max(utilities):.2f} with them, "
        f"matches from {min(matches):.1f} to {max(matches):.1f} %."
    )
    if not min(matches) <= MATCH <= max(matches):
        text += f" So the {MATCH:g} % of Table 12 has another cause."
    return Section(title, text, rows)

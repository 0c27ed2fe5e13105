"""Where the paper is wrong or unclear, and what is done here instead."""

from __future__ import annotations

import numpy as np

from whitecrow.neighbours import count_all
from whitecrow_research.papers.report import Context, Erratum, Row, Section

ERRATA = (
    Erratum(
        "E1",
        "Theorems 3 and 4 define 'Pareto optimal' as better than every mechanism on every input",
        "False: a constant answer is better where it is right. Undominated is true, and proved.",
    ),
    Erratum(
        "E2",
        "Claim 4 (look-ahead) perturbs one coordinate and allows any query",
        "Infinite loss on other coordinates. All (k+1)-sensitive cells are perturbed here.",
    ),
    Erratum(
        "E3",
        "Reading note: look-ahead takes n = k + 1 steps (section 8.1, Claim 4)",
        "With n = k, an easy reading, the loss is infinite (`whitecrow verify lookahead`).",
    ),
    Erratum(
        "E4",
        "'lambda_k > Delta_G if the record is not sensitive'",
        "Only at least: equal for instance where the record is absent and tau - B is 1.",
    ),
    Erratum(
        "E5",
        "'The number of anomalies has sensitivity beta': B1 (beta + 1) and B2 2 epsilon private",
        "Holds at radius 0 only. Below: 2 beta on a line, 5 beta in the plane.",
    ),
    Erratum(
        "E6",
        "Reading note: (4) and (5) are for k, beta >= 1, which the conference text omits at (2)",
        "With beta = 0 nothing is ever an anomaly. DistanceAnomaly refuses 0.",
    ),
    Erratum(
        "E7",
        "Credit Fraud in Tables 2 and 3; Mammography and Thyroid in Table 3",
        "Table 3 repeats the Synthetic row for Credit Fraud; Table 2 does not match beta = 1022. "
        "For the two small sets Table 3 implies more false alarms under DP than under SP, which "
        "the mechanisms cannot produce.",
    ),
    Erratum(
        "E8",
        "PCA, beta, r and the box of Table 2 are computed from the private data; answers are drawn "
        "'within 2^-n'",
        "Neither is accounted for. Here such choices are public or charged, and sampling is exact.",
    ),
    Erratum(
        "E28",
        "Look-ahead evaluates f on xi(x + Lap(1/epsilon) e_i), which is no database",
        "Counts are whole numbers. The noise here is discrete, so the release is a histogram.",
    ),
)


def errata(context: Context) -> Section:
    """By how much one record changes the number of anomalies, which the paper takes to be beta."""
    rows = []
    for clusters, where in ((1, "radius 0"), (2, "a line"), (5, "the plane")):
        beta = 7
        drop = _drop(beta, clusters)
        rows.append(
            Row(
                f"E5: change of the number of anomalies by one record, {where}, beta {beta}",
                f"beta = {beta}",
                f"{drop} = {drop // beta} beta",
                "reproduced" if drop == beta else "differs",
                "" if clusters == 1 else "one record in the middle makes every cluster normal",
            )
        )
    return Section("The sensitivity of the number of anomalies (E5)", "", rows)


def _drop(beta: int, clusters: int) -> int:
    """Place clusters of beta records around a point, far from each other; add a record there."""
    angles = 2 * np.pi * np.arange(clusters) / clusters
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1) * (1.0 if clusters > 1 else 0.0)
    before = np.repeat(ring, beta, axis=0)
    after = np.concatenate([before, np.zeros((1, 2))])
    radius = 1.0 + 1e-9 if clusters > 1 else 0.0
    counts = [int((count_all(data, radius) <= beta).sum()) for data in (before, after)]
    return counts[0] - counts[1]

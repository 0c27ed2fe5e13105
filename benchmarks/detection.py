"""How well private detectors find outliers, against detectors without privacy, on public sets.

The sets are ADBench's (``NUMBER_NAME.npz``), in the folder that ``--data`` or the variable
WHITECROW_ADBENCH names. ``--quick`` takes the smaller ones and one seed.

`auc_private_1` is the mean ROC-AUC at (1, 1e-6), `auc_best_1` that of the best peer, `gap_1` the
difference and `gap_01` that at (0.1, 1e-6); `ratio_fit` is IForest's time over ours.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.common import emit, parser, print_table

QUICK = ("mammography", "annthyroid", "thyroid", "Wilt", "vowels", "yeast", "landsat", "fault")
PEERS = ("IForest", "ECOD", "COPOD", "HBOS")


def main(argv: Sequence[str] | None = None) -> None:
    """Run and print."""
    options = parser(__doc__ or "")
    options.add_argument("--data", default=os.environ.get("WHITECROW_ADBENCH"))
    given = options.parse_args(argv)
    if not given.data:
        options.error("say where the sets are: --data FOLDER, or the variable WHITECROW_ADBENCH")
    from whitecrow_research.detection.run import run
    from whitecrow_research.detection.sets import names

    folder = Path(given.data)
    wanted = [name for name in names(folder) if not given.quick or name in QUICK]
    with tempfile.TemporaryDirectory() as scratch:
        found = run(
            folder,
            Path(scratch) / "results.json",
            [*PEERS, "(1, 1e-6)", "(0.1, 1e-6)"],
            seeds=1 if given.quick else 5,
            jobs=2,
            only=wanted,
        )
    auc, seconds = (
        {
            detector: float(
                np.mean([np.mean([row[place] for row in one]) for one in sets.values()])
            )
            for detector, sets in found.items()
        }
        for place in (0, 2)
    )
    print_table(
        ["detector", "mean ROC-AUC", "mean seconds"],
        [[detector, auc[detector], seconds[detector]] for detector in auc],
    )
    best = max(auc[peer] for peer in PEERS)
    emit("auc_private_1", auc["(1, 1e-6)"])
    emit("auc_best_1", best)
    emit("gap_1", auc["(1, 1e-6)"] - best)
    emit("gap_01", auc["(0.1, 1e-6)"] - best)
    emit("ratio_fit", seconds["IForest"] / seconds["(1, 1e-6)"])


if __name__ == "__main__":
    main()

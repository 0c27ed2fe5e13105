"""How well private detectors find outliers, against detectors without privacy, on public sets.

The sets are those of the folders that ``--data`` names, or the two below the folder of the variable
WHITECROW_DATA. ``--quick`` takes some smaller ones and one seed.

`auc_private_1` is the mean ROC-AUC at (1, 1e-6), `auc_best_1` that of the best peer, `gap_1` the
difference and `gap_01` that at (0.1, 1e-6); `ratio_fit` is IForest's time over ours.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.common import emit, parser, print_table

QUICK = ("mammography", "annthyroid", "thyroid", "Wilt", "vowels", "yeast", "landsat", "fault")
PEERS = ("IForest", "ECOD", "KNN", "HBOS")


def main(argv: Sequence[str] | None = None) -> None:
    """Run and print."""
    options = parser(__doc__ or "")
    options.add_argument("--data", nargs="*", type=Path)
    given = options.parse_args(argv)
    from whitecrow_research.detection.run import run
    from whitecrow_research.detection.sets import default_folders, find

    sets = {
        name: source
        for name, source in find(given.data or default_folders()).items()
        if not given.quick or name in QUICK
    }
    if not sets:
        options.error("say where the sets are: --data FOLDER, or the variable WHITECROW_DATA")
    with tempfile.TemporaryDirectory() as scratch:
        results = run(
            sets,
            Path(scratch),
            [*PEERS, "(1, 1e-6)", "(0.1, 1e-6)"],
            seeds=1 if given.quick else 10,
            jobs=2,
        )
    auc, seconds = (
        {
            detector: float(
                np.mean([np.mean([row[measure] for row in rows]) for rows in sets.values()])
            )
            for detector, sets in results.items()
        }
        for measure in (0, 2)
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

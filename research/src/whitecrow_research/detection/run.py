"""Run every detector on every set and seed; what is known is not computed again."""

from __future__ import annotations

import json
import os
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from whitecrow_research.detection.measures import average_precision, roc_auc
from whitecrow_research.detection.peers import PEERS
from whitecrow_research.detection.private import SETTINGS
from whitecrow_research.detection.rivals import RIVALS
from whitecrow_research.detection.sets import load, names, split

__all__ = ["Results", "run"]

Results = dict[str, dict[str, list[list[float]]]]
"""By detector and set: ROC-AUC, average precision and seconds, one row a seed."""


def _one(folder: str, name: str, detector: str, seeds: int) -> tuple[str, str, list[list[float]]]:
    records, truth = load(Path(folder), name)
    rows = []
    for seed in range(seeds):
        part = split(records, truth, seed)
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if detector in RIVALS:
                scores = RIVALS[detector](part.train, part.test, seed)
            elif detector in PEERS:
                scores = PEERS[detector](part, seed)
            else:
                scores = SETTINGS[detector].scores(part, seed)
        seconds = time.perf_counter() - begin
        rows.append([roc_auc(part.truth, scores), average_precision(part.truth, scores), seconds])
    return detector, name, rows


def run(
    folder: Path,
    cache: Path,
    detectors: list[str],
    *,
    seeds: int = 5,
    jobs: int | None = None,
    only: list[str] | None = None,
) -> Results:
    """Return the results of the detectors on all sets of a folder.

    Parameters
    ----------
    folder : Path
        Where the sets are.
    cache : Path
        A JSON file: what rivals and peers did is taken from there, our own is always new.
    detectors : list of str
        Names of rivals, peers and settings.
    seeds, jobs : int
    only : list of str, optional
        Some of the sets.
    """
    found: Results = json.loads(cache.read_text()) if cache.exists() else {}
    wanted = only or names(folder)
    tasks = [
        (str(folder), name, detector, seeds)
        for detector in detectors
        for name in wanted
        if detector in SETTINGS or len(found.get(detector, {}).get(name, [])) < seeds
    ]
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with ProcessPoolExecutor(jobs) as pool:
        for detector, name, rows in pool.map(_one, *zip(*tasks, strict=True)) if tasks else ():
            found.setdefault(detector, {})[name] = rows
            cache.write_text(json.dumps(found))
    return {
        detector: {name: found[detector][name][:seeds] for name in wanted} for detector in detectors
    }

"""Run every detector on every set and seed; what is known is not computed again."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from whitecrow_research.detection import remote as elsewhere
from whitecrow_research.detection.limit import FEW_COLUMNS, Limit
from whitecrow_research.detection.measures import average_precision, roc_auc
from whitecrow_research.detection.peers import PEERS, TREE
from whitecrow_research.detection.private import SETTINGS, scored
from whitecrow_research.detection.rivals import RIVALS, Detector
from whitecrow_research.detection.sets import Split, load, names, split

Results = dict[str, dict[str, list[list[float]]]]
"""By detector and set: ROC-AUC, average precision, processor seconds of all and of fitting; a row a
seed."""


LIMITED: dict[str, Limit] = {TREE: FEW_COLUMNS, **elsewhere.LIMITS}
"""Detectors that run on sets of few columns only, some of them on few seeds."""


@dataclass(frozen=True)
class _Task:
    """One detector on one set."""

    folder: Path
    name: str
    detector: str
    seeds: int
    added: Mapping[str, Detector]


def known() -> list[str]:
    """Return the names of all detectors that can run here."""
    others = list(elsewhere.OTHERS) if elsewhere.PYTHON in os.environ else []
    return [*RIVALS, *PEERS, *others, *SETTINGS]


def _scores(task: _Task, part: Split, seed: int) -> tuple[npt.NDArray[np.float64], float | None]:
    """Return the scores of a detector, and how long fitting took where that is told apart."""
    rivals = {**RIVALS, **task.added}
    if task.detector in rivals:
        return rivals[task.detector](part.train, part.test, seed), None
    if task.detector in PEERS:
        return PEERS[task.detector](part, seed), None
    if task.detector in elsewhere.OTHERS:
        return elsewhere.OTHERS[task.detector](part, seed)
    return scored(SETTINGS[task.detector], part, seed)


def _one(task: _Task) -> list[list[float]]:
    records, truth = load(task.folder, task.name)
    rows: list[list[float]] = []
    limit = LIMITED.get(task.detector)
    if limit is not None and records.shape[1] > limit.columns:
        return rows
    for seed in range(_seeds(task.detector, task.seeds)):
        part = split(records, truth, seed)
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores, fit = _scores(task, part, seed)
        seconds = time.process_time() - begin
        rows.append(
            [
                roc_auc(part.truth, scores),
                average_precision(part.truth, scores),
                seconds,
                seconds if fit is None else fit,
            ]
        )
    return rows


def run(
    folder: Path,
    cache: Path,
    detectors: list[str],
    *,
    seeds: int = 5,
    jobs: int | None = None,
    only: list[str] | None = None,
    added: Mapping[str, Detector] | None = None,
    anew: bool = True,
) -> Results:
    """Return the results of the detectors on all sets of a folder.

    Parameters
    ----------
    folder : Path
        Where the sets are.
    cache : Path
        A JSON file: what rivals and peers did is taken from there.
    detectors : list of str
        Names of rivals, peers, settings and of what is added. Some have no rows for sets of too
        many columns.
    seeds, jobs : int
    only : list of str, optional
        Some of the sets.
    added : mapping, optional
        More detectors: functions ``(train, test, seed) -> scores``, large is strange.
    anew : bool
        Whether whitecrow's own are computed again although the cache has them.
    """
    found: Results = json.loads(cache.read_text()) if cache.exists() else {}
    wanted = only or names(folder)
    more = added or {}
    tasks = [
        _Task(folder, name, detector, seeds, more)
        for detector in detectors
        for name in wanted
        if (anew and detector in SETTINGS) or not _has(found, detector, name, seeds)
    ]
    for task, rows in zip(tasks, _mapped(tasks, jobs), strict=True):
        found.setdefault(task.detector, {})[task.name] = rows
        cache.write_text(json.dumps(found))
    return {
        detector: {name: found[detector][name][:seeds] for name in wanted} for detector in detectors
    }


def _has(found: Results, detector: str, name: str, seeds: int) -> bool:
    rows = found.get(detector, {}).get(name)
    if rows is None:
        return False
    return len(rows) >= _seeds(detector, seeds) or (not rows and detector in LIMITED)


def _seeds(detector: str, seeds: int) -> int:
    limit = LIMITED.get(detector)
    return seeds if limit is None else min(seeds, limit.seeds)


def _mapped(tasks: list[_Task], jobs: int | None) -> Iterator[list[list[float]]]:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if jobs == 1:
        yield from map(_one, tasks)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(_one, tasks)

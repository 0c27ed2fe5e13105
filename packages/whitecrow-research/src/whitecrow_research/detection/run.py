"""Run every detector on every set and seed; what is known is not computed again.

Results are lines of JSON, one a detector, set and seed, written as they come: a run that was
stopped goes on where it was. Those of whitecrow's own detectors carry a digest of its code and
count for that code alone; the others', which do not change, have a file of their own.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow_research.detection import remote as elsewhere
from whitecrow_research.detection.limit import FEW_COLUMNS, Limit
from whitecrow_research.detection.measures import average_precision, roc_auc
from whitecrow_research.detection.peers import PEERS, TREE
from whitecrow_research.detection.private import ABLATIONS, SETTINGS, Setting, learned, scores_of
from whitecrow_research.detection.rivals import RIVALS, Detector
from whitecrow_research.detection.sets import Known, Split, split

Results = dict[str, dict[str, list[list[float]]]]
"""By detector and set: ROC-AUC, average precision, processor seconds of all and of fitting; a row a
seed."""

LIMITED: dict[str, Limit] = {TREE: FEW_COLUMNS, **elsewhere.LIMITS}
"""Detectors that run on sets of few columns only, some of them on few seeds."""

_OWN = ("whitecrow.detector", "whitecrow.histogram", "whitecrow.learning")
_ALL, _OTHERS = "own.jsonl", "others.jsonl"


@dataclass(frozen=True)
class _Task:
    """Some detectors on one division of a set."""

    name: str
    known: Known
    seed: int
    detectors: tuple[str, ...]
    added: Mapping[str, Detector | Setting]


def known_detectors() -> list[str]:
    """Return the names of all detectors that can run here."""
    others = list(elsewhere.OTHERS) if elsewhere.PYTHON in os.environ else []
    return [*RIVALS, *PEERS, *others, *SETTINGS]


@lru_cache(maxsize=1)
def code() -> str:
    """Return a digest of the code that learns and scores."""
    digest = hashlib.sha256()
    for package in _OWN:
        spec = find_spec(package)
        assert spec is not None
        for path in sorted(Path(str(spec.origin)).parent.glob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _others(task: _Task) -> dict[str, Callable[[Split, int], Any]]:
    """Return the detectors that are not whitecrow's, alike in what they take."""

    def plain(detect: Detector, part: Split, seed: int) -> npt.NDArray[np.float64]:
        return detect(part.train, part.test, seed)

    given = {
        name: detector for name, detector in task.added.items() if not isinstance(detector, Setting)
    }
    rivals = {name: partial(plain, detector) for name, detector in {**RIVALS, **given}.items()}
    return {**rivals, **PEERS, **elsewhere.OTHERS}


def _settings(added: Mapping[str, Detector | Setting]) -> dict[str, Setting]:
    more = {name: setting for name, setting in added.items() if isinstance(setting, Setting)}
    return {**SETTINGS, **{name: setting for name, (_, setting) in ABLATIONS.items()}, **more}


def _results(task: _Task) -> list[dict[str, Any]]:
    """Run a task; settings that differ in the score alone share what was released."""
    warnings.simplefilter("ignore")
    part = split(*task.known.load(), task.seed)
    settings, others = _settings(task.added), _others(task)
    models: dict[Any, Any] = {}
    results = []
    for detector in task.detectors:
        result: dict[str, Any] = {"detector": detector, "set": task.name, "seed": task.seed}
        limit = LIMITED.get(detector)
        if limit is not None and part.train.shape[1] > limit.columns:
            results.append({**result, "row": None})
            continue
        begin = time.process_time()
        fit = None
        if detector in others:
            answer = others[detector](part, task.seed)
            scores, fit = answer if isinstance(answer, tuple) else (answer, None)
            fit = time.process_time() - begin if fit is None else fit
        else:
            result["code"] = code()
            setting = settings[detector]
            if setting.release not in models:
                model = learned(setting, part, task.seed)
                models[setting.release] = model, time.process_time() - begin
            model, fit = models[setting.release]
            scores = scores_of(setting, model, part.test)
        seconds = time.process_time() - begin
        row = roc_auc(part.truth, scores), average_precision(part.truth, scores), seconds, fit
        results.append({**result, "row": [round(value, 6) for value in row]})
    return results


def run(
    sets: Mapping[str, Known],
    kept: Path,
    detectors: Iterable[str],
    *,
    seeds: int = 10,
    jobs: int | None = None,
    added: Mapping[str, Detector | Setting] | None = None,
    minutes: float | None = None,
    any_code: bool = False,
) -> Results:
    """Return the results of the detectors on some sets.

    Parameters
    ----------
    sets : mapping
        By name; see :func:`whitecrow_research.detection.sets.find`.
    kept : Path
        A folder for results: what it has is taken from there.
    detectors : iterable of str
        Names of rivals, peers, settings and of what is added. Some have no rows for sets of too
        many columns.
    seeds, jobs : int
    added : mapping, optional
        More detectors: functions ``(train, test, seed) -> scores``, large is strange, and settings.
    minutes : float, optional
        Begin nothing after so long; what is missing then is left out.
    any_code : bool
        Whether results of other versions of whitecrow's code are taken, too.
    """
    kept.mkdir(parents=True, exist_ok=True)
    wanted, more = list(detectors), added or {}
    own = _settings(more)
    rows = _stored(kept, any_code)
    tasks = []
    for seed in range(seeds):
        for name in sorted(sets, key=lambda name: -sets[name].path.stat().st_size):
            missing = tuple(
                detector
                for detector in wanted
                if (detector, name, seed) not in rows and seed < _seeds(detector, seeds)
            )
            if missing:
                tasks.append(_Task(name, sets[name], seed, missing, more))
    with (kept / _ALL).open("a") as ours, (kept / _OTHERS).open("a") as others:
        for results_of_task in _mapped(tasks, jobs, minutes):
            for result in results_of_task:
                target = ours if result["detector"] in own else others
                target.write(json.dumps(result) + "\n")
                target.flush()
                rows[result["detector"], result["set"], result["seed"]] = result["row"]
    results: Results = {detector: {name: [] for name in sets} for detector in wanted}
    for detector, name, seed in sorted(rows, key=lambda key: key[2]):
        row = rows[detector, name, seed]
        if row is not None and seed < seeds and name in results.get(detector, ()):
            results[detector][name].append(row)
    return results


def _stored(folder: Path, any_code: bool) -> dict[tuple[str, str, int], list[float] | None]:
    rows = {}
    for path in (folder / _ALL, folder / _OTHERS):
        for text in path.read_text().splitlines() if path.exists() else ():
            result = json.loads(text)
            if any_code or result.get("code", code()) == code():
                rows[result["detector"], result["set"], result["seed"]] = result["row"]
    return rows


def _seeds(detector: str, seeds: int) -> int:
    limit = LIMITED.get(detector)
    return seeds if limit is None else min(seeds, limit.seeds)


def _mapped(
    tasks: list[_Task], jobs: int | None, minutes: float | None
) -> Iterator[list[dict[str, Any]]]:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    end = float("inf") if minutes is None else time.monotonic() + 60.0 * minutes
    if jobs == 1:
        yield from (_results(task) for task in tasks if time.monotonic() < end)
        return
    with ProcessPoolExecutor(jobs) as pool:
        waiting = {pool.submit(_results, task) for task in tasks}
        try:
            for done in as_completed(waiting):
                yield done.result()
                if time.monotonic() >= end:
                    return
        finally:  # also after a failure: what follows would be computed for nobody
            pool.shutdown(wait=False, cancel_futures=True)

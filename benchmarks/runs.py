"""Runs of benchmarks, repeated and kept in a file, and two such files compared."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Line", "Runs", "better", "compare", "load", "measure", "save"]

_HIGHER = ("ratio", "per_second", "of_bare_commits", "agreement", "auc")
"""Parts of the names of lines of which more is better; of all others less is."""


@dataclass(frozen=True)
class Runs:
    """Every line of every benchmark, once for each time it ran, and on which machine."""

    machine: Mapping[str, str]
    values: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True)
class Line:
    """What became of one line: medians, by how much it is worse, and whether noise explains it.

    Parameters
    ----------
    worse : float
        The new median over the old one, or the inverse where more is better: above 1 is worse.
    regressed : bool
        It is worse by more than the tolerance, and every new run is worse than every old one.
    """

    name: str
    old: float
    new: float
    worse: float
    regressed: bool


def better(name: str) -> str:
    """Say which direction is good: "more" or "less"."""
    line = name.rpartition(".")[2]  # without the benchmark, which may be called ratios
    return "more" if any(part in line for part in _HIGHER) else "less"


def measure(names: Sequence[str], repeat: int, arguments: Sequence[str] = ()) -> Runs:
    """Run benchmarks with some arguments, each some times in a process of its own."""
    about: Mapping[str, str] = {}
    values: dict[str, tuple[float, ...]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        for name in names:
            program = [sys.executable, "-m", f"benchmarks.{name}", "--json", str(path)]
            for _ in range(repeat):
                subprocess.run([*program, *arguments], check=True)
                found = load(path)
                about = found.machine
                for line, some in found.values.items():
                    values[line] = (*values.get(line, ()), *some)
    return Runs(about, values)


def save(runs: Runs, path: Path) -> None:
    """Write runs to a file."""
    found = {"machine": dict(runs.machine), "values": {k: list(v) for k, v in runs.values.items()}}
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def load(path: Path) -> Runs:
    """Read runs from a file."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return Runs(found["machine"], {name: tuple(some) for name, some in found["values"].items()})


def compare(old: Runs, new: Runs, tolerance: float) -> list[Line]:
    """Compare the lines that both have; a line that is 0 or below on either side is left out.

    A line regresses when its median is worse by more than the tolerance and the two sets of runs
    do not overlap: then it is not the noise that the repeated runs show.
    """
    lines = []
    for name in old.values.keys() & new.values.keys():
        before, after = old.values[name], new.values[name]
        if min(*before, *after, 1.0) <= 0:
            continue
        was, now = statistics.median(before), statistics.median(after)
        if better(name) == "more":
            worse, apart = was / now, max(after) < min(before)
        else:
            worse, apart = now / was, min(after) > max(before)
        lines.append(Line(name, was, now, worse, apart and worse > tolerance))
    return sorted(lines, key=lambda line: -line.worse)

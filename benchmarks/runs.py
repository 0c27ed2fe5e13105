"""Runs of benchmarks, repeated and kept in a file, and two such files compared."""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Line", "Runs", "better", "compare", "in_turns", "load", "measure", "save"]

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


def in_turns(
    commits: tuple[str, str], names: Sequence[str], repeat: int, arguments: Sequence[str] = ()
) -> tuple[Runs, Runs]:
    """Run the benchmarks of two commits, each as it was then, one after the other again and again.

    Both run with the packages that are installed here.
    """
    by_tree: list[list[Runs]] = [[], []]
    with tempfile.TemporaryDirectory() as folder:
        trees = [Path(folder, side) for side in ("old", "new")]
        try:
            for tree, commit in zip(trees, commits, strict=True):
                added = ["git", "worktree", "add", "--quiet", "--detach", str(tree), commit]
                subprocess.run(added, check=True)
            for _ in range(repeat):
                for tree, runs in zip(trees, by_tree, strict=True):
                    runs.append(measure(names, 1, arguments, tree))
        finally:
            for tree in trees:
                subprocess.run(["git", "worktree", "remove", "--force", str(tree)], check=False)
    old, new = (_joined(runs) for runs in by_tree)
    return old, new


def _joined(some: Sequence[Runs]) -> Runs:
    values: dict[str, tuple[float, ...]] = {}
    for runs in some:
        for line, numbers in runs.values.items():
            values[line] = (*values.get(line, ()), *numbers)
    return Runs(some[-1].machine, values)


def measure(
    names: Sequence[str], repeat: int, arguments: Sequence[str] = (), tree: Path | None = None
) -> Runs:
    """Run benchmarks with some arguments, each some times in a process of its own.

    With a ``tree``, they are those of another checkout, and so is what they measure; they may be so
    old that they print their lines and keep none.
    """
    measured: list[Runs] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        for name in names:
            program = [sys.executable, "-m", f"benchmarks.{name}", *arguments]
            for _ in range(repeat):
                if tree is None:
                    subprocess.run([*program, "--json", str(path)], check=True)
                    measured.append(load(path))
                else:
                    measured.append(Runs({}, _printed(name, program, tree)))
    return _joined(measured)


def _printed(name: str, program: Sequence[str], tree: Path) -> dict[str, tuple[float, ...]]:
    """Run a benchmark of another checkout; return the lines that it prints for programs."""
    paths = map(str, [tree, *tree.glob("packages/*/src"), *tree.glob("src")])
    given = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    ran = subprocess.run(program, check=True, cwd=tree, env=given, stdout=subprocess.PIPE)
    text = ran.stdout.decode()
    print(text, flush=True)
    lines = re.findall(r"^(\w+) ([-+.\deE]+)$", text, re.MULTILINE)
    return {f"{name}.{line}": (float(value),) for line, value in lines}


def save(runs: Runs, path: Path) -> None:
    """Write runs to a file."""
    content = {
        "machine": dict(runs.machine),
        "values": {k: list(v) for k, v in runs.values.items()},
    }
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def load(path: Path) -> Runs:
    """Read runs from a file."""
    content = json.loads(path.read_text(encoding="utf-8"))
    return Runs(content["machine"], {name: tuple(some) for name, some in content["values"].items()})


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
            worse, separate = was / now, max(after) < min(before)
        else:
            worse, separate = now / was, min(after) > max(before)
        lines.append(Line(name, was, now, worse, separate and worse > tolerance))
    return sorted(lines, key=lambda line: -line.worse)

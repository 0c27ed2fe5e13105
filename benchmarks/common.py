"""What the benchmarks share: options, timing, tables for people, lines and files for programs.

A line is a number that programs read. What was timed several times is given to :func:`emit` as it
is: the line is the median, and the spread is printed and kept with it. With ``--repeat`` a
benchmark runs in as many processes, and every line has a spread.
"""

from __future__ import annotations

import argparse
import atexit
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.runs import Runs, measure, save
from whitecrow import __version__

__all__ = [
    "best_of",
    "emit",
    "machine",
    "parser",
    "print_spread",
    "print_table",
    "ratios",
    "times_of",
]

_PACKAGES = ("numpy", "numba", "scipy", "scikit-learn", "pyarrow", "duckdb", "pyspark")

_values: dict[str, tuple[float, ...]] = {}


class _Parser(argparse.ArgumentParser):
    """Says on which machine it runs, and writes the lines to a file at the end if asked to."""

    def parse_known_args(self, *given: Any, **named: Any) -> Any:
        options, rest = super().parse_known_args(*given, **named)
        if options.repeat > 1:
            self.exit(_repeated(options))
        about = machine()
        print(", ".join(f"{name} {value}" for name, value in about.items()), flush=True)
        if options.json:
            atexit.register(_write, Path(options.json), about)
        return options, rest


def _repeated(options: argparse.Namespace) -> int:
    """Run this benchmark in processes of its own; print and keep medians and spread."""
    plain = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    plain.add_argument("--repeat")
    plain.add_argument("--json")
    _, arguments = plain.parse_known_args(sys.argv[1:])
    runs = measure([_program()], options.repeat, arguments)
    print_spread(runs)
    if options.json:
        save(runs, Path(options.json))
    return 0


def _program() -> str:
    """The name of the benchmark that runs."""
    spec = sys.modules["__main__"].__spec__
    return "" if spec is None else spec.name.rpartition(".")[2]


def print_spread(runs: Runs) -> None:
    """Print the median of every line, and between which values its runs lie."""
    rows = [
        [name, statistics.median(some), min(some), max(some), len(some)]
        for name, some in runs.values.items()
    ]
    print_table(["line", "median", "least", "most", "times"], rows)


def parser(description: str) -> argparse.ArgumentParser:
    """Return a parser with the options every benchmark has."""
    arguments = _Parser(description=description)
    arguments.add_argument("--quick", action="store_true", help="end within 50 seconds on 2 cores")
    arguments.add_argument("--json", metavar="PATH", help="write machine, versions and lines there")
    arguments.add_argument(
        "--repeat", type=int, default=1, metavar="N", help="run in N processes, for the spread"
    )
    return arguments


def machine() -> dict[str, str]:
    """Return what the figures depend on beside the code: machine and versions."""
    model = platform.processor() or platform.machine()
    cpus = Path("/proc/cpuinfo")
    if cpus.exists():
        lines = cpus.read_text(encoding="utf-8", errors="replace").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        model = names[0] if names else model
    machine = {
        "processor": model,
        "cores": str(len(os.sched_getaffinity(0))),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "whitecrow": __version__,  # of the code that runs, which need not be the one installed
    }
    for package in _PACKAGES:
        try:
            machine[package] = version(package)
        except PackageNotFoundError:
            continue
    return machine


def times_of(
    run: Callable[[], object], repeat: int = 3, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Return the time of each of ``repeat`` runs, in seconds."""
    seconds = []
    for _ in range(repeat):
        start = clock()
        run()
        seconds.append(clock() - start)
    return seconds


def best_of(run: Callable[[], object], repeat: int = 3) -> float:
    """Return the shortest wall time of ``repeat`` runs, in seconds."""
    return min(times_of(run, repeat))


def ratios(theirs: Sequence[float], ours: Sequence[float]) -> list[float]:
    """Return how many times longer each of their runs took than each of ours."""
    return [their / our for their in theirs for our in ours]


def print_table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print aligned columns."""
    texts = [list(map(str, headers)), *[[_cell(value) for value in row] for row in rows]]
    widths = [max(len(row[i]) for row in texts) for i in range(len(headers))]
    for row in texts:
        line = "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True))
        print(line, flush=True)
    print()


def emit(name: str, *values: float) -> None:
    """Print one line for programs, the median of the values and their spread, and keep it."""
    _values[name] = tuple(map(float, values))
    spread = ""
    if len(values) > 1:
        spread = f"  ({min(values):.4g} to {max(values):.4g}, {len(values)} values)"
    print(f"{name} {statistics.median(values):.6g}{spread}", flush=True)


def _write(path: Path, about: dict[str, str]) -> None:
    save(Runs(about, {f"{_program()}.{name}": some for name, some in _values.items()}), path)


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)

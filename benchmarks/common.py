"""What the benchmarks share: options, timing, tables for people, lines and files for programs."""

from __future__ import annotations

import argparse
import atexit
import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from whitecrow import __version__

__all__ = ["best_of", "emit", "machine", "parser", "print_table"]

_PACKAGES = ("numpy", "numba", "scipy", "scikit-learn", "pyarrow", "duckdb", "pyspark")

_lines: dict[str, float] = {}


class _Parser(argparse.ArgumentParser):
    """Says on which machine it runs, and writes the lines to a file at the end if asked to."""

    def parse_known_args(self, *given: Any, **named: Any) -> Any:
        options, rest = super().parse_known_args(*given, **named)
        about = machine()
        print(", ".join(f"{name} {value}" for name, value in about.items()), flush=True)
        if options.json:
            atexit.register(_write, Path(options.json), about)
        return options, rest


def parser(description: str) -> argparse.ArgumentParser:
    """Return a parser with the options every benchmark has."""
    found = _Parser(description=description)
    found.add_argument("--quick", action="store_true", help="end within 50 seconds on 2 cores")
    found.add_argument("--json", metavar="PATH", help="write machine, versions and lines there")
    return found


def machine() -> dict[str, str]:
    """Return what the figures depend on beside the code: machine and versions."""
    model = platform.processor() or platform.machine()
    cpus = Path("/proc/cpuinfo")
    if cpus.exists():
        lines = cpus.read_text(encoding="utf-8", errors="replace").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        model = names[0] if names else model
    found = {
        "processor": model,
        "cores": str(len(os.sched_getaffinity(0))),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "whitecrow": __version__,  # of the code that runs, which need not be the one installed
    }
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def best_of(run: Callable[[], object], repeat: int = 3) -> float:
    """Return the shortest wall time of ``repeat`` runs, in seconds."""
    found = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return min(found)


def print_table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print aligned columns."""
    texts = [list(map(str, headers)), *[[_cell(value) for value in row] for row in rows]]
    widths = [max(len(row[i]) for row in texts) for i in range(len(headers))]
    for row in texts:
        line = "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True))
        print(line, flush=True)
    print()


def emit(name: str, value: float) -> None:
    """Print one line for programs, and keep it for the file."""
    _lines[name] = float(value)
    print(f"{name} {value:.6g}", flush=True)


def _write(path: Path, about: dict[str, str]) -> None:
    path.write_text(json.dumps({"machine": about, "lines": _lines}, indent=1), encoding="utf-8")


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)

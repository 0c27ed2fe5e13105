"""What the benchmarks share: options, timing, tables for people, lines for programs."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

__all__ = ["best_of", "emit", "parser", "print_table"]


def parser(description: str) -> argparse.ArgumentParser:
    """Return a parser with the options every benchmark has."""
    found = argparse.ArgumentParser(description=description)
    found.add_argument("--quick", action="store_true", help="end within 50 seconds on 2 cores")
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
    """Print one line for programs."""
    print(f"{name} {value:.6g}", flush=True)


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)

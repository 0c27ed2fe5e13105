"""``python -m benchmarks``: run benchmarks into a file, compare two such files.

    python -m benchmarks run neighbours count --quick --repeat 3 --json new.json
    python -m benchmarks compare old.json new.json --tolerance 1.3

`compare` takes what `run` wrote, or a benchmark's own ``--json``. It ends with 1 if a line got
worse by more than the tolerance and by more than the runs differ among themselves.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.common import print_spread, print_table
from benchmarks.runs import compare, load, measure, save


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return what the process should end with."""
    outline = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = outline.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run benchmarks, print medians and spread")
    run.add_argument("names", nargs="+")
    run.add_argument("--quick", action="store_true")
    run.add_argument("--repeat", type=int, default=3)
    run.add_argument("--json", type=Path, metavar="PATH")
    two = commands.add_parser("compare", help="compare two runs")
    two.add_argument("old", type=Path)
    two.add_argument("new", type=Path)
    two.add_argument("--tolerance", type=float, default=1.3, help="times worse; default 1.3")
    options = outline.parse_args(argv)
    if options.command == "run":
        return _run(options)
    return _compare(options)


def _run(options: argparse.Namespace) -> int:
    runs = measure(options.names, options.repeat, ["--quick"] if options.quick else [])
    print_spread(runs)
    if options.json:
        save(runs, options.json)
    return 0


def _compare(options: argparse.Namespace) -> int:
    old, new = load(options.old), load(options.new)
    for name in sorted(old.machine.keys() | new.machine.keys()):
        was, now = old.machine.get(name), new.machine.get(name)
        if was != now:
            print(f"{name} differs: {was}, now {now}")
    lines = compare(old, new, options.tolerance)
    rows = [
        [line.name, line.old, line.new, line.worse, "REGRESSED" if line.regressed else ""]
        for line in lines
    ]
    print_table(["line", "old", "new", "times worse", ""], rows)
    for name in sorted(old.values.keys() - new.values.keys()):
        print(f"{name}: not in the new run")
    return int(any(line.regressed for line in lines))


if __name__ == "__main__":
    sys.exit(main())

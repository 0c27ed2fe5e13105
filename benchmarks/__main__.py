"""``python -m benchmarks``: run benchmarks into a file, compare two such files.

    python -m benchmarks run neighbours count --quick --repeat 3 --json new.json
    python -m benchmarks compare old.json new.json --tolerance 1.3
    python -m benchmarks compare v0.2 HEAD ratios publish --quick

`compare` takes what `run` wrote, or a benchmark's own ``--json``; or two commits, whose benchmarks
it runs in turns, so that both meet the same load. It ends with 1 if a line got worse by more than
the tolerance and by more than the runs differ among themselves.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.common import print_spread, print_table
from benchmarks.runs import compare, in_turns, load, measure, save


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return what the process should end with."""
    outline = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    commands = outline.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run benchmarks, print medians and spread")
    run.add_argument("names", nargs="+")
    run.add_argument("--quick", action="store_true")
    run.add_argument("--repeat", type=int, default=3)
    run.add_argument("--json", type=Path, metavar="PATH")
    two = commands.add_parser("compare", help="compare two runs, or two commits")
    two.add_argument("old")
    two.add_argument("new")
    two.add_argument("names", nargs="*", help="benchmarks to run, if commits are compared")
    two.add_argument("--quick", action="store_true")
    two.add_argument("--repeat", type=int, default=3)
    two.add_argument("--tolerance", type=float, default=1.3, help="times worse; default 1.3")
    options = outline.parse_args(argv)
    if options.command == "run":
        return _run(options)
    return _compare(options)


def _run(options: argparse.Namespace) -> int:
    runs = measure(options.names, options.repeat, _quick(options))
    print_spread(runs)
    if options.json:
        save(runs, options.json)
    return 0


def _quick(options: argparse.Namespace) -> list[str]:
    return ["--quick"] if options.quick else []


def _compare(options: argparse.Namespace) -> int:
    if options.names:
        commits = (options.old, options.new)
        old, new = in_turns(commits, options.names, options.repeat, _quick(options))
    else:
        old, new = load(Path(options.old)), load(Path(options.new))
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

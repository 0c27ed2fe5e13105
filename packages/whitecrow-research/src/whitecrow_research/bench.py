"""``whitecrow bench``: run a benchmark of a clone of the project."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import click

from whitecrow.errors import MissingExtra

NAMES = (
    *("ratios", "cold_start", "noise", "neighbours", "count", "count_error", "explain", "publish"),
    *("learn", "detection", "ledger", "ledger_parts", "ledger_size", "screen", "screening"),
    *("server", "server_fairness", "server_kills", "deadlines", "disk", "duckdb", "spark", "gpu"),
)
"""The benchmarks of a clone, each a ratio against a peer."""


@click.command("bench", epilog="Example: whitecrow bench noise --quick")
@click.argument("name", type=click.Choice(NAMES))
@click.option("--quick", is_flag=True, help="End within 50 seconds on 2 cores.")
@click.pass_context
def command(ctx: click.Context, name: str, quick: bool) -> None:
    """Measure one kernel against the best peer in the same run."""
    sys.path.insert(0, "")
    if importlib.util.find_spec("benchmarks") is None:
        raise MissingExtra("The benchmarks are not installed; run this in a clone of the project.")
    arguments = [sys.executable, "-m", f"benchmarks.{name}", *(["--quick"] if quick else [])]
    ctx.exit(subprocess.run(arguments, check=False).returncode)

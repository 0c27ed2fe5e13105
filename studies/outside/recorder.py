"""Watch ``learn`` and ``profile`` with dp-recorder: record one database, replay its neighbour.

    PYTHONPATH=../../src:DP_RECORDER/src python recorder.py

The primitive is the noise of whitecrow's histograms. What is said to be public (grids, layouts of
tables, the number of records) must be the same on both sides once the noisy numbers are frozen.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from dp_recorder.auditing.audit_primitives import Auditor, audit_spec, ensure_equality
from dp_recorder.auditing.metrics import dist_l1

from whitecrow.detector.model import Grid
from whitecrow.histogram.facts import Bought, CellFacts, counted_rows
from whitecrow.histogram.noise_budget import Noise, NoiseBudget
from whitecrow.learning.training import train

GRIDS = (Grid("x", True, False, 0.0, 1.0), Grid("y", False, True, 0.0, 2.0))
ROWS = np.array([[0.1, 0.0], [0.9, 1.0], [0.4, 2.0], [0.4, 2.0]])
MORE = np.vstack([ROWS, [[0.95, 1.0]]])


@audit_spec(kind="noise", input_arg="counts", sensitivity_arg="sensitivity", metric_fn=dist_l1)
def noisy(counts: Any, sensitivity: float, law: str, size: str) -> Any:
    """Add whitecrow's own noise."""
    return Noise(law, Fraction(size)).added(counts, None)


class Watched:
    """A noise budget whose noise is watched; ``forgets``: by how much too few tables are paid."""

    def __init__(self, budget: NoiseBudget, forgets: int = 1) -> None:
        self.budget, self.forgets = budget, forgets

    def __getattr__(self, name: str) -> Any:
        return getattr(self.budget, name)

    def histograms(self, share: Fraction, tables: int) -> Any:
        """Return the noise of so many tables."""
        paid = max(1, tables // self.forgets)
        noise = self.budget.histograms(share, paid)

        class Added:
            """The noise, watched."""

            deviation, law, size = noise.deviation, noise.law, noise.size

            def added(self, counts: Any, source: object) -> Any:
                """Add it."""
                return noisy(
                    counts=counts, sensitivity=float(paid), law=noise.law, size=str(noise.size)
                )

        return Added()


def learned(rows: Any, *, forgets: int = 1, bounds: bool = False, size: bool = False) -> None:
    """Run the stages of ``learn``, shipped or broken."""
    grids = GRIDS
    if bounds:
        grids = (Grid("x", True, False, 0.0, float(rows[:, 0].max())), GRIDS[1])
    model = train(
        grids,
        Bought(
            CellFacts(partial(counted_rows, rows)),
            Watched(NoiseBudget("laplace", Fraction(1), "add_remove", 1), forgets),  # type: ignore[arg-type]
        ),
        Fraction(1),
        size=len(rows) if size else None,
    )
    ensure_equality(grids=repr(model.grids))
    ensure_equality(layout=model.tables.offset.tobytes())
    ensure_equality(records=model.records)


def watched(run: Callable[[Any], None]) -> str:
    """Record, replay, and say what dp-recorder says."""
    auditor = Auditor()
    try:
        with auditor:
            run(ROWS)
        auditor.set_replay()
        with auditor:
            run(MORE)
        auditor.validate_records()
    except (AssertionError, RuntimeError) as found:
        return f"violation: {str(found).splitlines()[0]}"
    return "nothing"


def main() -> None:
    """Print a line a case."""
    cases: dict[str, Callable[[Any], None]] = {
        "shipped: learn": learned,
        "mutant: noise of half the tables": lambda rows: learned(rows, forgets=2),
        "mutant: bounds from the data": lambda rows: learned(rows, bounds=True),
        "mutant: the exact number of records": lambda rows: learned(rows, size=True),
    }
    for name, run in cases.items():
        print(f"dp-recorder\t{name}\t{watched(run)}", flush=True)


if __name__ == "__main__":
    main()

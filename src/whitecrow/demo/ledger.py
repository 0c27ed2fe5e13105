"""The last chapter: what it all cost."""

from __future__ import annotations

from whitecrow.demo.stage import Chapter, Stage

__all__ = ["chapter"]


def chapter(stage: Stage) -> Chapter:
    """Read the account."""
    remaining = ", ".join(f"{notion} {left}" for notion, left in stage.curator.remaining().items())
    return Chapter(
        "What it cost",
        "Every question above was paid for before the first record was read, and its answer is "
        f"stored with its price. What remains of the budget, by notion: {remaining}.\n\n"
        "Asking any of these questions again returns the stored answer, free and identical.",
    )

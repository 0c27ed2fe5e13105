"""Where do outliers live? The chapter of ``subspaces``."""

from __future__ import annotations

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.demo.stage import Chapter, Stage
from whitecrow.subspaces import Subspaces

__all__ = ["chapter"]


def chapter(stage: Stage) -> Chapter:
    """Find the pair of columns with the most outliers, and count them there, at one price."""
    question = Subspaces(
        size=2,
        top=1,
        columns=["age", "bmi", "systolic"],
        model=DistanceAnomaly(beta=5, radius=2.0),
        epsilon=1,
        count_share="1/2",
    )
    release = stage.curator.ask(question)
    found = release.answer[0]
    words = (
        "Of all pairs among age, body mass index and blood pressure, in which are there the most "
        f"patients with hardly anyone near? The curator says {' and '.join(found['columns'])}, "
        f"with about {found['count']} outliers there.\n\n"
        "Finding and counting were one question with one price: half of it chose the pair by the "
        "exponential mechanism, half counted in the pair that was chosen.\n\n"
        f"{release.statement}"
    )
    return Chapter("Where do outliers live?", words)

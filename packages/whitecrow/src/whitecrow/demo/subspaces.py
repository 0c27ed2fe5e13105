"""Where do outliers live? The chapter of ``subspaces``."""

from __future__ import annotations

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.demo.stage import Asked, Chapter, Stage
from whitecrow.subspaces import Subspaces


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
    figures = stage.curator.describe(question).figures
    release = stage.curator.ask(question)
    found = release.answer[0]
    names = " and ".join(found["columns"])
    error = f"± {figures['count_median_error']:.0f}"
    asked = Asked(
        "subspaces",
        "Which two columns have the most?",
        f"{names}: {found['count']}",
        error,
        question.epsilon,
        release.statement,
    )
    words = (
        "Of all pairs among age, body mass index and blood pressure, in which do most patients "
        f"stand alone? In {names}, where about {found['count']} do ({error}, half the time).\n\n"
        "Finding and counting are one question with one price: half of it chooses the pair, half "
        "counts in the pair that was chosen."
    )
    return Chapter("In which columns do outliers live?", (asked,), words)

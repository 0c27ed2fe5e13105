"""Figure 4: how far it is to the other answer in a sensitive graph, by walking it."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path

from whitecrow.anomaly.law import discrepancy, flip_probability
from whitecrow_research.papers.report import Context, Row, Section, Table, Verdict

Database = tuple[int, ...]
"""How many records there are at each place of a line."""

BETA, RADIUS, K = 3, 1, 1
TAU = BETA + 1 - K
RECORD = 4  # record 5 of the paper
MOST = 8  # no shortest walk below puts more records at one place

EXAMPLES: tuple[Database, ...] = ((3, 0, 0, 0, 1), (3, 2, 1, 0, 1), (3, 0, 1, 0, 1))


def _near(database: Database, value: int) -> int:
    return sum(database[max(0, value - RADIUS) : value + RADIUS + 1])


def _anomaly(database: Database) -> bool:
    return database[RECORD] > 0 and _near(database, RECORD) <= BETA


def _neighbours(database: Database) -> list[Database]:
    """The databases one record away whose record has TAU records around it in the larger one."""
    databases = []
    for value, step in product(range(len(database)), (1, -1)):
        count = database[value] + step
        if not 0 <= count <= MOST:
            continue
        other = (*database[:value], count, *database[value + 1 :])
        if _near(other if step > 0 else database, value) >= TAU:
            databases.append(other)
    return databases


def distance(start: Database) -> list[Database]:
    """Return a shortest walk to a database with the other answer, the start included.

    Examples
    --------
    >>> distance((3, 2, 1, 0, 1))[-1]
    (3, 2, 1, 3, 1)
    """
    before: dict[Database, Database | None] = {start: None}
    border = [start]
    while border:
        reached = []
        for here in border:
            for there in _neighbours(here):
                if there in before:
                    continue
                before[there] = here
                if _anomaly(there) != _anomaly(start):
                    return _walk(before, there)
                reached.append(there)
        border = reached
    return []


def _walk(before: dict[Database, Database | None], end: Database) -> list[Database]:
    walk: list[Database] = []
    step: Database | None = end
    while step is not None:
        walk.append(step)
        step = before[step]
    return walk[::-1]


def figure4(context: Context) -> Section:
    """The distances that the paper compares, and the bound that Construction 1 uses."""
    walks = {start: distance(start) for start in EXAMPLES}
    far, near, other = (len(walks[start]) - 1 for start in EXAMPLES)
    bound = discrepancy(1, 1, beta=BETA, k=K)  # record 5 is alone in each of them
    assert bound is not None
    rows = [
        _compared("(3,0,0,0,1) is farther than (3,2,1,0,1)", far, near),
        _compared("(3,0,0,0,1) is farther than (3,0,1,0,1)", far, other),
        Row(
            "the bound lambda_k is at most each distance",
            "a lower bound (Lemma 4.5)",
            f"{bound} against {far}, {near}, {other}",
            "reproduced" if bound <= min(far, near, other) else "differs",
        ),
    ]
    table = Table(
        ("from", "distance", "a shortest walk"),
        [(_shown(s), len(w) - 1, " → ".join(map(_shown, w))) for s, w in walks.items()],
        f"Five places on a line, beta {BETA}, r {RADIUS}, k {K}: an edge is there if the record "
        f"that comes or goes has {TAU} or more records within r in the larger database.",
    )
    text = (
        "The paper draws a part of the graph and prints no distances; it says which are larger. "
        "Here they are computed, by a breadth-first walk from each database to the nearest one in "
        "which record 5 has the other answer."
    )
    title = "Figure 4: distance to the other answer"
    return Section(title, text, rows, [table], _picture(context, walks))


def _compared(what: str, larger: int, smaller: int) -> Row:
    verdict: Verdict = "reproduced" if larger > smaller else "differs"
    return Row(what, "yes", f"{larger} against {smaller}", verdict)


def _shown(database: Database) -> str:
    return f"({','.join(map(str, database))})"


def _picture(context: Context, walks: dict[Database, list[Database]]) -> tuple[Path, ...]:
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        return ()
    figure = Figure(figsize=(10, 2.6), layout="constrained")
    axes = figure.subplots()
    for height, walk in enumerate(walks.values()):
        axes.plot(range(len(walk)), [-height] * len(walk), color="#8b98a5", zorder=1)
        for step, database in enumerate(walk):
            colour = "#c8553d" if _anomaly(database) else "#2f6fb0"
            axes.scatter(step, -height, s=60, color=colour, zorder=2)
            axes.annotate(
                _shown(database), (step, -height), (0, 9), textcoords="offset points", ha="center"
            )
    axes.set(xlabel="records that came or went", yticks=[], ylim=(-2.5, 0.7), xlim=(-0.6, 6.6))
    axes.set_title("red: record 5 is an anomaly; blue: it is not", fontsize=10)
    axes.spines[["left", "right", "top"]].set_visible(False)
    path = context.out / "ccs-figure4.png"
    figure.savefig(path, dpi=100)
    return (path,)


def accuracy(context: Context) -> Section:
    """Theorem 4.6: the error about a record that is not sensitive."""
    worst = 0.0
    tried = 0
    for beta, epsilon in product((3, 10, 30), (0.1, 0.5, 1.0)):
        for k in range(1, beta + 1):
            for near in range(beta + 1 - k):
                for copies in range(near + 1):
                    distance = discrepancy(copies, near, beta=beta, k=k)
                    limit = math.exp(-epsilon * abs(beta + 1 - k - near))
                    worst = max(worst, flip_probability(distance, epsilon) / limit)
                    tried += 1
    row = Row(
        "error / e^(-epsilon |beta + 1 - k - B|)",
        "at most 1",
        f"at most {worst:.3f} in {tried:,} cases",
        "reproduced" if worst <= 1 else "differs",
    )
    return Section("Theorem 4.6: error about a record that is not sensitive", "", [row])

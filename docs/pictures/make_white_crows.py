"""Draws the README's picture: python docs/pictures/make_white_crows.py

Left, the bundled clinic (made up, so it may be shown) with the records that one run of the bare
mechanism reports; right, how often the answer about a record is wrong, from the closed form.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

from whitecrow import demo, hazmat
from whitecrow.data import read

BETA, RADIUS, K, EPSILON = 40, 12, 2, 0.25
INK, CROW, QUIET = "#1c2330", "#c8553d", "#9aa3b2"
NIGHT, FLOCK = "#22303c", "#6f8194"


def main() -> None:
    """Draw it."""
    rows = read(demo.DATA, demo.CARD).matrix(["age", "bmi", "systolic"])
    source = hazmat.seeded(1)
    found = [
        hazmat.identify(rows, row, beta=BETA, radius=RADIUS, k=K, epsilon=EPSILON, rng=source)
        for row in rows
    ]
    plt.rcParams.update({"font.size": 10, "axes.edgecolor": QUIET, "text.color": INK})
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), width_ratios=(1.15, 1))
    flock = rows[[not crow for crow in found]]
    crows = rows[found]
    left.set_facecolor(NIGHT)
    left.scatter(flock[:, 0], flock[:, 2], s=6, color=FLOCK, linewidths=0, label="the flock")
    left.scatter(
        crows[:, 0], crows[:, 2], s=30, color="white", edgecolors=CROW, label="white crows"
    )
    left.set_ylim(72, 248)
    left.legend(loc="upper right", ncols=2, labelcolor="white", facecolor=NIGHT, edgecolor=NIGHT)
    left.set(xlabel="age", ylabel="systolic blood pressure")
    left.set_title("Reported as anomalies (one run, ε = 0.25)", loc="left", fontsize=10.5)
    counts = range(1, 2 * BETA + 1)
    for k, colour, style in ((BETA, INK, "-"), (K, CROW, "--")):
        wrong = [
            hazmat.flip_probability(hazmat.discrepancy(1, n, beta=BETA, k=k), EPSILON)
            for n in counts
        ]
        right.plot(counts, wrong, style, color=colour, linewidth=2.2)
    right.text(2, 0.452, "differential privacy: a coin", color=INK)
    right.text(2, 0.14, "sensitive privacy,\nk = 2", color=CROW)
    right.text(52, 0.24, "normal records:\nboth alike", color=INK)
    right.axvline(BETA + 0.5, color=QUIET, linewidth=1, linestyle=":")
    right.text(BETA - 1, 0.49, "anomaly", ha="right", color=QUIET)
    right.text(BETA + 2, 0.49, "normal", color=QUIET)
    right.set_ylim(-0.02, 0.51)
    right.set(
        xlabel="records within the radius, itself included", ylabel="probability of a wrong answer"
    )
    right.set_title("How often the answer is wrong", loc="left", fontsize=10.5)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(Path(__file__).parent / "white_crows.png", dpi=110)


if __name__ == "__main__":
    main()

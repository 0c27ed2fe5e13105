"""The question ``learn``: a public detector that scores records for ever."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from random import Random
from typing import Any, ClassVar

import numpy as np

from whitecrow.data import Card
from whitecrow.declaration import (
    Declared,
    Delta,
    Epsilon,
    Exact,
    Maybe,
    Names,
    Numbers,
    Relation,
    Whole,
)
from whitecrow.detector import Detector
from whitecrow.detector.model import SHIFT, SPAN, UNIT, Grid, Tables, grid_of
from whitecrow.errors import InvalidInput, invalid
from whitecrow.histogram.noise_budget import NoiseBudget, concentrated
from whitecrow.limits import Limits, sorting, worst_case
from whitecrow.privacy import DifferentialPrivacy, exact
from whitecrow.question import JSON, Question, Said

# The recipe: everything about a detector that is decided before any record is read.
#
# The numbers were chosen by comparing some thirty variants on public sets; how honestly is said
# in ``docs/questions/learn.md``. A wrong choice costs quality, never privacy.

ROUNDS = (Fraction(50, 100), Fraction(26, 100), *3 * (Fraction(8, 100),))
"""How the marginals' part of the price is divided among their five rounds."""

_FEW_COLUMNS = 6
_DROWNED = 10.0
_MOST_PAID = Fraction(1 << 20)  # from there on one record has all tables

MOST_TABLES = 12 * 24  # how many tables there are at the most, whatever the records are


@dataclass(frozen=True)
class Family:
    """Tables of one kind."""

    ranks: bool  # whether columns are seen by their ranks, or by their logarithmic coordinate
    columns: int  # how many columns a table looks at
    narrow: float  # between which widths a bin lies, in deviations or thirds of the ranks
    wide: float
    parts: int  # how many twelfths of all tables are of this kind


_FAMILIES = (
    Family(False, 1, 0.25, 0.5, 1),
    Family(False, 2, 0.5, 1.0, 1),
    Family(False, 3, 0.75, 1.5, 3),
    Family(False, 6, 2.0, 3.5, 4),
    Family(True, 2, 1.0, 2.0, 1),
    Family(True, 3, 1.5, 3.0, 2),
)


def marginal_share(law: str, total: Fraction) -> Fraction:
    """Return the part of the price for the distributions of single columns."""
    # Coordinates that are wrong spoil every table, so a small price spends more on them.
    if law == "gaussian":
        return Fraction(1, 2) if total < Fraction(1, 1000) else Fraction(3, 10)
    return Fraction(2, 5) if total < Fraction(1, 2) else Fraction(1, 5)


def families(law: str, records: float, total: Fraction) -> tuple[tuple[Family, int], ...]:
    """Return how many tables of each family there are, from the released number of records.

    Gaussian noise grows with the root of the number of tables, Laplace noise with the number: few
    tables, and fewer for few records.
    """
    paid = float(min(total, _MOST_PAID))
    if law == "gaussian":
        unit = max(12, min(24, round(records * math.sqrt(paid) / 10)))
    else:
        unit = max(1, min(6, round(records * paid / 360)))
    return tuple((family, family.parts * unit) for family in _FAMILIES)


NEAR = 1.75
"""From which logarithmic coordinate on distance alone makes a cell stranger: 4.75 deviations."""

CLEAR = 16.0
"""By how many deviations of the noise a cell is clear of it that half counts for what is usual."""


TOGETHER = 0.75
"""How much of what columns say by themselves is taken off where noise hides nothing."""

_DEPENDENT, _DOUBTED, _HIDDEN = 0.2, 0.2, 0.008


def together(dependence: float, doubt: float, noise: float) -> float:
    """Return how much of what a cell's columns say by themselves is taken off its surprise.

    Where columns hang together, a cell is strange that has fewer records than its columns lead one
    to expect; how rare each value is then counts by a quarter. Where they do not, or where noise
    hides it, only noise would be told apart: the ``doubt`` is the part of the records that it may
    hide in a column's distribution, ``noise`` that in a mean of all tables.
    """
    seen = dependence * dependence
    doubtful, hidden = (min(part, 1e3) ** 4 for part in (doubt / _DOUBTED, noise / _HIDDEN))
    return TOGETHER * seen / (seen + _DEPENDENT**2) / (1.0 + doubtful) / (1.0 + hidden)


MANY = 256
"""From so many columns on, noise may hide each of them, and leave what all say together."""

_MOST_TAIL = 64.0


def weights(columns: int, doubt: float) -> tuple[float, float, float]:
    """Return the weights of very strange cells, of far ones, and of columns by themselves.

    With few columns an outlier shows in few tables, and strongly; with many it shows weakly in many
    tables. Distance finds outliers that come in a cluster, which is not rare.

    The ``doubt`` is the part of the records that noise may hide in a column's distribution. Where
    that is much, a strange cell is one that noise made. Where it hides hundreds of columns, how far
    a record is from the middle of all of them says more than tables of a few.
    """
    tail = min(8.0 + 8.0 * doubt, _MOST_TAIL) if columns >= MANY else 0.0
    few = min(1.0, (_FEW_COLUMNS / columns) ** 2)
    clear = few / (1.0 + (_DROWNED * doubt) ** 2)
    return 4.0 * clear, clear, tail


def draw_tables(columns: int, wanted: tuple[tuple[Family, int], ...], seed: int) -> Tables:
    """Draw a layout from public randomness: columns by balanced permutations, widths, offsets."""
    lots = Random(seed)
    start, axis, offset, pace = [0], [], [], []
    for family, count in wanted:
        waiting: list[int] = []
        for _ in range(count):
            for column in _next_columns(lots, waiting, columns, min(family.columns, columns)):
                ratio = math.log(family.wide / family.narrow)
                width = family.narrow * math.exp(ratio * lots.random()) * UNIT
                axis.append(column + (columns if family.ranks else 0))
                offset.append(int(lots.random() * width))
                pace.append(round((1 << SHIFT) / width))
            start.append(len(axis))
    return Tables(*(np.array(part, dtype=np.int32) for part in (start, axis, offset, pace)))


def _next_columns(lots: Random, waiting: list[int], columns: int, size: int) -> list[int]:
    """Take the next distinct columns off a permutation, shuffling another when it is used up."""
    chosen: list[int] = []
    put_back: list[int] = []
    while len(chosen) < size:
        if not waiting:
            waiting.extend(sorted(range(columns), key=lambda _: lots.random()))
        column = waiting.pop()
        (put_back if column in chosen else chosen).append(column)
    waiting.extend(reversed(put_back))
    return chosen


assert (SPAN + 8 * UNIT) * ((1 << SHIFT) // (UNIT // 8)) < 1 << 31  # bins fit in 32 bits

MOST_COLUMNS = 2048
_MOST_CATEGORIES = 1024


class Learn(Question):
    """Learn a detector once; it scores any number of records, for ever, at no further price.

    ``proof.md`` beside this file has the theorem.

    Examples
    --------
    >>> Learn(epsilon="1", delta="1e-6").to_json()["delta"]
    '1/1000000'
    """

    kind = "learn"
    takes_missing = True
    needs_card = False
    reply_seconds = 2.5
    asks = "A detector that tells how strange a record is"
    example = "patients.parquet --card patients.toml --epsilon 1 --out clinic.detector"
    figures: ClassVar[Mapping[str, tuple[str, str]]] = {
        "expected_auc": ("ROC-AUC on public data of this size (0.5 is chance)", "number"),
        "expected_lead": ("lead over an Isolation Forest without privacy", "number"),
        "enough_records": ("worth its price from about so many records on", "number"),
    }

    columns: Maybe[tuple[str, ...], Sequence[str]] = Maybe(
        Names(
            help="What the detector looks at. All columns but texts and names of persons, "
            "unless given.",
            types=("number", "integer", "category", "date"),
        ),
        default=None,
        kw_only=False,
    )
    epsilon: Epsilon = Epsilon()
    delta: Delta = Delta(
        help="Above 0 allows Gaussian noise, which is far smaller here: 1e-6, say.", default="0"
    )
    relation: Relation = Relation(default="add_remove")
    false_alarms: Maybe[tuple[float, ...], Sequence[float]] = Maybe(
        Numbers(
            help="Rates of false alarms that get a threshold, bought with the detector; "
            "none if left out.",
            label="False alarms",
        ),
        default=None,
    )
    threshold_share: Exact = Exact(
        below=1,
        help="The part of the price that all thresholds share.",
        default="1/10",
        group="details",
    )
    seed: Whole = Whole(
        least=0,
        most=2**32 - 1,
        help="Of the tables' layout, which is public.",
        default=0,
        group="details",
    )

    class guesses(Declared):
        """A guess for the expected quality."""

        expected_records: Maybe[int, int] = Maybe(
            Whole(least=1, help="About how many records there are.", label="Records, about")
        )

    def settle(self) -> None:
        for rate in self.false_alarms or ():
            if not 0 < rate < 0.5:
                raise invalid("Learn", "false_alarms", "rates above 0 and below 1/2", rate)
        if self.delta and concentrated(self.epsilon, self.delta) <= 0:
            hint = "Leave delta out: pure privacy serves you better here."
            raise invalid("Learn", "delta", "large enough to help", str(self.delta), hint)

    @cached_property
    def rates(self) -> tuple[Fraction, ...]:
        """The false-alarm rates, exactly as they print."""
        rates = self.false_alarms or ()
        return tuple(exact(rate, owner="Learn", parameter="false_alarms") for rate in rates)

    @property
    def shares(self) -> tuple[Fraction, Fraction]:
        """The parts of the price for the model and for the thresholds."""
        part = self.threshold_share if self.rates else Fraction(0)
        return 1 - part, part

    def names(self, card: Card) -> tuple[str, ...]:
        """Return the columns that the detector looks at, in the card's order."""
        usual = (column.name for column in card.columns if column.type != "text")
        wanted = {*usual} - {card.user_column}
        if self.columns is not None:
            wanted = {card.column(name).name for name in self.columns}
        return tuple(name for name in card.names if name in wanted)

    def grids(self, card: Card) -> tuple[Grid, ...]:
        """Return the public grids of these columns."""
        return tuple(grid_of(card.column(name)) for name in self.names(card))

    def noise_budget(self, card: Card) -> NoiseBudget:
        """Return what the question pays with."""
        return NoiseBudget.of(self.epsilon, self.delta, self.relation, card.contribution)

    def check(self, card: Card) -> None:
        names = self.names(card)
        if not names:
            raise InvalidInput("The card has no column that a detector can look at.")
        if len(names) > MOST_COLUMNS:
            raise InvalidInput(f"A detector looks at no more than {MOST_COLUMNS:,} columns.")
        for name in names:
            column = card.column(name)
            if column.type == "text":
                raise invalid("Learn", "columns", "columns of numbers, dates or categories", name)
            if name == card.user_column:
                raise invalid("Learn", "columns", "without the column that names persons", name)
            if len(column.categories or ()) > _MOST_CATEGORIES:
                raise InvalidInput(
                    f"The column {name!r} has more than {_MOST_CATEGORIES:,} categories; "
                    "a detector cannot tell so many apart."
                )
        budget, share = self.noise_budget(card), self.shares[0]
        first = marginal_share(budget.law, budget.total)
        worst = ((share * first * min(ROUNDS), len(names)), (share * (1 - first), MOST_TABLES))
        if not all(budget.affords(part, tables) for part, tables in worst):
            hint = "The noise would be beyond the numbers a computer holds."
            raise invalid("Learn", "epsilon", "a larger price", str(self.epsilon), hint)

    def price(self, card: Card) -> DifferentialPrivacy:
        self.check(card)
        return DifferentialPrivacy(self.epsilon, self.delta, self.relation)

    def _told(self, card: Card, guesses: Mapping[str, object]) -> tuple[str, dict[str, Any]]:
        names = self.names(card)
        columns = [column for column in map(card.column, names) if column.type != "category"]
        bought = [column.name for column in columns if not column.bounded]
        # Noise grows with the records of a person, so the price is worth that much less.
        paid = float(self.epsilon * self.shares[0]) / card.contribution
        law = self.noise_budget(card).law
        enough = worth_it(law, paid, len(names))
        words = [
            f"A detector over {len(names)} columns: noisy counts of all records in a few hundred "
            "public tables. It scores any number of records at no further price."
        ]
        if unseen := [name for name in card.names if name not in names]:
            words.append(f"Not looked at: {_first(unseen)}.")
        if left_out := card.left_out_words(names):
            words.append(left_out)
        size = self.guesses.from_json(guesses).expected_records or card.size
        figures: dict[str, JSON] = {}
        if size:
            auc, lead = expected(law, paid, len(names), size)
            figures = {"expected_auc": round(auc, 3), "expected_lead": round(lead, 3)}
            words.append(
                f"On public sets of about {size:,} records such detectors had a mean ROC-AUC of "
                f"{auc:.2f}, {abs(lead):.2f} {'above' if lead >= 0 else 'below'} an Isolation "
                "Forest without privacy."
            )
            if lead < TOO_SMALL:
                words.append("Epsilon is too small for so few records: noise rules.")
        words.append(
            "On public data such detectors do not match a non-private Isolation Forest at this "
            "price, not even with 30,000 records."
            if enough is None
            else "On public data such detectors match a non-private Isolation Forest from about "
            f"{enough:,} records."
        )
        if bought:
            words.append(
                f"The card has no bounds for {_first(bought)}; a grid for them is bought within "
                "the price."
            )
        rates = ", ".join(f"{float(rate):.2%}" for rate in self.rates)
        words.append(
            f"Thresholds for false alarms of {rates} take {float(self.shares[1]):.0%} of the "
            "price; where the data are too few for one, the detector says so."
            if self.rates
            else "No threshold is bought: name false_alarms to get one."
        )
        figures |= {
            "columns": list(names),
            "enough_records": enough,
            "columns_without_bounds": bought,
            "threshold_share": float(self.shares[1]),
        }
        return " ".join(words), figures

    def reads(self, answer: Any) -> Any:
        """Return the detector that an answer holds; of an attempt with other sites, its label."""
        if isinstance(answer, Detector) or "label" in answer:
            return answer
        return Detector.from_json(answer)

    def entered(self, answer: Any, entry: str) -> Any:
        """Return the answer with the ledger's digest in it: of the question, card and revision."""
        detector = self.reads(answer)
        return answer if detector.entry == entry else replace(detector, entry=entry).to_json()

    def keep(self, answer: Any, path: str) -> None:
        self.reads(answer).save(path)

    def draw(self, answer: Any, path: str) -> None:
        self.reads(answer).plot(path)

    def says(self, answer: Any) -> Said:
        detector = self.reads(answer)
        if not isinstance(detector, Detector):
            return Said("An attempt to learn with other sites, which is paid")
        return Said(
            f"A detector learned from about {detector.records:,} records",
            "\n".join(detector.details()),
            rows=detector.rows(),
        )


def _first(names: Sequence[str]) -> str:
    return f"{', '.join(names[:5])}{', ...' if len(names) > 5 else ''}"


# How good a detector will be, guessed from public facts by a table measured on public sets.
#
# ``python -m whitecrow_research.detection --quality`` prints the table; docs/detection.md says
# how it is measured. It promises nothing for other data.

FEW = 12
SIZES = (300, 1000, 3000, 10_000, 30_000)
PRICES = (0.1, 1.0, 10.0)

TOO_SMALL = -0.05
"""A lead below this is far behind what is possible: the price is too small for the records."""
_LEVEL = -0.015

# By law and whether columns are few: a row an epsilon, a pair a size: mean ROC-AUC, and its lead
# over an Isolation Forest without privacy.
_TABLE: dict[tuple[str, bool], tuple[tuple[tuple[float, float], ...], ...]] = {
    ("gaussian", True): (
        ((0.578, -0.112), (0.601, -0.089), (0.647, -0.044), (0.670, -0.020), (0.696, 0.006)),
        ((0.645, -0.045), (0.689, -0.001), (0.712, 0.022), (0.693, 0.002), (0.722, 0.032)),
        ((0.705, 0.015), (0.723, 0.033), (0.728, 0.038), (0.698, 0.008), (0.723, 0.032)),
    ),
    ("gaussian", False): (
        ((0.530, -0.147), (0.614, -0.064), (0.645, -0.033), (0.685, 0.007), (0.751, 0.073)),
        ((0.656, -0.022), (0.683, 0.005), (0.706, 0.028), (0.692, 0.014), (0.738, 0.060)),
        ((0.705, 0.028), (0.713, 0.035), (0.719, 0.042), (0.689, 0.011), (0.738, 0.061)),
    ),
    ("laplace", True): (
        ((0.546, -0.144), (0.601, -0.089), (0.609, -0.081), (0.650, -0.040), (0.646, -0.045)),
        ((0.628, -0.062), (0.661, -0.029), (0.683, -0.007), (0.689, -0.001), (0.715, 0.025)),
        ((0.692, 0.002), (0.713, 0.023), (0.724, 0.034), (0.697, 0.007), (0.721, 0.031)),
    ),
    ("laplace", False): (
        ((0.522, -0.156), (0.563, -0.115), (0.590, -0.088), (0.645, -0.033), (0.727, 0.050)),
        ((0.596, -0.082), (0.629, -0.048), (0.649, -0.029), (0.680, 0.002), (0.728, 0.051)),
        ((0.654, -0.024), (0.685, 0.008), (0.684, 0.006), (0.680, 0.003), (0.726, 0.048)),
    ),
}


def expected(law: str, epsilon: float, columns: int, records: float) -> tuple[float, float]:
    """Return the mean ROC-AUC of detectors on public sets of about this kind, and its lead.

    The table is interpolated in the logarithms of epsilon and of the records; ends are held. The
    law is ``"laplace"`` for pure privacy, ``"gaussian"`` for (epsilon, 1e-6).
    """
    table = np.array(_TABLE[law, columns <= FEW])
    size, price = math.log(max(records, 1.0)), math.log(max(epsilon, 1e-9))

    def interpolated(figure: int) -> float:
        by_price = [np.interp(size, np.log(SIZES), row) for row in table[:, :, figure]]
        return float(np.interp(price, np.log(PRICES), by_price))

    return interpolated(0), interpolated(1)


def worth_it(law: str, epsilon: float, columns: int) -> int | None:
    """Return from how many records on detectors were about level with an Isolation Forest."""
    for step in range(81):
        records = SIZES[0] * (SIZES[-1] / SIZES[0]) ** (step / 80)
        if expected(law, epsilon, columns, records)[1] >= _LEVEL:
            return int(math.ceil(records / 100) * 100)
    return None


_LOOKS = 8  # how often all records are sorted into the cells of columns, at the most
CELLS_OF_TABLES = 1 << 18  # measured are 150 thousand
_CELLS_OF_A_COLUMN = 3072  # over all looks; measured are 2,700


def cost(question: Learn, card: Card, records: int) -> Limits:
    """Records are sorted into cells of columns, then of tables; every cell gets its noise."""
    width = len(question.names(card))
    steps = _LOOKS * sorting(records, width) + 64.0 * records * MOST_TABLES
    cells = CELLS_OF_TABLES + _CELLS_OF_A_COLUMN * width
    return worst_case(steps, draws=cells, values=records * width, kept=records + cells)

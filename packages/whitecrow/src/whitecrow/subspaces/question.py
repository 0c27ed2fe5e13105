"""The question ``subspaces``: in which columns do outliers live?"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.counting import parameters as counting
from whitecrow.counting.calibration import CLUSTER_SIZE, Calibration
from whitecrow.data import Card
from whitecrow.declaration import Epsilon, Exact, Flag, Maybe, NameLists, Relation, Whole
from whitecrow.errors import InvalidInput, invalid
from whitecrow.limits import Limits, in_turn
from whitecrow.neighbours import NeighbourRelation
from whitecrow.place.question import DistanceChoice
from whitecrow.privacy import DifferentialPrivacy, Guarantee
from whitecrow.question import Question, Said

Subspace = tuple[str, ...]

_MOST = 200_000


class Subspaces(Question):
    """Which subspaces hold the most outliers, and (if asked) how many?

    The answer is a list, best first: of lists of column names or, with a ``count_share``, of
    objects ``{"columns": [...], "count": 12, "raw": 12}``.

    References
    ----------
    Okada et al., Section 5, with the calibration of ``proof.md``: Algorithm 3 as printed costs
    twice what it says.

    Examples
    --------
    >>> model = DistanceAnomaly(beta=3, radius=0.13)
    >>> question = Subspaces(size=1, top=2, model=model, epsilon=1)
    >>> question.epsilon, question.normalised
    (Fraction(1, 1), True)
    """

    kind = "subspaces"
    asks = "In which columns do outliers live?"
    example = (
        "patients.parquet --card patients.toml --size 2 --top 3 --beta 3 --radius 0.2 "
        "--epsilon 1 --count-share 1/2"
    )
    reply_seconds = 0.5
    figures: ClassVar[Mapping[str, tuple[str, str]]] = {
        "subspaces": ("subspaces to choose from", "number"),
        "median_shortfall": ("outliers short of the best (median)", "number"),
        "shortfall_95": ("short of the best by at most, 95 % of the time", "number"),
        "count_median_error": ("counts off by (median)", "number"),
        "count_error_95": ("counts off by at most, 95 % of the time", "number"),
    }

    size: Maybe[int, int] = Maybe(
        Whole(help="Look at all subspaces of this many columns.", label="Columns in a subspace"),
        default=None,
        kw_only=False,
    )
    top: Whole = Whole(
        help="How many to name, best first.", label="How many to name", default=1, kw_only=False
    )
    subspaces: Maybe[tuple[Subspace, ...], Sequence[Sequence[str]]] = Maybe(
        NameLists(
            help="Look at these instead, of any sizes: names with commas, a semicolon between.",
            group="details",
        ),
        default=None,
    )
    columns: Maybe[Subspace, Sequence[str]] = Maybe(
        counting.Subspace(
            help="With a size: the columns to combine. All of the card's numbers, unless given.",
            label="Columns to combine",
        ),
        default=None,
    )
    model: DistanceChoice = DistanceChoice(counting.counted_model, help="What an outlier is.")
    epsilon: Epsilon = Epsilon(help="The price of everything together, exact: 0.1 or 1/10.")
    relation: Relation = Relation(default="add_remove")
    normalised: Flag = Flag(
        help="Average distances over the columns, as the paper does (root mean square).",
        default=True,
        off="plain",
        group="details",
    )
    count_share: Exact = Exact(
        positive=False,
        below=1,
        help="The part of epsilon that goes to counting the outliers found; 0 names them only.",
        more="Each count gets an equal part (the paper's scenario 2).",
        label="Share of ε for counting",
        default="0",
        group="price",
    )
    expected_cluster_size: Whole = counting.ClusterSize(default=CLUSTER_SIZE)

    def settle(self) -> None:
        """Refuse a choice of subspaces that says too little or too much."""
        if (self.size is None) == (self.subspaces is None):
            raise InvalidInput("Subspaces takes either a 'size' or a list of 'subspaces'.")
        if self.subspaces is not None and self.columns is not None:
            raise InvalidInput("Subspaces takes 'columns' with a 'size' only.")
        counting.check_model(self.model)
        if self.subspaces is not None:
            self._check_top(len(self.subspaces))

    def candidates(self, card: Card) -> tuple[Subspace, ...]:
        """Return the subspaces to choose from, in a fixed public order."""
        if self.subspaces is not None:
            return self.subspaces
        assert self.size is not None
        return tuple(itertools.combinations(self._pool(card), self.size))

    def _pool(self, card: Card) -> Subspace:
        return self.columns or counting.whole_space("Subspaces", card, self.model.metric)

    def model_in(self, subspace: Subspace) -> DistanceAnomaly:
        """Return the model as it applies in a subspace."""
        size = len(subspace)
        return counting.normalised_model(self.model, size) if self.normalised else self.model

    def neighbour_relation(self, subspace: Subspace, card: Card) -> NeighbourRelation:
        """Return the relation "within the radius" in a subspace."""
        return self.model_in(subspace).neighbour_relation(subspace, card)

    def caps(self, card: Card) -> tuple[int, ...]:
        """Return the global sensitivity of each candidate's count."""
        candidates = self.candidates(card)
        by_width = {len(subspace): subspace for subspace in candidates}
        models = {width: self.model_in(subspace) for width, subspace in by_width.items()}
        return tuple(
            counting.cap_of(models[len(subspace)], subspace, card, self.relation)
            for subspace in candidates
        )

    def eta(self, card: Card) -> Fraction:
        """Return the weight of the utility ``count / cap`` in the exponential mechanism.

        Adding a record moves the utility by -1 at the least and by 1/cap at the most (the new
        record alone can become an outlier), removing one the other way round, so under
        ``add_remove`` two utilities move apart by ``1 + 1/cap`` and not by 2; a draw loses
        ``eta`` times that (``proof.md``). ``top`` draws lose ``top`` times as much.
        """
        spread = 2 if self.relation == "replace_one" else 1 + Fraction(1, min(self.caps(card)))
        finding = self.epsilon * (1 - self.count_share) / card.contribution
        return finding / (self.top * spread)

    def count_noise(self, subspace: Subspace, card: Card) -> Calibration:
        """Return the noise of the count in a subspace that was found."""
        return counting.noise_for(
            self.model_in(subspace),
            subspace,
            card,
            epsilon=self.epsilon * self.count_share / self.top,
            relation=self.relation,
            crowding=self.expected_cluster_size,
        )

    def check(self, card: Card) -> None:
        pool = self._pool(card) if self.subspaces is None else ()
        for subspace in self.subspaces or (pool,):
            counting.check_columns("Subspaces", subspace, card, self.model.metric)
        if self.size is None:
            return
        if self.size > len(pool):
            must = f"at most {len(pool)}, the number of columns"
            raise invalid("Subspaces", "size", must, self.size)
        number = math.comb(len(pool), self.size)
        if number > _MOST:
            hint = "Name the 'columns' to combine, or the 'subspaces' themselves."
            must = f"so small that there are at most {_MOST} subspaces"
            raise invalid("Subspaces", "size", must, self.size, hint)
        self._check_top(number)

    def _check_top(self, number: int) -> None:
        if self.top > number:
            must = f"at most {number}, the number of subspaces"
            raise invalid("Subspaces", "top", must, self.top)

    def price(self, card: Card) -> Guarantee:
        self.check(card)
        return DifferentialPrivacy(self.epsilon, unit=self.relation)

    def _told(self, card: Card, guesses: Mapping[str, object]) -> tuple[str, dict[str, Any]]:
        candidates, largest = self.candidates(card), max(self.caps(card))
        rate = float(self.eta(card)) / largest
        # P(a draw misses the best by more than g) <= (number of candidates) e^(-rate g): McSherry
        # and Talwar's bound, at 1/2 and at 1/20.
        half, most = (math.log(len(candidates) / chance) / rate for chance in (0.5, 0.05))
        figures: dict[str, Any] = {
            "subspaces": len(candidates),
            "top": self.top,
            "median_shortfall": half,
            "shortfall_95": most,
            "global_sensitivity": largest,
        }
        words = (
            f"The {self.top} of {len(candidates)} subspaces with the most outliers, by the "
            f"exponential mechanism. Each one named has at most {half:.3g} outliers less than the "
            f"best one left with probability one half, at most {most:.3g} less with probability "
            "95 %."
        )
        if self.count_share:
            noise = self.count_noise(candidates[0], card)
            expected = noise.expected_sensitivity(self.expected_cluster_size)
            median, rare = (noise.error(part, expected) for part in (0.5, 0.95))
            figures |= {
                "count_mechanism": noise.mechanism,
                "count_median_error": median,
                "count_error_95": rare,
            }
            words += (
                f" The number of outliers in each, by {noise.mechanism}: expected error "
                f"{median:.3g} (median) and {rare:.3g} (95 %)."
            )
        return words, figures

    def says(self, answer: Any) -> Said:
        counted = any(isinstance(subspace, dict) for subspace in answer)
        rows = [["Place", "Columns", *(["Outliers, about"] if counted else [])]]
        for rank, subspace in enumerate(answer, start=1):
            rows.append([str(rank), ", ".join(subspace["columns"] if counted else subspace)])
            if counted:
                rows[-1].append(f"{subspace['count']:,}")
        best = rows[1][1] if len(rows) > 1 else "none"
        return Said(best, "Where outliers live, the likeliest first.", rows)


def cost(question: Subspaces, card: Card, records: int) -> Limits:
    """Every candidate is counted; with counts in the answer, the best ones with their noise."""
    candidates = question.candidates(card)
    # By their widths, and not one by one: this is what refuses a question with very many of them.
    parts = [
        in_turn([counting.pairs_cost(width, records)], times)
        for width, times in Counter(map(len, candidates)).items()
    ]
    if question.count_share:
        widest = max(candidates, key=len)
        noise, beta = question.count_noise(widest, card), question.model.beta
        parts += [counting.noisy_count_cost(len(widest), records, noise, beta)] * question.top
    return in_turn(parts)

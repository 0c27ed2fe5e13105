"""The question ``explain``: in which context is this record an outlier?"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.anomaly.detectors import Detector, FewWithin, FittedDetector
from whitecrow.data import Card
from whitecrow.declaration import Choice, Declared, Epsilon, Maybe, Name, Names, Record, Whole
from whitecrow.errors import InvalidInput, invalid
from whitecrow.explain._parameters import DetectorChoice, DetectorOptions, Start, UtilityChoice
from whitecrow.explain._utilities import CustomUtility, Isolation, Population, Utility
from whitecrow.explain.contexts import Grid, Space
from whitecrow.explain.search import SEARCHES, TRIES, draws_of
from whitecrow.limits import Limits, worst_case
from whitecrow.privacy import ConditionalPrivacy, DifferentialPrivacy, Guarantee, unrounded
from whitecrow.question import Question, Said

MOST_SAMPLES = 10_000
DIRECT_BITS, FITTED_BITS = 26, 12
_OWNER = "Explain"
_SURE = 0.95


class Explain(Question):
    """Name a context (a set of values for each attribute) in which this record is an outlier.

    The record is part of the question: its values are public, it belongs to every context whether
    or not the data hold it, and nothing about it is protected. Everyone else is, in one of two
    ways:

    * ``notion="differential"`` (default): the promise covers everyone with no condition. The
      answer is always a context, and may be one in which the record is no outlier;
      the description says how probable that is. Needs the distance model.
    * ``notion="conditional"`` (the paper's output-constrained privacy): the answer is always a
      context in which the record *is* an outlier, or "none". The promise covers a pair of
      databases only if the record is an outlier in the same contexts of both.

    References
    ----------
    Shafieinejad, Kerschbaum, Ilyas, PCOR (SIGMOD 2021), corrected as in ``proof.md``.

    Examples
    --------
    >>> question = Explain(
    ...     {"Employer": "A", "Year": 2004, "Salary": 312_000.0},
    ...     metric="Salary", detector=DistanceAnomaly(beta=5, radius=20_000.0), epsilon="0.2")
    >>> question.attributes, question.notion
    (('Employer', 'Year'), 'differential')
    """

    kind = "explain"
    asks = "In which context is this record an outlier?"
    example = (
        "salaries.parquet --card salaries.toml --of Salary --record "
        '\'{"Employer": "A", "Year": 2004, "Salary": 312000}\' --beta 5 --radius 20000 '
        "--epsilon 0.2"
    )
    reply_seconds = 0.5
    figures: ClassVar[Mapping[str, tuple[str, str]]] = {
        "shortfall_95": ("short of the best by at most, 95 % of the time", "number"),
        "free_values": ("free values (contexts: 2 to that power)", "number"),
        "margin_for_95": ("margin needed to be right 95 % of the time", "number"),
        "probability_at_most_margin": ("right with probability, for the largest margin", "chance"),
    }
    caveat = (
        "All this is said of the other records: the record asked about is named in the question "
        "and is not protected."
    )

    record: Record = Record(
        help="The record: its value of every attribute and of the metric.",
        more="Further columns are dropped.",
        kw_only=False,
    )
    metric: Name = Name(
        types=("number", "integer"),
        help="The numeric column in which it may be an outlier.",
        label="In which column",
        option="of",
    )
    attributes: Names = Names(
        help="The columns that make contexts; every other column of the record, unless given.",
        label="Attributes",
        default=(),
        empty=True,
        group="details",
    )
    detector: DetectorChoice = DetectorChoice(
        help="When a record is an outlier. All but distance need the conditional notion.",
        more="Names have the defaults of their classes in :mod:`whitecrow.anomaly.detectors`.",
        label="Rule",
        group="model",
    )
    utility: Maybe[Utility, Any] = Maybe(
        UtilityChoice(
            help="Which contexts are preferred: population, or isolation for everyone's promise.",
            more="The differential notion takes no other than isolation.",
            group="details",
        ),
        default=None,
    )
    search: Choice[str] = Choice(
        ("auto", *SEARCHES),
        help="How contexts are looked through; direct is the best wherever it is possible.",
        more="auto is direct up to 26 free values (12 for a fitted detector), then bfs.",
        default="auto",
        group="details",
    )
    samples: Whole = Whole(
        most=MOST_SAMPLES,
        help="How many contexts the sampling searches visit.",
        default=50,
        group="details",
    )
    start: Maybe[Mapping[str, tuple[Any, ...]], Mapping[str, Any]] = Maybe(
        Start(
            help="A public context to begin at, and to measure overlap with.",
            more="One found by looking at the data would disclose it. The record's own values are "
            "always part of it; attributes left out have all their values.",
            group="details",
        ),
        default=None,
    )
    epsilon: Epsilon = Epsilon()
    notion: Choice[str] = Choice(
        {
            "differential": "Everyone else, without condition (first rule only)",
            "conditional": "Everyone else, while the matching contexts stay the same",
        },
        help="A promise to everyone else, or only while the matching contexts stay the same.",
        label="Who is covered",
        option="guarantee",
        default="differential",
        group="price",
    )

    class guesses(Declared):
        """A guess for the chance that the record is an outlier in the answer."""

        margin: Maybe[int, int] = Maybe(
            Whole(
                least=0,
                help="By how many records it is within beta where it stands out most.",
                label="Margin",
            )
        )

    class shortcuts(DetectorOptions):
        """The parameters of the detectors."""

    def settle(self) -> None:
        """Keep what the question needs of the record, and fill in what follows."""
        names = tuple(sorted({*(self.attributes or self.record)} - {self.metric}))
        if not names:
            must = "at least one column beside the metric"
            raise invalid(_OWNER, "attributes", must, list(self.attributes))
        for name in (*names, self.metric):
            if name not in self.record:
                raise InvalidInput(
                    f"The record has no value for {name!r}, which the question needs."
                )
        self.put("record", {name: self.record[name] for name in (*names, self.metric)})
        self.put("attributes", names)
        self.put("utility", _utility(self.utility, self.detector, self.notion))

    @property
    def preferred(self) -> Utility:
        """The utility that is used."""
        assert self.utility is not None  # settled when the question was made
        return self.utility

    # --- what the card makes of it ----------------------------------------------------------------

    def space(self, card: Card) -> Space:
        """Return the contexts of this record."""
        return Space.of(self.attributes, self.record, card)

    def on_grid(self, card: Card) -> tuple[Grid, int, Detector]:
        """Return the metric's grid, the record's own step, and the detector on that grid."""
        grid = Grid.of(self.metric, card)
        value = self.record[self.metric]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise invalid(_OWNER, self.metric, "a number", value)
        column = card.column(self.metric)
        if column.lower is not None and column.upper is not None:
            if column.outside == "clip":
                value = min(max(value, column.lower), column.upper)
            elif not column.lower <= value <= column.upper:
                must = f"between the card's bounds {column.lower:g} and {column.upper:g}"
                raise invalid(_OWNER, self.metric, must, value)
        detector = self.detector
        if isinstance(detector, DistanceAnomaly):
            detector = FewWithin.of(detector, grid.step)
        return grid, int(grid.cells(np.array([float(value)]))[0]), detector

    def searching(self, space: Space) -> str:
        """Return the search that will be used; refuse direct where there are too many contexts."""
        most = FITTED_BITS if isinstance(self.detector, FittedDetector) else DIRECT_BITS
        if self.search == "auto":
            return "direct" if space.bits <= most else "bfs"
        if self.search == "direct" and space.bits > most:
            raise InvalidInput(
                f"The direct search takes at most {most} free values and this question has "
                f"{space.bits} (2^{space.bits} contexts). Use search='bfs', group values on the "
                "card, or leave an attribute out."
            )
        return self.search

    def begin(self, space: Space) -> int | None:
        """Return the public starting context, if one was given."""
        return None if self.start is None else space.context(self.start)

    def eta(self, card: Card, kind: str) -> Fraction:
        """Return the weight of one unit of utility in each private draw.

        Every draw costs ``eta`` times the utility's spread, for each record a person may have
        (``proof.md``, Theorem 3).
        """
        draws = draws_of(kind, self.samples)
        return self.epsilon / (draws * self.preferred.spread * card.contribution)

    def check(self, card: Card) -> None:
        space = self.space(card)
        self.on_grid(card)
        self.searching(space)
        self.begin(space)
        if isinstance(self.detector, FittedDetector):
            self.detector.ready()
        if isinstance(self.utility, CustomUtility):
            self.utility.check({a.name: a.size for a in space.attributes})

    def price(self, card: Card) -> Guarantee:
        self.check(card)
        if self.notion == "differential":
            return DifferentialPrivacy(self.epsilon)
        return ConditionalPrivacy(self.epsilon, self.condition(card))

    def rule(self) -> str:
        if isinstance(self.detector, DistanceAnomaly):
            beta, radius = self.detector.beta, self.detector.radius
            return f"at most {beta} records, itself included, lie within {unrounded(radius)} of it"
        return self.detector.words()

    def condition(self, card: Card) -> str:
        """Return the clause on which the conditional promise depends.

        Two releases under one clause count as one condition, so the clause must tell apart
        whatever decides the matching contexts (``proof.md``, "One condition or two"). The words
        may read alike for two questions; the digest at their end does not.
        """
        record = ", ".join(f"{name} {value}" for name, value in self.record.items())
        grid, reading = Grid.of(self.metric, card), card.fingerprint()
        decides = [
            self.to_json()["detector"],
            self.rule(),
            self.metric,
            [grid.origin, str(grid.step)],
            [[name, self.record[name]] for name in (*self.attributes, self.metric)],
            reading,
        ]
        text = json.dumps(decides, sort_keys=True, allow_nan=False)
        digest = hashlib.sha256(text.encode()).hexdigest()
        return (
            f"the contexts over {', '.join(self.attributes)} in which the record ({record}) is an "
            f"outlier in {self.metric}, in steps of {grid.step!s} ({self.rule()}), stay the "
            f"same under the card {reading} (condition {digest[:32]})"
        )

    def _told(self, card: Card, guesses: Mapping[str, object]) -> tuple[str, dict[str, Any]]:
        space = self.space(card)
        search = self.searching(space)
        eta = self.eta(card, search)
        draws = draws_of(search, self.samples)
        figures: dict[str, Any] = {
            "free_values": space.bits,
            "search": search,
            "private_draws": draws,
            "weight": str(eta),
            "utility": self.preferred.kind,
        }
        if self.notion == "differential":
            rate = float(self.epsilon) / card.contribution
            margin = self.guesses.from_json(guesses).margin
            outlook = self._unconditional(space.bits, search, rate, margin, figures)
        else:
            outlook = self._conditional(space.bits, search, float(eta), figures)
        words = (
            f"A context over {', '.join(self.attributes)} for the record, out of 2^{space.bits} "
            f"that contain its values, where an outlier in {self.metric} is a record for which "
            f"{self.rule()}; {self.preferred.words()}. Search: {search}, {draws} private "
            f"{'draw' if draws == 1 else 'draws'}. {outlook} The record asked about is part of the "
            "question: it is not protected, and what is said of it is said openly."
        )
        return words, figures

    def _conditional(self, bits: int, search: str, eta: float, figures: dict[str, Any]) -> str:
        candidates = bits * math.log(2) if search == "direct" else math.log(self.samples + 1)
        short = (candidates - math.log(1 - _SURE)) / eta
        figures["shortfall_95"] = math.ceil(short)
        among = "all matching contexts" if search == "direct" else "the contexts visited"
        return (
            "The answer is always a context in which the record is an outlier, or that none was "
            f"found; with probability {_SURE:.0%} its utility is at most {math.ceil(short)} below "
            f"the best of {among}. Anyone who sees the answer knows for certain that the record is "
            "an outlier there; if one more or one fewer record would change in which contexts it "
            "is one, nothing is promised about that record (ask with notion='differential' for a "
            "promise without this condition)."
        )

    def _unconditional(
        self, bits: int, search: str, rate: float, margin: int | None, figures: dict[str, Any]
    ) -> str:
        detector, utility = self.detector, self.preferred
        assert isinstance(detector, DistanceAnomaly | FewWithin)
        assert isinstance(utility, Isolation)
        words = (
            "The answer is always a context, and the promise to everyone else has no condition; "
            "the price of that is that the record may be no outlier in it."
        )
        if search != "direct":
            return words + (
                " A sampling search looks at a random part of the contexts, so no bound on that "
                "follows from public facts; the direct search has one."
            )
        beta, crowd = detector.beta, utility.spread
        full = outlier_probability(beta, rate, bits)
        needed = math.ceil((math.log(_SURE / (1 - _SURE)) + bits * math.log(2)) / rate)
        figures |= {"margin_for_95": needed, "margin_most": beta}
        figures["probability_at_most_margin"] = full
        words += (
            f" If some context leaves it at most beta+1-s of {beta} records near and at least "
            f"s*{crowd}/{beta} far, it is an outlier in the answer with probability at least 95% "
            f"for s >= {needed}, and at least {_floor(full)} for the largest possible s = {beta}."
        )
        if needed > beta:
            words += " That is out of reach here: raise epsilon or beta, or use fewer free values."
        if margin is not None:
            if margin > beta:
                raise invalid("describe", "margin", f"a whole number between 0 and {beta}", margin)
            chance = outlier_probability(margin, rate, bits)
            figures["probability"] = chance
            words += f" For the margin {margin} you expect, it is at least {_floor(chance)}."
        return words

    def says(self, answer: Any) -> Said:
        """Name the context, in words and as a condition in SQL."""
        context = answer.get("context")
        if context is None:
            return Said("No context found", "In none looked at is the record an outlier.")
        rows = [[name, ", ".join(map(str, values))] for name, values in context.items()]
        detail = f"A context in which the record stands out in {self.metric}."
        if answer.get("where"):
            detail += f" In SQL: WHERE {answer['where']}"
        return Said(f"Among: {answer['words']}", detail, [["Attribute", "Values"], *rows])


def outlier_probability(margin: int, rate: float, bits: int) -> float:
    """Return a lower bound on the chance that an unconditional answer is a true outlier context.

    A context of this margin with its share of a crowd has utility ``margin`` (in units of the
    crowd), every context in which the record is no outlier has at most 0, and there are
    ``2**bits`` contexts (``proof.md``, Theorem 6).
    """
    # ln of the number of other contexts; a single context is certain.
    others = bits * math.log(2) + math.log1p(-(2.0**-bits)) if bits else -math.inf
    return 1 / (1 + math.exp(min(700.0, others - rate * margin)))


def _floor(chance: float) -> str:
    """Show a lower bound without rounding it up."""
    return f"{math.floor(chance * 1000) / 10:g}%"


def _utility(given: Utility | None, detector: Detector | DistanceAnomaly, notion: str) -> Utility:
    distance = isinstance(detector, DistanceAnomaly | FewWithin)
    if notion == "differential" and not distance:
        must = "the distance model (a DistanceAnomaly) under the differential notion"
        hint = (
            "Other detectors have no margin that one record changes little; "
            "use notion='conditional' for them."
        )
        raise invalid(_OWNER, "detector", must, getattr(detector, "kind", detector), hint)
    utility = given or (Isolation(None) if notion == "differential" else Population())
    if notion == "differential" and not isinstance(utility, Isolation):
        must = "isolation under the differential notion"
        hint = "Any other would find large contexts, outlier or not."
        raise invalid(_OWNER, "utility", must, utility.kind, hint)
    if isinstance(utility, Isolation):
        if not isinstance(detector, DistanceAnomaly | FewWithin):
            must = "another than isolation without the distance model"
            raise invalid(_OWNER, "utility", must, utility.kind)
        return utility.of(detector.beta)
    return utility


def cost(question: Explain, card: Card, records: int) -> Limits:
    """Contexts, each judged over the records in it; a fitted detector takes its estimators."""
    space = question.space(card)
    search = question.searching(space)
    if search == "direct":
        contexts = 2.0**space.bits
    elif search == "uniform":
        contexts = float(question.samples) * TRIES
    else:  # one start, then the neighbours of each context visited
        contexts = TRIES + float(question.samples + 1) * space.bits
    each = 1.0
    if isinstance(question.detector, FittedDetector):  # fitted anew in each context
        settings = question.detector.to_json()["parameters"]
        each = 100.0 * float(settings.get("n_estimators", 100))
    # Records of the same attributes and the same rounded value are one cell; judging a context
    # looks at each cell once, sorting it first.
    judged = contexts * records * (1 + math.log2(records)) * each
    return worst_case(judged, draws=contexts / 100, values=records * 4, kept=contexts + records)

"""The question: a mean, a sum or a count kept current as data arrive (public facts only)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from whitecrow.data import Card, Column
from whitecrow.declaration import Choice, Declared, Epsilon, Exact, Maybe, Name, Number, Whole
from whitecrow.errors import InvalidInput, invalid
from whitecrow.limits import Limits, sorting, worst_case
from whitecrow.privacy import DifferentialPrivacy, Exactly, Guarantee, ZeroConcentrated, exact
from whitecrow.privacy.numbers import signed
from whitecrow.publish.clip import METHODS, Clip, Ends, PrivateClip
from whitecrow.publish.counters import MECHANISMS, RETIRED, retired
from whitecrow.publish.periods import Calendar, Moment
from whitecrow.publish.plan import FIRST_EPOCH, PublicationPlan, best_mechanism
from whitecrow.question import Description, Question, Said, Shortcuts
from whitecrow.rendering import new_figure

STATISTICS = ("mean", "sum", "count")
_LONGEST = 10**9
_FARTHEST = 10**300
_FINEST = 2**31  # steps between the clips: codes and their sums stay far below 64 bits

_NAMES = {
    "buffered": "a factorisation in a few buffers",
    "endless": "a factorisation that needs no horizon",
    "tree": "a binary tree",
    "independent": "independent noise on each period",
}


class Mechanism(Choice[str]):
    """A counter; those of earlier releases are read, and offered to nobody."""

    def parse(self, value: object, owner: str) -> str:
        return str(value) if value in RETIRED else super().parse(value, owner)


class Publish(Question):
    """Publish a statistic period by period under event-level or user-level privacy.

    Asked over a dataset, it releases a finished series; asking for more periods later is another
    question at its own price. A series that goes on is opened once, with ``curator.publisher``, and
    then updated for nothing more.

    Examples
    --------
    >>> Publish("km", time="date", start="2019-03-01", horizon=31, rho="1/2").mechanism
    'buffered'
    """

    kind = "publish"
    asks = "A mean, sum or count, kept current period by period"
    example = (
        "trips.parquet --card trips.toml --column km --time date --start 2019-03-01 "
        "--horizon 31 --clip 0,30 --epsilon 1 --picture mean.png"
    )
    reply_seconds = 0.5
    served_up_to: ClassVar[Mapping[str, int]] = {"through": 10_000}
    figures: ClassVar[Mapping[str, tuple[str, str]]] = {
        "mean_deviation": ("standard deviation, first to last period", "range"),
        "deviation": ("standard deviation of the sum, first to last period", "range"),
    }

    column: Maybe[str, str] = Maybe(
        Name(
            types=("number", "integer"),
            help="What is averaged or added up; nothing for a count.",
            label="Of column",
        ),
        default=None,
        kw_only=False,
    )
    statistic: Choice[str] = Choice(
        STATISTICS,
        help="What is published.",
        more="A mean is the ratio of a noisy sum and a noisy count that share the budget.",
        default="mean",
    )
    time: Name = Name(
        types=("date", "integer", "number"),
        help="The column that says when a record arrived: a date, or a number.",
        label="Time column",
    )
    start: Moment = Moment(
        help="The first moment of the first period: a date such as 2024-01-01, or a number.",
        label="Starts",
    )
    period: Moment = Moment(help="day, week, month, or a number.", default="day")
    horizon: Maybe[int, int] = Maybe(
        Whole(
            most=_LONGEST,
            help="How many periods there will be at the most; unknown unless given.",
            more="An unknown horizon costs accuracy, not privacy.",
            label="How many periods",
        ),
        default=None,
    )
    through: Whole = Whole(
        least=0,
        most=_LONGEST,
        help="How many periods to release now; all of the horizon unless given.",
        more="The first 16 if the horizon is unknown.",
        default=0,
        group="details",
    )
    view: Choice[str] = Choice(
        {"to_date": "all records so far", "each_period": "each period's own"},
        help="The statistic of all records so far, or of each period's own.",
        label="Over",
        default="to_date",
    )
    clip: Maybe[tuple[Fraction, Fraction] | PrivateClip, Any] = Maybe(
        Clip(
            help="LOWER,UPPER: values are moved into it; the card's bounds unless given.",
            more="A :class:`PrivateClip` has the upper end chosen for a part of the budget.",
            label="Clips",
        ),
        default=None,
    )
    resolution: Maybe[Fraction, Exactly] = Maybe(
        Exact(
            help="The public step values are rounded to; the card's, or a fine default.",
            group="details",
        ),
        default=None,
    )
    mechanism: Mechanism = Mechanism(
        {"": "the least worst-case error", **{choice: choice for choice in MECHANISMS}},
        help="How running sums are kept; by default the one with the least worst-case error.",
        default="",
        group="details",
    )
    leaves: Maybe[str, str] = Maybe(
        Name(
            types=("date", "integer", "number"),
            help="The column that says when a record leaves again; it doubles the sensitivity.",
            group="details",
        ),
        default=None,
    )
    epsilon: Maybe[Fraction, Exactly] = Maybe(
        Epsilon(help="Pure differential privacy by discrete Laplace noise: 0.1 or 1/10."),
        default=None,
    )
    rho: Maybe[Fraction, Exactly] = Maybe(
        Exact(
            help="Zero-concentrated privacy by discrete Gaussian noise, instead of epsilon.",
            label="Price ρ",
            group="price",
        ),
        default=None,
    )

    class guesses(Declared):
        """A guess for the expected error of a mean."""

        per_period: Maybe[float, float] = Maybe(
            Number(
                least=0,
                help="About how many records come in one period, if that is known publicly.",
                label="Records in a period",
            )
        )

    class shortcuts(Shortcuts):
        """Other ways to say the price and the clip."""

        noise: Choice[str] = Choice(
            {"laplace": "ε, Laplace noise", "gaussian": "ρ = ε²/2, Gaussian noise (needs a δ)"},
            help="gaussian spends rho = epsilon^2/2; it needs an account with a delta.",
            label="Priced in",
            default="laplace",
            group="price",
        )
        private_clip: Maybe[tuple[str, ...], Any] = Maybe(
            Ends(
                help="SMALLEST,LARGEST: have the upper clip chosen privately between them.",
                group="details",
            )
        )
        clip_method: Choice[str] = Choice(
            METHODS, help="How it is chosen.", default="quantile", group="details"
        )
        clip_periods: Whole = Whole(
            help="From how many first periods it is chosen.", default=7, group="details"
        )

        def expand(self, given: dict[str, Any]) -> dict[str, Any]:
            """Turn an epsilon into a rho, and the ends into a private clip."""
            asked = dict(given)
            if self.noise == "gaussian" and "epsilon" in asked:
                price = exact(asked.pop("epsilon"), owner="Publish")
                asked["rho"] = str(price**2 / 2)
            if self.private_clip is None:
                return asked
            if "clip" in asked:
                raise InvalidInput(
                    "A private clip is two numbers with a comma, such as 1,1000, instead of a clip."
                )
            smallest, largest = self.private_clip
            chosen = {"method": self.clip_method, "periods": self.clip_periods}
            return asked | {"clip": {"smallest": smallest, "largest": largest, **chosen}}

        @classmethod
        def contract(cls, document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
            """Say a private clip by its ends."""
            rest, clip = dict(document), document.get("clip")
            if not isinstance(clip, Mapping):
                return rest, {}
            del rest["clip"]
            ends = [str(clip["smallest"]), str(clip["largest"])]
            how = {"clip_method": clip.get("method"), "clip_periods": clip.get("periods")}
            return rest, {"private_clip": ends, **how}

    def settle(self) -> None:
        """Check what belongs together, and fill in what follows."""
        if self.view == "each_period" and self.mechanism not in ("", "independent"):
            hint = "The others pay for running sums, which this view does not show."
            must = "'independent' for each_period"
            raise invalid("Publish", "mechanism", must, self.mechanism, hint)
        if self.statistic == "count" and self.column is not None:
            raise invalid("Publish", "column", "left out of a count", self.column)
        if self.statistic != "count" and self.column is None:
            raise invalid("Publish", "column", "the name of a column", self.column)
        calendar = Calendar.of(self.start, self.period)
        self.put("start", calendar.start)
        self.put("period", calendar.period)
        if not self.through:
            self.put("through", self.horizon or FIRST_EPOCH)
        elif self.horizon is not None and self.through > self.horizon:
            must = f"at most the horizon, {self.horizon}"
            raise invalid("Publish", "through", must, self.through)
        if (self.epsilon is None) == (self.rho is None):
            raise InvalidInput(
                "Publish wants exactly one of 'epsilon' (pure privacy, Laplace noise) and 'rho' "
                "(zero-concentrated privacy, Gaussian noise)."
            )
        if not self.mechanism:
            each = self.view == "each_period"
            best = "independent" if each else best_mechanism(self.noise, self.horizon)
            self.put("mechanism", best)

    @property
    def retired(self) -> str:
        """Why no new series has its counter; empty if one can."""
        return retired(self.mechanism)

    @property
    def noise(self) -> str:
        """ "laplace" under epsilon, "gaussian" under rho."""
        return "laplace" if self.rho is None else "gaussian"

    @property
    def budget(self) -> Fraction:
        """The epsilon or the rho."""
        budget = self.epsilon if self.rho is None else self.rho
        assert budget is not None
        return budget

    @cached_property
    def calendar(self) -> Calendar:
        """What the periods are called."""
        return Calendar(self.start, self.period)

    def check(self, card: Card) -> None:
        self.calendar.check_column(card.column(self.time))
        if self.leaves is not None:
            self.calendar.check_column(card.column(self.leaves))
        self.calendar.check(self.through)
        if self.column is None:
            return
        column = card.column(self.column)
        if not column.numeric:
            raise InvalidInput(
                f"The column {self.column!r} is a {column.type}; a {self.statistic} needs numbers."
            )
        lower, upper = self._clip(column)
        if max(-lower, upper) > _FARTHEST:
            raise InvalidInput("The clips must lie within 1e300 of 0, for sums to stay numbers.")
        plan = self.plan(card)
        if not 1 <= plan.levels <= _FINEST:
            step = "resolution" if plan.resolution is not None else "clip"
            raise InvalidInput(
                f"Between the clips {float(lower):g} and {float(upper):g} there must be 1 to 2^31 "
                f"steps of the {step}; choose another resolution."
            )
        if not self.retired and not plan.has_finite_noise(self.through):
            raise InvalidInput(
                "The noise of this series is beyond the numbers a computer holds; choose smaller "
                "clips, a coarser resolution or a larger budget."
            )

    def _clip(self, column: Column) -> tuple[Fraction, Fraction]:
        if isinstance(self.clip, PrivateClip):
            return self.clip.lower, self.clip.candidates[-1]
        if self.clip is not None:
            return self.clip
        if column.lower is None or column.upper is None:
            raise InvalidInput(
                f"The card gives no bounds for {column.name!r}: say clip=(lower, upper) from "
                "public knowledge, or clip=PrivateClip(...) to have it chosen for a share of "
                "the budget."
            )
        return _on_card(column.lower), _on_card(column.upper)

    def plan(self, card: Card) -> PublicationPlan:
        """Work out everything public about the publication."""
        clip = self.clip if isinstance(self.clip, PrivateClip) and self.column else None
        spent = self.budget * clip.share if clip else Fraction(0)
        lower, upper, resolution = Fraction(0), Fraction(1), None
        if self.column is not None:
            column = card.column(self.column)
            lower, upper = self._clip(column)
            resolution = self.resolution
            if resolution is None and column.resolution is not None:
                resolution = _on_card(column.resolution)
            elif resolution is None and column.type == "integer":
                resolution = Fraction(1)
        return PublicationPlan(
            statistic=self.statistic,
            view=self.view,
            mechanism=self.mechanism,
            noise=self.noise,
            horizon=self.horizon,
            lower=lower,
            upper=upper,
            resolution=resolution,
            contribution=card.contribution,
            leaving=self.leaves is not None,
            budget=self.budget - spent,
            calendar=self.calendar,
            clip=clip,
            clip_epsilon=clip.epsilon(spent, self.noise) if clip else Fraction(0),
        )

    def price(self, card: Card) -> Guarantee:
        """Return what the whole series costs, however many periods are shown."""
        self.check(card)
        return (DifferentialPrivacy if self.rho is None else ZeroConcentrated)(self.budget)

    def expected_error(
        self, card: Card, times: npt.ArrayLike, *, per_period: float = 0.0
    ) -> npt.NDArray[np.float64]:
        """Return the standard deviation of the release at ``times`` (1, 2, ...), before asking.

        Parameters
        ----------
        card : Card
            The public facts.
        times : array-like
            Which periods.
        per_period : float
            For a mean: about how many records come in a period. The mean is taken to lie half-way
            between the clips, to first order in the noise.

        Examples
        --------
        >>> card = Card("c", (Column("t", lower=0, upper=9),))
        >>> year = Publish(statistic="count", time="t", start=0, period=1, horizon=365, rho="1/2")
        >>> year.expected_error(card, [1, 365]).round(2).tolist()
        [1.73, 2.38]
        """
        plan = self.plan(card)
        deviations = plan.deviations(times)
        if self.statistic != "mean":
            return deviations
        if per_period <= 0:
            raise invalid("expected_error", "per_period", "above 0 for a mean", per_period)
        periods = np.asarray(times) if self.view == "to_date" else np.ones(len(deviations))
        return np.asarray(plan.mean_deviation(1.0, per_period) * deviations / periods)

    def describe(self, card: Card, **public: object) -> Description:
        """Say what will be released and how far off it will be."""
        figures: dict[str, Any] = {"mechanism": self.mechanism, "noise": self.noise}
        if self.retired:
            return Description(self.retired, self.price(card), figures)
        per_period = self.guesses.from_json(public).per_period
        plan, last = self.plan(card), self.through
        times = sorted({1, max(1, last // 2), last})
        spread: list[float] = plan.deviations(times).tolist()
        figures |= {"periods": times, "deviation": spread}
        over = " divided by the number of records" if self.statistic == "mean" else ""
        if self.statistic == "mean" and per_period:
            over = ""
            spread = self.expected_error(card, times, per_period=per_period).tolist()
            figures["mean_deviation"] = spread
        clip = ""
        if plan.clip is not None:
            clip = (
                f" The upper clip is chosen privately from the first {plan.clip.periods} periods, "
                f"for {plan.clip.share!s} of the price."
            )
        of = repr(self.column) if self.column else "records"
        span = "of all records so far" if self.view == "to_date" else "of each period's records"
        unit = "person" if card.unit == "user" else "record"
        words = (
            f"Publishes the {self.statistic} of {of}, {span}, every {self.period} from "
            f"{self.start}, through {_NAMES[self.mechanism]} with discrete {self.noise} "
            "noise. Values are moved into "
            f"[{float(plan.lower):g}, {float(plan.upper):g}].{clip} Expected standard deviation: "
            f"{spread[0]:.4g} at first and {spread[-1]:.4g} after {last} periods{over}. One price "
            f"for the whole series; it protects each {unit}."
        )
        return Description(words, self.price(card), figures)

    def says(self, answer: Any) -> Said:
        """Say the latest value, and list all of them."""
        series = answer.get("series", [])
        what = self.statistic + (f" of {self.column}" if self.column else "")
        rows = [
            [
                str(point["period"]),
                "(noise only)" if point["value"] is None else f"{point['value']:.5g}",
                "" if point.get("error") is None else f"± {point['error']:.3g}",
            ]
            for point in series
        ]
        shown = [point for point in series if point["value"] is not None]
        latest = f"{shown[-1]['value']:.5g}" if shown else "none"
        return Said(
            f"{what.capitalize()}: {latest} at the end",
            f"{len(series)} periods, with the standard deviation of each.",
            [["Period", "Value", "Standard deviation"], *rows],
            shown,
        )

    def draw(self, answer: Any, path: str) -> None:
        """Draw a released series with its error band: public numbers only."""
        series = answer["series"]
        times = np.arange(len(series))
        # What is not there, None, becomes NaN.
        values, errors = np.array([[p["value"], p["error"]] for p in series], dtype=float).T
        figure = new_figure(8, 3.4)
        axes = figure.subplots()
        ends, pale = (values - 2 * errors, values + 2 * errors), {"color": "#7aa6c2", "alpha": 0.35}
        axes.fill_between(times, *ends, linewidth=0, label="two standard deviations", **pale)
        axes.plot(times, values, color="#1f4e79", linewidth=1.2, label="released")
        # The first, wide bands would squeeze the rest of the picture.
        steady = values[len(values) // 10 :]
        spread = errors[len(errors) // 10 :]
        low, high = np.nanmin(steady - 4 * spread), np.nanmax(steady + 4 * spread)
        if np.isfinite([low, high]).all() and low < high:
            axes.set_ylim(low, high)
        places = np.unique(np.linspace(0, len(series) - 1, 6).astype(int))
        axes.set_xticks(places, [series[i]["period"] for i in places])
        axes.set(title=f"{answer['statistic']} ({answer['view']})", ylabel="released")
        axes.legend(loc="best")
        figure.savefig(path, dpi=110)


def _on_card(value: object) -> Fraction:
    return signed(value, owner="the card", parameter="bound")


def cost(question: Publish, card: Card, records: int) -> Limits:
    """Records are sorted into periods; every period draws noise for its part of the tree."""
    periods = float(question.through)
    return worst_case(
        sorting(records),
        draws=2 * periods * (1 + math.log2(periods)),
        values=3 * records,
        kept=records + 16 * periods,
    )

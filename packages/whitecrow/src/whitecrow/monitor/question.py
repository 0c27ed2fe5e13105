"""The question ``monitor``: a detector kept current over a horizon of periods, at one price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from whitecrow.data import Card
from whitecrow.declaration import Declared, Delta, Epsilon, Exact, Maybe, Name, Names, Number, Whole
from whitecrow.errors import InvalidInput, invalid
from whitecrow.histogram.noise_budget import Noise, NoiseBudget
from whitecrow.learning import Learn
from whitecrow.learning.question import CELLS_OF_TABLES, MOST_TABLES, ROUNDS, marginal_share
from whitecrow.learning.question import cost as cost_of_learning
from whitecrow.limits import Limits, in_turn
from whitecrow.monitor.answer import Monitored
from whitecrow.monitor.drift import CELLS, Watch, Watched
from whitecrow.monitor.streams import Draw, Reader, Strategy, strategy
from whitecrow.privacy import DifferentialPrivacy
from whitecrow.publish import Publish
from whitecrow.publish.periods import Calendar, Moment
from whitecrow.question import Question, Said

LONGEST = 64


class Monitor(Question):
    """Keep a detector current: one price for a horizon of periods, a newer detector each period.

    Asked again with a later ``through`` it goes on where it was, for nothing more; an earlier one
    gets the stored answer. ``window`` may change from step to step, too: both are read off the same
    releases.

    ``proof.md`` beside this file has the theorem.

    Examples
    --------
    >>> year = Monitor(time="date", start="2024-01-01", period="month", horizon=12, epsilon=1)
    >>> year.through, Monitor.from_json({**year.to_json(), "through": 3}).paid_as() == year
    (12, True)
    """

    kind = "monitor"
    takes_missing = True
    reply_seconds = 5.0
    asks = "A detector kept current as records arrive, and which columns have changed"
    example = (
        "visits.csv --card visits.toml --time date --start 2024-01-01 --period month "
        "--horizon 12 --through 3 --epsilon 1 --out march.detector"
    )
    figures: ClassVar[Mapping[str, tuple[str, str]]] = {
        "noise_ratio": ("noise beside that of learning once, first to last step", "range"),
        "detectable": ("a shift of a column's distribution that is sure to be seen", "number"),
    }

    columns: Maybe[tuple[str, ...], Sequence[str]] = Maybe(
        Names(
            help="What the detector looks at. All columns but texts, names of persons and the "
            "time, unless given.",
            types=("number", "integer", "category", "date"),
        ),
        default=None,
        kw_only=False,
    )
    time: Name = Publish.time
    start: Moment = Publish.start
    period: Moment = Moment(help="day, week, month, or a number.", default="month")
    horizon: Whole = Whole(
        least=1,
        most=LONGEST,
        help="How many periods there will be: the price is for all of them.",
        label="How many periods",
    )
    through: Whole = Whole(
        least=0,
        most=LONGEST,
        help="How many periods are over by now; all of the horizon unless given.",
        more="Asked again with a larger number, the series goes on at no further price.",
        default=0,
    )
    window: Whole = Whole(
        least=0,
        most=LONGEST,
        help="How many of the newest periods the detector is of; all so far unless given.",
        default=0,
    )
    epsilon: Epsilon = Epsilon()
    delta: Delta = Learn.delta
    false_alarm: Exact = Exact(
        below=1,
        help="With what probability there may be an alarm at all, over the whole horizon, if "
        "nothing changes.",
        label="False alarm",
        default="1/20",
    )
    drift_share: Exact = Exact(
        below=1, help="The part of the price for the alarm.", default="1/5", group="details"
    )
    seed: Whole = Learn.seed

    class guesses(Declared):
        """A guess for what the alarm can see."""

        per_period: Maybe[float, float] = Maybe(
            Number(
                least=1,
                help="About how many records come in one period.",
                label="Records in a period",
            )
        )

    def settle(self) -> None:
        """Check what belongs together, and fill in what follows."""
        calendar = Calendar.of(self.start, self.period, "Monitor")
        self.put("start", calendar.start)
        self.put("period", calendar.period)
        for name in ("through", "window"):
            given = getattr(self, name)
            if given > self.horizon:
                raise invalid("Monitor", name, f"at most the horizon, {self.horizon}", given)
        if not self.through:
            self.put("through", self.horizon)

    @cached_property
    def calendar(self) -> Calendar:
        """What the periods are called."""
        return Calendar(self.start, self.period)

    def paid_as(self) -> Monitor:
        """Return the series that this is a step of: its last step, without a window."""
        return Monitor.from_json({**self.to_json(), "through": self.horizon, "window": 0})

    def learns(self, card: Card) -> Learn:
        """Return the question that learns from one period alone."""
        return Learn(self.names(card), epsilon=self.epsilon, delta=self.delta, seed=self.seed)

    def names(self, card: Card) -> tuple[str, ...]:
        """Return the columns that the detector looks at, in the card's order."""
        learned = Learn(self.columns, epsilon=self.epsilon, delta=self.delta).names(card)
        return tuple(name for name in learned if name != self.time or self.columns is not None)

    def noise_budget(self, card: Card) -> NoiseBudget:
        """Return what all steps together pay with."""
        return self.learns(card).noise_budget(card)

    def plan(self, card: Card) -> Strategy:
        """Return which sums each step releases."""
        return strategy("gaussian" if self.delta else "laplace", self.horizon)

    def reader(
        self, card: Card, past: tuple[Any, ...], span: tuple[int, int], draw: Draw | None = None
    ) -> Reader:
        """Return what has the newest step drawn, or reads it again."""
        return Reader(
            self.noise_budget(card), self.plan(card), past, span, card.unit == "user", draw
        )

    def watch_noise(self, card: Card, columns: int) -> Noise:
        """Return the noise of the numbers that the alarm looks at."""
        reach = self.plan(card).reach(user=card.unit == "user")
        return self.noise_budget(card).histograms(self.drift_share / reach, columns)

    def check(self, card: Card) -> None:
        self.calendar.check_column(card.column(self.time))
        self.calendar.check(self.horizon)
        names = self.names(card)
        if not names:
            raise InvalidInput("The card has no column that a detector can look at but the time.")
        self.learns(card).check(card)
        budget, reach = self.noise_budget(card), self.plan(card).reach(user=card.unit == "user")
        share, first = 1 - self.drift_share, marginal_share(budget.law, budget.total)
        worst = (
            (share * first * min(ROUNDS), len(names)),
            (share * (1 - first), MOST_TABLES),
            (self.drift_share, len(names)),
        )
        if not all(budget.affords(Fraction(part) / reach, tables) for part, tables in worst):
            hint = "The noise would be beyond the numbers a computer holds."
            raise invalid("Monitor", "epsilon", "a larger price", str(self.epsilon), hint)

    def price(self, card: Card) -> DifferentialPrivacy:
        """Return what all steps together promise."""
        self.check(card)
        return DifferentialPrivacy(self.epsilon, self.delta)

    def _told(self, card: Card, guesses: Mapping[str, object]) -> tuple[str, dict[str, Any]]:
        per_period = self.guesses.from_json(guesses).per_period
        plan, names, last = self.plan(card), self.names(card), self.horizon
        user, false_alarm = card.unit == "user", float(self.false_alarm)
        first_noise, last_noise = (plan.deviation(0, step, user=user) for step in (1, last))
        figures: dict[str, Any] = {
            "columns": list(names),
            "noise_ratio": [round(first_noise, 3), round(last_noise, 3)],
            "false_alarm": false_alarm,
        }
        whose = (
            "The promise holds for all records of a person, whenever they come or change."
            if user
            else "The promise holds for each record, which counts in the period of its time. Going "
            "on after records may have been corrected costs the price again; while an account is "
            "declared insert-only it does not."
        )
        words = (
            f"A detector over {len(names)} columns after each of {last} periods of {self.period} "
            f"from {self.start}, all for one price. The noise of a count is {first_noise:.2f} "
            f"times (first step) to {last_noise:.2f} times (last step) that of learning once from "
            f"the same records. {whose} An alarm names columns that have moved; if nothing "
            "changes, there is any in the whole horizon with a probability of at most "
            f"{false_alarm:.3g}."
        )
        if per_period:
            columns = tuple(Watched(name, CELLS, True) for name in names)
            watch = Watch(plan, self.watch_noise(card, len(names)), columns, false_alarm)
            shift = watch.detectable(per_period)
            words += f" With {per_period:,.0f} records a period"
            if shift < 1.0:
                figures["detectable"] = round(shift, 4)
                words += (
                    f", a change that moves {shift:.1%} of a column's records across one of its "
                    "eighths and lasts half the horizon is sure to be seen."
                )
            else:
                words += (
                    " no change is sure to be seen: noise rules. Take longer periods, fewer "
                    "columns or a larger epsilon."
                )
        return words, figures

    def reads(self, answer: Any) -> Any:
        """Return the step that an answer holds; of a series the ledger has that it is paid."""
        if isinstance(answer, Monitored) or "detector" not in answer:
            return answer
        return Monitored.from_json(answer)

    def alarm(self, answer: Any) -> tuple[str, str] | None:
        """Return the newest period and which columns have moved; None if none has."""
        step = self.reads(answer)
        if not isinstance(step, Monitored) or not step.moved:
            return None
        return step.period, f"moved: {', '.join(step.moved)}"

    def keep(self, answer: Any, path: str) -> None:
        self.reads(answer).detector.save(path)

    def draw(self, answer: Any, path: str) -> None:
        self.reads(answer).plot(path)

    def says(self, answer: Any) -> Said:
        step = self.reads(answer)
        if not isinstance(step, Monitored):
            return Said(f"A series of {self.horizon} steps that is paid; ask for them one by one")
        return step.said()


_MORE = 2.0
"""Beside learning: sorting into periods, the alarm's histograms, and reading it all again."""
_NUMBER_BYTES = 40  # bytes of a released number, as it is kept and as it is read


def cost(question: Monitor, card: Card, records: int) -> Limits:
    """Every step counts the records of all periods so far, as ``learn`` does; one at a time."""
    once = in_turn([cost_of_learning(question.learns(card), card, records)], times=_MORE)
    return Limits(once.seconds, once.bytes + _NUMBER_BYTES * CELLS_OF_TABLES * question.through)

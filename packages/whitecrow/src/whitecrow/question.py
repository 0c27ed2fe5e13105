"""What a question is, what is said before it is asked, and what comes back.

A question's way through the house goes in one direction only::

    question -> curator (policy, price) -> ledger: reserve -> engine: facts
             -> mechanism: release -> ledger: settle -> answer
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from whitecrow import rendering as look
from whitecrow.card import Card
from whitecrow.declaration import Declared
from whitecrow.errors import InvalidInput, WhitecrowError
from whitecrow.limits import UNLIMITED, Limits
from whitecrow.privacy import (
    Facts,
    Guarantee,
    ZeroConcentrated,
    of_revision,
    reading,
    rounded_down,
    rounded_up,
)
from whitecrow.terms import canonical

if TYPE_CHECKING:
    from whitecrow.data import Records
    from whitecrow.ledger import AccountSnapshot, ChargeRequest
    from whitecrow.neighbours import Engine
    from whitecrow.noise import Source


JSON = Any
"""A plain JSON value: None, bool, int, float, str, list or dict of the same."""

_SHOWN = 12
"""How many rows of a table a notebook shows; the last, for series end with what is current."""


@dataclass(frozen=True)
class Said:
    """An answer in words."""

    headline: str  # the answer
    detail: str = ""  # how to read it
    # A table, its heading first, where the answer is more than one value.
    rows: list[list[str]] = field(default_factory=list)
    # The points of a publication, for its chart.
    series: list[dict[str, JSON]] = field(default_factory=list)
    # A picture (SVG) beside each row of the table, where a question draws them.
    pictures: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Description:
    """What can be said of a question before it is asked, from public facts only.

    Parameters
    ----------
    words : str
        One paragraph for people.
    price : Guarantee
        What the release will promise.
    figures : mapping
        The numbers in the words, for programs (JSON values).
    error : str
        The expected error, short.
    warning : str
        Why the answer would be worth nothing, where that is so.
    labels : mapping
        What the figures that people want are called; see ``Question.figures``.
    """

    words: str
    price: Guarantee
    figures: Mapping[str, JSON] = field(default_factory=dict)
    error: str = ""
    warning: str = ""
    labels: Mapping[str, tuple[str, str]] = field(default_factory=dict, compare=False, repr=False)

    def __str__(self) -> str:
        return self.words

    def _repr_html_(self) -> str:
        rows = look.figure_rows(self.labels, self.figures)
        return look.notebook(f"Price: {_amount(self.price)}", rows, note=self.words)

    def to_json(self) -> dict[str, JSON]:
        """Return a plain JSON object."""
        return {
            "words": self.words,
            "price": self.price.to_json(),
            "figures": dict(self.figures),
            "error": self.error,
            "warning": self.warning,
        }


@dataclass(frozen=True)
class Release:
    """The public result of a question: it contains no fact.

    Parameters
    ----------
    question : mapping
        The canonical JSON of what was asked.
    answer : JSON value or object
        What the mechanism released; an object such as a detector where the question has one.
    guarantee : Guarantee
        What the release promises.
    statement : str
        The same in a sentence a data officer can sign.
    charged : bool
        False when a stored answer was returned again, free of charge.
    ledger : mapping
        What has been spent and what remains, per notion, after this release.
    error : str
        The expected error, from public facts as before asking: the true one is not released.
    warning : str
        Why the answer is worth nothing, where that is so; the statement ends with it.
    said : Said, optional
        The answer in words.
    dummy : bool
        Whether it is about made-up records, to develop code against: it says nothing of anybody.
    """

    question: Mapping[str, JSON]
    answer: JSON
    guarantee: Guarantee
    statement: str
    charged: bool = True
    ledger: Mapping[str, JSON] = field(default_factory=dict)
    error: str = ""
    warning: str = ""
    said: Said | None = field(default=None, compare=False, repr=False)
    dummy: bool = False

    def __getattr__(self, name: str) -> Any:
        # A detector's methods (scores, predict, save, ...) work on its release, too.
        answer = self.__dict__.get("answer")
        if name.startswith("_") or not hasattr(answer, "scores"):
            raise AttributeError(f"A release has no {name!r}.")
        return getattr(answer, name)

    def __str__(self) -> str:
        words = self.in_words
        return "\n".join(part for part in (words.headline, words.detail, self.statement) if part)

    @property
    def in_words(self) -> Said:
        """The answer in words; its JSON where nobody said it."""
        plain = json.dumps(self.to_json()["answer"], ensure_ascii=False)
        return self.said or Said(f"DUMMY (made-up records): {plain}" if self.dummy else plain)

    def _repr_html_(self) -> str:
        words = self.in_words
        if words.rows:
            head, *rows = words.rows
            body = look.notebook_table(rows[-_SHOWN:], head)
        else:
            body = look.paragraphs(words.detail)
        return look.notebook(words.headline, self.costs, note=self.statement, body=body)

    def report(self, path: str | PathLike[str]) -> Path:
        """Write the answer as one HTML page that stands alone, and return its path.

        It holds what the release holds: the answer, its price and its promise.
        """
        kind = str(self.question.get("kind", "question"))
        asked = [(name, _plain(value)) for name, value in self.question.items() if name != "kind"]
        body = (
            look.panel("Answer", answer_parts(self.in_words, self.statement), name="answer")
            + look.panel("Price", look.table(("What", "Amount"), self.costs), name="price")
            + look.fold("The question, as it was asked", look.table(("Parameter", "Value"), asked))
            + how_to_read()
        )
        title, target = f"{kind}: {self.in_words.headline}", Path(path)
        page = look.page(title, "One answer under a proved promise.", body)
        target.write_text(page, encoding="utf-8")
        return target

    def plot(self) -> look.Picture:
        """Return a picture of the answer, where it is a series; notebooks show it.

        Raises
        ------
        InvalidInput
            If the answer is better read than seen.
        """
        if not self.in_words.series:
            raise InvalidInput(
                "There is a picture of a series only (publish). For a detector, see "
                "release.answer.plot(path)."
            )
        return look.Picture(look.series(self.in_words.series))

    @property
    def costs(self) -> list[tuple[str, str]]:
        """How far off it may be, what it cost and what is left, in words."""
        price = _amount(self.guarantee)
        if self.dummy:
            return [("DUMMY", "about made-up records"), ("cost", f"nothing (the data: {price})")]
        rows = [("error", self.error)] if self.error else []
        rows.append(("cost", price if self.charged else f"nothing: answered before (for {price})"))
        left = self.ledger.get("remaining", {})
        lines = {notion: rounded_down(Fraction(str(amount))) for notion, amount in left.items()}
        delta = f", δ = {lines.pop('delta')}" if "delta" in lines else ""
        if len(set(lines.values())) == 1:
            lines = {"": f"{next(iter(lines.values()))}{delta}"}
        return rows + [(f"left {notion}".strip(), amount) for notion, amount in lines.items()]

    def to_json(self) -> dict[str, JSON]:
        """Return the JSON object of docs/interface.md 4."""
        return {
            "question": dict(self.question),
            "answer": self.answer.to_json() if hasattr(self.answer, "to_json") else self.answer,
            "guarantee": self.guarantee.to_json(),
            "statement": self.statement,
            "charged": self.charged,
            "ledger": dict(self.ledger),
            "error": self.error,
            "warning": self.warning,
            **({"dummy": True} if self.dummy else {}),
        }


def answer_parts(said: Said, statement: str) -> str:
    """An answer with its table or picture, and its promise, as parts of a page."""
    body = f'<p class="headline">{look.escaped(said.headline)}</p>{look.paragraphs(said.detail)}'
    listed = look.table(said.rows[0], said.rows[1:]) if said.rows else ""
    if said.series:
        caption = "Each point is a released value; the bar shows one standard deviation of noise."
        body += look.figure(caption, look.series(said.series).svg())
        listed = look.fold("All values", listed)
    return body + listed + look.quoted(statement)


def how_to_read() -> str:
    """What the words on a page mean."""
    words = (
        (
            "Answer",
            "Drawn at random around the truth, so that no single record decides it. The exact "
            "numbers never leave the curator.",
        ),
        (
            "ε (epsilon)",
            "The price. One record changes the odds of any conclusion by at most e^ε: 1.29 times "
            "for ε = 0.25, 2.72 times for ε = 1.",
        ),
        ("Promise", "The sentence a data officer can sign. It says who is covered."),
        ("Left", "What further questions may cost. Prices add up; asking the same again is free."),
    )
    return look.fold("How to read this", look.table(("Word", "What it means"), words))


def _plain(value: Any) -> str:
    """A parameter as a page shows it."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_plain(inner)}" for name, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value))
    return "" if value is None else str(value)


def _amount(price: Guarantee) -> str:
    """What a release costs, and by which notion."""
    if isinstance(price, ZeroConcentrated):
        return f"ρ = {rounded_up(price.rho)} (concentrated)"
    delta = f", δ = {rounded_up(price.delta)}" if price.delta else ""
    return f"ε = {rounded_up(price.epsilon)}{delta} ({price.notion})"


Progress = Callable[[int, int, str], None]
"""Called as ``progress(done, total, what)`` during long work; sees sizes of public things only."""


class Shortcuts(Declared):
    """Inputs that stand for parameters which are hard to type."""

    instead: ClassVar[Mapping[str, str]] = {}
    """By the name of a required parameter, the options that may take its place."""

    def expand(self, given: dict[str, JSON]) -> dict[str, JSON]:
        """Return the question's JSON with what the shortcuts stand for."""
        return given

    @classmethod
    def contract(cls, document: Mapping[str, JSON]) -> tuple[dict[str, JSON], dict[str, JSON]]:
        """Return a question's JSON without what shortcuts can say, and the shortcuts that say it.

        The way back from :meth:`expand`; whoever uses it checks that it leads to the same question.
        """
        return dict(document), {}


class Question(Declared):
    """The public side of a question: parameters, validation, price, expected error.

    Its parameters are declared once, in the body of the class; the check of what is given, the
    JSON, the schema, the terminal's options, the console's form and the code samples follow.
    Nothing here ever reads a record of the dataset.
    """

    kind: ClassVar[str]
    """What programs call it."""

    asks: ClassVar[str] = ""
    """The question in words, on one line."""

    example: ClassVar[str] = ""
    """What to write after ``whitecrow KIND`` in an example."""

    guesses: ClassVar[type[Declared]] = Declared
    """Public guesses that make the expected error more telling; they change nothing else."""

    shortcuts: ClassVar[type[Shortcuts]] = Shortcuts
    """Other ways to say some parameters, for terminals and forms."""

    figures: ClassVar[Mapping[str, tuple[str, str]]] = {}
    """The figures of a description that a page shows: in which words, and written as a
    ``"number"``, a ``"chance"`` or a ``"range"``."""

    coin: ClassVar[tuple[str, ...]] = ()
    """The figures of a yes or no, the most telling first, that say how often it is wrong where the
    case is clear. Near one half the answer says nothing, and everybody is warned."""

    reply_seconds: ClassVar[float] = 5.0
    """Where a service pads its replies, this one leaves at a multiple of so many seconds."""

    light: ClassVar[bool] = False
    """Whether an answer takes milliseconds, so that a service may compute several at once."""

    served_up_to: ClassVar[Mapping[str, int]] = {}
    """How much of a parameter a service takes: time grows with it, whatever the data are."""

    about: ClassVar[tuple[str, ...]] = ()
    """Records of which only the columns, not the values, matter to price, statement and figures."""

    takes_missing: ClassVar[bool] = False
    """Whether it can tell a missing value, where the card keeps it as a value of its own."""

    needs_card: ClassVar[bool] = True
    """False if the terminal buys a card first, where none is given; see curator/undescribed.py."""

    stops_early: ClassVar[bool] = False
    """Whether counting ends where more neighbours would change nothing, which takes less time."""

    caveat: ClassVar[str] = ""
    """Whom the promise leaves out, where the question itself names somebody."""

    @cached_property
    def canonical(self) -> str:
        """Kind and parameters as JSON, in its one spelling."""
        return canonical({"kind": self.kind, "question": self._facts})

    @cached_property
    def cache_key(self) -> str:
        """What it has in common with all questions of the same price, statement and figures."""
        if not self.about:
            return self.canonical
        common = {**self._facts, **{name: list(self._facts[name]) for name in self.about}}
        return canonical({"kind": self.kind, "question": common})

    @cached_property
    def _facts(self) -> dict[str, JSON]:
        return self.to_json()

    @property
    def retired(self) -> str:
        """Why it is only read, in old entries, and not asked any more; empty for all others."""
        return ""

    def paid_as(self) -> Question:
        """Return what the ledger charges: itself, or the series of which it asks for a step."""
        return self

    def check(self, card: Card) -> None:
        """Raise :class:`~whitecrow.InvalidInput` if the card cannot serve this question."""
        raise NotImplementedError

    def price(self, card: Card) -> Guarantee:
        """Return what the release will promise, hence cost; uses public facts only."""
        raise NotImplementedError

    def describe(self, card: Card, **public: object) -> Description:
        """Say in words what will be released, at which price and with which expected error."""
        price = self.price(card)
        words, figures = self._told(card, public)
        return Description(f"{words} {price.statement()}", price, figures)

    def _told(self, card: Card, guesses: Mapping[str, object]) -> tuple[str, dict[str, Any]]:
        """Return what :meth:`describe` says before the promise, and the figures of it."""
        raise NotImplementedError

    def reads(self, answer: JSON) -> Any:
        """Return what a stored answer stands for: itself, unless there is an object for it."""
        return answer

    def entered(self, answer: JSON, entry: str) -> JSON:
        """Return the answer as it is kept under an entry of the ledger; objects carry its name."""
        return answer

    def says(self, answer: JSON) -> Said:
        """Say an answer in words."""
        return Said(json.dumps(answer, ensure_ascii=False))

    def alarm(self, answer: JSON) -> tuple[str, str] | None:
        """Return the period and the words of an alarm that an answer gives; None if it is none."""
        return None

    def keep(self, answer: JSON, path: str) -> None:
        """Write what an answer stands for into a file, where a question has such an object."""
        raise NotImplementedError

    def draw(self, answer: JSON, path: str) -> None:
        """Draw a picture of an answer, where a question has one."""
        raise NotImplementedError


Q = TypeVar("Q", bound=Question)
F = TypeVar("F", bound=Facts)
A = TypeVar("A")
T = TypeVar("T")


@dataclass(frozen=True)
class Series(Generic[Q, F]):
    """How a question goes on that is paid once and answered step by step.

    Parameters
    ----------
    resume : callable
        ``resume(question, facts, state, source)``: closes the steps that are not closed yet, and
        returns what is to be kept: all that was released, never again drawn. ``state`` is empty
        before the first step.
    show : callable
        ``show(question, card, state)``: the answer at the question's step, computed from what was
        released; None where the step is not closed yet.
    following : callable
        ``following(question, state)``: the question of the first step that is not closed yet. Steps
        are closed one at a time, so that limits are those of one.
    """

    resume: Callable[[Q, F, Mapping[str, JSON], Source | None], Mapping[str, JSON]]
    show: Callable[[Q, Card, Mapping[str, JSON]], JSON | None]
    following: Callable[[Q, Mapping[str, JSON]], Q]


@dataclass(frozen=True)
class Transcript(Generic[Q, F]):
    """How a question goes on that is paid once and answered record by record.

    ``resume(question, facts, state, source)`` returns the next answers, from what was released so
    far.
    """

    resume: Callable[[Q, F, Mapping[str, JSON], Source | None], Mapping[str, JSON]]


@dataclass(frozen=True)
class QuestionType(Generic[Q, F, A]):
    """A kind of question with the code that answers it.

    Parameters
    ----------
    question : type
        The public side.
    gather : callable
        ``gather(question, records, engine, progress)``: what must be known of the data. Private.
    release : callable
        ``release(question, facts, source)``: the crossing. The only code that opens the facts.
    cost : callable, optional
        ``cost(question, card, records)``: the :class:`~whitecrow.limits.Limits` that no records
        within the public bounds can reach. Without one nothing limits the question.
    series : Series or Transcript, optional
        How it goes on, where it is paid once and answered step by step.
    """

    question: type[Q]
    gather: Callable[[Q, Records, Engine, Progress | None], F]
    release: Callable[[Q, F, Source | None], A]
    cost: Callable[[Q, Card, int], Limits] | None = None
    series: Series[Q, F] | Transcript[Q, F] | None = None

    def limits(self, question: Q, card: Card, records: int | None = None) -> Limits:
        """Return what a question may use, for any records within the public bounds.

        ``records`` bounds their number where the card does not. Without any bound limits are
        infinite.
        """
        most = records if card.most_records is None else card.most_records
        if most is None or self.cost is None:
            return UNLIMITED
        return self.cost(question, card, max(1, most))


def statement(
    question: Question, price: Guarantee, card: Card, figures: Mapping[str, JSON] | None = None
) -> str:
    """Return what a data officer can sign: the promise, its unit, and whom the question leaves out.

    A question that names a person's record and speaks of it openly says so in its ``caveat``. An
    answer that is little better than a coin is told apart from one that is. ``figures`` are those
    of its description, where they are at hand.
    """
    persons = f'"Record" stands for all records of one person here (at most {card.contribution}).'
    figures = known_figures(question, card) if figures is None else figures
    warning = coin_warning(question, figures)
    parts = (_sentence(price), persons if card.unit == "user" else "", question.caveat, warning)
    return " ".join(part for part in parts if part)


_COIN = 0.25  # an answer that is wrong as often as this, in a clear case, is half way to a coin

_OF_ERROR = ("error", "shortfall", "deviation", "margin", "probability", "within")


def known_figures(question: Question, card: Card) -> Mapping[str, JSON]:
    """The figures of a question's description; none if the card has changed and no longer fits."""
    try:
        return question.describe(card).figures
    except WhitecrowError:
        return {}


def error_words(question: Question, figures: Mapping[str, JSON]) -> str:
    """Say the expected error of an answer in a few words, from the figures of its description."""
    median, most = figures.get("median_error"), figures.get("error_95")
    if median is not None and most is not None:
        return f"± {_short(median)}, 95 %: ± {_short(most)}"
    of_error = [name for name in question.figures if any(part in name for part in _OF_ERROR)]
    labels = {name: question.figures[name] for name in of_error}
    shown = {
        name: round(value) if isinstance(value, float) and abs(value) >= 10 else value
        for name, value in figures.items()
    }
    return "; ".join(_phrase(*row) for row in look.figure_rows(labels, shown))


def _phrase(words: str, value: str) -> str:
    """A figure in a sentence: "wrong 1 in 466 for your guess"."""
    what, separator, when = words.partition(" with probability, ")
    if separator and value == look.PRACTICALLY_NEVER:
        return f"practically never {what} (below 1 in a billion) {when}"
    if not separator:
        what, separator, when = words.partition(", in ")
    return f"{what} {value} {when}" if separator else f"{words} {value}"


def coin_warning(question: Question, figures: Mapping[str, JSON]) -> str:
    """Warn of a yes or no that is little better than a coin's, even where the case is clear."""
    chance = next((figures[name] for name in question.coin if figures.get(name) is not None), None)
    if chance is None or chance < _COIN:
        return ""
    return (
        f"WARNING: this answer is little better than a coin. Even about a record with nothing "
        f"near it, it is wrong with probability {100 * chance:.3g} %. Ask at a larger epsilon, or "
        "with a larger beta."
    )


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:.2g}"


@lru_cache(maxsize=256)
def _sentence(price: Guarantee) -> str:
    """The promise in words; many questions make the same one."""
    return price.statement()


def digest(question: Question, card: Card | None = None, revision: int = 0) -> str:
    """Return the identity of a question: SHA-256 of its kind and canonical JSON.

    With a card it is the identity of the question *as asked of these records*: after the card was
    changed, or the records, the same words ask something else, and a stored answer does not answer
    it.
    """
    if card is None:
        return hashlib.sha256(question.canonical.encode("ascii")).hexdigest()
    return _as_read(question, reading(card.fingerprint(), revision))


def digest_of_values(question: Question, card: Card, revision: int = 0) -> str:
    """Return the identity of a question that is handed its values and reads no records.

    It is also what versions before 0.3 called a question as asked of a revision's records.
    """
    return _as_read(question, reading(card.values_fingerprint(), revision))


def _as_read(question: Question, read_as: str) -> str:
    # The keys of an object are sorted, and this is the first of them.
    text = f'{{"card":"{read_as}",{question.canonical[1:]}'
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def series_digest(question: Question, card: Card) -> str:
    """Return the identity of the series that a question asks for a step of, over all revisions."""
    return hashlib.sha256(f"series {digest(question.paid_as(), card)}".encode()).hexdigest()


# What is said of an answer

_MOST_WORDS = 256  # how many kinds of alike questions keep what is said of their answers


@dataclass(frozen=True)
class Words:
    """What is said of an answer: its promise, its expected error, and a warning."""

    statement: str
    error: str
    warning: str


class Wording:
    """Prices, and what is said of answers, worked out once for questions that are alike."""

    def __init__(self) -> None:
        self._words: dict[tuple[str, int], Words] = {}
        self._prices: dict[tuple[str, int], Guarantee] = {}

    def price(self, question: Question, card: Card, revision: int) -> Guarantee:
        """Price a question about one revision of the data."""
        key = question.cache_key, revision
        return _once(self._prices, key, lambda: of_revision(question.price(card), revision))

    def said(self, question: Question, price: Guarantee, card: Card, revision: int) -> Words:
        """Say it of a question about one revision of the data."""
        return _once(
            self._words, (question.cache_key, revision), lambda: _words(question, price, card)
        )


def _words(question: Question, price: Guarantee, card: Card) -> Words:
    figures = known_figures(question, card)
    promise = statement(question, price, card, figures)
    return Words(promise, error_words(question, figures), coin_warning(question, figures))


def _once(stored: dict[tuple[str, int], T], key: tuple[str, int], make: Callable[[], T]) -> T:
    value = stored.get(key)
    if value is None:
        value = make()
        if len(stored) >= _MOST_WORDS:
            stored.clear()
        stored[key] = value
    return value


def released(
    question: Question,
    request: ChargeRequest,
    answer: Any,
    snapshot: AccountSnapshot,
    words: Words,
    *,
    charged: bool,
) -> Release:
    """Make the release of a stored answer, as an analyst sees it."""
    return Release(
        question={"kind": question.kind, **request.question["question"]},
        answer=question.reads(answer),
        guarantee=request.price,
        statement=words.statement,
        charged=charged,
        ledger={
            "spent": snapshot.spent.shown(snapshot.budget),
            "remaining": snapshot.remaining(request.analyst).to_json(),
        },
        error=words.error,
        warning=words.warning,
        said=question.says(answer),
    )

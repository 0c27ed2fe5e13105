"""A detector from a file that nobody has described: registered, described and learned in one go.

The steps are those of :mod:`whitecrow.curator.undescribed`, asked in the custodian's name one after
the other: each under its own card, which is put in force before, and none before the reply to the
last one was due. What was bought is kept, however it ends.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from whitecrow.card import Card, CsvFormat
from whitecrow.curator.undescribed import learned_by
from whitecrow.errors import InvalidInput, NotReady, TooMany, WhitecrowError
from whitecrow.learning import Learn
from whitecrow.ledger import Budget
from whitecrow.privacy import DifferentialPrivacy
from whitecrow.question import Question, Release
from whitecrow_server._people import Person, need
from whitecrow_server._processes import sketched
from whitecrow_server._scheduling import due

if TYPE_CHECKING:
    from whitecrow_server._service import Service

_AT_ONCE = 2
_REASON = "Learning without a card: what the next question looks at"


@dataclass(frozen=True)
class Wanted:
    """What is to be learned, of which source, and how that is written."""

    name: str
    source: Mapping[str, Any]
    asked: Learn
    budget: str
    csv: Mapping[str, Any] = field(default_factory=dict)
    records_at_most: int = 250_000
    engine: str = "local"

    @property
    def price(self) -> DifferentialPrivacy:
        return DifferentialPrivacy(self.asked.epsilon, self.asked.delta, self.asked.relation)


@dataclass
class Learning:
    """How far it is; ``failed`` says why it ended without a detector."""

    steps: list[str] = field(default_factory=list)
    failed: str = ""
    release: Release | None = None


class Undescribed:
    """Learns from files without a card."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._learning: dict[str, Learning] = {}
        self._lock = threading.Lock()

    def schema(self, who: Person, wanted: Wanted) -> Card:
        """Names and types of the columns, from the schema alone; read by a process of its own."""
        need(who, "custodian")
        said = {} if CsvFormat(**wanted.csv) == CsvFormat() else wanted.csv  # else the header tells
        records = self._service.catalogue.records(wanted.source)
        card, _ = sketched(records, csv=said, table={}, guess=False)
        return card

    def begin(self, who: Person, wanted: Wanted, *, at_once: bool = False) -> None:
        """Register the source and begin to learn; returns when the dataset is listed.

        Raises
        ------
        InvalidInput, PolicyViolation
            Before anything is registered or spent.
        """
        need(who, "custodian")
        budget, price = Budget.of(wanted.budget), wanted.price
        if budget.differential < price.epsilon or budget.delta < price.delta:
            raise InvalidInput("The budget is smaller than the price of the detector.")
        account = _Account(self._service, who, wanted, self.schema(who, wanted), at_once=at_once)
        with self._lock:
            busy = [one for one in self._learning.values() if not (one.failed or one.release)]
            if len(busy) >= _AT_ONCE:
                raise TooMany(after=30)
            learning = self._learning[wanted.name] = account.learning
        threading.Thread(target=account.run, daemon=True).start()
        account.listed.wait()
        if account.refused is not None:
            with self._lock:
                if self._learning.get(wanted.name) is learning:
                    del self._learning[wanted.name]
            raise account.refused

    def progress(self, who: Person, name: str) -> Learning | None:
        """How far it is; None if this process knows nothing of it."""
        need(who, "custodian")
        self._service.listing(who, name)
        return self._learning.get(name)


def bare(schema: Card) -> Any:
    """A table without a record that has a card's names and types."""
    import pyarrow

    types = {"integer": pyarrow.int64(), "number": pyarrow.float64(), "date": pyarrow.date32()}
    fields = [(one.name, types.get(one.type, pyarrow.string())) for one in schema.columns]
    return pyarrow.schema(fields).empty_table()


class _Account:
    """Where the questions go: to the dataset's account, under one card after the other."""

    def __init__(
        self, service: Service, who: Person, wanted: Wanted, schema: Card, *, at_once: bool
    ) -> None:
        self._service, self._who, self._wanted, self._at_once = service, who, wanted, at_once
        self.source, self.price = bare(schema), wanted.price
        self._name, self._csv, self._why = schema.name, schema.csv, _REASON
        self.learning, self.listed = Learning(), threading.Event()
        self.refused: WhitecrowError | None = None

    def run(self) -> None:
        """Learn; what becomes of it stands in ``learning``."""
        try:
            self.learning.release = learned_by(self, self._wanted.asked, self._say)
        except WhitecrowError as error:
            if not self.listed.is_set():
                self.refused = error
            self.learning.failed = str(error)
        except Exception:  # noqa: BLE001 - what it says may be of records
            self.learning.failed = "It failed; the custodian's log has the cause."
        finally:
            self.listed.set()

    def _say(self, words: str) -> None:
        self._why = words
        self.learning.steps.append(words)

    def ask(self, question: Question, card: Card, left: DifferentialPrivacy) -> Release:
        """Put a card in force, wait for the records, ask, and wait until the reply is due."""
        service, who, wanted = self._service, self._who, self._wanted
        card = replace(card, name=self._name, csv=self._csv, records_at_most=wanted.records_at_most)
        if not self.listed.is_set():
            service.register(
                *(who, wanted.name, wanted.source),
                card=card.to_json(),
                budget=wanted.budget,
                engine=wanted.engine,
            )
            self.listed.set()
        elif service.listing(who, wanted.name).card != card:
            service.amend(who, wanted.name, reason=self._why, card=card.to_json())
        self._wait()
        began = datetime.now(UTC)
        asking = service.prepare(who, wanted.name, question, at_once=self._at_once)
        release = service.answer(asking, began=began)
        if asking.deadline is not None:
            elapsed = (datetime.now(UTC) - began).total_seconds()
            time.sleep(due(elapsed, asking.deadline) - elapsed)
        self.learning.steps.append(f"{question.kind} was answered.")
        return release

    def _wait(self) -> None:
        """Wait until the records are read under the card in force."""
        listing = self._service.listing(self._who, self._wanted.name)
        while True:
            try:
                self._service.pool.curator(listing)
                return
            except NotReady:
                state = self._service.pool.state(listing)
                if state.stage == "failed":
                    raise InvalidInput(f"The file could not be read: {state.reason}") from None

"""From a file that nobody has described to a first answer: drafted cards, a model, a detector.

Each act with its authorisation, as in :mod:`whitecrow_server._service`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from whitecrow.card import Card, CsvFormat, TableChoice
from whitecrow.curator.advice import ModelAdvice, compared
from whitecrow.curator.drafts import Draft, reviewed
from whitecrow.curator.undescribed import learned_by
from whitecrow.errors import InvalidInput, NotReady, TooMany, WhitecrowError
from whitecrow.learning import Learn
from whitecrow.ledger import Budget
from whitecrow.privacy import DifferentialPrivacy
from whitecrow.question import Question, Release
from whitecrow_server._people import Person, need
from whitecrow_server._scheduling import due
from whitecrow_server._sketching import sketched
from whitecrow_server._untrusted_input import well_formed

if TYPE_CHECKING:
    from whitecrow_server._service import Service


import asyncio
import hashlib
import os
import secrets
from collections.abc import AsyncIterator, Collection
from contextlib import suppress

from whitecrow.errors import LedgerUnusable, invalid
from whitecrow_server._scheduling import Share
from whitecrow_server._settings import Settings

MOST_COMPARED = 32
"""Over how many columns a service advises: synthetic records are compared in all of them."""


class Onboarding:
    def __init__(self, service: Service) -> None:
        self._service = service

    def sketch(
        self,
        who: Person,
        source: Mapping[str, Any],
        *,
        csv: Mapping[str, Any],
        table: Mapping[str, Any],
    ) -> tuple[Card, bool]:
        """Return the names and types of a source's columns, and whether the types are guesses.

        The types of a CSV are guessed from its first rows: for the custodian's eyes, to be checked.
        """
        need(who, "custodian")
        records = self._service.catalogue.records(source)
        CsvFormat(**csv), TableChoice(**table)  # refused here, in words for the form
        return sketched(records, csv=csv, table=table, guess=True)

    def clean_uploads(self) -> None:
        """Remove what was sent and never registered, or did not arrive whole."""
        sources = [listing.source for listing in self._service.catalogue.all()]
        files = [str(source["file"]) for source in sources if "file" in source]
        clean(self._service.settings, files)

    def drafts(self, who: Person, name: str) -> list[Draft]:
        self._service.listing(who, name, "custodian")
        return self._service.told.drafts(name)

    def accept(
        self, who: Person, name: str, draft: Mapping[str, Any] | str, *, reason: str = ""
    ) -> dict[str, Any]:
        """Use a drafted card, as it is or edited; the chain keeps which lines were."""
        self._service.listing(who, name, "custodian")
        review = well_formed(lambda: reviewed(draft, self._service.ledger, name))
        card = review.card.to_json()
        self._service.amend(who, name, reason=review.reason(reason), card=card)
        return {"card": card, "edited": list(review.edited)}

    def advise(
        self,
        who: Person,
        name: str,
        *,
        contamination: str | float,
        columns: Sequence[str] | None = None,
        metric: str = "standardised",
        **how: Any,
    ) -> ModelAdvice:
        """Find a model for a wanted share of outliers, from public facts; spends nothing.

        Where a profile was bought, synthetic records are drawn from the newest: for an analyst from
        their own, since what others asked is not theirs to know.
        """
        curator = self._service.curator(who, name, "analyst", "custodian")
        over = compared(curator.card, metric) if columns is None else tuple(columns)
        if len(over) > MOST_COMPARED:
            raise InvalidInput(
                f"A service compares at most {MOST_COMPARED} columns; name those that matter."
            )
        mine = who.name if who.role == "analyst" else None
        newest = self._service.told.drafts(name, analyst=mine, limit=1)
        advice = self._service.aside.done(
            "advice",
            curator,
            who.name,
            share=str(contamination),  # as it is written: 0.01 and not the double next to it
            profile=newest[0].profile.to_json() if newest else None,
            how=how | {"columns": list(over), "metric": metric},
        )
        return ModelAdvice.from_json(advice)


_AT_ONCE = 2
_REASON = "Learning without a card: what the next question looks at"


@dataclass(frozen=True)
class Wanted:
    """What to learn, from which source, and the format of its file."""

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
        csv = {} if CsvFormat(**wanted.csv) == CsvFormat() else wanted.csv  # else the header tells
        records = self._service.catalogue.records(wanted.source)
        card, _ = sketched(records, csv=csv, table={}, guess=False)
        return card

    def begin(self, who: Person, wanted: Wanted, *, at_once: bool = False) -> None:
        """Register the source and begin to learn; returns when the dataset is listed."""
        need(who, "custodian")
        budget, price = Budget.of(wanted.budget), wanted.price
        if budget.differential < price.epsilon or budget.delta < price.delta:
            raise InvalidInput("The budget is smaller than the price of the detector.")
        account = _Account(self._service, who, wanted, self.schema(who, wanted), at_once=at_once)
        with self._lock:
            busy = [job for job in self._learning.values() if not (job.failed or job.release)]
            if len(busy) >= _AT_ONCE:
                raise TooMany(after=30)
            learning = self._learning[wanted.name] = account.learning
        threading.Thread(target=account.run, daemon=True).start()
        try:
            account.listed.result()
        except WhitecrowError:
            with self._lock:
                if self._learning.get(wanted.name) is learning:
                    del self._learning[wanted.name]
            raise

    def progress(self, who: Person, name: str) -> Learning | None:
        """How far it is; None if this process knows nothing of it."""
        self._service.listing(who, name, "custodian")
        return self._learning.get(name)


def bare(schema: Card) -> Any:
    """An empty table with a card's names and types."""
    import pyarrow

    types = {"integer": pyarrow.int64(), "number": pyarrow.float64(), "date": pyarrow.date32()}
    fields = [(column.name, types.get(column.type, pyarrow.string())) for column in schema.columns]
    return pyarrow.schema(fields).empty_table()


class _Account:
    """Where the questions go: to the dataset's account, under one card after the other."""

    def __init__(
        self, service: Service, who: Person, wanted: Wanted, schema: Card, *, at_once: bool
    ) -> None:
        self._service, self._who, self._wanted, self._at_once = service, who, wanted, at_once
        self.source, self.price = bare(schema), wanted.price
        self._name, self._csv, self._why = schema.name, schema.csv, _REASON
        self.learning = Learning()
        self.listed: Future[None] = Future()  # or why the dataset could not be listed

    def run(self) -> None:
        """Learn; ``learning`` holds the progress and the outcome."""
        try:
            self.learning.release = learned_by(self, self._wanted.asked, self._say)
        except WhitecrowError as error:
            self.learning.failed = str(error)
            if not self.listed.done():
                self.listed.set_exception(error)
        except Exception:  # noqa: BLE001 - what it says may be of records
            self.learning.failed = "It failed; the custodian's log has the cause."
        finally:
            if not self.listed.done():
                self.listed.set_result(None)

    def _say(self, words: str) -> None:
        self._why = words
        self.learning.steps.append(words)

    def ask(self, question: Question, card: Card, left: DifferentialPrivacy) -> Release:
        """Use a card, wait for the records, ask, and wait until the reply is due."""
        service, who, wanted = self._service, self._who, self._wanted
        card = replace(card, name=self._name, csv=self._csv, records_at_most=wanted.records_at_most)
        if not self.listed.done():
            service.register(
                *(who, wanted.name, wanted.source),
                card=card.to_json(),
                budget=wanted.budget,
                engine=wanted.engine,
            )
            self.listed.set_result(None)
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
        """Wait until the records are read under the present card."""
        listing = self._service.listing(self._who, self._wanted.name)
        while True:
            try:
                self._service.pool.curator(listing)
                return
            except NotReady:
                state = self._service.pool.state(listing)
                if state.stage == "failed":
                    raise InvalidInput(f"The file could not be read: {state.reason}") from None


# Files that a custodian sends: kept in the data folder under names that the service makes up. What
# comes with a request is data: how the file is called where it came from is neither kept nor looked
# at, and its kind is one of those listed here.

UPLOADS = "/console/register/upload"
"""Where files are sent to: the one address whose bodies may be as large as files are."""

_STALLED_SECONDS = 3600.0
"""No upload lasts so long without a byte: a file that is older did not arrive whole."""

_FORGOTTEN_SECONDS = 86_400.0
"""Time to register a file that was sent; afterwards nobody seems to want it here."""

_BYTES_PER_SECOND = 8 << 20
"""How fast a file is taken in at the most: answers are written to the same disk."""

_ENDINGS = {"csv": ".csv", "parquet": ".parquet"}


async def saved(pieces: AsyncIterator[bytes], kind: str, settings: Settings, threads: Share) -> str:
    """Write a body to a new file of the data folder, piece by piece; return the file's name.

    A file that did not arrive whole is removed.
    """
    folder = settings.folder
    if folder is None:
        raise InvalidInput("The service is set up with no folder of data files.")
    if kind not in _ENDINGS:
        raise invalid("an upload", "kind", " or ".join(_ENDINGS), kind)
    name = f"{_beginning(settings)}{secrets.token_hex(8)}{_ENDINGS[kind]}"
    unfinished = folder / f"{name}.part"
    size, began = 0, time.monotonic()
    try:
        # For the service alone, and never an existing file.
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
        with os.fdopen(os.open(unfinished, flags, 0o600), "wb") as file:
            async for piece in pieces:
                size += len(piece)
                await threads.run(lambda part=piece: file.write(part))  # type: ignore[misc]
                await asyncio.sleep(began + size / _BYTES_PER_SECOND - time.monotonic())
        if not size:
            raise InvalidInput("The file is empty; nothing was stored.")
        unfinished.rename(folder / name)
    except OSError:
        raise LedgerUnusable(
            "The service cannot write to its data folder; ask its operator to put the file there."
        ) from None
    finally:
        with suppress(OSError):
            unfinished.unlink()
    return name


def clean(settings: Settings, registered: Collection[str]) -> None:
    """Remove files that did not arrive whole, and those that nobody registered for a day.

    Only files that this service took in: others in the folder are not its own.
    """
    folder = settings.folder
    if folder is None:
        return
    # Resolved, as when they are opened: a name may have been written with dots.
    wanted = {(folder / name).resolve() for name in registered}
    for path in folder.glob(f"{_beginning(settings)}*"):
        ends = _STALLED_SECONDS if path.suffix == ".part" else _FORGOTTEN_SECONDS
        with suppress(OSError):  # another worker was faster, or the folder is read-only
            if path.resolve() not in wanted and time.time() - path.stat().st_mtime > ends:
                path.unlink()


def _beginning(settings: Settings) -> str:
    """How the names of this service's uploads begin: several may share a folder."""
    return f"upload-{hashlib.sha256(settings.database.encode()).hexdigest()[:6]}"

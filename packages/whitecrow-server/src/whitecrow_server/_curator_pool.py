"""The datasets a worker answers for: loaded in the background, each in a process of its own."""

from __future__ import annotations

import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from whitecrow.card import Card
from whitecrow.curator import Curator
from whitecrow.curator.dummy import DUMMY_RECORDS, accepted_profile, marked
from whitecrow.curator.execution import Elsewhere
from whitecrow.curator.opening import Opened, Recognition, keep_unit
from whitecrow.custodian import write_down
from whitecrow.data.dataset import Intake
from whitecrow.errors import DataChanged, DatasetClosed, NotReady, WhitecrowError
from whitecrow.ledger import Ledger
from whitecrow.limits import Limits
from whitecrow.privacy import Guarantee
from whitecrow.question import Release
from whitecrow.questions import type_of
from whitecrow_server._catalogue import Catalogue, Listing
from whitecrow_server._messages import Synthetic
from whitecrow_server._processes import DatasetProcess, LoadFailed
from whitecrow_server._settings import Settings
from whitecrow_server._untrusted_input import question_from, well_formed

_POLL_SECONDS = 1.0
_RETRY_SECONDS = (5.0, 300.0)
"""A load that failed is tried again after so long, and twice as long each time up to the second:
what was away (a database, a disk, a warehouse) comes back."""
_LOADS_AT_ONCE = 4
"""A dataset that takes long to read holds up no other one."""
_PATIENT = 4
"""A computation is ended after so many times what is lent to it: others may use the processor."""

CHANGED = "changed: waits for the custodian"
"""All that an analyst learns of records that are not those of the account."""
_CHANGED = "This dataset has changed: it waits for the custodian."
_FAILED = "This dataset cannot be read at the moment; the custodian's log has the cause."


@dataclass
class State:
    """How far a worker is with a dataset."""

    revision: int  # of the card and source that are loaded, or being loaded
    # ``waiting``, ``reading``, ``compiling``, ``indexing``, ``ready``, ``failed``, or ``changed``:
    # the records are not those of the account.
    stage: str = "waiting"
    # How far the stage is. The numbers of rows behind it are facts and stay here.
    percent: int = 0
    reason: str = ""  # why it failed, for the custodian only
    tries: int = 0  # how often its load has failed
    retry_at: float = field(default=float("inf"), repr=False)
    curator: Curator | None = field(default=None, repr=False)
    process: DatasetProcess | None = field(default=None, repr=False)
    begun: bool = field(default=False, repr=False)
    settled: threading.Event = field(default_factory=threading.Event, repr=False)

    @property
    def over(self) -> bool:
        """Whether it is to be loaded anew: its process died, or its load failed a while ago."""
        died = self.stage == "ready" and self.process is not None and not self.process.alive
        return died or time.monotonic() >= self.retry_at

    def failed(self, reason: str) -> None:
        """Note that the load failed, and when to try again."""
        first, most = _RETRY_SECONDS
        self.stage, self.reason = "failed", reason
        self.tries += 1
        self.retry_at = time.monotonic() + min(most, first * 2 ** min(self.tries - 1, 20))

    def to_json(self) -> dict[str, Any]:
        return {"stage": self.stage, "percent": self.percent, "reason": self.reason}


class CuratorPool:
    """Curators by name, all on one ledger."""

    def __init__(self, catalogue: Catalogue, ledger: Ledger, settings: Settings) -> None:
        self._catalogue, self._ledger, self._settings = catalogue, ledger, settings
        self._states: dict[str, State] = {}
        self._alive: set[DatasetProcess] = set()
        self._loads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="whitecrow-curator-pool", daemon=True
        )

    def start(self) -> None:
        """Begin to load what the catalogue lists, and keep polling for changes."""
        self._thread.start()

    def close(self) -> None:
        """Stop loading, and end the processes that compute: at once, their spends kept."""
        self._stop.set()
        self._wake.set()
        with self._lock:
            processes = list(self._alive)
        for process in processes:
            process.kill()
        if self._thread.is_alive():
            self._thread.join(timeout=5)
        for load in self._loads:
            load.join(timeout=5)

    def state(self, listing: Listing) -> State:
        with self._lock:
            state = self._states.get(listing.name)
            if state is None or state.revision < listing.revision or state.over:
                again = state is not None and state.revision == listing.revision
                tries = state.tries if again and state is not None else 0
                old, state = state, State(listing.revision, tries=tries)
                self._states[listing.name] = state
                if old is not None and old.process is not None:
                    # Asks under way still use it: it ends when they have.
                    self._retire(old.process)
                self._wake.set()
            return state

    def _retire(self, process: DatasetProcess) -> None:
        def end() -> None:
            process.retire()
            with self._lock:
                self._alive.discard(process)

        threading.Thread(target=end, daemon=True).start()

    def curator(self, listing: Listing) -> Curator:
        """Return the curator of a dataset, after waiting a while for its load."""
        return self._loaded(listing)[0]

    def process(self, listing: Listing) -> DatasetProcess:
        """Return the process that holds the records of a dataset, in the same way."""
        return self._loaded(listing)[1]

    def intake(self, listing: Listing) -> Intake | None:
        """What became of the rows of a dataset at load; None while it is not loaded."""
        process = self.state(listing).process
        return None if process is None else process.intake

    def _loaded(self, listing: Listing) -> tuple[Curator, DatasetProcess]:
        state = self.state(listing)
        if not state.settled.wait(self._settings.patience):
            raise NotReady("This dataset is being loaded; ask again in a moment.")
        if state.stage == "changed":
            raise DatasetClosed(_CHANGED)
        if state.curator is None or state.process is None:
            raise NotReady(_FAILED, after=5)
        return state.curator, state.process

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            try:
                listed = self._catalogue.all()
            except WhitecrowError:  # the database is away: look again later
                listed = []
            for listing in listed:
                state = self.state(listing)
                if self._stop.is_set():
                    return
                self._loads = [load for load in self._loads if load.is_alive()]
                if not state.begun and len(self._loads) < _LOADS_AT_ONCE:
                    state.begun = True
                    load = threading.Thread(target=self._load, args=(listing, state), daemon=True)
                    self._loads.append(load)
                    load.start()
            self._wake.wait(_POLL_SECONDS)

    def _load(self, listing: Listing, state: State) -> None:
        def tell(stage: str, percent: int) -> None:
            state.stage, state.percent = stage, percent

        try:
            source = self._catalogue.records(listing.source)
            # Before it is read: what changes from now on is noticed.
            seen = Recognition(source, engine=listing.engine)
            process = DatasetProcess(
                listing,
                source,
                log=self._catalogue.log,
                longest=_PATIENT * self._settings.longest_seconds,
                records_at_most=self._settings.records_at_most,
            )
            with self._lock:
                state.process = process
                self._alive.add(process)
            if self._stop.is_set():  # closed meanwhile, without knowing of it
                process.kill()
            card, fingerprint = process.load(tell)
            keep_unit(self._ledger, listing.name, card)
            identity = seen.bound(self._ledger, listing.name, fingerprint)
            state.curator = Curator(
                Opened(Elsewhere(card), self._ledger, listing.name, identity=identity),
                analyst=listing.name,
                execution=process,
                lent=self._settings.lent,
                records_at_most=self._settings.records_at_most,
            )
            state.stage = "ready"
        except DataChanged as error:
            state.stage, state.reason = "changed", str(error)
        except (WhitecrowError, LoadFailed) as error:
            state.failed(str(error))
        except Exception:  # noqa: BLE001 - may say more than the custodian's page should
            failure_text = f"the dataset {listing.name} could not be loaded"
            write_down(self._catalogue.log, failure_text, traceback.format_exc())
            state.failed("see the custodian's log")
        finally:
            if state.curator is None and state.process is not None:
                state.process.kill()
            state.settled.set()
            with self._lock:
                superseded = self._states.get(listing.name) is not state
            if superseded and state.process is not None:  # by another revision, during the load
                self._retire(state.process)
            self._wake.set()


# Processes that answer about synthetic records: begun when they are first asked, one for each
# dataset whose dummy was asked lately. They hold no record of the data.

_MOST = 4
_LONGEST_SECONDS = 60.0


class Dummies:
    def __init__(self, ledger: Ledger, settings: Settings) -> None:
        self._ledger, self._settings = ledger, settings
        seconds = min(settings.longest_seconds, _LONGEST_SECONDS)
        self._limits = Limits(seconds, settings.most_bytes)
        self._running: OrderedDict[tuple[str, str], DatasetProcess] = OrderedDict()
        self._lock = threading.Lock()

    def answer(self, listing: Listing, card: Card | None, raw: Mapping[str, Any]) -> Release:
        if card is None:
            raise NotReady("This dataset is being loaded; ask again in a moment.")
        question = question_from(raw)

        def priced() -> tuple[Guarantee, Limits]:
            question.check(card)
            few = replace(card, size_public=False, size=None, records_at_most=DUMMY_RECORDS)
            most = type_of(question).limits(question, few)
            return question.price(card), most.within(self._limits, question.kind)

        price, limits = well_formed(priced)
        profile = accepted_profile(card, self._ledger, listing.name)
        process = self._process(listing, card, None if profile is None else profile.to_json())
        answer = process.answer(question, limits=lambda: limits, progress=None)
        return marked(question, price, None if answer is None else answer.value)

    def _process(
        self, listing: Listing, card: Card, profile: Mapping[str, Any] | None
    ) -> DatasetProcess:
        """The process of a dummy, begun if need be; one begins at a time."""
        key = listing.name, card.fingerprint()
        with self._lock:
            process = self._running.pop(key, None)
            if process is None or not process.alive:
                process = self._begun(replace(listing, card=card), profile)
            self._running[key] = process
            while len(self._running) > _MOST:
                self._running.popitem(last=False)[1].kill()
        return process

    def _begun(self, listing: Listing, profile: Mapping[str, Any] | None) -> DatasetProcess:
        process = DatasetProcess(
            replace(listing, engine="local", indexes=()),
            Synthetic(profile),
            log=None,
            longest=_LONGEST_SECONDS,
            records_at_most=self._settings.records_at_most,
        )
        try:
            process.load(lambda stage, percent: None)
        except LoadFailed:
            raise NotReady("The synthetic records could not be drawn; try again later.") from None
        return process

    def close(self) -> None:
        with self._lock:
            for process in self._running.values():
                process.kill()
            self._running.clear()

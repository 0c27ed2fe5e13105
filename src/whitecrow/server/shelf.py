"""The datasets a worker holds in memory: loaded in the background, with visible progress."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.curator import Curator
from whitecrow.curator.simulate import simulated
from whitecrow.custodian import write_down
from whitecrow.data import Card
from whitecrow.errors import InvalidInput, Unavailable, WhitecrowError
from whitecrow.ledger import Ledger
from whitecrow.neighbours import Closeness, Engine, LocalEngine, open_data, open_engine
from whitecrow.server.catalogue import Catalogue, Listing
from whitecrow.server.refusals import NotReady

__all__ = ["Shelf", "State"]

_LOOK_AGAIN_SECONDS = 1.0
_FAILED = "This dataset cannot be read at the moment; the custodian's log has the cause."


@dataclass
class State:
    """How far a worker is with a dataset.

    Parameters
    ----------
    revision : int
        Of the card and source that are loaded, or being loaded.
    stage : str
        ``waiting``, ``reading``, ``compiling``, ``indexing``, ``ready`` or ``failed``.
    percent : int
        How far the stage is. The numbers of rows behind it are facts and stay here.
    reason : str
        Why it failed, for the custodian only.
    """

    revision: int
    stage: str = "waiting"
    percent: int = 0
    reason: str = ""
    curator: Curator | None = field(default=None, repr=False)
    settled: threading.Event = field(default_factory=threading.Event, repr=False)

    def to_json(self) -> dict[str, Any]:
        """Return what the custodian sees."""
        return {
            "stage": self.stage,
            "percent": self.percent,
            "reason": self.reason,
        }


class Shelf:
    """Curators by name, all on one ledger.

    Parameters
    ----------
    catalogue : Catalogue
        What there is to load.
    ledger : Ledger
        The accounts.
    patience : float
        How many seconds :meth:`curator` waits for a load.
    """

    def __init__(self, catalogue: Catalogue, ledger: Ledger, *, patience: float) -> None:
        self._catalogue, self._ledger, self._patience = catalogue, ledger, patience
        self._states: dict[str, State] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="whitecrow-shelf", daemon=True)

    def start(self) -> None:
        """Begin to load what the catalogue lists, and go on looking for changes."""
        self._thread.start()

    def close(self) -> None:
        """Stop loading."""
        self._stop.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def state(self, listing: Listing) -> State:
        """How far the load of a dataset is."""
        with self._lock:
            state = self._states.get(listing.name)
            if state is None or state.revision < listing.revision:
                state = self._states[listing.name] = State(listing.revision)
                self._wake.set()
            return state

    def curator(self, listing: Listing) -> Curator:
        """Return the curator of a dataset, after waiting a while for its load."""
        state = self.state(listing)
        if not state.settled.wait(self._patience):
            raise NotReady("This dataset is being loaded; ask again in a moment.")
        if state.curator is None:
            raise Unavailable(_FAILED)
        return state.curator

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
                if not state.settled.is_set():
                    self._load(listing, state)
            self._wake.wait(_LOOK_AGAIN_SECONDS)

    def _load(self, listing: Listing, state: State) -> None:
        def progress(done: int, total: int, what: str) -> None:
            state.percent = 100 * done // max(1, total)

        try:
            state.stage = "reading"
            source = self._catalogue.records(listing.source)
            dataset, engine = open_data(source, listing.card, listing.engine, progress=progress)
            state.stage = "compiling"
            warm(dataset.card)
            for done, columns in enumerate(listing.indexes):
                state.stage, state.percent = "indexing", 100 * done // len(listing.indexes)
                prepare(engine, columns, dataset.card)
            state.curator = Curator(
                dataset, InTurn(engine), self._ledger, name=listing.name, analyst=listing.name
            )
            state.stage = "ready"
        except WhitecrowError as error:
            state.stage, state.reason = "failed", str(error)
        except Exception:  # noqa: BLE001 - a reader's error may quote records: custodians only
            said = f"the dataset {listing.name} could not be loaded"
            write_down(self._catalogue.log, said, traceback.format_exc())
            state.stage, state.reason = "failed", "see the custodian's log"
        finally:
            state.settled.set()


class InTurn:
    """An engine whose questions about single records are answered one after the other.

    An engine may build an index when it has been asked often enough; asked by many threads at once,
    each would build its own.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._turn = threading.Lock()

    def neighbours(self, records: Any, closeness: Closeness, cap: int | None = None) -> Any:
        """Return min(number of data records close to it, cap) for each record of a batch."""
        with self._turn:
            return self._engine.neighbours(records, closeness, cap)

    def copies(self, records: Any, closeness: Closeness, cap: int | None = None) -> Any:
        """Return min(number of data records equal in all the columns, cap) for each record."""
        with self._turn:
            return self._engine.copies(records, closeness, cap)

    def degrees(self, closeness: Closeness, cap: int | None = None) -> Any:
        """Return min(number of close records, itself included, cap) for each data record."""
        return self._engine.degrees(closeness, cap)

    def sparse(self, closeness: Closeness, cap: int) -> Any:
        """Return the records with fewer than ``cap`` close ones, and how many each has."""
        return self._engine.sparse(closeness, cap)


def warm(card: Card) -> None:
    """Compile the kernels on made-up records, so that no analyst waits for the compiler."""
    columns = [column.name for column in card.columns if column.type in ("number", "integer")][:2]
    try:
        made_up = simulated(card, 8)
        closeness = DistanceAnomaly(beta=1, radius=1.0).closeness(tuple(columns), card)
    except InvalidInput:  # a card without bounds: the first question will compile
        return
    engine = open_engine(made_up)
    place = made_up.matrix(columns)[:1]
    engine.neighbours(place, closeness, 1)
    engine.degrees(closeness, 1)
    prepare(engine, columns, card)
    engine.neighbours(place, closeness, 1)
    engine.copies(place, closeness, 1)


def prepare(engine: Engine, columns: Sequence[str], card: Card) -> None:
    """Build an engine's index over columns now, if it is of the kind that keeps any."""
    if isinstance(engine, LocalEngine):
        engine.prepare(DistanceAnomaly(beta=1, radius=1.0).closeness(tuple(columns), card))

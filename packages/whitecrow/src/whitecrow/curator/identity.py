"""Which records a curator holds, and whether they are those of the account.

What is noticed, and when:

===========================  ====================================  ==============================
source                       recognised by                         looked at
===========================  ====================================  ==============================
file, folder of Parquet      its bytes                             at opening; with the engine
                                                                   ``spark`` its size and times
                                                                   before each question
frame, query                 the multiset of its rows              at opening; then it is a copy
a table of Spark             the multiset of its rows              at opening only, so questions
                                                                   there get no discount for
                                                                   places that do not meet
===========================  ====================================  ==============================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from whitecrow.data import Card, Records, is_lake
from whitecrow.data.fingerprints import FileStates, RowMark, file_chunks, file_mark, file_states
from whitecrow.data.sources import open_source
from whitecrow.data.warehouse import RemoteDataset
from whitecrow.errors import AccountConflict, DataChanged, NotReady
from whitecrow.ledger import Ledger
from whitecrow.ledger.growth import Chunks
from whitecrow.ledger.revisions import bind
from whitecrow.ledger.states import States
from whitecrow.neighbours import READ_AGAIN, REMOTE, current_name

_DIGESTS = "file digests"
_UNIT = "unit of privacy"
_MOVING = "The file was written while it was being read; open it again when that is done."


@dataclass(frozen=True)
class Identity:
    """The records that a curator holds."""

    # Of the account; 0 where nobody else can open the account, so that no other records can.
    revision: int = 0
    # The first revision of its run: from there on records were only added, as declared and checked
    # (:mod:`whitecrow.ledger.growth`).
    since: int = 0
    # path, files: The file or folder and its state at opening, where questions go to the files
    # themselves.
    path: Path | None = None
    files: FileStates | None = field(default=None, repr=False)
    steady: bool = True  # false for records that may change unseen between two questions
    in_memory: bool = True  # false where an engine counts records on disk, or elsewhere

    def check(self) -> None:
        """Raise :class:`~whitecrow.errors.DataChanged` if the file changed since it was opened."""
        assert self.path is not None
        try:
            same = file_states(self.path) == self.files
        except OSError:
            same = False
        if not same:
            raise DataChanged(
                "The records changed while they were open; nothing was asked or spent. The "
                "custodian records the new revision and says why ('whitecrow data advance DATA "
                "--reason ...', or Curator.open(..., advance='...'))."
            )


class Recognition:
    """Looks at a source while it is opened, and recognises it in a ledger.

    ``engine`` says whether questions go to the source itself, ``recording`` whether this may become
    a revision, whose growth has to be checked.
    """

    def __init__(self, source: object, *, engine: str, recording: bool = False) -> None:
        self._remote = remote = engine in READ_AGAIN
        self._in_memory = current_name(engine) not in REMOTE
        self._path = _existing(source)
        self._files = None if self._path is None else file_states(self._path)
        by_rows = self._files is None and not remote
        self.rows = RowMark(keep=recording) if by_rows else None
        """Takes in the rows as they are read, where they come from no file."""

    @property
    def by_file(self) -> bool:
        """Whether the records are recognised by a file, so that they need not be read for it."""
        return self._files is not None

    def unbound(self) -> Identity:
        """The records of an account that nobody else can open."""
        return self._identity(0, 0)

    def bound(
        self,
        ledger: Ledger,
        account: str,
        mark: str,
        *,
        card: Card | None = None,
        advance: str | None = None,
        growth: str | None = None,
        actor: str = "",
    ) -> Identity:
        """Recognise the records as a revision of an account; see :func:`bind`."""
        found = bind(
            *(ledger, account, mark),
            reason=advance,
            actor=actor,
            growth=growth,
            chunks=self._chunks(card),
        )
        return self._identity(found.number, found.since)

    def _identity(self, revision: int, since: int) -> Identity:
        if not self._remote:
            return Identity(revision, since, in_memory=self._in_memory)
        known = self._path is not None
        return Identity(revision, since, self._path, self._files, steady=known, in_memory=False)

    def _chunks(self, card: Card | None) -> Chunks | None:
        """Return what reads the chunks of the records; None where nothing can."""
        path = self._path
        if path is None:
            return None if self.rows is None else self.rows.chunks

        def read(known: Iterable[str]) -> Mapping[str, str]:
            assert self._files is not None
            if path.is_dir() and not is_lake(path):
                found = file_chunks(self._files, path)
            else:
                rows, opened = RowMark(keep=True), open_source(path, card)
                for batch in opened.batches(list(opened.schema.names), lambda: None):
                    rows.add(batch)
                found = rows.chunks(known)
            if file_states(path) != self._files:
                raise NotReady(_MOVING)
            return found

        return read

    def mark(
        self,
        dataset: Records | None,
        ledger: Ledger | None = None,
        account: str = "",
    ) -> str:
        """Return what the records are recognised by; a ledger keeps the digests of files."""
        if self._files is not None and self._path is not None:
            known_there = ledger is not None and account in ledger.datasets()
            states = None
            if ledger is not None and known_there:
                states = States(ledger, account, released=False)
            version, known = (states and states.load(_DIGESTS)) or (-1, {})
            mark, digests = file_mark(self._files, known)
            if file_states(self._path) != self._files:
                raise NotReady(_MOVING)
            if states is not None and digests != known:
                states.save(_DIGESTS, version + 1, digests)
            return mark
        if self.rows is not None:
            return self.rows.text()
        assert isinstance(dataset, RemoteDataset)
        return dataset.mark()


def keep_unit(ledger: Ledger, account: str, card: Card) -> None:
    """See that an account is about persons, or about records, from its first question to its last.

    Promises to persons and promises to single records do not add up: removing one record of a
    person may let another of theirs in, and a person may have many. So their sum would bound
    neither.
    """
    said = {"unit": card.unit, "user_column": card.user_column}
    states = States(ledger, account, released=False)
    if states.load(_UNIT) is None:
        states.save(_UNIT, 0, said)  # whoever is first
    found = states.load(_UNIT)
    if found is not None and found[1] == said:
        return
    asked = ledger.entries(account, kind="reserve", limit=1)
    if asked or found is None or not states.save(_UNIT, found[0] + 1, said):
        raise AccountConflict(
            "The account adds up promises to another unit of privacy (record, or user by a user "
            "column) than this card protects, and the two do not add up. Keep 'unit' and "
            "'user_column' as they were, or give the data an account of their own with "
            "name='...' (--name)."
        )


def unit_of(ledger: Ledger, account: str) -> str:
    """Return whom an account protects: a ``record`` or a ``user``."""
    found = States(ledger, account, released=False).load(_UNIT)
    return "record" if found is None else str(found[1]["unit"])


def _existing(source: object) -> Path | None:
    """Return the file or folder that a source names, if it is one of this machine."""
    if not isinstance(source, str | Path) or "://" in str(source):
        return None
    path = Path(source).absolute()
    return path if path.exists() else None

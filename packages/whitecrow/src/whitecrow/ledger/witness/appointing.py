"""Giving a ledger a witness, and taking it away."""

from __future__ import annotations

import secrets
from contextlib import closing
from pathlib import Path

from sqlalchemy import bindparam, delete, insert

from whitecrow.errors import InvalidInput, LedgerOutdated, LedgerUnusable, WhitecrowError
from whitecrow.ledger.database import Database
from whitecrow.ledger.schema import witness
from whitecrow.ledger.witness.guard import OUTDATED, marks_of
from whitecrow.ledger.witness.heads import heads, missing
from whitecrow.ledger.witness.setup import Setup, setup_of
from whitecrow.ledger.witness.statement import Evidence, SigningKey

_UNCONFIRMED = (
    "The witness does not confirm that this ledger is the newest, and is not dismissed: {why} If "
    "it is gone for good, and this ledger was neither restored nor copied, say so: --dismiss "
    "--not-restored --reason ..."
)

_APPOINT = insert(witness).values(
    {name: bindparam(name) for name in ("ledger", "address", "key", "public", "seconds")}
)


def appoint(database: Database, address: str, key: Path, *, seconds: int = 0) -> Setup:
    """Give a ledger a witness, and tell it where all accounts stand.

    Parameters
    ----------
    database : Database
        The ledger's.
    address : str
        Where the witness is kept.
    key : Path
        The file with the key; made if there is none.
    seconds : int, default=0
        0: before an answer leaves. Else in this interval.
    """
    if setup_of(database) is not None:
        raise InvalidInput("The ledger has a witness already; dismiss it first (--dismiss).")
    if seconds < 0:
        raise InvalidInput("The interval of a witness is a number of seconds from 0 on.")
    signing = SigningKey(key) if key.exists() else SigningKey.made(key)
    name = secrets.token_hex(16)
    address = address if "://" in address else str(Path(address).resolve())
    setup = Setup(name, address, str(key.resolve()), signing.public, seconds)
    first = signing.signed(name, marks_of(database.read(heads), {}), Evidence({}))
    with closing(setup.place()) as place:
        if not place.keep(first):
            raise LedgerUnusable("The place does not take the first statement of a witness.")
    # Only now: a place that cannot be written would have left a ledger that answers nothing.
    database.write(lambda session: session.run(_APPOINT, **vars(setup)))
    return setup


def dismiss(database: Database, *, not_restored: bool = False) -> None:
    """Take a ledger's witness away; a deliberate act.

    The witness is told, so that no copy which still names it goes on.

    Parameters
    ----------
    database : Database
        The ledger's.
    not_restored : bool, default=False
        Whether the operator vouches that this ledger was neither restored nor copied, where the
        witness cannot be asked. One that says otherwise is not dismissed.

    Raises
    ------
    LedgerOutdated
        If the ledger has forgotten answers: the loss must be accepted first.
    """
    setup = setup_of(database)
    if setup is None:
        return
    why = ""
    try:
        with closing(setup.place()) as place:
            held = place.read()
            there = database.read(heads)
            if database.read(lambda session: missing(session, there, held.marks)):
                raise LedgerOutdated(OUTDATED)
            marks = marks_of(there, held.marks)
            last = setup.signing_key().signed(setup.ledger, marks, held, last=True)
            if not held.fingerprint or held.last or not place.keep(last):
                why = "it holds nothing of this ledger, was dismissed, or is being written."
    except LedgerOutdated:
        raise
    except WhitecrowError as failure:
        why = str(failure)
    if why and not not_restored:
        raise LedgerUnusable(_UNCONFIRMED.format(why=why))
    database.write(lambda session: session.run(delete(witness)))

"""Which place an address means."""

from __future__ import annotations

from pathlib import Path

from whitecrow.ledger.engine import parsed
from whitecrow.ledger.witness.instance import InstancePlace
from whitecrow.ledger.witness.places import DatabasePlace, FilePlace, Place

_INSTANCE = ("https://", "http://")


def place_of(address: str, ledger: str, public: str) -> Place:
    """Open the place of a witness.

    Parameters
    ----------
    address : str
        A file, a database URL, or the address of another instance of the service.
    ledger, public : str
        Whose statements, and who signs them.
    """
    if address.startswith(_INSTANCE):
        return InstancePlace(address, ledger, public)
    if "://" in address:
        return DatabasePlace(address, ledger, public)
    return FilePlace(Path(address), ledger, public)


def shown(address: str) -> str:
    """How to call a place in messages; without a password."""
    if "://" not in address or address.startswith(_INSTANCE):
        return address
    return parsed(address).render_as_string(hide_password=True)

"""Write an account out, for auditors and spreadsheets."""

from __future__ import annotations

import csv
import io
from dataclasses import fields
from typing import Any

from whitecrow.ledger.account import Entry
from whitecrow.ledger.store import Ledger
from whitecrow.terms import canonical


def to_json(ledger: Ledger, dataset: str) -> dict[str, Any]:
    """Return the whole account as a plain JSON object; rationals as text."""
    snapshot = ledger.snapshot(dataset)
    return {
        "dataset": dataset,
        "budget": snapshot.budget.to_json(),
        "spent": snapshot.spent.to_json(),
        "analysts": {analyst: share.to_json() for analyst, share in snapshot.shares.items()},
        "head": snapshot.head,
        "entries": [entry.to_json() for entry in ledger.entries(dataset)],
    }


def to_csv(ledger: Ledger, dataset: str) -> str:
    """Return the entries as CSV, one line each; the body is canonical JSON.

    A cell that a spreadsheet would take for a formula is prefixed with an apostrophe.
    """
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(field.name for field in fields(Entry))
    for entry in ledger.entries(dataset):
        cells = {**vars(entry), "body": canonical(entry.content)}
        table.writerow(map(_harmless, cells.values()))
    return text.getvalue()


def _harmless(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@")) else cell

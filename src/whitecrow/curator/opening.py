"""Finding the account that belongs to a dataset."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from whitecrow import neighbours
from whitecrow.curator.execution import CUSTODIAN_LOG
from whitecrow.curator.policy import Policy
from whitecrow.curator.spatial import new_atlas
from whitecrow.data import Card
from whitecrow.errors import PolicyViolation
from whitecrow.ledger import Budget, Ledger, Standing

__all__ = ["account_name", "beside", "index_beside", "opened_ledger", "policy_of"]

DEFAULT_BUDGET = "1"


def beside(source: object) -> Path | None:
    """Return the ledger file beside a data file; None for data that are not in a file."""
    path = _file(source)
    return None if path is None else path.with_name(f"{_called(path)}.whitecrow.db")


def index_beside(source: object) -> Path | None:
    """Return the index that was built for a data file; None if there is none."""
    path = _file(source)
    if path is None:
        return None
    index = neighbours.beside(path)
    return index if index.exists() else None


def account_name(source: object, card: Card) -> str:
    """Return the name of the account: the data file's, else the card's.

    The account belongs to the data. A second card for the same file gets no second budget.
    """
    path = _file(source)
    return card.name if path is None else _called(path)


def opened_ledger(
    account: str,
    ledger: Ledger | str | Path,
    budget: object,
    policy: Policy | Mapping[str, Any] | str | Path | None,
) -> Ledger:
    """Open a ledger with an account in it; an account that exists keeps its promise."""
    wanted = None if budget is None else Budget.of(budget)
    rules = None if policy is None else Policy.of(policy)
    store = ledger if isinstance(ledger, Ledger) else Ledger(ledger, atlas=new_atlas)
    try:
        standing = store.open(
            account,
            budget=wanted or Budget.of(DEFAULT_BUDGET),
            policy=(rules or Policy()).to_json(),
            unit=(rules or Policy()).unit,
        )
        _same_promise(standing, wanted, rules)
        waiting = len(store.unsettled(account))
    except BaseException:
        if store is not ledger:
            store.close()
        raise
    if waiting:
        CUSTODIAN_LOG.warning(
            "%d spends of %s have no answer; they are kept (see: whitecrow ledger show)",
            waiting,
            account,
        )
    return store


@lru_cache(maxsize=64)
def policy_of(written: str) -> Policy:
    """Read a policy from the ledger's canonical JSON."""
    return Policy.from_json(json.loads(written))


def _file(source: object) -> Path | None:
    if isinstance(source, Path):
        return source
    return Path(source) if isinstance(source, str) and "://" not in source else None


def _called(path: Path) -> str:
    """A file without its ending; of a folder or a table the whole name, which tells it apart."""
    a_file = path.suffix.lower() in (".parquet", ".pq", ".csv") and not path.is_dir()
    return path.stem if a_file else path.name


def _same_promise(standing: Standing, budget: Budget | None, policy: Policy | None) -> None:
    for what, given, known in (
        ("budget", budget, standing.budget),
        ("policy", policy, policy_of(standing.policy)),
    ):
        if given is not None and given != known:
            raise PolicyViolation(
                f"This dataset's account already promises another {what}: {known.to_json()}. "
                f"Opening does not change a promise: leave {what} out, or let the custodian amend "
                "it with a reason (Curator.amend, whitecrow ledger amend)."
            )

"""Alarms that a series raised: the chain keeps when, and for which period."""

from __future__ import annotations

from whitecrow.errors import AccountConflict
from whitecrow.ledger.account import Entry, ToldAt
from whitecrow.ledger.acts import acts_of
from whitecrow.ledger.store import Ledger
from whitecrow.ledger.transaction import AccountTransaction


def sound(
    ledger: Ledger,
    dataset: str,
    *,
    series: str,
    period: str,
    says: str,
    told_at: ToldAt | None = None,
) -> bool:
    """Record an alarm that was released, once for each series and period; False if it was before.

    ``series`` is the digest under which the series was charged; what the alarm says is as released,
    no facts. ``told_at`` says from when on it may be told.
    """

    def act(account: AccountTransaction) -> bool:
        paid = account.outcome(series)
        if paid is None:
            raise AccountConflict("An alarm belongs to a series that was charged.")
        body = {"series": series, "period": period, "says": says}
        if any(body.items() <= alarm.content.items() for alarm in acts_of(account, "alarm")):
            return False
        reserved = account.entry(paid.seq)
        whose = "" if reserved is None else reserved.analyst
        account.append("alarm", analyst=whose, body=body, told_at=told_at)
        return True

    return ledger.write(dataset, act)


def alarms(ledger: Ledger, dataset: str) -> list[Entry]:
    """Return the alarms of an account that may be told by now, the oldest first."""
    recorded = ledger.read(dataset, lambda account: acts_of(account, "alarm"))
    return [alarm for alarm in recorded if alarm.told]

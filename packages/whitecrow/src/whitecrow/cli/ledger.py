"""``whitecrow ledger``: show, verify, export and mend an account."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whitecrow.cli import safekeeping
from whitecrow.cli.opened import chosen, opened_ledger
from whitecrow.cli.screen_output import Output
from whitecrow.errors import InvalidInput, LedgerCorrupt

if TYPE_CHECKING:
    from whitecrow.ledger import AccountSnapshot, Ledger

_SOURCE = click.argument("source", metavar="SOURCE")
_DATASET = click.option("--dataset", help="Which account, if the ledger holds several.")
_REASON = click.option("--reason", required=True, help="Why; the chain keeps it.")


@click.group("ledger")
def command() -> None:
    """The account of what has been spent. SOURCE is a data file (its ledger lies beside it), a
    ledger file, or a database URL.
    """


@command.command("show", epilog="Example: whitecrow ledger show patients.parquet")
@_SOURCE
@_DATASET
@click.pass_obj
def show(output: Output, source: str, dataset: str | None) -> None:
    """What was spent, what remains, what was promised, and which spends have no answer."""
    with opened_ledger(source) as ledger:
        names = [chosen(ledger, dataset)] if dataset else list(ledger.datasets())
        accounts = [_account(ledger, name) for name in names]
    words = "\n\n".join(_words(account) for account in accounts) or "The ledger is empty."
    output.show({"accounts": accounts}, words)


@command.command("verify", epilog="Example: whitecrow ledger verify patients.parquet")
@_SOURCE
@click.option(
    "--head", help="The newest hash as noted earlier; the chain must contain it (implies --full)."
)
@click.option("--full", is_flag=True, help="From the first entry, not from the newest checkpoint.")
@click.option(
    "--checkpoint", "mark", is_flag=True, help="If all is right, let the next check begin here."
)
@click.pass_obj
def verify(output: Output, source: str, head: str | None, full: bool, mark: bool) -> None:
    """Recompute every chain and every sum; exit 1 and name the first bad entry otherwise."""
    from whitecrow.ledger import verification
    from whitecrow.place.balls import BALLS

    with opened_ledger(source) as ledger:
        whole = full or head is not None
        check = verification.checkpoint if mark else verification.verify
        found = [check(ledger, one, geometry=BALLS, full=whole) for one in ledger.datasets()]
        known = head is None or ledger.has_hash(head)
    for finding in found:
        if not finding.ok:
            where = "" if finding.bad is None else f", entry {finding.bad}"
            raise LedgerCorrupt(f"The account of {finding.dataset!r}{where}: {finding.reason}.")
    if not known:
        raise LedgerCorrupt("No entry has the noted hash: the chain was cut or replaced.")
    lines = [
        f"{one.dataset}: {one.entries} entries, chain and sums are right\n  head {one.head}"
        for one in found
    ]
    output.show(
        {"ok": True, "accounts": [one.to_json() for one in found]},
        "\n".join(lines) or "The ledger is empty.",
    )


@command.command(
    "export", epilog="Example: whitecrow ledger export patients.parquet --format csv --out a.csv"
)
@_SOURCE
@_DATASET
@click.option("--format", "form", type=click.Choice(["json", "csv"]), default="json")
@click.option(
    "--registry",
    is_flag=True,
    help="A draft entry for the Differential Privacy Deployments Registry instead.",
)
@click.option("--out", type=click.Path(dir_okay=False), help="Where to (default: print).")
@click.pass_obj
def export(
    output: Output, source: str, dataset: str | None, form: str, registry: bool, out: str | None
) -> None:
    """Write the account out, entry by entry, for auditors and spreadsheets."""
    from whitecrow.curator.registry import registry_entry
    from whitecrow.ledger.export import to_csv, to_json

    if registry and form == "csv":
        raise InvalidInput("An entry of the registry is JSON: leave out --format csv.")
    with opened_ledger(source) as ledger:
        name = chosen(ledger, dataset)
        if registry:
            exported = registry_entry(ledger, name)
        else:
            exported = to_json(ledger, name) if form == "json" else {"csv": to_csv(ledger, name)}
    text = exported["csv"] if form == "csv" else json.dumps(exported, indent=1, ensure_ascii=False)
    if out is None:
        output.show(exported, text.rstrip("\n"), raw=True)
        return
    Path(out).write_text(text, encoding="utf-8")
    output.show({"written": out}, f"Wrote {out}.")


@command.command(
    "void", epilog='Example: whitecrow ledger void patients.parquet 17 --reason "power cut"'
)
@_SOURCE
@click.argument("entry", type=int)
@_REASON
@_DATASET
@click.pass_obj
def void(output: Output, source: str, entry: int, reason: str, dataset: str | None) -> None:
    """Give back the spend of ENTRY, which never led to an answer."""
    with opened_ledger(source) as ledger:
        name = chosen(ledger, dataset)
        ledger.void(name, entry, reason=reason)
    output.show({"voided": entry}, f"Entry {entry} of {name!r} is void; its spend is given back.")


@command.command(
    "review", epilog='Example: whitecrow ledger review patients.parquet 17 --reason "full disk"'
)
@_SOURCE
@click.argument("entry", type=int)
@_REASON
@_DATASET
@click.pass_obj
def review(output: Output, source: str, entry: int, reason: str, dataset: str | None) -> None:
    """Say that you looked at the failure of ENTRY (see 'show', and the custodian's log).

    A failure closes a dataset to new questions, since it may tell about the records; after the last
    review it is open again. The spend is kept; 'void' gives it back and is a review as well.
    """
    from whitecrow.ledger import failures

    with opened_ledger(source) as ledger:
        name = chosen(ledger, dataset)
        failures.review(ledger, name, entry, reason=reason)
        left = ledger.snapshot(name).failures
    words = f"{left} failures are left to review" if left else f"{name!r} takes questions again"
    output.show({"reviewed": entry, "failures": left}, f"Entry {entry} is reviewed; {words}.")


@command.command(
    "allow", epilog='Example: whitecrow ledger allow patients.parquet ana 1/2 --reason "thesis"'
)
@_SOURCE
@click.argument("analyst")
@click.argument("budget")
@_REASON
@_DATASET
@click.pass_obj
def allow(
    output: Output, source: str, analyst: str, budget: str, reason: str, dataset: str | None
) -> None:
    """Cap what ANALYST may spend, beside the dataset's own cap ('none' lifts it)."""
    from whitecrow.ledger import Budget

    cap = None if budget == "none" else Budget.of(budget)
    with opened_ledger(source) as ledger:
        ledger.allow(chosen(ledger, dataset), analyst, cap, reason=reason)
    written = None if cap is None else cap.to_json()
    output.show({"analyst": analyst, "budget": written}, f"{analyst}: {written or 'no own cap'}")


@command.command(
    "amend", epilog='Example: whitecrow ledger amend patients.parquet --budget 2 --reason "vote"'
)
@_SOURCE
@click.option(
    "--budget",
    help="The dataset's cap: '2', '2, 1e-6' with a delta, '2, 1e-6, either' to count by ε or ρ.",
)
@click.option("--policy", type=click.Path(dir_okay=False), help="A policy (TOML).")
@_REASON
@_DATASET
@click.pass_obj
def amend(
    output: Output,
    source: str,
    budget: str | None,
    policy: str | None,
    reason: str,
    dataset: str | None,
) -> None:
    """Change the promise: the dataset's budget, its policy, or both."""
    from whitecrow.curator import Policy
    from whitecrow.ledger import Budget

    if budget is None and policy is None:
        raise InvalidInput("Say what to amend: --budget, --policy, or both.")
    with opened_ledger(source) as ledger:
        name = chosen(ledger, dataset)
        ledger.amend(
            name,
            reason=reason,
            budget=None if budget is None else Budget.of(budget),
            policy=None if policy is None else Policy.of(policy).to_json(),
        )
        account = _account(ledger, name)
    output.show(account, _words(account))


command.add_command(safekeeping.witness)
command.add_command(safekeeping.backup)


def _account(ledger: Ledger, name: str) -> dict[str, Any]:
    from whitecrow.ledger.failures import failures
    from whitecrow.ledger.revisions import revisions

    snapshot = ledger.snapshot(name)
    return {
        "dataset": name,
        "budget": snapshot.budget.to_json(),
        "spent": snapshot.spent.shown(snapshot.budget),
        "remaining": snapshot.remaining().to_json(),
        "promise": list(snapshot.spent.totals(snapshot.budget.delta).statements()),
        "policy": snapshot.rules.to_json(),
        "analysts": _analysts(snapshot),
        "unsettled": [
            {"entry": entry.seq, "at": entry.at, "analyst": entry.analyst}
            for entry in ledger.unsettled(name)
        ],
        "failures": [entry.seq for entry in failures(ledger, name)],
        "closure": snapshot.closure or None,
        "revisions": [
            {"revision": one.number, "at": one.at, "reason": one.reason}
            for one in revisions(ledger, name)
        ],
        "entries": snapshot.seq,
        "head": snapshot.head,
    }


def _analysts(snapshot: AccountSnapshot) -> dict[str, Any]:
    return {
        analyst: {
            "budget": None if share.budget is None else share.budget.to_json(),
            "spent": share.spent.shown(share.budget or snapshot.budget),
        }
        for analyst, share in sorted(snapshot.shares.items())
    }


def _words(account: dict[str, Any]) -> str:
    """Show amounts rounded to the safe side: spent up, remaining down."""
    from whitecrow.privacy import rounded_down, rounded_up
    from whitecrow.terms import COVERS

    def up(amount: str) -> str:
        return amount if amount == "unbounded" else rounded_up(Fraction(amount))

    lines = [f"{account['dataset']}: {account['entries']} entries, head {account['head']}"]
    for line, amount in account["spent"].items():
        cap, left = account["budget"][line], account["remaining"].get(line)
        rest = None if left is None else rounded_down(Fraction(left))
        if amount == "unbounded":
            words = f"the guarantee for {COVERS[line]} no longer covers the total"
            words += "" if rest is None else f". Budget left: {rest}"
        elif rest is None:
            words = f"{up(amount)} of {up(cap)} spent"
        else:
            words = f"{rest} of {up(cap)} left ({up(amount)} spent)"
        lines.append(f"  {line:<14}{words}")
    if "count_by" in account["budget"]:
        lines.append("  counts by either rule: left is the largest ε of one more question")
    lines += [f"  {statement}" for statement in account["promise"]]
    if len(account["revisions"]) > 1:
        lines += [
            f"  revision {one['revision']} of the data, {one['at']}: {one['reason']}"
            for one in account["revisions"]
        ]
    for analyst, share in account["analysts"].items():
        cap = share["budget"]
        own = "" if cap is None else f" of {up(cap['conditional'])}"
        lines.append(f"  analyst {analyst}: spent {up(share['spent']['conditional'])}{own}")
    if account["closure"]:
        lines.append(
            f"  CLOSED for good by entry {account['closure']}: entries were lost in a restore, and "
            "what they answered would be answered again, differently."
        )
        return "\n".join(lines)
    for entry in account["failures"]:
        lines.append(
            f"  CLOSED to new questions: entry {entry} says that a computation failed. Look into "
            f"the custodian's log, then: ledger review SOURCE {entry} --reason ..."
        )
    for entry in account["unsettled"]:
        lines.append(
            f"  entry {entry['entry']} ({entry['analyst']}, {entry['at']}) has no answer; its "
            f"spend is kept. To give it back: ledger void SOURCE {entry['entry']} --reason ..."
        )
    return "\n".join(lines)

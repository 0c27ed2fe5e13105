"""Commands about accounts: ``ledger``, ``data``, ``report``; and ``sign-in`` to a service."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whitecrow.cli.common import Asking, asking, opened_here
from whitecrow.cli.files import DATASET, FILE, chosen, of_account, of_ledger
from whitecrow.cli.screen_output import Output
from whitecrow.cli.secrets import stored_token
from whitecrow.errors import InvalidInput, LedgerCorrupt, LedgerUnusable

if TYPE_CHECKING:
    from whitecrow.ledger import Ledger
    from whitecrow.ledger.witness import Mark, Setup

_REASON = click.option("--reason", required=True, help="Why; the chain keeps it.")


@click.group()
def ledger() -> None:
    """The account of what has been spent. SOURCE is a data file (its ledger lies beside it), a
    ledger file, or a database URL.
    """


@ledger.command(epilog="Example: whitecrow ledger show patients.parquet")
@of_ledger
@DATASET
def show(output: Output, ledger: Ledger, dataset: str | None) -> None:
    """What was spent, what remains, what was promised, and which spends have no answer."""
    names = [chosen(ledger, dataset)] if dataset else ledger.datasets()
    accounts = [_account(ledger, name) for name in names]
    words = "\n\n".join(_account_words(account) for account in accounts) or "The ledger is empty."
    output.show({"accounts": accounts}, words)


@ledger.command(epilog="Example: whitecrow ledger verify patients.parquet")
@of_ledger
@click.option(
    "--head", help="The newest hash as noted earlier; the chain must contain it (implies --full)."
)
@click.option("--full", is_flag=True, help="From the first entry, not from the newest checkpoint.")
@click.option(
    "--checkpoint", "mark", is_flag=True, help="If all is right, let the next check begin here."
)
def verify(output: Output, ledger: Ledger, head: str | None, full: bool, mark: bool) -> None:
    """Recompute every chain and every sum; exit 1 and name the first bad entry otherwise."""
    from whitecrow.ledger import verification
    from whitecrow.place.balls import BALLS

    whole = full or head is not None
    check = verification.checkpoint if mark else verification.verify
    findings = [check(ledger, name, geometry=BALLS, full=whole) for name in ledger.datasets()]
    for finding in findings:
        if not finding.ok:
            where = "" if finding.bad is None else f", entry {finding.bad}"
            raise LedgerCorrupt(f"The account of {finding.dataset!r}{where}: {finding.reason}.")
    if head is not None and not ledger.has_hash(head):
        raise LedgerCorrupt("No entry has the noted hash: the chain was cut or replaced.")
    words = "\n".join(
        f"{finding.dataset}: {finding.entries} entries, chain and sums are right\n"
        f"  head {finding.head}"
        for finding in findings
    )
    accounts = [finding.to_json() for finding in findings]
    output.show({"ok": True, "accounts": accounts}, words or "The ledger is empty.")


@ledger.command(epilog="Example: whitecrow ledger export patients.parquet --format csv --out a.csv")
@of_account
@click.option("--format", "form", type=click.Choice(["json", "csv"]), default="json")
@click.option(
    "--registry",
    is_flag=True,
    help="A draft entry for the Differential Privacy Deployments Registry instead.",
)
@click.option("--out", type=FILE, help="Where to (default: print).")
def export(
    output: Output, ledger: Ledger, name: str, form: str, registry: bool, out: str | None
) -> None:
    """Write the account out, entry by entry, for auditors and spreadsheets."""
    from whitecrow.ledger.export import to_csv, to_json
    from whitecrow.report import registry_entry

    if registry and form == "csv":
        raise InvalidInput("An entry of the registry is JSON: leave out --format csv.")
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


@ledger.command(epilog='Example: whitecrow ledger void patients.parquet 17 --reason "power cut"')
@of_account
@click.argument("entry", type=int)
@_REASON
def void(output: Output, ledger: Ledger, name: str, entry: int, reason: str) -> None:
    """Give back the spend of ENTRY, which never led to an answer."""
    ledger.void(name, entry, reason=reason)
    output.show({"voided": entry}, f"Entry {entry} of {name!r} is void; its spend is given back.")


@ledger.command(epilog='Example: whitecrow ledger review patients.parquet 17 --reason "full disk"')
@of_account
@click.argument("entry", type=int)
@_REASON
def review(output: Output, ledger: Ledger, name: str, entry: int, reason: str) -> None:
    """Say that you looked at the failure of ENTRY (see 'show', and the custodian's log).

    A failure closes a dataset to new questions, since it may tell about the records; after the last
    review it is open again. The spend is kept; 'void' gives it back and is a review as well.
    """
    from whitecrow.ledger import failures

    failures.review(ledger, name, entry, reason=reason)
    left = ledger.snapshot(name).failures
    words = f"{left} failures are left to review" if left else f"{name!r} takes questions again"
    output.show({"reviewed": entry, "failures": left}, f"Entry {entry} is reviewed; {words}.")


@ledger.command(epilog='Example: whitecrow ledger allow patients.parquet ana 1/2 --reason "thesis"')
@of_account
@click.argument("analyst")
@click.argument("budget")
@_REASON
def allow(
    output: Output, ledger: Ledger, name: str, analyst: str, budget: str, reason: str
) -> None:
    """Cap what ANALYST may spend, beside the dataset's own cap ('none' lifts it)."""
    from whitecrow.ledger import Budget

    cap = None if budget == "none" else Budget.of(budget)
    ledger.allow(name, analyst, cap, reason=reason)
    own = None if cap is None else cap.to_json()
    output.show({"analyst": analyst, "budget": own}, f"{analyst}: {own or 'no own cap'}")


@ledger.command(
    epilog='Example: whitecrow ledger amend patients.parquet --budget 2 --reason "vote"'
)
@of_account
@click.option(
    "--budget",
    help="The dataset's cap: '2', '2, 1e-6' with a delta, '2, 1e-6, either' to count by ε or ρ.",
)
@click.option("--policy", type=FILE, help="A policy (TOML).")
@_REASON
def amend(
    output: Output, ledger: Ledger, name: str, budget: str | None, policy: str | None, reason: str
) -> None:
    """Change the promise: the dataset's budget, its policy, or both."""
    from whitecrow.curator import Policy
    from whitecrow.ledger import Budget

    if budget is None and policy is None:
        raise InvalidInput("Say what to amend: --budget, --policy, or both.")
    ledger.amend(
        name,
        reason=reason,
        budget=None if budget is None else Budget.of(budget),
        policy=None if policy is None else Policy.of(policy).to_json(),
    )
    account = _account(ledger, name)
    output.show(account, _account_words(account))


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
        "analysts": {
            analyst: {
                "budget": None if share.budget is None else share.budget.to_json(),
                "spent": share.spent.shown(share.budget or snapshot.budget),
            }
            for analyst, share in sorted(snapshot.shares.items())
        },
        "unsettled": [
            {"entry": entry.seq, "at": entry.at, "analyst": entry.analyst}
            for entry in ledger.unsettled(name)
        ],
        "failures": [entry.seq for entry in failures(ledger, name)],
        "closure": snapshot.closure or None,
        "revisions": [
            {"revision": revision.number, "at": revision.at, "reason": revision.reason}
            for revision in revisions(ledger, name)
        ],
        "entries": snapshot.seq,
        "head": snapshot.head,
    }


def _account_words(account: dict[str, Any]) -> str:
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
    lines += [
        f"  revision {revision['revision']} of the data, {revision['at']}: {revision['reason']}"
        for revision in account["revisions"]
        if len(account["revisions"]) > 1
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


_NO_WITNESS = (
    "The ledger has no witness. A restored backup would forget what was answered since; "
    "'whitecrow ledger witness SOURCE --to PLACE' appoints one."
)


@ledger.command(
    epilog="Example: whitecrow ledger witness patients.parquet --to /mnt/b/crow.witness"
)
@of_ledger
@click.option(
    "--to",
    "place",
    help="Appoint one: a file elsewhere, another database's URL, or another instance (https://...).",
)
@click.option(
    "--key",
    type=FILE,
    help="The file of the signing key; made if it is not there (default: beside the ledger).",
)
@click.option(
    "--every",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Write it every so many seconds; 0: before an answer leaves.",
)
@click.option("--dismiss", is_flag=True, help="Take the witness away, if it says all is there.")
@click.option(
    "--not-restored",
    is_flag=True,
    help="For --dismiss, where the witness is gone: you vouch that the ledger is no older copy.",
)
@click.option(
    "--accept-loss", is_flag=True, help="After a restore: close what lost entries, and go on."
)
@click.option("--reason", help="Why, for --accept-loss and --not-restored; the chain keeps it.")
def witness(
    output: Output,
    ledger: Ledger,
    place: str | None,
    key: str | None,
    every: int,
    dismiss: bool,
    not_restored: bool,
    accept_loss: bool,
    reason: str | None,
) -> None:
    """Keep the heads of all accounts, signed, where a restored backup cannot take them back.

    Without options: compare the ledger with its witness.
    """
    from whitecrow.ledger import witness as witnesses

    database = ledger.database
    if place is not None:
        if not key and database.path is not None:
            key = f"{database.path}.witness.key"
        if not key:
            raise InvalidInput("Say where the signing key is to be kept: --key FILE.")
        made = witnesses.appoint(database, place, Path(key), seconds=every)
        _show_witness(output, made, {}, f"The key is in {made.key}; keep a copy of it elsewhere.")
        return
    setup = witnesses.setup_of(database)
    if setup is None:
        output.show({"witness": None}, _NO_WITNESS)
    elif dismiss:
        if not_restored and not reason:
            raise InvalidInput("Say how you know it: --reason.")
        witnesses.dismiss(database, not_restored=not_restored)
        # Where it could not be asked, every chain keeps that and why.
        for name in ledger.datasets() if not_restored else ():
            ledger.amend(name, reason=f"the witness was dismissed, and did not confirm: {reason}")
        output.show({"witness": None}, "The ledger has no witness any more.")
    elif accept_loss:
        if not reason:
            raise InvalidInput("Say why the loss is accepted: --reason.")
        closed = witnesses.accept(database, setup, reason=reason)
        names = ", ".join(map(_label, closed)) or "none"
        words = f"Closed for good, since they lost entries: {names}. The others go on."
        output.show({"closed": list(closed)}, words)
    else:
        try:
            lost = witnesses.lost(database, setup)
        except LedgerUnusable as away:  # whoever is to bring it back must know where it was
            raise LedgerUnusable(f"Witness {witnesses.shown(setup.address)}. {away}") from None
        _show_witness(output, setup, lost, "")


@ledger.command(epilog="Example: whitecrow ledger backup patients.parquet copy.db")
@of_ledger
@click.argument("out", type=FILE)
def backup(output: Output, ledger: Ledger, out: str) -> None:
    """Copy the ledger into the file OUT while others go on asking."""
    from whitecrow.ledger.backup import backup as copied
    from whitecrow.ledger.witness import setup_of

    copied(ledger.database, Path(out))
    heads = {name: ledger.snapshot(name) for name in ledger.datasets()}
    witnessed = setup_of(ledger.database) is not None
    accounts = {name: {"entries": head.seq, "head": head.head} for name, head in heads.items()}
    words = f"Wrote {out}: {len(accounts)} accounts." + ("" if witnessed else f"\n{_NO_WITNESS}")
    output.show({"written": out, "accounts": accounts, "witness": witnessed}, words)


def _label(name: str) -> str:
    return name.replace("\n", ", publication ")


def _show_witness(
    output: Output, setup: Setup, lost: dict[str, tuple[Mark, int]], more: str
) -> None:
    from whitecrow.ledger.witness import shown

    where = shown(setup.address)
    when = f"every {setup.seconds} s" if setup.seconds else "before an answer leaves"
    words = [f"Witness {where}, written {when}, key {setup.public[:16]}."]
    missing: dict[str, Any] = {}
    for name, (mark, seq) in sorted(lost.items()):
        missing[name] = {"witnessed": mark.seq, "entries": seq}
        words.append(
            f"  {_label(name)}: OLDER than its witness, entry {seq} of {mark.seq} or another one"
        )
    words.append("The ledger answers nothing: restore a newer copy." if lost else more)
    described = {"place": where, "seconds": setup.seconds, "public": setup.public, "older": missing}
    output.show({"witness": described}, "\n".join(text for text in words if text))


@click.group()
def data() -> None:
    """The records that an account is for. Opened with others, an account refuses."""


@data.command(epilog='Example: whitecrow data advance patients.parquet --reason "May was appended"')
@click.option("--reason", required=True, help="Why the records changed; the chain keeps it.")
@click.option(
    "--growth",
    type=click.Choice(["insert-only", "any"]),
    help="Declare that records are only ever added at the end, or that this has ended; the last "
    "declaration holds unless given.",
)
@asking("card", "ledger", "name", "engine", "spark_master")
def advance(asked: Asking, reason: str, growth: str | None) -> None:
    """Record DATA, as it is now, as the next revision of its account.

    Do this when the same data grew or were corrected. What was spent goes on adding up; stored
    answers, and the discount for places that do not meet, belong to the revision they were asked
    of. Other data get an account of their own: --name.

    With --growth insert-only every next revision is checked: it must hold the records of this one,
    unchanged and at the front. Places that do not meet then share their price over these revisions.
    """
    if not reason.strip():
        raise InvalidInput("The custodian's acts need a reason, in words; the chain keeps it.")
    with opened_here(asked, advance=reason, growth=growth) as curator:
        asked.output.show(
            {"account": curator.name, "revision": curator.revision},
            f"{curator.name}: these records are revision {curator.revision}.",
        )


@data.command(epilog="Example: whitecrow data timeline patients.parquet --out t.svg")
@of_account
@click.option("--out", type=FILE, help="Draw the budget over time (SVG).")
def timeline(output: Output, ledger: Ledger, name: str, out: str | None) -> None:
    """What happened to a dataset: revisions, promises, publications, alarms, and what was spent.

    SOURCE is a data file (its ledger lies beside it), a ledger file, or a database URL.
    """
    from whitecrow.ledger.timeline import timeline as told
    from whitecrow.rendering import Picture
    from whitecrow.rendering import history as drawn

    history = told(ledger, name).to_json()
    lines = [_line(event) for event in history["events"]]
    if history["spent"]:
        last = history["spent"][-1]
        notions = "differential", "sensitive", "conditional"
        amounts = ", ".join(f"{notion} {last[notion] or 'unbounded'}" for notion in notions)
        lines.append(f"{last['at'][:16].replace('T', ' ')}  spent        ε {amounts}")
    if out is not None:
        Picture(drawn(history)).save(out)
        lines.append(f"Drawn to {out}.")
    output.show(history, "\n".join(lines) or "Nothing has happened yet.")


def _line(event: dict[str, str]) -> str:
    moment = event["at"][:16].replace("T", " ")
    who = f"{event['analyst']}: " if "analyst" in event else ""
    why = f' "{event["reason"]}"' if event.get("reason") else ""
    return f"{moment}  {event['kind']:<11}  {who}{event['says']}{why}"


@click.command(epilog="Example: whitecrow report patients.parquet --out account.html")
@of_account
@click.option(
    "--out",
    type=FILE,
    default="whitecrow-report.html",
    show_default=True,
    help="Where to write the page.",
)
def report(output: Output, ledger: Ledger, name: str, out: str) -> None:
    """Write the account of SOURCE as one HTML page: budget, promises, answers, pictures.

    SOURCE is a data file (its ledger lies beside it), a ledger file, or a database URL. No record
    is read. The page holds every answer that was released, so give it to those who may see them.
    """
    from whitecrow.report import account_page

    Path(out).write_text(account_page(ledger, name), encoding="utf-8")
    output.show({"report": out, "account": name}, f"Wrote {out}: the account of {name}.")


@click.command(epilog="Example: whitecrow sign-in --server https://crow.example.org")
@click.option("--server", required=True, envvar="WHITECROW_SERVER", help="The service's address.")
@click.option(
    "--token-file",
    type=FILE,
    help="Where the token is kept, for you alone (default: in your configuration folder).",
)
@click.pass_obj
def sign_in(output: Output, server: str, token_file: str | None) -> None:
    """Sign in to a service through your organisation.

    You type a code at another screen; the token that comes of it lasts for a working day and is
    used by every command with --server.
    """
    from whitecrow.client import device_token

    file = stored_token() if token_file is None else Path(token_file)
    token = device_token(server, tell=output.say)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            file.chmod(0o600)  # of an older file too
            opened.write(token)
    except OSError:
        raise InvalidInput(f"The token cannot be written to {str(file)!r}.") from None
    hint = "" if token_file is None else f" Put WHITECROW_TOKEN_FILE={file} before your commands."
    output.show({"token_file": str(file)}, f"Signed in.{hint}")

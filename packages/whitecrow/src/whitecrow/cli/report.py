"""``whitecrow report``: an account as one page."""

from __future__ import annotations

from pathlib import Path

import click

from whitecrow.cli.opened import chosen, opened_ledger
from whitecrow.cli.screen_output import Output


@click.command("report", epilog="Example: whitecrow report patients.parquet --out account.html")
@click.argument("source", metavar="DATA")
@click.option("--dataset", help="Which account, if the ledger holds several.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False),
    default="whitecrow-report.html",
    show_default=True,
    help="Where to write the page.",
)
@click.pass_obj
def command(output: Output, source: str, dataset: str | None, out: str) -> None:
    """Write the account of DATA as one HTML page: budget, promises, answers, pictures.

    DATA is a data file (its ledger lies beside it), a ledger file, or a database URL. No record is
    read. The page holds every answer that was released, so give it to those who may see them.
    """
    from whitecrow.report import account_page

    with opened_ledger(source) as ledger:
        name = chosen(ledger, dataset)
        page = account_page(ledger, name)
    Path(out).write_text(page, encoding="utf-8")
    output.show({"report": out, "account": name}, f"Wrote {out}: the account of {name}.")

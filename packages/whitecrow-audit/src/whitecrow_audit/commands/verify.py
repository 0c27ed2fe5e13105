"""``whitecrow verify``: every claim, computed."""

from __future__ import annotations

import time

import click

from whitecrow.cli.screen_output import Output


@click.command("verify", epilog="Example: whitecrow verify identify screen")
@click.argument("mechanisms", nargs=-1)
@click.pass_context
def command(ctx: click.Context, mechanisms: tuple[str, ...]) -> None:
    """Check mechanisms exhaustively on small universes.

    Each line is one claim: how many databases and pairs of neighbours were tried, the worst loss
    found, and the bound. Mutants must be rejected. Exit 1 if anything fails.
    """
    from whitecrow_audit.verify import checks

    output: Output = ctx.obj
    rows, failed = [], 0
    for check in checks(mechanisms):
        start = time.perf_counter()
        report = check.run()
        passed = check.passed(report)
        failed += not passed
        verdict = ("rejected" if check.must_fail else "ok") if passed else "FAILED"
        rows.append(
            {
                "mechanism": check.mechanism,
                "claim": check.name,
                "verdict": verdict,
                "databases": report.databases,
                "edges": report.edges,
                "worst_loss": report.worst_loss if report.worst_loss < float("inf") else "infinite",
                "bound": report.bound,
                "worst_edge": report.worst_edge,
                "note": report.note,
            }
        )
        if not output.as_json:
            click.echo(
                f"{verdict:>8}  {check.mechanism}: {check.name}\n"
                f"          {report.databases} databases, {report.edges} edges, worst loss "
                f"{report.worst_loss:.6g} against {report.bound:.6g}, "
                f"{time.perf_counter() - start:.1f} s"
            )
            if not passed:
                click.echo(f"          worst edge: {report.worst_edge}")
    output.show(
        {"passed": len(rows) - failed, "failed": failed, "checks": rows},
        f"\n{len(rows) - failed} passed, {failed} failed",
    )
    ctx.exit(1 if failed else 0)

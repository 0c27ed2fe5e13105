"""The table of an audit: for people, for programs, and as a page."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy

from whitecrow import __version__
from whitecrow_audit.audit.replay import Replay
from whitecrow_audit.audit.run import ATTEMPTS, CONFIDENCE, Audit, Finding

_NEVER = 1e-12
_INFINITE = 600
"""Above this a loss is that of an answer which one database never gives."""

_HEADS = (
    "mechanism",
    "claimed",
    "measured",
    "this pair",
    "worst pair",
    "draws",
    "catches +10 %",
    "verdict",
)


def as_json(audit: Audit) -> dict[str, Any]:
    """Return a plain JSON object."""
    return {
        "ok": audit.ok,
        "quick": audit.quick,
        "confidence": CONFIDENCE,
        "rows": [_row(finding) for finding in audit.findings],
        "replay": None if audit.replay is None else _replayed(audit.replay),
    }


def _replayed(replay: Replay) -> dict[str, Any]:
    return {
        "ok": replay.ok,
        "lines": replay.lines,
        "different": list(replay.different),
        "missed": list(replay.missed),
    }


def _row(finding: Finding) -> dict[str, Any]:
    case = finding.case
    return {
        "mechanism": case.mechanism,
        "name": case.name,
        "mutant": case.mutant,
        "twin": case.mutant,  # its former name, for one release
        "claimed": case.claim.value,
        "claim": case.claim.words,
        "measured": finding.measured,
        "pair_loses": _number(finding.reference),
        "worst_loss": _number(finding.exact),
        "tight": finding.tight,
        "draws": finding.draws,
        "asked": finding.asked,
        "power": finding.caught,
        "power_3_percent": None if math.isnan(finding.fine) else finding.fine,
        "verdict": finding.verdict,
        "pair": case.pair,
        "note": case.note,
        "seconds": finding.seconds,
    }


def _number(loss: float) -> float | str:
    return loss if loss < _INFINITE else "infinite"


def _cells(finding: Finding) -> list[str]:
    case = finding.case
    worst = "infinite" if finding.exact >= _INFINITE else f"{finding.exact:.3g}"
    if not case.mutant and not finding.tight:
        worst += f" ({finding.exact / case.claim.value:.0%} of the claim)"
    return [
        f"{case.mechanism}: {case.name}",
        case.claim.words,
        f"{finding.measured:.3f}",
        "" if case.mutant else f"{finding.reference:.3g}",
        worst,
        f"{finding.draws:,}",
        "" if case.mutant else _probability(finding.caught),
        _verdict(finding),
    ]


def _verdict(finding: Finding) -> str:
    if finding.case.mutant and finding.ok:
        missed = (1 - finding.caught) ** ATTEMPTS
        chance = f"{missed:.0e}" if missed > _NEVER else f"below {_NEVER:.0e}"
        return f"caught (missed with probability {chance})"
    return finding.verdict


def _probability(value: float) -> str:
    if math.isnan(value):
        return ""
    return "> 0.999" if value > 0.999 else f"{value:.3f}"


def as_text(audit: Audit) -> str:
    """Return the table for a terminal."""
    if not audit.findings:
        return _summary(audit)
    rows = [list(_HEADS), *map(_cells, audit.findings)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADS) - 1)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]])
        for row in rows
    ]
    return "\n".join([*lines, "", _summary(audit)])


def _summary(audit: Audit) -> str:
    shipped = [finding for finding in audit.findings if not finding.case.mutant]
    mutants = [finding for finding in audit.findings if finding.case.mutant]
    weak = sum(finding.verdict == "not tested hard enough" for finding in shipped)
    hard = f" ({weak} of them not tested hard enough)" if weak else ""
    counted = (
        f"Mechanisms not found to leak: {sum(f.ok for f in shipped)} of {len(shipped)}{hard}. "
        f"Mutants caught: {sum(f.ok for f in mutants)} of {len(mutants)}. The bounds of "
        f"the mechanisms hold together with confidence {CONFIDENCE:.1%}."
    )
    lines = [counted] if audit.findings else []
    return "\n\n".join([*lines, *([] if audit.replay is None else [audit.replay.words()])])


def as_markdown(audit: Audit, seconds: float) -> str:
    """Return the page of a full study, with what is needed to judge it."""
    import scipy

    stamp = datetime.now(UTC).date().isoformat()
    lines = [
        "# Audit report",
        "",
        f"Made by `whitecrow audit{' --quick' if audit.quick else ''} --out FILE` on {stamp}: "
        f"whitecrow {__version__}, Python {platform.python_version()}, numpy "
        f"{numpy.__version__}, scipy {scipy.__version__}, {platform.machine()}, "
        f"{seconds:.0f} s of processor time. docs/audit.md says how to read it.",
        "",
        _summary(audit),
        "",
    ]
    shipped = [finding for finding in audit.findings if not finding.case.mutant]
    mutants = [finding for finding in audit.findings if finding.case.mutant]
    heads = [*_HEADS[:-1], "catches +3 %", "asked", "verdict"]
    lines += ["## Mechanisms as shipped", "", *_table(heads, [_shipped(f) for f in shipped]), ""]
    heads = ["mutant", "claimed", "measured", "this pair", "draws", "verdict"]
    lines += ["## Mutants", "", *_table(heads, [_mutant(f) for f in mutants]), ""]
    lines += ["## The pairs", ""]
    for finding in audit.findings:
        note = f" {finding.case.note}" if finding.case.note else ""
        lines.append(f"- {finding.case.mechanism}: {finding.case.name}: {finding.case.pair}.{note}")
    return "\n".join([*lines, ""])


def _shipped(finding: Finding) -> list[str]:
    cells = _cells(finding)
    return [*cells[:-1], _probability(finding.fine), f"{finding.asked}", cells[-1]]


def _mutant(finding: Finding) -> list[str]:
    cells = _cells(finding)
    return [cells[0].replace("mutant: ", ""), *cells[1:3], *cells[4:6], cells[-1]]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [heads, ["---"] * len(heads), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]

"""The form of a reproduction: sections of rows (paper, ours, verdict, why), tables and pictures."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from whitecrow import __version__
from whitecrow.errors import InvalidInput
from whitecrow.neighbours import use_compiled

Verdict = Literal[
    "reproduced", "differs", "not comparable", "needs data", "data not public", "beyond the paper"
]
Interval = tuple[float, float]
MISSING = ("needs data", "data not public")
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Context:
    """What a section may use.

    Parameters
    ----------
    data : Path or None
        The folder of real data sets, if there is one.
    out : Path
        Where pictures go.
    quick : bool
        Smaller repetitions, for the ordinary test run.
    seed : int
        Where simulations start.
    resume : bool
        Take sections that an interrupted run with these settings has finished.
    """

    data: Path | None
    out: Path
    quick: bool = False
    seed: int = 1
    resume: bool = False

    def dataset(self, name: str) -> Path | None:
        """Return the path of a data file, or None where it is not available."""
        if self.data is None or not (self.data / name).exists():
            return None
        return self.data / name


@dataclass(frozen=True)
class Row:
    """One figure of the paper beside ours.

    Parameters
    ----------
    what : str
        Which figure.
    paper, ours : str
        Both values, as text; a dash where there is none.
    verdict : Verdict
        How they compare.
    why : str
        The reason where they differ, or what stands in for data that are not available.
    interval : pair of float, optional
        Where our figure lies with 95 % confidence (90 % where the paper prints 90 %).
    """

    what: str
    paper: str
    ours: str
    verdict: Verdict
    why: str = ""
    interval: Interval | None = None


def agrees(
    printed: str, ours: float, interval: Interval | None = None, theirs: Interval | None = None
) -> bool:
    """Whether the printed number lies in our interval, or our number in theirs.

    Parameters
    ----------
    printed : str
        The number with the digits of the paper; they stand for what they may have been before they
        were rounded or cut off.
    ours : float
        Our number.
    interval, theirs : pair of float, optional
        Confidence intervals, ours and the paper's.
    """
    number = Decimal(printed)
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    unit = 10.0**exponent
    paper = float(number)
    return (
        paper - unit / 2 <= ours < paper + unit
        or (interval is not None and interval[0] <= paper <= interval[1])
        or (theirs is not None and theirs[0] <= ours <= theirs[1])
    )


def share_interval(share: float, trials: float) -> Interval:
    """Wilson's 95 % interval of a share among so many trials."""
    z = 1.96
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    spread = math.sqrt(share * (1 - share) / trials + (z / (2 * trials)) ** 2)
    half = z / (1 + z * z / trials) * spread
    return middle - half, middle + half


def mean_interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Student's interval of the mean of independent values."""
    from scipy.special import stdtrit

    count, mean = len(values), sum(values) / len(values)
    if count < 2:
        return -math.inf, math.inf
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / (count - 1))
    half = float(stdtrit(count - 1, (1 + confidence) / 2)) * deviation / math.sqrt(count)
    return mean - half, mean + half


@dataclass(frozen=True)
class Table:
    """A plain table."""

    headers: Sequence[str]
    rows: Sequence[Sequence[object]]
    caption: str = ""


@dataclass(frozen=True)
class Section:
    """One table or figure of the paper, reproduced, and how long that took."""

    title: str
    text: str = ""
    rows: Sequence[Row] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Path] = field(default=())
    seconds: float = 0.0


@dataclass(frozen=True)
class Exhibit:
    """A table or figure that a paper prints: each one must be accounted for.

    Parameters
    ----------
    name : str
        As printed: "Table 2".
    shows : str
        What it shows, in a few words.
    section : str
        The key of the section that redoes it.
    rows : str
        Only rows that have this in their name belong to it; all of the section's unless given.
    why : str
        Why ours differs, in short, where it does; else the rows' own reasons are quoted.
    stand_in : str
        What stands in for data that are not available.
    tests : sequence of str
        Tests of the repository that support the reason.
    """

    name: str
    shows: str
    section: str
    rows: str = ""
    why: str = ""
    stand_in: str = ""
    tests: Sequence[str] = ()


@dataclass(frozen=True)
class Erratum:
    """What a paper says, and what holds."""

    number: str
    paper: str
    holds: str


@dataclass(frozen=True)
class Paper:
    """A paper and how to redo it.

    Parameters
    ----------
    name : str
        As typed: ``whitecrow papers run NAME``.
    title, citation : str
        As printed.
    sections : mapping
        Key (as in ``--table KEY``) to the function that computes the section.
    exhibits : sequence of Exhibit
        Every table and figure of the paper, in its order.
    errata : sequence of Erratum
        Where it is wrong or unclear.
    apart : sequence of str
        Sections that take long and share no computation with others: each may have a process of
        its own.
    """

    name: str
    title: str
    citation: str
    sections: Mapping[str, Callable[[Context], Section]]
    exhibits: Sequence[Exhibit]
    errata: Sequence[Erratum] = ()
    apart: Sequence[str] = ()


@dataclass(frozen=True)
class Finding:
    """What became of one table or figure.

    Parameters
    ----------
    exhibit : Exhibit
        Which one.
    verdict : Verdict
        Reproduced if every figure of it is, and none is missing.
    same, compared : int
        How many of its figures came out as printed, of how many.
    why : str
        The reason where it differs, and what stands in for missing data.
    rows : sequence of Row
        Its figures.
    """

    exhibit: Exhibit
    verdict: Verdict
    same: int
    compared: int
    why: str
    rows: Sequence[Row] = ()

    @property
    def accounted(self) -> bool:
        """Whether it is reproduced, or differs for a reason that a test supports."""
        tested = self.verdict == "differs" and bool(self.exhibit.tests)
        return self.verdict == "reproduced" or tested


def run(
    paper: Paper, context: Context, only: Sequence[str] = (), progress: Progress | None = None
) -> list[Section]:
    """Compute the sections of a paper, all or those named."""
    for key in only:
        if key not in paper.sections:
            names = ", ".join(paper.sections)
            raise InvalidInput(f"{paper.name} has no table {key!r}; it has {names}.")
    context.out.mkdir(parents=True, exist_ok=True)
    wanted = [key for key in paper.sections if not only or key in only]
    use_compiled()  # hundreds of thousands of small counts: loading the kernels pays
    sections = []
    for done, key in enumerate(wanted):
        if progress is not None:
            progress(done, len(wanted), f"{paper.name}: {key}")
        stored = context.out / f".{paper.name}-{key}.json"
        settings = [__version__, str(context.data), context.quick, context.seed]
        section = _stored(stored, settings) if context.resume else None
        if section is None:
            start = time.perf_counter()
            section = paper.sections[key](context)
            section = replace(section, seconds=time.perf_counter() - start)
            text = json.dumps([settings, asdict(section)], default=str)
            stored.write_text(text, encoding="utf-8")
        sections.append(section)
    return sections


def _stored(path: Path, settings: list[Any]) -> Section | None:
    """Read a section that a run with these settings has finished, if there is one."""
    try:
        made, section = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # none, or one that was being written
        return None
    if made != settings:
        return None
    rows = [
        Row(**{**row, "interval": row["interval"] and tuple(row["interval"])})
        for row in section["rows"]
    ]
    tables = [Table(**table) for table in section["tables"]]
    figures = [Path(figure) for figure in section["figures"]]
    return Section(**{**section, "rows": rows, "tables": tables, "figures": figures})


def findings(paper: Paper, sections: Sequence[Section]) -> list[Finding]:
    """Judge every table and figure of a paper, given all of its sections in order."""
    computed = dict(zip(paper.sections, sections, strict=True))
    return [_finding(exhibit, computed[exhibit.section]) for exhibit in paper.exhibits]


def _finding(exhibit: Exhibit, section: Section) -> Finding:
    printed = [row for row in section.rows if row.verdict != "beyond the paper"]
    rows = [row for row in printed if exhibit.rows in row.what]
    if not rows:  # without its data a section has one row, which stands for all of it
        rows = [row for row in printed if row.verdict in MISSING]
    same = sum(row.verdict == "reproduced" for row in rows)
    missing = [row for row in rows if row.verdict in MISSING]
    different = [row for row in rows if row.verdict == "differs"]
    verdict: Verdict = "not comparable"
    if different:
        verdict = "differs"
    elif missing or not rows:
        verdict = missing[0].verdict if missing else "needs data"
    elif same:
        verdict = "reproduced"
    reasons = [exhibit.why] if exhibit.why and different else _distinct(different)
    if different and exhibit.tests:
        reasons.append(f"tested by {', '.join(exhibit.tests)}")
    if exhibit.stand_in and len(missing) < len(rows):
        reasons.append(f"stand-in: {exhibit.stand_in}")
    if missing:
        absent = ", ".join(dict.fromkeys(row.what.partition(":")[0] for row in missing))
        reasons += [f"missing: {absent}", *_distinct(missing)]
    if verdict == "not comparable":
        reasons += [exhibit.why] if exhibit.why else _distinct(rows)
    return Finding(exhibit, verdict, same, len(rows), "; ".join(reasons), rows)


def counted(findings: Sequence[Finding]) -> str:
    """Say in a line how many tables and figures came out how."""
    verdicts = Counter(finding.verdict for finding in findings)
    told = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    tested = sum(finding.accounted for finding in findings) - verdicts["reproduced"]
    return (
        f"{len(findings)} tables and figures: {told}. {verdicts['reproduced']} are reproduced and "
        f"{tested} differ for a reason that a test supports: {verdicts['reproduced'] + tested} of "
        f"{len(findings)}."
    )


def _distinct(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row.why for row in rows if row.why))[:2]

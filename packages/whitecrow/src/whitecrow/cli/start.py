"""Commands to begin with: ``demo``, ``doctor``, ``card``."""

from __future__ import annotations

import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whitecrow import __version__, plugins
from whitecrow._compiled import cache_folder
from whitecrow.cli import PACKAGED, packaged_command
from whitecrow.cli.files import FILE, check_absent, of_account, read_text, write_new
from whitecrow.cli.screen_output import Output, wrapped
from whitecrow.errors import BrokenPlugin
from whitecrow.neighbours.parallel import workers

if TYPE_CHECKING:
    from whitecrow.ledger import Ledger


@click.command(epilog="Example: whitecrow demo --out my-demo")
@click.option(
    "--out",
    type=click.Path(file_okay=False),
    default="whitecrow-demo",
    show_default=True,
    help="The folder of the report.",
)
@click.option("--verbose", "-v", is_flag=True, help="Tell the story behind each answer.")
@click.pass_obj
def demo(output: Output, out: str, verbose: bool) -> None:
    """Ask every question once on bundled, made-up data and write a report with pictures."""
    start = time.perf_counter()
    with output.progress() as progress:
        from whitecrow import demo as story_of

        chapters = iter(range(len(story_of.CHAPTERS)))

        def begin(name: str) -> None:
            if progress is not None:
                progress(next(chapters), len(story_of.CHAPTERS), f"Asking the clinic: {name}")

        story = story_of.run(Path(out), begin)
    seconds = round(time.perf_counter() - start, 1)
    result = {
        "report": str(story.page),
        "seconds": seconds,
        "left": str(story.left),
        "asked": [
            {"kind": asked.kind, "answer": asked.answer, "epsilon": str(asked.epsilon)}
            for asked in story.asked
        ],
    }
    if not output.as_json:
        for chapter in story.chapters if verbose else ():
            click.secho(chapter.title, bold=True)
            for paragraph in chapter.words.split("\n\n"):
                click.echo(f"{wrapped(paragraph)}\n")
        title = "1,500 made-up patients of a clinic, asked under provable privacy"
        output.table(title, *story.table())
    words = (
        f"Budget     {story.budget_left}. Asking again is free: answers are kept.\n"
        f"Report     {story.page} ({seconds:g} s)\n"
        "Your data  whitecrow card new patients.csv --out patients.toml"
    )
    output.show(result, words)


_PARTS = {
    "pictures of detectors": ("matplotlib", "plots"),
    "further detectors (LOF)": ("scikit-learn", "detectors"),
    "detectors of PyOD": ("pyod", "detectors"),
    "DuckDB files": ("duckdb", "sql"),
    "PostgreSQL": ("psycopg", "postgres"),
    "counting on a GPU": ("cupy-cuda12x", "gpu"),
    "counting in Spark": ("pyspark", "spark"),
    "the service": ("fastapi", "server"),
}  # optional parts: the package each needs, and the extra that installs it


@click.command(epilog="Example: whitecrow doctor")
@click.pass_obj
def doctor(output: Output) -> None:
    """Say what is installed, what is compiled, and how to get what is missing.

    Nothing is read or changed.
    """
    kernels = cache_folder()
    parts = {what: _installed(package) for what, (package, _) in _PARTS.items()}
    about = {
        "whitecrow": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}, {workers()} cores",
        **{name: _installed(name) or "missing" for name in ("numpy", "numba", "pyarrow")},
    }
    added = _plug_ins()
    result = {**about, "compiled": kernels, "optional": parts, "plug-ins": added}
    if output.as_json:
        output.show(result, "")
        return
    rows = [[name, str(installed), ""] for name, installed in about.items()]
    caching = f"kept in {kernels}" if kernels else "cannot be kept"
    advice = "" if kernels else "set NUMBA_CACHE_DIR to a folder of your own"
    rows.append(["compiled kernels", caching, advice])
    for what, installed in parts.items():
        fix = "" if installed else f"pip install 'whitecrow[{_PARTS[what][1]}]'"
        rows.append([what, installed or "not installed", fix])
    rows += [[f"plug-in {plugin['name']}", plugin["package"], plugin["fault"]] for plugin in added]
    output.table("whitecrow doctor", ["Part", "Found", "To get it"], rows)


def _plug_ins() -> list[dict[str, str]]:
    """What installed packages add: each name, the package with its version, and what is wrong."""
    added = []
    for group in plugins.GROUPS:
        for name, entry in sorted(plugins.offered(group).items()):
            package = "?" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"
            fault = ""
            try:
                plugins.load(group, name, object)
            except BrokenPlugin as error:
                fault = str(error)
            called = f"{group.removeprefix('whitecrow.')}: {name}"
            added.append({"name": called, "package": package, "fault": fault})
    return added


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


class _CardGroup(click.Group):
    """A group some of whose commands another package brings."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        brought = [name for name in PACKAGED if name.startswith("card ")]
        installed = plugins.offered(plugins.COMMANDS)
        own = super().list_commands(ctx)
        return [*own, *(name.split()[1] for name in brought if name in installed)]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        brought = f"card {name}"
        return packaged_command(brought) if brought in PACKAGED else super().get_command(ctx, name)


@click.group(cls=_CardGroup)
def card() -> None:
    """Write, check, accept, import and export dataset cards: the public facts of a dataset."""


@card.command(epilog="Example: whitecrow card new patients.parquet --out patients.toml")
@click.argument("file")
@click.option("--out", type=FILE, help="Where to write it (default: print).")
@click.pass_obj
def new(output: Output, file: str, out: str | None) -> None:
    """Make a card template from a file's column names and types, and nothing else of it."""
    from whitecrow.data import template

    text = template(file)
    if out is None:
        output.show({"card": text}, text.rstrip("\n"), raw=True)
        return
    write_new(out, text)
    output.show({"written": out}, f"Wrote {out}. Fill in what is marked, then: card check {out}")


@card.command(epilog="Example: whitecrow card check patients.toml")
@click.argument("card")
@click.pass_obj
def check(output: Output, card: str) -> None:
    """Say whether a card is whole and what it states."""
    from whitecrow.data import Card

    facts = Card.load(card)
    lines = [f"{facts.name}: one {facts.unit} is protected; {len(facts.columns)} columns"]
    for column in facts.columns:
        limits = "no bounds"
        if column.categories is not None:
            limits = f"{len(column.categories)} categories"
        elif column.bounded:
            limits = f"{column.lower:g} to {column.upper:g}"
        lines.append(f"  {column.name}: {column.type}, {limits} ({column.source})")
    bare = [c.name for c in facts.columns if c.type != "text" and not (c.bounded or c.categories)]
    if bare:
        lines.append(
            f"Without bounds: {', '.join(bare)}. Questions that need them will refuse; delete the "
            "columns that nobody will ask about."
        )
    output.show({"ok": True, "card": facts.to_json()}, "\n".join(lines))


@card.command(epilog="Example: whitecrow card accept draft.toml patients.csv --out patients.toml")
@click.argument("draft")
@of_account
@click.option("--out", type=FILE, required=True, help="Where to write it.")
@click.option("--reason", default="", help="Why, in words; the chain keeps it.")
def accept(output: Output, ledger: Ledger, name: str, draft: str, out: str, reason: str) -> None:
    """Put a card in force that a profile drafted, as it is or edited.

    SOURCE is the data file (its ledger lies beside it), a ledger file, or a database URL. Lines
    that were changed become the custodian's own word; the account's chain keeps the card.
    """
    from whitecrow.curator.drafts import accept_draft
    from whitecrow.data.template import card_toml

    check_absent(out)
    accepted = accept_draft(read_text(draft, "draft"), ledger, name, reason=reason)
    write_new(out, card_toml(accepted.card))
    edited = f" Edited: {', '.join(accepted.edited)}." if accepted.edited else ""
    output.show(
        {"written": out, "card": accepted.card.to_json(), "edited": list(accepted.edited)},
        f"Wrote {out}; the ledger keeps it.{edited}",
    )

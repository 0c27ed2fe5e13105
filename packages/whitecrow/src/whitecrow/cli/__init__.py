"""The terminal: one command for each thing users do, loaded only when it is called."""

from __future__ import annotations

import atexit
import difflib
import gc
import importlib
import sys
from importlib.metadata import EntryPoint
from typing import Any

import click

from whitecrow import __version__, plugins
from whitecrow.cli.screen_output import Output, help_all_option, report_error, whole, write_rows
from whitecrow.cli.secrets import check_argv
from whitecrow.errors import InvalidInput, MissingExtra, WhitecrowError
from whitecrow.questions import BUILT_IN, kinds

__all__ = ["main", "whitecrow"]

SECTIONS = {
    "Start": {
        "demo": "Every question once on bundled data, with a report.",
        "doctor": "What is installed, what is compiled, what is missing.",
        "card": "Write, check and accept dataset cards.",
    },
    "Free": {
        "price": "What would a question cost, and how accurate would it be?",
        "plan": "What would a batch of questions cost together?",
        "advise": "Which model makes a wanted share of the records outliers?",
        "score": "Score records with a learned detector.",
        "merge": "Make one detector of several with equal cards.",
    },
    "Ask": {kind: asks for kind, (_, asks) in BUILT_IN.items()},
    "Custodians and teams": {
        "report": "The account, its promises and its answers as one page.",
        "ledger": "Show, verify, export and mend the account.",
        "data": "Say that the records of an account have changed.",
        "serve": "The curator as a service for many analysts.",
        "people": "See to the people of a service from its machine.",
        "sign-in": "Sign in to a service through your organisation.",
        "mcp": "Let an assistant ask a service, with prices confirmed by a person.",
    },
    "Check": {
        "warm": "Compile now what the first large question would compile.",
        "verify": "Check every mechanism exhaustively on small universes.",
        "audit": "Measure what every mechanism loses, from draws.",
        "attack": "Infer outliers from a series of releases.",
        "papers": "Redo the tables and figures of the papers.",
        "bench": "Measure against the best peers (from a clone).",
    },
}
"""The commands, as help lists them."""

_FIRST = ("Start", "Free", "Ask")
"""Parts of the help whose commands are described; of the others --help-all does."""

COMMANDS = {name: does for part in SECTIONS.values() for name, does in part.items()}

_MODULES = {"Start": "start", "Free": "free", "Custodians and teams": "accounts", "Check": "check"}
"""Where the commands of a section are, each under its own name."""

PACKAGED = {
    "serve": "whitecrow-server",
    "people": "whitecrow-server",
    "mcp": "whitecrow-server",
    "verify": "whitecrow-audit",
    "audit": "whitecrow-audit",
    "papers": "whitecrow-research",
    "bench": "whitecrow-research",
    "card import": "whitecrow-metadata",
    "card export": "whitecrow-metadata",
}
"""For each command the package of this project that brings it; nobody else may."""

_ARGUMENTS = "whitecrow.arguments"


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called, so that help is instant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *_added_questions(), *_plugins()]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in BUILT_IN or name in _added_questions():
            from whitecrow.cli.ask import question_command, screening_group

            return screening_group() if name == "screening" else question_command(name)
        if name in PACKAGED:
            return packaged_command(name)
        if name in COMMANDS:
            section = next(title for title, commands in SECTIONS.items() if name in commands)
            module = importlib.import_module(f"whitecrow.cli.{_MODULES[section]}")
            command = getattr(module, name.replace("-", "_"))
            assert isinstance(command, click.Command)
            return command
        if name in _plugins():
            return plugins.load(plugins.COMMANDS, name, click.Command)
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # Their own words would mean loading them, and help is instant.
        added = dict.fromkeys(_added_questions(), "A question that an installed package adds.")
        for name, entry in _plugins().items():
            if " " not in name:  # else of a group, which lists it
                added[name] = f"Added by {entry.module.split('.')[0]}."
        folded = []
        for title, commands in [*SECTIONS.items(), ("Added by packages", added)]:
            if commands and (whole(ctx) or title in _FIRST):
                write_rows(ctx, formatter, title, list(commands.items()), widest=14)
            elif commands:
                folded.append(f"{title}: {', '.join(commands)}")
        if folded:
            formatter.write_paragraph()
            formatter.write_text(f"{'; '.join(folded)}.")

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=2)
            hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_ARGUMENTS] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            check_argv(ctx.meta[_ARGUMENTS])
            return super().invoke(ctx)
        except (WhitecrowError, click.UsageError) as error:
            if isinstance(error, click.UsageError):
                command = (error.ctx or ctx).command_path
                error = InvalidInput(f"{error.format_message()} See: {command} --help")
            ctx.exit(report_error(error, as_json=bool(ctx.params.get("json"))))


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: whitecrow demo",
)
@click.version_option(__version__, prog_name="whitecrow")
@click.option(
    "--json", is_flag=True, help="Print one JSON object on standard output, nothing else."
)
@click.pass_context
def whitecrow(ctx: click.Context, json: bool) -> None:
    """Outlier analysis on sensitive data, under provable privacy; --help-all tells more."""
    ctx.obj = Output(as_json=json)


whitecrow.params.append(help_all_option())


def packaged_command(name: str) -> click.Command:
    """Load a command of one of the project's packages, or say in one line how to get it."""
    package = PACKAGED[name]
    entry = plugins.offered(plugins.COMMANDS).get(name)
    if entry is None or entry.module.split(".")[0] != package.replace("-", "_"):
        raise MissingExtra(f"For {name!r}: pip install {package} (clone: ./packages/{package}).")
    return plugins.load(plugins.COMMANDS, name, click.Command)


def _added_questions() -> list[str]:
    """Questions that installed packages add. A name of our own is never replaced."""
    return [kind for kind in kinds() if kind not in COMMANDS]


def _plugins() -> dict[str, EntryPoint]:
    """Commands that installed packages add. A name of our own is never replaced."""
    return plugins.offered(plugins.COMMANDS, COMMANDS)


def main() -> None:
    """Run the terminal."""
    # A start makes a hundred thousand objects that live to the end. Looking through them for
    # garbage, again and again and once more at the end, took a fifth of the processor time of a
    # `whitecrow screen` on the demo's data: 2.42 s with it, 1.93 s without.
    gc.set_threshold(200_000, 20, 20)
    atexit.register(gc.freeze)
    whitecrow(prog_name="whitecrow")
    sys.exit(0)

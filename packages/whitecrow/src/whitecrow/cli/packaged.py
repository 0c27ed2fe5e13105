"""Commands that this project's other packages bring, found by entry points."""

from __future__ import annotations

import click

from whitecrow import plugins
from whitecrow.errors import MissingExtra

PACKAGED = {
    "serve": "whitecrow-server",
    "people": "whitecrow-server",
    "mcp": "whitecrow-server",
    "verify": "whitecrow-audit",
    "audit": "whitecrow-audit",
    "papers": "whitecrow-research",
    "card import": "whitecrow-metadata",
    "card export": "whitecrow-metadata",
}
"""For each command the package that brings it; nobody else may."""


def packaged_command(name: str) -> click.Command:
    """Load a command of one of the project's packages, or say in one line how to get it."""
    package = PACKAGED[name]
    entry = plugins.offered(plugins.COMMANDS).get(name)
    if entry is None or entry.module.split(".")[0] != package.replace("-", "_"):
        raise MissingExtra(f"For {name!r}: pip install {package} (clone: ./packages/{package}).")
    return plugins.load(plugins.COMMANDS, name, click.Command)


class PackagedGroup(click.Group):
    """A group some of whose commands other packages bring."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        brought = [
            name.split()[1] for name in PACKAGED if name.split()[0] == self.name and " " in name
        ]
        installed = plugins.offered(plugins.COMMANDS)
        return [
            *super().list_commands(ctx),
            *(b for b in brought if f"{self.name} {b}" in installed),
        ]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if f"{self.name} {name}" in PACKAGED:
            return packaged_command(f"{self.name} {name}")
        return super().get_command(ctx, name)

"""Files that commands read and write."""

from __future__ import annotations

from pathlib import Path

from whitecrow.errors import InvalidInput


def read_text(file: str, what: str) -> str:
    """Return the text of a file that a command names."""
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InvalidInput(f"The {what} {file!r} cannot be read.") from None


def check_absent(out: str) -> None:
    if Path(out).exists():
        raise InvalidInput(f"{out!r} exists already; name another file or remove it first.")


def write_new(out: str, text: str) -> None:
    """Write a file that must not exist yet."""
    check_absent(out)
    Path(out).write_text(text, encoding="utf-8")

"""Files that a custodian sends: kept in the data folder under names that the service makes up.

What comes with a request is data: how the file is called where it came from is neither kept nor
looked at, and its kind is one of those listed here.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
import time
from collections.abc import AsyncIterator, Collection
from contextlib import suppress

from whitecrow.errors import InvalidInput, LedgerUnusable, invalid
from whitecrow_server._scheduling import Share
from whitecrow_server._settings import Settings

UPLOADS = "/console/register/upload"
"""Where files are sent to: the one address whose bodies may be as large as files are."""

_STALLED_SECONDS = 3600.0
"""No upload lasts so long without a byte: a file that is older did not arrive whole."""

_FORGOTTEN_SECONDS = 86_400.0
"""Time to register a file that was sent; afterwards nobody seems to want it here."""

_BYTES_PER_SECOND = 8 << 20
"""How fast a file is taken in at the most: answers are written to the same disk."""

_ENDINGS = {"csv": ".csv", "parquet": ".parquet"}


async def kept(pieces: AsyncIterator[bytes], kind: str, settings: Settings, threads: Share) -> str:
    """Write a body to a new file of the data folder, piece by piece; return the file's name.

    A file that did not arrive whole is removed.

    Raises
    ------
    InvalidInput
        There is no data folder, the kind is none that is taken in, or the body is empty.
    Unavailable
        The folder cannot be written to, or is full.
    """
    folder = settings.folder
    if folder is None:
        raise InvalidInput("The service is set up with no folder of data files.")
    if kind not in _ENDINGS:
        raise invalid("an upload", "kind", " or ".join(_ENDINGS), kind)
    name = f"{_beginning(settings)}{secrets.token_hex(8)}{_ENDINGS[kind]}"
    unfinished = folder / f"{name}.part"
    size, began = 0, time.monotonic()
    try:
        # For the service alone, and never an existing file.
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
        with os.fdopen(os.open(unfinished, flags, 0o600), "wb") as file:
            async for piece in pieces:
                size += len(piece)
                await threads.run(lambda part=piece: file.write(part))  # type: ignore[misc]
                await asyncio.sleep(began + size / _BYTES_PER_SECOND - time.monotonic())
        if not size:
            raise InvalidInput("The file is empty: nothing was kept.")
        unfinished.rename(folder / name)
    except OSError:
        raise LedgerUnusable(
            "The service cannot write to its data folder: a file must be put there by whoever "
            "runs it."
        ) from None
    finally:
        with suppress(OSError):
            unfinished.unlink()
    return name


def clean(settings: Settings, registered: Collection[str]) -> None:
    """Remove files that did not arrive whole, and those that nobody registered for a day.

    Only files that this service took in: others in the folder are not its own.
    """
    folder = settings.folder
    if folder is None:
        return
    # Resolved, as when they are opened: a name may have been written with dots.
    wanted = {(folder / name).resolve() for name in registered}
    for path in folder.glob(f"{_beginning(settings)}*"):
        ends = _STALLED_SECONDS if path.suffix == ".part" else _FORGOTTEN_SECONDS
        with suppress(OSError):  # another worker was faster, or the folder is read-only
            if path.resolve() not in wanted and time.time() - path.stat().st_mtime > ends:
                path.unlink()


def _beginning(settings: Settings) -> str:
    """How the names of this service's uploads begin: several may share a folder."""
    return f"upload-{hashlib.sha256(settings.database.encode()).hexdigest()[:6]}"

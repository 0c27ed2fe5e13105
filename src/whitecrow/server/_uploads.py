"""Files that a custodian sends: kept in the data folder under names that the service makes up.

What comes with a request is data: how the file is called where it came from is neither kept nor
looked at, and its kind is one of those listed here.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

from whitecrow.errors import InvalidInput, LedgerUnusable, invalid
from whitecrow.server._threads import Threads

__all__ = ["UPLOADS", "kept"]

UPLOADS = "/console/register/upload"
"""Where files are sent to: the one address whose bodies may be as large as files are."""

_ENDINGS = {"csv": ".csv", "parquet": ".parquet"}


async def kept(
    pieces: AsyncIterator[bytes], kind: str, folder: Path | None, threads: Threads
) -> str:
    """Write a body to a new file of the data folder, piece by piece; return the file's name.

    A file that did not arrive whole is removed.

    Raises
    ------
    InvalidInput
        There is no data folder, the kind is none that is taken in, or the body is empty.
    Unavailable
        The folder cannot be written to, or is full.
    """
    if folder is None:
        raise InvalidInput("The service is set up with no folder of data files.")
    if kind not in _ENDINGS:
        raise invalid("an upload", "kind", " or ".join(_ENDINGS), kind)
    name = f"upload-{secrets.token_hex(8)}{_ENDINGS[kind]}"
    unfinished = folder / f"{name}.part"
    size = 0
    try:
        # For the service alone, and never an existing file.
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
        with os.fdopen(os.open(unfinished, flags, 0o600), "wb") as file:
            async for piece in pieces:
                size += len(piece)
                await threads.run(lambda part=piece: file.write(part))  # type: ignore[misc]
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

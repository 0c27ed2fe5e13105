"""How much time and memory a question may take, from public facts only."""

from __future__ import annotations

import math
from dataclasses import dataclass

from whitecrow.errors import invalid

__all__ = ["UNLIMITED", "Limits"]


@dataclass(frozen=True)
class Limits:
    """Time and memory that no data within the public bounds can use up.

    They come from the card, the question and a public bound on the number of records, never from
    the records: a limit that some records reach and others do not would tell them apart.

    Parameters
    ----------
    seconds : float
        Of one processor; infinite where nothing public bounds it.
    bytes : float
        Of working memory beside the records; infinite where nothing public bounds it.
    """

    seconds: float = math.inf
    bytes: float = math.inf

    def __post_init__(self) -> None:
        for name in ("seconds", "bytes"):
            given = getattr(self, name)
            if isinstance(given, bool) or not isinstance(given, int | float) or not given > 0:
                raise invalid("Limits", name, "a number above 0", given)


UNLIMITED = Limits()
"""Where the number of records has no public bound."""

"""A coordinator for sites that run in one process: it adds up what it is sent, and sees no more."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import numpy as np

from whitecrow.errors import Unreachable
from whitecrow.sites.circle import Circle, Exchange, Member
from whitecrow.sites.masks import Words


class Meeting:
    """Adds up the masked numbers of every round; a round without one of the sites is void.

    Parameters
    ----------
    circle : Circle
        Who takes part.
    patience : float
        Seconds that a round waits for the last site.
    """

    def __init__(self, circle: Circle, *, patience: float = 60.0) -> None:
        self.circle, self._patience = circle, patience
        self.received: dict[int, dict[str, Words]] = {}
        self._changed = threading.Condition()
        self._void = False

    def member(self, name: str, secrets: Mapping[str, bytes]) -> Member:
        """Return a site's side of the meeting."""
        return Member(self.circle, name, secrets, self._line(name))

    def leave(self) -> None:
        """Say that a site has dropped out: no round can be completed any more."""
        with self._changed:
            self._void = True
            self._changed.notify_all()

    def _line(self, name: str) -> Exchange:
        def exchange(number: int, hidden: Words) -> Words:
            with self._changed:
                sent = self.received.setdefault(number, {})
                sent[name] = hidden
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._void or self._full(sent), self._patience)
                if not self._full(sent):
                    self._void = True
                    self._changed.notify_all()
                    raise Unreachable(
                        "A site has dropped out, so this attempt is void and nothing was learned "
                        "from it. Begin again without that site, under a new label; what was sent "
                        "counts as spent."
                    )
            return np.asarray(np.sum(np.stack(list(sent.values())), axis=0, dtype=np.uint64))

        return exchange

    def _full(self, sent: Mapping[str, Words]) -> bool:
        sizes = {len(numbers) for numbers in sent.values()}
        return len(sent) == len(self.circle.sites) and len(sizes) == 1

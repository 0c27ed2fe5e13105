"""A screening that is paid: ask about one record, or about all of a frame, any number of times."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from whitecrow.data import Card
from whitecrow.data.asked import read_asked
from whitecrow.declaration import as_mapping
from whitecrow.errors import InvalidInput, NotAllowed
from whitecrow.question import Progress, Release
from whitecrow.screening.question import MOST_AT_ONCE, Screening


class Answerer(Protocol):
    """A curator, or a client of one."""

    @property
    def ask(self) -> Callable[..., Release]:
        """Answer a question, or refuse it."""

    @property
    def card(self) -> Card:
        """The dataset's public facts."""


class OpenScreening:
    """What ``curator.screening(...)``, or a client's, returns.

    ``question`` is the series, ``opening`` what came of opening it: the promise, and whether it was
    charged now.

    Examples
    --------
    >>> import pyarrow
    >>> import whitecrow as wc
    >>> ages = pyarrow.table({"age": [20.0 + i % 60 for i in range(20_000)]})
    >>> curator = wc.Curator.open(ages, budget="1, 1e-6")
    >>> model = wc.DistanceAnomaly(beta=300, radius=5.0)
    >>> screening = curator.screening(model=model, epsilon=1, delta="1e-6")
    >>> screening.ask({"age": 400.0}).answer
    True
    >>> screening.ask_all(pyarrow.table({"age": [40.0, 41.0, 500.0]}))
    array([False, False,  True])
    """

    def __init__(
        self, answerer: Answerer, question: Screening, opening: Release, analyst: str | None = None
    ) -> None:
        self.question, self.opening = question, opening
        self._answerer: Answerer | None = answerer
        self._how = {} if analyst is None else {"analyst": analyst}

    @classmethod
    def of(cls, answerer: Answerer, parameters: dict[str, Any]) -> Self:
        """Open a series, or go on with one that is open."""
        how = {name: parameters.pop(name) for name in ("analyst", "progress") if name in parameters}
        question = Screening(**parameters)
        if question.asked:
            raise InvalidInput("Open the screening first, then ask about records.")
        return cls(answerer, question, answerer.ask(question, **how), how.get("analyst"))

    def __repr__(self) -> str:
        return f"<OpenScreening: {self.question!r}>"

    @property
    def _open(self) -> Answerer:
        if self._answerer is None:
            raise NotAllowed("This screening was closed; open it again to go on.")
        return self._answerer

    def ask(self, record: Mapping[str, Any]) -> Release:
        """Answer whether a new record would be an anomaly; columns that are not compared are left.

        A record that was asked about before gets the same answer.
        """
        names, given = self.question.names(self._open.card), as_mapping(record)
        if isinstance(given, Mapping):
            given = {name: value for name, value in given.items() if name in names} or given
        return self._open.ask(self.question.of(given), **self._how)

    def ask_all(
        self, records: object, *, progress: Progress | None = None
    ) -> npt.NDArray[np.bool_]:
        """Answer for every record of a frame, a file or a list, in its order; True is an anomaly.

        Answers are written down as they are given: interrupted, it is asked again as it was.
        Columns that are not compared are left.
        """
        if isinstance(records, list):
            asked = records
        else:
            card = self._open.card
            read = read_asked(records, card, columns=self.question.names(card))
            asked = [record for record in read.records if record is not None]
        answers = np.zeros(len(asked), dtype=np.bool_)
        most = MOST_AT_ONCE
        if bytes_at_most := getattr(self._open, "largest_question", None):
            longest = max((len(json.dumps(record, default=str)) for record in asked), default=0)
            most = max(1, min(most, bytes_at_most // (longest + 8)))
        for start in range(0, len(asked), most):
            some = asked[start : start + most]
            question = self.question.of_all(some)
            answers[start : start + len(some)] = self._open.ask(question, **self._how).answer
            if progress is not None:
                progress(start + len(some), len(asked), "screening")
        return answers

    def close(self) -> None:
        """Let go of it; opening the same question again goes on where it was, for nothing."""
        self._answerer = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

"""Trying a question out before it is asked: advice on its price, answers about made-up records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from whitecrow.card import Card
from whitecrow.curator.advice import Advice, advise
from whitecrow.curator.simulate import simulated
from whitecrow.errors import InvalidInput
from whitecrow.ledger import Ledger
from whitecrow.neighbours import open_engine
from whitecrow.privacy import Exactly
from whitecrow.question import Question, Release
from whitecrow.questions import type_of

if TYPE_CHECKING:
    from whitecrow.curator.models import ModelAdvice


class Rehearsal:
    """What can be tried without the data: public facts only, and nothing is spent."""

    name: str
    _ledger: Ledger

    @property
    def card(self) -> Card:
        """The dataset's public facts."""
        raise NotImplementedError

    def _check(self, question: Question) -> None:
        """Refuse what cannot be asked."""
        raise NotImplementedError

    def advise(self, question: Question, *, error: float | None = None, **public: Any) -> Advice:
        """Say which price a wanted error has, or which error the question's price buys.

        Parameters
        ----------
        question : Question
            What would be asked.
        error : float, optional
            The wanted error, for instance 0.05 for a yes or no that is wrong once in twenty.
        **public
            Guesses for the question's ``describe``, such as ``typical_neighbours=3``.
        """
        self._check(question)
        return advise(question, self.card, error=error, public=public)

    def advise_model(
        self, contamination: Exactly, *, columns: Sequence[str] | None = None, **how: Any
    ) -> ModelAdvice:
        """Find a model for a wanted share of outliers, from public facts; spends nothing.

        It comes with a priced question, :class:`whitecrow.Tune`, that has the radius chosen by the
        data. ``how`` is that of :func:`whitecrow.curator.models.advise_model`: ``metric``,
        ``beta``, ``records``, ``profile``, ``epsilon``.
        """
        from whitecrow.curator.models import advise_model

        return advise_model(self.card, contamination, columns=columns, **how)

    def preview(self, question: Question, *, size: int, runs: int = 10) -> tuple[Any, ...]:
        """Answer a question ``runs`` times about made-up records that fit the card.

        Nothing of the data is read and nothing is spent: ``size`` records are drawn uniformly
        within the card's bounds.
        """
        code = type_of(question)
        question.check(self.card)
        made_up = simulated(self.card, size)
        facts = code.gather(question, made_up, open_engine(made_up), None)
        return tuple(code.release(question, facts, None) for _ in range(runs))

    def dummy(self, question: Question) -> Release:
        """Answer a question about made-up records: free, to develop code against.

        The records are drawn from the card, and from the profile by which it was accepted where
        there is one; the same question gets the same answer. The release says of itself that it is
        a dummy (``release.dummy``), in words, as JSON and on pages.
        """
        from whitecrow.curator.dummy import (
            DummyExecution,
            accepted_profile,
            dummy_records,
            dummy_release,
        )

        self._check(question)
        if question.retired:
            raise InvalidInput(question.retired)
        price = question.price(self.card)
        profile = accepted_profile(self.card, self._ledger, self.name)
        return dummy_release(question, price, DummyExecution(dummy_records(self.card, profile)))

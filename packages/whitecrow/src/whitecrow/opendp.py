"""Questions as OpenDP measurements, for those who compose them with their own queries.

A measurement answers a question about records that its caller holds, and OpenDP's own accounting
(compositors, odometers, filters) says what all of it costs. **No ledger is kept here**: what is
called twice draws twice. Where many people ask, use a :class:`~whitecrow.Curator`.

Needs ``pip install 'whitecrow[opendp]'`` and OpenDP's features ``contrib`` and
``honest-but-curious``: OpenDP cannot check what Python code promises.
"""

from __future__ import annotations

import json
from typing import Any

from whitecrow.card import Card
from whitecrow.custodian import failure
from whitecrow.data import read
from whitecrow.errors import MissingExtra, NoConversion
from whitecrow.neighbours import open_engine
from whitecrow.privacy import DifferentialPrivacy, Guarantee, ZeroConcentrated, group_privacy
from whitecrow.privacy.numbers import float_up
from whitecrow.question import Question
from whitecrow.questions import type_of

__all__ = ["domain", "make_question", "measure_of"]


def _opendp() -> Any:
    try:
        import opendp.prelude as dp
    except ImportError:
        raise MissingExtra("OpenDP is not installed: pip install 'whitecrow[opendp]'.") from None
    return dp


def domain(card: Card) -> Any:
    """Tables that are read under a card: data frames, Arrow tables, paths.

    Measurements of one card share their domain, so that they compose.
    """
    return _opendp().user_domain(f"tables under the card {card.fingerprint()}", lambda _: True)


def measure_of(price: Guarantee) -> Any:
    """In which measure OpenDP counts a price.

    Raises
    ------
    NoConversion
        If the promise holds for some records or under a condition only: OpenDP has no measure for
        that.
    """
    dp = _opendp()
    if isinstance(price, ZeroConcentrated):
        return dp.zero_concentrated_divergence()
    if isinstance(price, DifferentialPrivacy):
        return dp.approximate(dp.max_divergence()) if price.delta else dp.max_divergence()
    raise NoConversion(
        f"A {price.notion} release promises nothing to some records, so OpenDP, whose measures "
        "speak of everybody, cannot count it. Ask with notion='differential'."
    )


def make_question(question: Question, card: Card) -> Any:
    """Make an OpenDP measurement that answers a question.

    Parameters
    ----------
    question : Question
        What is asked, with its epsilon.
    card : Card
        The public facts under which tables are read.

    Returns
    -------
    opendp.Measurement
        From tables (symmetric distance; the distance of changed tables where the question's promise
        is about replacing a record) to answers as JSON values.

    Examples
    --------
    >>> import whitecrow as wc
    >>> import opendp.prelude as dp
    >>> dp.enable_features("contrib", "honest-but-curious")
    >>> card = wc.Card("toy", (wc.Column("age", lower=0, upper=120),))
    >>> count = wc.Count(model=wc.DistanceAnomaly(beta=2, radius=5.0), epsilon="1/2")
    >>> make_question(count, card).map(1)
    0.5
    """
    dp = _opendp()
    question.check(card)
    price = question.price(card)
    measure = measure_of(price)
    replaced = getattr(price, "unit", "") == "replace_one"
    metric = dp.change_one_distance() if replaced else dp.symmetric_distance()

    def answer(table: Any) -> Any:
        # Nothing that is raised near records may say anything of them.
        try:
            records = read(table, card)
            code = type_of(question)
            facts = code.gather(question, records, open_engine(records), None)
            return json.loads(json.dumps(code.release(question, facts, None), allow_nan=False))
        except Exception:  # noqa: BLE001
            pass
        raise failure()

    def loss(distance: int) -> Any:
        if distance < 1:
            return (0.0, 0.0) if getattr(price, "delta", 0) else 0.0
        return _spent(group_privacy(price, int(distance)) if distance > 1 else price)

    return dp.m.make_user_measurement(domain(card), metric, measure, answer, loss)


def _spent(price: Guarantee) -> Any:
    """What OpenDP is told: never less than what is promised."""
    if isinstance(price, ZeroConcentrated):
        return float_up(price.rho)
    assert isinstance(price, DifferentialPrivacy)
    epsilon = float_up(price.epsilon)
    return (epsilon, float_up(price.delta)) if price.delta else epsilon

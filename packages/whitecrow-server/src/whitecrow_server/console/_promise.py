"""What a budget and a policy promise, in plain words: the statement a custodian signs."""

from __future__ import annotations

from fractions import Fraction

from whitecrow.curator import Policy
from whitecrow.data import Card
from whitecrow.ledger import Budget
from whitecrow.privacy import Guarantee, ZeroConcentrated, odds_factor, rounded_up
from whitecrow_server.console import _show as show


def promise(policy: Policy, budget: Budget, card: Card | None) -> list[str]:
    """Return the promise as sentences, each true of every answer that may ever be given.

    Examples
    --------
    >>> for sentence in promise(Policy(notions=("differential",)), Budget.of("1"), None):
    ...     print(sentence)
    What is protected is one record: whether it is in the data or not.
    All answers together change the odds of any conclusion about anyone by at most 2.72 times
    (ε = 1).
    """
    found = [_unit(policy, card)]
    if {"differential", "concentrated"} & set(policy.notions):
        found += _everyone(policy, budget)
    if "sensitive" in policy.notions:
        found += _sensitive(policy, budget)
    if "conditional" in policy.notions:
        found.append(
            "Explanations may be promised on a condition. Where the condition fails, and for the "
            "record that is asked about, nothing is promised; from the first such answer on, no "
            "unconditional promise holds for all answers together. While the conditions hold, the "
            f"odds change by at most {_times(budget.conditional)}."
        )
    if policy.max_epsilon is not None:
        found.append(f"One answer alone changes the odds by at most {_times(policy.max_epsilon)}.")
    if policy.questions is not None:
        asked = f"Only these questions are answered: {', '.join(policy.questions)}."
        found.append(asked if policy.questions else "No question is answered.")
    for name, kinds in policy.analysts.items():
        whom = "Everybody else" if name == "*" else name
        found.append(f"{whom} may ask: {', '.join(kinds) or 'nothing'}.")
    return found


def _unit(policy: Policy, card: Card | None) -> str:
    if card is not None and card.unit == "user":
        what = f"one person, with up to {card.contribution} records"
    else:
        what = "one record"
    if policy.unit == "replace_one":
        return f"What is protected is {what}: the values. That it is in the data may be known."
    return f"What is protected is {what}: whether it is in the data or not."


def _everyone(policy: Policy, budget: Budget) -> list[str]:
    alone = not {"sensitive", "conditional"} & set(policy.notions)
    which = "All answers together" if alone else "The answers that protect everyone, together,"
    slip = f", except with a chance of {_small(budget.delta)}" if budget.delta else ""
    return [
        f"{which} change the odds of any conclusion about anyone by at most "
        f"{_times(budget.differential)}{slip}."
    ]


def _sensitive(policy: Policy, budget: Budget) -> list[str]:
    cap = budget.sensitive
    found = [
        "Some answers may protect only records with enough similar records: whether a record far "
        "from all others is in the data may be learned. From the first such answer on, no bound "
        "holds for everyone; for the records covered by every answer the odds change by at most "
        f"{_times(cap)}."
    ]
    if policy.max_tau is not None and policy.min_radius is not None:
        found.append(
            f"A record with at least {policy.max_tau} records that pass the card (itself included) "
            f"within {policy.min_radius:g} of it is covered by every answer."
        )
    else:
        found.append(
            "Which records are covered is left to the questions: set the largest τ and the "
            "smallest radius to promise it in advance."
        )
    return found


def _times(epsilon: Fraction) -> str:
    return f"{odds_factor(epsilon)} times (ε = {rounded_up(epsilon)})"


def _small(delta: Fraction) -> str:
    return f"{float(delta):.3g}"


def meaning(price: Guarantee) -> str:
    """What a price means for somebody in the data, in one sentence."""
    if isinstance(price, ZeroConcentrated):
        return (
            f"Gaussian noise with ρ = {show.up(price.rho)}: typical losses are about "
            f"{show.number(float(2 * price.rho) ** 0.5)}, large ones are exponentially rare."
        )
    factor = odds_factor(Fraction(price.epsilon))
    whom = {
        "differential": "anybody",
        "sensitive": "a covered record",
        "conditional": "anybody else, while the condition holds,",
    }[price.notion]
    return (
        f"Whatever you believe about {whom} before the answer, the odds of it change by at most "
        f"{factor} times."
    )

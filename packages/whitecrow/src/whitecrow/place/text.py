"""What the questions about one place say alike before they are asked."""

from __future__ import annotations

TIME = "Response time can leak. Use the service if analysts can time answers."
"""Said of every answer whose counting stops early: where more neighbours would change nothing."""


def chance(probability: float) -> str:
    """Say a probability so that people can picture it.

    Examples
    --------
    >>> chance(0.475), chance(0.00214547), chance(0.0), chance(1e-20)
    ('47.5 %', '1 in 466', 'never', 'less than 1 in a billion')
    """
    if probability == 0:
        return "never"
    if probability >= 0.01:
        return f"{100 * probability:.3g} %"
    if probability < 1e-9:
        return "less than 1 in a billion"
    return f"1 in {round(1 / probability):,}"

"""What the questions about one place say alike before they are asked."""

from __future__ import annotations

__all__ = ["TIME", "chance"]

TIME = (
    "Counting stops where more neighbours would not change the answer's law, so the time it takes "
    "depends on the data; where that can be seen, pad it."
)
"""Said of every answer whose counting stops early."""


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

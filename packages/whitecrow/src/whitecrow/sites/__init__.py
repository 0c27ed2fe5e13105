"""Several custodians, one detector, and nobody sees another's counts.

``proof.md`` has the theorems and docs/sites.md the threat model. Every site runs the same public
program on its own records. Where that program adds noise to counts, the sites add a share of it
each, hide what they send behind masks that cancel, and go on with the sum.
"""

from whitecrow.sites.circle import (
    Circle,
    Key,
    Meeting,
    Member,
    SharedMoney,
    SharedNoise,
    learn_together,
    mask,
)

__all__ = [
    "Circle",
    "Key",
    "Meeting",
    "Member",
    "SharedMoney",
    "SharedNoise",
    "learn_together",
    "mask",
]

"""Bare mechanisms, seeds and the quantities the proofs speak of. **No ledger, no policy.**

Nothing here is accounted for: a second call spends a second time, a seeded source makes noise that
anyone can subtract, and the exact quantities are private. It is for researchers, tests and proofs;
analysts and custodians use :class:`whitecrow.Curator`.
"""

from __future__ import annotations

from whitecrow.anomaly.law import discrepancy, flip_probability
from whitecrow.attack.naive import naive_release
from whitecrow.counting.ball_cover import ball_cover
from whitecrow.counting.smooth import smooth_sensitivity
from whitecrow.explain.unaccounted import context_release, exact_release_law, matching_contexts
from whitecrow.identify.compiler import (
    Base,
    Coins,
    Compiled,
    compiled,
    optimal_base,
    randomized_response,
)
from whitecrow.identify.map import privacy_map
from whitecrow.identify.unaccounted import identify
from whitecrow.neighbours import count_related
from whitecrow.noise.seeded import seeded

__all__ = [
    "Base",
    "Coins",
    "Compiled",
    "ball_cover",
    "compiled",
    "context_release",
    "count_related",
    "discrepancy",
    "exact_release_law",
    "flip_probability",
    "identify",
    "matching_contexts",
    "naive_release",
    "optimal_base",
    "privacy_map",
    "randomized_response",
    "seeded",
    "smooth_sensitivity",
]

"""What a release promises: guarantees, their order, conversion and composition, and the wall."""

from whitecrow.privacy.bounds import odds_factor
from whitecrow.privacy.composition import Totals, compose, totals
from whitecrow.privacy.conversion import (
    at_any_stop,
    at_least_as_strong,
    group_privacy,
    to_approximate,
    to_concentrated,
    to_conditional,
    to_differential,
    to_replace_one,
    to_sensitive,
)
from whitecrow.privacy.facts import Facts
from whitecrow.privacy.guarantees import (
    ConditionalPrivacy,
    DifferentialPrivacy,
    Guarantee,
    SensitivePrivacy,
    Unit,
    ZeroConcentrated,
    Zone,
    ZoneColumn,
    guarantee,
    intersect,
    of_revision,
    reading,
)
from whitecrow.privacy.numbers import Exactly, exact, rounded_down, rounded_up, unrounded

__all__ = [
    "ConditionalPrivacy",
    "DifferentialPrivacy",
    "Exactly",
    "Facts",
    "Guarantee",
    "SensitivePrivacy",
    "Totals",
    "Unit",
    "ZeroConcentrated",
    "Zone",
    "ZoneColumn",
    "at_any_stop",
    "at_least_as_strong",
    "compose",
    "exact",
    "group_privacy",
    "guarantee",
    "intersect",
    "odds_factor",
    "of_revision",
    "reading",
    "rounded_down",
    "rounded_up",
    "to_approximate",
    "to_concentrated",
    "to_conditional",
    "to_differential",
    "to_replace_one",
    "to_sensitive",
    "totals",
    "unrounded",
]

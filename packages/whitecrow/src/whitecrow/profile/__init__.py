"""Describe a table that nobody has described, under differential privacy."""

from whitecrow.profile.facts import ProfileFacts, gather
from whitecrow.profile.mechanism import release
from whitecrow.profile.question import Profile, cost
from whitecrow.question import QuestionType

__all__ = ["TYPE", "Profile", "ProfileFacts", "gather", "release"]

TYPE = QuestionType(Profile, gather, release, cost)

"""Where do outliers live? A ranked list of subspaces, under differential privacy."""

from whitecrow.question import QuestionType
from whitecrow.subspaces.mechanism import SubspaceFacts, gather, release
from whitecrow.subspaces.question import Subspaces, cost

__all__ = ["TYPE", "SubspaceFacts", "Subspaces", "gather", "release"]

TYPE = QuestionType(Subspaces, gather, release, cost)

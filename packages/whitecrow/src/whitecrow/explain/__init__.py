"""In which context is this record an outlier?

``question.py`` says what is asked, ``mechanism.py`` sees the other records from the record and
releases a context, ``search.py`` finds it; ``proof.md`` proves what it costs.
"""

from whitecrow.explain._utilities import (
    CustomUtility,
    Isolation,
    Overlap,
    Population,
    register_utility,
)
from whitecrow.explain.mechanism import ExplainFacts, gather, release
from whitecrow.explain.question import Explain, cost
from whitecrow.question import QuestionType

__all__ = [
    "TYPE",
    "CustomUtility",
    "Explain",
    "ExplainFacts",
    "Isolation",
    "Overlap",
    "Population",
    "gather",
    "register_utility",
    "release",
]

TYPE = QuestionType(Explain, gather, release, cost)

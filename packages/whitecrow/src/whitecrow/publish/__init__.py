"""Publish: a mean, a sum or a count kept current as data arrive.

``proof.md`` has the theorems. :class:`Publish` asks for a series over a dataset,
:class:`Publisher` keeps one current, update by update.
"""

from whitecrow.publish._publisher import MemoryStore, Publisher, StateStore
from whitecrow.publish.clip import PrivateClip
from whitecrow.publish.facts import Day, PublisherState, PublishFacts, gather
from whitecrow.publish.mechanism import advance, fresh, release
from whitecrow.publish.plan import Point, PublicationPlan
from whitecrow.publish.question import Publish, cost
from whitecrow.question import QuestionType

__all__ = [
    "TYPE",
    "Day",
    "MemoryStore",
    "Point",
    "PrivateClip",
    "PublicationPlan",
    "Publish",
    "PublishFacts",
    "Publisher",
    "PublisherState",
    "StateStore",
    "advance",
    "fresh",
    "gather",
    "release",
]

TYPE = QuestionType(Publish, gather, release, cost)

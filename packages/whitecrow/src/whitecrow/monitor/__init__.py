"""Monitor: a detector kept current as records arrive, with an alarm when they change."""

from whitecrow.monitor.answer import Monitored
from whitecrow.monitor.facts import MonitorFacts, gather
from whitecrow.monitor.mechanism import following, release, resume, show
from whitecrow.monitor.question import Monitor, cost
from whitecrow.question import QuestionType, Series

__all__ = ["TYPE", "Monitor", "MonitorFacts", "Monitored", "gather", "release", "resume", "show"]

TYPE = QuestionType(Monitor, gather, release, cost, Series(resume, show, following))

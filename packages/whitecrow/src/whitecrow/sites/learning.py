"""One detector of several sites' records, at one price for each person."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

from whitecrow.curator import Curator
from whitecrow.curator.together import take_part
from whitecrow.detector import Detector
from whitecrow.errors import invalid
from whitecrow.learning import Learn
from whitecrow.learning.mechanism import learn
from whitecrow.sites.circle import Member, SharedMoney


def learn_together(curator: Curator, question: Learn, member: Member) -> Detector:
    """Take part in learning a detector; every site calls this with the same question and card.

    The price is charged to this site's account before its first number is sent, and stays charged
    if another site drops out: what was sent was sent.

    Parameters
    ----------
    curator : Curator
        Of this site's records.
    question : Learn
        The same at all sites, under add/remove. Thresholds are read off one more noisy histogram,
        of all sites' scores, since nobody may see the exact one to choose by.
    member : Member
        This site's side of the circle.

    Returns
    -------
    Detector
        The same at all sites.
    """
    if question.relation != "add_remove":
        hint = "How many records all sites have together is not public."
        raise invalid("learn_together", "relation", "'add_remove'", question.relation, hint)
    shared = SharedMoney.at(question.money(curator.card), member)
    question.check(replace(curator.card, contribution=shared.contribution))
    if question.rates and not shared.affords(question.shares[1], 1):
        raise invalid("learn_together", "threshold_share", "larger", question.threshold_share)
    about = [json.loads(question.canonical), curator.card.fingerprint()]
    bound = replace(member, subject=json.dumps(about))
    shared = replace(shared, member=bound)
    answer = take_part(
        curator,
        question,
        label=_digest(["label", member.circle.label]),
        agreement=_digest([member.circle.agreement, about]),
        release=lambda facts: learn(question, facts, money=shared).to_json(),
    )
    return _signed(Detector.from_json(answer), member)


def _digest(said: list[object]) -> str:
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def _signed(detector: Detector, member: Member) -> Detector:
    circle = member.circle
    note = (
        f"Learned by {len(circle.sites)} sites together ({', '.join(circle.sites)}); the noise of "
        f"any {circle.honest} of them keeps the promise, for persons with records at up to "
        f"{circle.overlap} of them."
    )
    return replace(detector, notes=(*detector.notes, note))

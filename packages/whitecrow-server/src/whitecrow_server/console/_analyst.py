"""The analyst's pages: ask, read, remember."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from whitecrow.data import Card
from whitecrow.detector import Detector
from whitecrow.errors import (
    BudgetExhausted,
    InvalidInput,
    NotKnown,
    NotReady,
    PolicyViolation,
    WhitecrowError,
    http_status,
)
from whitecrow.privacy import Guarantee, guarantee
from whitecrow.question import (
    Release,
    Said,
    coin_warning,
    digest,
    error_words,
    known_figures,
    statement,
)
from whitecrow.questions import kinds, question_type, type_of
from whitecrow.rendering import figure_rows
from whitecrow_server._scheduling import due
from whitecrow_server._untrusted_input import question_from, strict_json
from whitecrow_server.console import _charts as charts
from whitecrow_server.console import _code as code
from whitecrow_server.console import _scoring as scoring
from whitecrow_server.console import _screening as screening
from whitecrow_server.console._custodian import CUSTODIAN, stepping
from whitecrow_server.console._fields import labels_of, mistake
from whitecrow_server.console._forms import question_groups, read_question_form
from whitecrow_server.console._guide import STEPS, first_question
from whitecrow_server.console._show import gauges
from whitecrow_server.console._site import HOME, Form, Go, Page, Sent, Site, Visit, missing

_ASKING = ("analyst", "custodian")
_A_PAGE = 25
_MOST_PAGES = 10**6
_SHOWN = 50
_LONGEST_PAUSE = 10  # seconds, before a page that waits for an answer looks again

NO_ANSWER = {
    "open": "not answered yet",
    "failed": "failed; nothing was released",
    "void": "given back",
}
"""What became of a question without an answer, in words."""


def add(site: Site) -> None:
    service = site.service

    def opened(visit: Visit) -> tuple[dict[str, Any], Card]:
        found = service.dataset(visit.who, visit.part("name"))
        if found["card"] is None:
            raise NotReady("This dataset is being loaded; come back in a moment.")
        return found, Card.from_json(found["card"])

    def form_page(visit: Visit, *, status: int = 200, **more: Any) -> Page:
        found, card = opened(visit)
        kind = visit.part("kind")
        if kind not in kinds():
            raise missing()
        question = question_type(kind).question
        values: dict[str, Any] = {
            "dataset": found,
            "gauges": gauges(found),
            "steps": stepping(service, visit.who, found),
            "kind": kind,
            "title": question.__name__,
            "asks": question.asks,
            "groups": tuple(question_groups(question, card)),
            "typed": visit.form if visit.form.fields else _linked(visit),
            "guide": STEPS if visit.query("first") or visit.form.one("first") else (),
            "wrong": "",
            "priced": None,
            "dummy": None,
        }
        if visit.query("first"):
            suggested = first_question(card, [kind], found["remaining"])
            values["typed"] = visit.form if suggested is None else suggested.typed
        return Page("ask.html", {**values, **more}, status)

    def price(visit: Visit, **more: Any) -> Page:
        """Step one: what would it cost, and how wrong may it be?"""
        found, card = opened(visit)
        kind = visit.part("kind")
        if kind not in kinds():
            raise missing()
        try:
            asked = read_question_form(question_type(kind).question, visit.form, card)
            written = {"kind": kind, **asked.question}
            description = service.price(visit.who, found["name"], written, asked.public)
            question = question_from(written)
        except InvalidInput as error:
            labels = labels_of(question_groups(question_type(kind).question, card))
            return form_page(visit, status=http_status(error), **mistake(error, labels))
        words = description.words.removesuffix(description.price.statement()).strip()
        full = {"kind": kind, **question.to_json()}
        stored, refusal = _known(visit, full)
        priced = {
            "words": words,
            "warning": description.warning,
            "statement": statement(question, description.price, card),
            "price": description.price,
            "figures": figure_rows(question.figures, description.figures),
            "curve": screening.error_curve(description.figures),
            "question": full,
            "deadline": service.deadline(visit.who, found["name"], written),
            "left": found["remaining"].get(_line(description.price)),
            "stored": stored,
            "refusal": refusal,
            "alone": service.alone(visit.who, found["name"]),
        }
        return form_page(visit, priced=priced, **more)

    def _known(visit: Visit, written: dict[str, Any]) -> tuple[bool, str]:
        """Whether a question's answer is there already, or why it would be refused."""
        try:
            asking = service.prepare(visit.who, visit.part("name"), written)
            return service.stored(asking) is not None, ""
        except (BudgetExhausted, PolicyViolation) as error:
            return False, str(error)

    def dummy(visit: Visit) -> Page:
        """The question that was priced, about made-up records: free, and marked as such."""
        written = asked_of(visit)
        return price(visit, dummy=service.dummy(visit.who, visit.part("name"), written).in_words)

    def asked_of(visit: Visit) -> dict[str, Any]:
        kind = visit.part("kind")
        written = strict_json(visit.form.one("question").encode())
        if kind not in kinds() or not isinstance(written, dict) or written.get("kind") != kind:
            raise InvalidInput("The form is stale; load the page again.")
        return written

    def ask(visit: Visit) -> Page | Go:
        """Step two: ask the very question that was priced."""
        name, state = visit.part("name"), visit.request.state
        try:
            out: Release | WhitecrowError | None = state.out
            if isinstance(out, WhitecrowError):
                raise out
            release = out or site.handler.answered(visit.request, state.asking, lambda: visit.who)
        except (BudgetExhausted, PolicyViolation) as error:
            return form_page(visit, status=http_status(error), refused=str(error))
        if type_of(question_from(release.question)).series is not None:
            # The ledger has the series; the answer of a step is shown to whoever asks for it.
            return answer_page(visit, _released(release), again=not release.charged)
        key = digest(question_from(release.question))
        if not release.charged and own(visit, name, key) is None:
            # Somebody else asked it first. Their questions have no address for this visitor, who
            # could otherwise try digests and learn for nothing what others asked.
            return answer_page(visit, _released(release), again=True)
        again = "" if release.charged else "?again=1"
        return Go(f"{HOME}/datasets/{name}/answers/{key}{again}")

    def all_questions(visit: Visit, name: str) -> Iterator[dict[str, Any]]:
        """An analyst's questions, the newest first, read page by page."""
        skip = 0
        while True:
            listed = service.asked(visit.who, name, skip=skip)
            yield from reversed(listed)
            if not listed:
                return
            skip += len(listed)

    def history(visit: Visit) -> Page:
        found, card = opened(visit)
        page = int(visit.query("page")) if visit.query("page").isdecimal() else 1
        page = min(max(1, page), _MOST_PAGES)
        listed = service.asked(
            visit.who, found["name"], skip=(page - 1) * _A_PAGE, limit=_A_PAGE + 1
        )[::-1]
        shown = [
            {
                **one,
                "kind": one["question"]["kind"],
                "digest": _digest(one["question"]),
                "error": "",
            }
            for one in listed[:_A_PAGE]
        ]
        for one in shown:
            if one["outcome"] == "answered" and not one["digest"]:
                one["said"] = Said(str(one["answer"]))
            elif one["outcome"] == "answered":
                question = question_from(one["question"])
                one["said"] = question.says(one["answer"])
                one["error"] = error_words(question, known_figures(question, card))
            else:
                one["unanswered"] = NO_ANSWER[one["outcome"]]
        more = len(listed) > _A_PAGE
        values = {"questions": shown, "page": page, "pages": page + more}
        return Page("history.html", {"dataset": found, "gauges": gauges(found), **values})

    def own(visit: Visit, name: str, key: str) -> dict[str, Any] | None:
        """An analyst's own newest question with this digest, whatever has become of it."""
        asked = all_questions(visit, name)
        return next((one for one in asked if _digest(one["question"]) == key), None)

    def addressed(visit: Visit, name: str) -> dict[str, Any]:
        """An analyst's own question with the digest of the address: answered, or to be answered."""
        question = own(visit, name, visit.part("digest"))
        if question is None:
            raise missing()
        if question["outcome"] not in ("answered", "open"):
            raise NotKnown(f"This question has no answer: {NO_ANSWER[question['outcome']]}.")
        return question

    def detector_of(visit: Visit, name: str) -> Detector:
        """The detector that was learned by a question: public since it was released."""
        one = addressed(visit, name)
        if one["outcome"] == "open":
            raise NotReady("Your question is asked; its answer is not due yet.")
        learned = question_from(one["question"]).reads(one["answer"])
        if not isinstance(learned, Detector):
            raise missing()
        return learned

    def download(visit: Visit) -> Sent:
        found, _ = opened(visit)
        learned = detector_of(visit, found["name"])
        return Sent(f"{found['name']}.detector", learned.to_bytes())

    def score(visit: Visit) -> Page:
        """Score records that are sent along, and keep nothing of them."""
        found, _ = opened(visit)
        learned = detector_of(visit, found["name"])
        typed = visit.form.one("records")
        values: dict[str, Any] = {
            "dataset": found,
            "at": f"{HOME}/datasets/{found['name']}/answers/{visit.part('digest')}",
            "columns": learned.columns,
            "most_rows": scoring.MOST_ROWS,
            "most_bytes": service.settings.largest_body,
            "typed": typed,
            "wrong": "",
            "found": None,
        }
        if not typed:
            return Page("score.html", values)
        try:
            found_rows, reasons = scoring.scored(learned, typed)
            return Page("score.html", {**values, "found": found_rows, "reasons": reasons})
        except InvalidInput as error:
            found_wrong = {"wrong": str(error), "wrong_at": "records"}
            return Page("score.html", {**values, **found_wrong}, http_status(error))

    def flagged(visit: Visit) -> Page:
        """The records themselves, the strangest first: facts, for the custodian alone."""
        found, _ = opened(visit)
        learned = detector_of(visit, found["name"])
        scores = service.own_scores(visit.who, found["name"], learned, top=_SHOWN)
        at = f"{HOME}/datasets/{found['name']}/answers/{visit.part('digest')}"
        return Page("flagged.html", {"dataset": found, "at": at, "found": scores})

    def flagged_file(visit: Visit) -> Sent:
        name = visit.part("name")
        learned = detector_of(visit, name)
        scores = service.own_scores(visit.who, name, learned, top=1, whole=True)
        return Sent(f"{name}-scores.csv", scores["csv"].encode())

    def answer(visit: Visit) -> Page:
        found, _ = opened(visit)
        question = addressed(visit, found["name"])
        if question["outcome"] == "open":
            return waiting(visit, found, question)
        return answer_page(visit, question, again=bool(visit.query("again")))

    def waiting(visit: Visit, found: dict[str, Any], question: dict[str, Any]) -> Page:
        """A page that loads itself anew until the reply is due; it needs no script."""
        deadline = service.deadline(visit.who, found["name"], question["question"]) or 1.0
        elapsed = time.time() - datetime.fromisoformat(question["at"]).timestamp()
        left = max(0.0, due(elapsed, deadline) - elapsed)  # when the next replies leave
        after = min(max(1, math.ceil(left)), _LONGEST_PAUSE)
        values = {"dataset": found, "asked": question, "deadline": deadline, "after": after}
        values["left"] = math.ceil(left)
        return Page("waiting.html", values, 202, after)

    def answer_page(visit: Visit, one: dict[str, Any], *, again: bool) -> Page:
        found, card = opened(visit)
        question, price = question_from(one["question"]), guarantee(one["price"])
        kind = one["question"]["kind"]
        said, known = question.says(one["answer"]), known_figures(question, card)
        learned = question.reads(one["answer"]) if kind == "learn" else None
        values = {
            "dataset": found,
            "gauges": gauges(found),
            "kind": kind,
            "title": type(question).__name__,
            "asked": one,
            "said": said,
            "pictures": learned.pictures() if isinstance(learned, Detector) else said.pictures,
            "price": price,
            "statement": statement(question, price, card),
            "figures": figure_rows(question.figures, known),
            "error": error_words(question, known),
            "warning": coin_warning(question, known),
            "again": again,
            "code": code.listings(one["question"], found["name"], _address(visit)),
            "chart": charts.series(said.series) if said.series else None,
            "detector": visit.request.url.path if kind == "learn" else None,
            "screening": one["question"] if kind == "screening" else None,
            "draft": one["answer"].get("entry") if kind == "profile" else None,
            "first": len(service.asked(visit.who, found["name"], limit=2)) == 1,
            "why": _card_reason(visit, found["name"]) if kind == "learn" else "",
        }
        return Page("answer.html", values)

    def _card_reason(visit: Visit, name: str) -> str:
        """Why the card is as it is, for the custodian: which columns were left out, perhaps."""
        if visit.who.role not in CUSTODIAN:
            return ""
        acts = service.told.entries(name, kind="amend", newest_first=True, limit=10)
        return next((str(act.content["reason"]) for act in acts if "card" in act.content), "")

    site.get("/datasets/{name}/ask/{kind}", form_page, roles=_ASKING)
    site.post("/datasets/{name}/ask/{kind}", price, roles=_ASKING)
    site.post("/datasets/{name}/ask/{kind}/now", ask, roles=_ASKING, asks=True)
    site.post("/datasets/{name}/ask/{kind}/dummy", dummy, roles=_ASKING)
    site.get("/datasets/{name}/history", history, roles=_ASKING)
    site.get("/datasets/{name}/answers/{digest}", answer, roles=_ASKING)
    site.get("/datasets/{name}/answers/{digest}/detector", download, roles=_ASKING)
    site.get("/datasets/{name}/answers/{digest}/score", score, roles=_ASKING)
    site.post("/datasets/{name}/answers/{digest}/score", score, roles=_ASKING)
    site.get("/datasets/{name}/answers/{digest}/flagged", flagged, roles=CUSTODIAN)
    site.get("/datasets/{name}/answers/{digest}/scores.csv", flagged_file, roles=CUSTODIAN)


def _linked(visit: Visit) -> Form:
    """What a link filled in: text in the fields of a form, read like what a person types there."""
    query = visit.request.query_params
    return Form({name: query.getlist(name) for name in query if name != "done"})


def _released(release: Release) -> dict[str, Any]:
    """A release as the entry of a history is."""
    return {
        "question": release.question,
        "answer": release.answer,
        "at": datetime.now(UTC).isoformat(),
        "price": release.guarantee.to_json(),
    }


def _address(visit: Visit) -> str:
    """The service's address as this visitor reaches it."""
    return str(visit.request.base_url).rstrip("/")


def _digest(written: dict[str, Any]) -> str:
    """A question's digest; none of one whose package is no longer installed."""
    return digest(question_from(written)) if written["kind"] in kinds() else ""


def _line(price: Guarantee) -> str:
    """The line of the account on which a price counts first."""
    return "differential" if price.notion == "concentrated" else price.notion

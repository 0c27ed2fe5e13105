"""The analyst's pages: ask, read, remember."""

from __future__ import annotations

import csv
import io
import math
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from whitecrow.data import Card
from whitecrow.detector import Detector
from whitecrow.detector.contributions import TopOutliers
from whitecrow.errors import (
    BudgetExhausted,
    InvalidInput,
    NotKnown,
    NotReady,
    PolicyViolation,
    http_status,
)
from whitecrow.privacy import Guarantee, guarantee
from whitecrow.question import (
    Question,
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
from whitecrow_server.console import _code as code
from whitecrow_server.console import _screening as screening
from whitecrow_server.console._datasets import (
    ASKING,
    CUSTODIAN,
    STEPS,
    first_question,
    loaded_card,
    stepping,
)
from whitecrow_server.console._forms import labels_of, question_groups, read_question_form
from whitecrow_server.console._show import series_chart
from whitecrow_server.console._site import HOME, Go, Page, Sent, Site, Visit, missing

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
        dataset = service.dataset(visit.who, visit.part("name"))
        return dataset, loaded_card(dataset)

    def form_page(visit: Visit, **more: Any) -> Page:
        dataset, card = opened(visit)
        kind, question = _kind(visit)
        values: dict[str, Any] = {
            "dataset": dataset,
            "steps": stepping(service, visit.who, dataset),
            "kind": kind,
            "title": question.__name__,
            "asks": question.asks,
            "groups": tuple(question_groups(question, card)),
            "typed": visit.form if visit.form.fields else visit.linked,
            "guide": STEPS if visit.query("first") or visit.form.one("first") else (),
            "priced": None,
            "dummy": None,
        }
        if visit.query("first"):
            suggested = first_question(card, [kind], dataset["remaining"])
            values["typed"] = visit.form if suggested is None else suggested.typed
        return Page("ask.html", {**values, **more})

    def price(visit: Visit, **more: Any) -> Page:
        """Step one: what would it cost, and how wrong may it be?"""
        dataset, card = opened(visit)
        kind, declared = _kind(visit)
        try:
            asked, public = read_question_form(declared, visit.form, card)
            encoded = {"kind": kind, **asked}
            description = service.price(visit.who, dataset["name"], encoded, public)
            question = question_from(encoded)
        except InvalidInput as error:
            return form_page(visit).refusing(error, labels_of(question_groups(declared, card)))
        words = description.words.removesuffix(description.price.statement()).strip()
        full = {"kind": kind, **question.to_json()}
        stored, refusal = _stored_or_refused(visit, full)
        priced = {
            "words": words,
            "warning": description.warning,
            "statement": statement(question, description.price, card),
            "price": description.price,
            "figures": figure_rows(question.figures, description.figures),
            "curve": screening.error_curve(description.figures),
            "question": full,
            "deadline": service.deadline(visit.who, dataset["name"], encoded),
            "left": dataset["remaining"].get(_line(description.price)),
            "stored": stored,
            "refusal": refusal,
            "alone": service.alone(visit.who, dataset["name"]),
        }
        return form_page(visit, priced=priced, **more)

    def _stored_or_refused(visit: Visit, encoded: dict[str, Any]) -> tuple[bool, str]:
        """Whether a question's answer is there already, or why it would be refused."""
        try:
            asking = service.prepare(visit.who, visit.part("name"), encoded)
            return service.stored(asking) is not None, ""
        except (BudgetExhausted, PolicyViolation) as error:
            return False, str(error)

    def dummy(visit: Visit) -> Page:
        """The question that was priced, about synthetic records: free, and marked as such."""
        question = asked_of(visit)
        return price(visit, dummy=service.dummy(visit.who, visit.part("name"), question).in_words)

    def asked_of(visit: Visit) -> dict[str, Any]:
        kind = visit.part("kind")
        question = strict_json(visit.form.one("question").encode())
        if kind not in kinds() or not isinstance(question, dict) or question.get("kind") != kind:
            raise InvalidInput("The form is stale; load the page again.")
        return question

    def ask(visit: Visit) -> Page | Go:
        """Step two: ask the very question that was priced."""
        name = visit.part("name")
        try:
            release = site.released(visit)
        except (BudgetExhausted, PolicyViolation) as error:
            return replace(form_page(visit, refused=str(error)), status=http_status(error))
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
        while listed := service.asked(visit.who, name, skip=skip):
            yield from reversed(listed)
            skip += len(listed)

    def history(visit: Visit) -> Page:
        dataset, card = opened(visit)
        page = int(visit.query("page")) if visit.query("page").isdecimal() else 1
        page = min(max(1, page), _MOST_PAGES)
        listed = service.asked(
            visit.who, dataset["name"], skip=(page - 1) * _A_PAGE, limit=_A_PAGE + 1
        )[::-1]
        shown = listed[:_A_PAGE]
        for asked in shown:
            asked |= {"kind": asked["question"]["kind"], "error": ""}
            asked["digest"] = _digest(asked["question"])
            if asked["outcome"] != "answered":
                asked["unanswered"] = NO_ANSWER[asked["outcome"]]
            elif asked["digest"]:
                question = question_from(asked["question"])
                asked["said"] = question.says(asked["answer"])
                asked["error"] = error_words(question, known_figures(question, card))
            else:
                asked["said"] = Said(str(asked["answer"]))
        more = len(listed) > _A_PAGE
        values = {"questions": shown, "page": page, "pages": page + more}
        return Page("history.html", {"dataset": dataset, **values})

    def own(visit: Visit, name: str, key: str) -> dict[str, Any] | None:
        """An analyst's own newest question with this digest, whatever has become of it."""
        asked = all_questions(visit, name)
        return next((entry for entry in asked if _digest(entry["question"]) == key), None)

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
        entry = addressed(visit, name)
        if entry["outcome"] == "open":
            raise NotReady("Your question is asked; its answer is not due yet.")
        learned = question_from(entry["question"]).reads(entry["answer"])
        if not isinstance(learned, Detector):
            raise missing()
        return learned

    def download(visit: Visit) -> Sent:
        name = opened(visit)[0]["name"]
        return Sent(f"{name}.detector", detector_of(visit, name).to_bytes())

    def score(visit: Visit) -> Page:
        """Score records that are sent along, and keep nothing of them."""
        dataset, _ = opened(visit)
        learned = detector_of(visit, dataset["name"])
        typed = visit.form.one("records")
        values: dict[str, Any] = {
            "dataset": dataset,
            "at": _answer_at(visit),
            "columns": learned.columns,
            "most_rows": MOST_ROWS,
            "most_bytes": service.settings.largest_body,
            "typed": typed,
            "found": None,
        }
        try:
            if typed:
                values["found"], values["reasons"] = scored(learned, typed)
        except InvalidInput as error:
            return Page("score.html", values).refusing(error, at="records")
        return Page("score.html", values)

    def flagged(visit: Visit) -> Page:
        """The records themselves, the highest scores first: facts, for the custodian alone."""
        dataset, _ = opened(visit)
        learned = detector_of(visit, dataset["name"])
        scores = service.own_scores(visit.who, dataset["name"], learned, top=_SHOWN)
        return Page("flagged.html", {"dataset": dataset, "at": _answer_at(visit), "found": scores})

    def flagged_file(visit: Visit) -> Sent:
        name = visit.part("name")
        learned = detector_of(visit, name)
        scores = service.own_scores(visit.who, name, learned, top=1, whole=True)
        return Sent(f"{name}-scores.csv", scores["csv"].encode())

    def answer(visit: Visit) -> Page:
        dataset, _ = opened(visit)
        question = addressed(visit, dataset["name"])
        if question["outcome"] == "open":
            return waiting(visit, dataset, question)
        return answer_page(visit, question, again=bool(visit.query("again")))

    def waiting(visit: Visit, dataset: dict[str, Any], question: dict[str, Any]) -> Page:
        """A page that loads itself anew until the reply is due; it needs no script."""
        deadline = service.deadline(visit.who, dataset["name"], question["question"]) or 1.0
        elapsed = time.time() - datetime.fromisoformat(question["at"]).timestamp()
        left = max(0.0, due(elapsed, deadline) - elapsed)  # when the next replies leave
        after = min(max(1, math.ceil(left)), _LONGEST_PAUSE)
        values = {"dataset": dataset, "asked": question, "deadline": deadline, "after": after}
        values["left"] = math.ceil(left)
        return Page("waiting.html", values, 202, after)

    def answer_page(visit: Visit, entry: dict[str, Any], *, again: bool) -> Page:
        dataset, card = opened(visit)
        question, price = question_from(entry["question"]), guarantee(entry["price"])
        kind = entry["question"]["kind"]
        phrased, figures = question.says(entry["answer"]), known_figures(question, card)
        learned = question.reads(entry["answer"]) if kind == "learn" else None
        values = {
            "dataset": dataset,
            "kind": kind,
            "title": type(question).__name__,
            "asked": entry,
            "said": phrased,
            "pictures": learned.pictures() if isinstance(learned, Detector) else phrased.pictures,
            "price": price,
            "statement": statement(question, price, card),
            "figures": figure_rows(question.figures, figures),
            "error": error_words(question, figures),
            "warning": coin_warning(question, figures),
            "again": again,
            "code": code.listings(entry["question"], dataset["name"], visit.address),
            "chart": series_chart(phrased.series) if phrased.series else None,
            "detector": visit.request.url.path if kind == "learn" else None,
            "screening": entry["question"] if kind == "screening" else None,
            "draft": entry["answer"].get("entry") if kind == "profile" else None,
            "first": len(service.asked(visit.who, dataset["name"], limit=2)) == 1,
            "why": _card_reason(visit, dataset["name"]) if kind == "learn" else "",
        }
        return Page("answer.html", values)

    def _card_reason(visit: Visit, name: str) -> str:
        """Why the card is as it is, for the custodian: which columns were left out, perhaps."""
        if visit.who.role not in CUSTODIAN:
            return ""
        acts = service.told.entries(name, kind="amend", newest_first=True, limit=10)
        return next((str(act.content["reason"]) for act in acts if "card" in act.content), "")

    site.get("/datasets/{name}/ask/{kind}", form_page, roles=ASKING)
    site.post("/datasets/{name}/ask/{kind}", price, roles=ASKING)
    site.post("/datasets/{name}/ask/{kind}/now", ask, roles=ASKING, asks=True)
    site.post("/datasets/{name}/ask/{kind}/dummy", dummy, roles=ASKING)
    site.get("/datasets/{name}/history", history, roles=ASKING)
    site.get("/datasets/{name}/answers/{digest}", answer, roles=ASKING)
    site.get("/datasets/{name}/answers/{digest}/detector", download, roles=ASKING)
    site.get("/datasets/{name}/answers/{digest}/score", score, roles=ASKING)
    site.post("/datasets/{name}/answers/{digest}/score", score, roles=ASKING)
    site.get("/datasets/{name}/answers/{digest}/flagged", flagged, roles=CUSTODIAN)
    site.get("/datasets/{name}/answers/{digest}/scores.csv", flagged_file, roles=CUSTODIAN)


def _kind(visit: Visit) -> tuple[str, type[Question]]:
    """Which kind of question the address names, if there is such a kind."""
    kind = visit.part("kind")
    if kind not in kinds():
        raise missing()
    return kind, question_type(kind).question


def _answer_at(visit: Visit) -> str:
    return f"{HOME}/datasets/{visit.part('name')}/answers/{visit.part('digest')}"


def _released(release: Release) -> dict[str, Any]:
    """A release as the entry of a history is."""
    return {
        "question": release.question,
        "answer": release.answer,
        "at": datetime.now(UTC).isoformat(),
        "price": release.guarantee.to_json(),
    }


def _digest(encoded: dict[str, Any]) -> str:
    """A question's digest; empty if its package is no longer installed."""
    return digest(question_from(encoded)) if encoded["kind"] in kinds() else ""


def _line(price: Guarantee) -> str:
    """The line of the account on which a price counts first."""
    return "differential" if price.notion == "concentrated" else price.notion


# Records dropped on a page, and their scores: the detector is public, and nothing is kept

MOST_ROWS = 20_000
_SCORED = 100


def scored(detector: Detector, text: str) -> tuple[TopOutliers, list[str]]:
    """Score the records of a CSV text; return the top outliers, and for each its telling values."""
    table = _table(text)
    top = detector.top_outliers(table, top=_SCORED)
    values = [
        ", ".join(f"{name} = {table[name][row.row - 1].as_py()}" for name, _ in row.reasons)
        for row in top.rows
    ]
    return top, [words or "no column alone" for words in values]


def _table(text: str) -> Any:
    """Read CSV with a heading; every value is text, and empty ones are missing."""
    import pyarrow

    try:
        heading, *rows = csv.reader(io.StringIO(text.strip()), strict=True)
    except (csv.Error, ValueError):
        raise InvalidInput("The text is no CSV: a header, then one row for each record.") from None
    if len(set(heading)) < len(heading):
        raise InvalidInput("The header names a column twice.")
    if len(rows) > MOST_ROWS:
        raise InvalidInput(
            f"There are {len(rows):,} records; a page scores {MOST_ROWS:,} at the most. "
            "Download the detector and use `whitecrow score` for more."
        )
    if any(len(row) != len(heading) for row in rows):
        raise InvalidInput("A row does not have as many fields as the header.")
    columns = zip(*rows, strict=True) if rows else [()] * len(heading)
    return pyarrow.table(
        {
            name: pyarrow.array([value or None for value in column], pyarrow.string())
            for name, column in zip(heading, columns, strict=True)
        }
    )

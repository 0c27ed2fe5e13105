"""From a file that nobody has described to a first question, step by step; for custodians.

File, columns, profile, card, model, question. Nothing has to be known that only the records tell:
what is not public is bought by a profile, whose card the custodian reads, edits and accepts.
"""

from __future__ import annotations

import json
import urllib.parse
from typing import Any

from whitecrow.card import Card
from whitecrow.curator.models import ModelAdvice, compared
from whitecrow.curator.undescribed import steps
from whitecrow.data import is_lake
from whitecrow.errors import InvalidInput, NotReady, WhitecrowError, http_status
from whitecrow.histogram.table import TableProfile
from whitecrow.learning import Learn
from whitecrow.neighbours import METRICS, engine_names
from whitecrow.neighbours.relation import SCALED
from whitecrow.question import digest
from whitecrow_server._undescribed import Wanted, bare
from whitecrow_server._untrusted_input import question_from
from whitecrow_server._uploads import UPLOADS
from whitecrow_server.console._card_form import (
    CSV_FIELDS,
    TABLE_FIELDS,
    card_page,
    form_of,
    read_card,
    read_format,
)
from whitecrow_server.console._custodian import stepping
from whitecrow_server.console._fields import Field, choices, decimal, whole
from whitecrow_server.console._promise import meaning
from whitecrow_server.console._site import HOME, Form, Go, Page, Site, Visit

_CUSTODIAN = ("custodian",)
_ASKING = ("analyst", "custodian")


def add(site: Site) -> None:
    service = site.service

    # 1. The file

    def new(visit: Visit, wrong: str = "", status: int = 200) -> Page:
        values = {
            "wrong": wrong,
            "typed": visit.form,
            "engines": engine_names(),
            "files": _files(site),
            "upload": service.settings.largest_upload if service.settings.folder else 0,
            "databases": sorted(service.settings.databases),
            "csv_fields": CSV_FIELDS,
            "table_fields": TABLE_FIELDS,
        }
        return Page("new_dataset.html", values, status)

    # 2. The columns

    def columns(visit: Visit) -> Page:
        """Names and types from the source, for the custodian to complete."""
        form = visit.form
        try:
            card, guessed = service.onboarding.sketch(visit.who, _source(form), **read_format(form))
        except WhitecrowError as error:
            return new(visit, str(error), http_status(error))
        typed = Form({**form_of(card).fields, **_carried(form)})
        return _columns_page(typed, guessed=guessed)

    def register(visit: Visit) -> Page | Go:
        """List the dataset, by the rows of the form or by a card that was pasted."""
        form, rows = visit.form, bool(visit.form.all("column"))
        try:
            written = read_card(form, form.one("name")) if rows else form.one("card") or None
            service.register(
                visit.who,
                form.one("name"),
                _source(form),
                card=written,
                budget=form.one("budget") or "1",
                engine=form.one("engine") or "local",
            )
        except InvalidInput as error:
            if rows:
                return _columns_page(form, wrong=str(error), status=http_status(error))
            return new(visit, str(error), http_status(error))
        at = f"{HOME}/datasets/{form.one('name')}"
        return Go(f"{at}/ask/profile?done=registered" if rows else f"{at}/policy?done=registered")

    # Or: no card at all

    def wanted(form: Form) -> Wanted:
        """What the forms of both steps say; the first has no price yet."""
        rates = form.one("false_alarms", "0.01")
        asked = Learn(
            epsilon=form.one("epsilon") or "1",
            delta=form.one("delta") or "1e-6",
            false_alarms=[float(decimal(rates, "False alarms"))] if rates else None,
        )
        at_most = form.one("records_at_most") or "250000"
        return Wanted(
            form.one("name"),
            _source(form),
            asked,
            form.one("budget") or "1",
            csv=read_format(form)["csv"],
            records_at_most=whole(at_most, "A public bound"),
            engine=form.one("engine") or "local",
        )

    def priced(visit: Visit, wrong: str = "", status: int = 200) -> Page:
        """What learning costs, what it buys and of which columns; nothing is registered yet."""
        try:
            asked = wanted(visit.form)
            schema = service.undescribed.schema(visit.who, asked)
        except WhitecrowError as error:
            return new(visit, str(error), http_status(error))
        carried = [*_STEP_ONE, *(field.name for field in CSV_FIELDS)]
        price = {
            "epsilon": str(asked.asked.epsilon),
            "delta": str(asked.asked.delta),
            "false_alarms": visit.form.one("false_alarms", "0.01"),
            "records_at_most": str(asked.records_at_most),
        }
        values = {
            "wrong": wrong,
            "typed": Form({name: [value] for name, value in price.items()}),
            "hidden": {name: visit.form.one(name) for name in carried},
            "price": asked.price,
            "priced": price,
            "steps_of_it": steps(asked.asked, bare(schema)),
            "columns": [(column.name, column.type) for column in schema.columns],
            "fields": _PRICE_FIELDS,
            "alone": service.alone(visit.who, ""),
        }
        return Page("undescribed.html", values, status)

    def learn(visit: Visit) -> Page | Go:
        """Spend what was priced: register the file, describe it and learn."""
        try:
            asked = wanted(visit.form)
            at_once = visit.form.one("at_once") == "yes"
            service.undescribed.begin(visit.who, asked, at_once=at_once)
        except InvalidInput as error:
            return priced(visit, str(error), http_status(error))
        return Go(f"{HOME}/datasets/{asked.name}/learning")

    def learning(visit: Visit) -> Page | Go:
        """How far it is; then the answer."""
        name = visit.part("name")
        found = service.dataset(visit.who, name)
        state = service.undescribed.progress(visit.who, name)
        asked = service.asked(visit.who, name)
        last = next((one for one in asked[::-1] if one["question"]["kind"] == "learn"), None)
        if last is not None and last["outcome"] == "answered":
            key = digest(question_from(last["question"]))
            return Go(f"{HOME}/datasets/{name}/answers/{key}")
        if state is None and not asked:  # nobody learns here
            return Go(f"{HOME}/datasets/{name}")
        values = {
            "dataset": found,
            "profiles": sum(one["outcome"] == "answered" for one in asked),
            "learns": last is not None,
            "state": state,
        }
        return Page("learning.html", values, 200 if state and state.failed else 202, _LOOK_SECONDS)

    # 4. The card: drafted by a profile, or in force

    def drafted(visit: Visit, name: str, entry: str) -> TableProfile | None:
        for one in service.onboarding.drafts(visit.who, name) if entry else ():
            if one.profile.entry == entry:
                return one.profile
        return None

    def card_editor(visit: Visit, wrong: str = "", status: int = 200) -> Page:
        found = service.dataset(visit.who, visit.part("name"))
        if found["card"] is None:
            raise NotReady("This dataset is being loaded; come back in a moment.")
        in_force = Card.from_json(found["card"])
        drafts = service.onboarding.drafts(visit.who, found["name"])
        wanted = visit.form.one("draft") or visit.query("draft")
        if not wanted and not visit.form.fields:
            # A profile of the card in force drafted what comes next: nobody wants to see the old.
            wanted = next((d.profile.entry for d in drafts if d.profile.basis == in_force), "")
        profile = drafted(visit, found["name"], wanted)
        shown = in_force if profile is None else profile.card()
        values = {
            "dataset": found,
            "steps": stepping(service, visit.who, found),
            "draft": "" if profile is None else profile.entry,
            "drafts": [] if profile else drafts,
            "text": visit.form.one("card") or json.dumps(found["card"], indent=2),
            "wrong": wrong,
            "reason": visit.form.one("reason"),
            **card_page(
                visit.form if visit.form.all("column") else form_of(shown), _notes(profile)
            ),
        }
        return Page("card.html", values, status)

    def change_card(visit: Visit) -> Page | Go:
        name, form = visit.part("name"), visit.form
        profile = drafted(visit, name, form.one("draft"))
        try:
            if profile is not None:
                said = read_card(form, name, profile.card())
                draft = {**said, "draft": profile.entry}
                service.onboarding.accept(visit.who, name, draft, reason=form.one("reason"))
                return Go(f"{HOME}/datasets/{name}/model?done=card")
            service.amend(visit.who, name, reason=form.one("reason"), card=_typed_card(visit, name))
        except (WhitecrowError, ValueError, RecursionError) as error:
            wrong = str(error) if isinstance(error, WhitecrowError) else "This is not valid JSON."
            return card_editor(visit, wrong, 422)
        return Go(f"{HOME}/datasets/{name}?done=card")

    def _typed_card(visit: Visit, name: str) -> Any:
        form = visit.form
        if form.all("column"):
            in_force = service.dataset(visit.who, name)["card"]
            return read_card(form, name, None if in_force is None else Card.from_json(in_force))
        text = form.one("card")
        return json.loads(text) if text.startswith("{") else text

    # 5. The model

    def model(visit: Visit, advice: ModelAdvice | None = None, **more: Any) -> Page:
        found = service.dataset(visit.who, visit.part("name"))
        if found["card"] is None:
            raise NotReady("This dataset is being loaded; come back in a moment.")
        card = Card.from_json(found["card"])
        status = more.pop("status", 200)
        values = {
            "dataset": found,
            "steps": stepping(service, visit.who, found),
            "fields": _model_fields(card),
            "typed": visit.form if visit.form.fields else _usual(card),
            "wrong": "",
            "advice": advice,
            "meaning": "" if advice is None else meaning(advice.description.price),
            "next": [] if advice is None else _next(advice, found["name"]),
            **more,
        }
        return Page("model.html", values, status)

    def advise(visit: Visit) -> Page:
        form = visit.form
        try:
            return model(
                visit,
                service.onboarding.advise(
                    visit.who,
                    visit.part("name"),
                    contamination=form.one("contamination"),
                    columns=form.all("columns") or None,
                    metric=form.one("metric"),
                    beta=whole(form.one("beta"), "Most neighbours β"),
                    records=whole(form.one("records"), "Records") if form.one("records") else None,
                    epsilon=form.one("epsilon"),
                ),
            )
        except InvalidInput as error:
            return model(visit, wrong=str(error), status=http_status(error))

    site.get("/register", new, roles=_CUSTODIAN)
    site.upload(UPLOADS.removeprefix(HOME), roles=_CUSTODIAN)
    site.post("/register/columns", columns, roles=_CUSTODIAN)
    site.post("/register/price", priced, roles=_CUSTODIAN)
    site.post("/register/learn", learn, roles=_CUSTODIAN)
    site.get("/datasets/{name}/learning", learning, roles=_CUSTODIAN)
    site.post("/register", register, roles=_CUSTODIAN)
    site.get("/datasets/{name}/card", card_editor, roles=_CUSTODIAN)
    site.post("/datasets/{name}/card", change_card, roles=_CUSTODIAN)
    site.get("/datasets/{name}/model", model, roles=_ASKING)
    site.post("/datasets/{name}/model", advise, roles=_ASKING)


_LOOK_SECONDS = 2
_PRICE_FIELDS = (
    Field("epsilon", "ε for everything together", "Exact: 1 or 1/2.", required=True),
    Field("delta", "δ", "1e-6, say; with 0 noise is larger, and texts are left out."),
    Field("false_alarms", "Share of false alarms", "Records above it are flagged; empty: none."),
    Field(
        "records_at_most",
        "At most how many records",
        "A public bound, with room: limits of time and memory come from it.",
        type="number",
    ),
)
_STEP_ONE = ("name", "file", "database", "query", "engine", "budget")


def _carried(form: Form) -> dict[str, list[str]]:
    """What was chosen in the first step goes along with the second."""
    return {name: [form.one(name)] for name in _STEP_ONE}


def _columns_page(
    typed: Form, *, wrong: str = "", status: int = 200, guessed: bool = False
) -> Page:
    values = {"wrong": wrong, "guessed": guessed, "hidden": _carried(typed), **card_page(typed)}
    return Page("columns.html", values, status)


def _source(form: Form) -> dict[str, str]:
    if form.one("database"):
        return {"database": form.one("database"), "query": form.one("query")}
    return {"file": form.one("file")}


def _files(site: Site) -> list[str]:
    """The data files that could be registered: names only, for the custodian."""
    folder = site.service.settings.folder
    if folder is None:
        return []
    kinds = (".csv", ".parquet", ".pq", ".duckdb")
    found = (path for path in folder.iterdir() if path.suffix.lower() in kinds or is_lake(path))
    return sorted(path.name for path in found)[:500]


def _notes(profile: TableProfile | None) -> dict[str, str]:
    """What the profile found of each column, in a line."""
    if profile is None:
        return {}
    heading, *rows = profile.rows()
    return {
        row[0]: " · ".join(
            f"{what} {said}"
            for what, said in zip(heading[2:], row[2:], strict=True)
            if said and what != "between"
        )
        for row in rows
    }


def _model_fields(card: Card) -> tuple[Field, ...]:
    named = [column.name for column in card.columns if column.type != "text"]
    return (
        Field(
            "contamination",
            "Share of outliers wanted",
            "0.01 makes one record in a hundred an outlier.",
            required=True,
        ),
        Field(
            "metric",
            "Distance",
            "Those with scales divide each column by its scale on the card.",
            type="select",
            options=choices([*SCALED, *(one for one in METRICS if one not in SCALED)]),
        ),
        Field("beta", "Most neighbours β", "An outlier has at most this many, itself included."),
        Field("columns", "Columns that are compared", type="checks", options=choices(named)),
        Field(
            "records",
            "About how many records",
            "Only where neither card nor profile says.",
            type="number",
        ),
        Field("epsilon", "ε, if the data are to choose", "The price of a tune question."),
    )


def _usual(card: Card) -> Form:
    """What stands in the fields at first: all columns that have a scale."""
    metric = "standardised"
    try:
        columns = list(compared(card, metric))
    except InvalidInput:
        metric, columns = "euclidean", []
    return Form(
        {
            "contamination": ["0.01"],
            "metric": [metric],
            "beta": ["20"],
            "columns": columns,
            "epsilon": ["1"],
        }
    )


def _next(advice: ModelAdvice, dataset: str) -> list[tuple[str, str, str]]:
    """Questions to go on with: the address of a form that is filled in, its name, and why."""
    model, tune = advice.model, advice.question
    shared = {
        "columns": list(advice.columns),
        "beta": str(model.beta),
        "metric": model.metric,
        "epsilon": str(tune.epsilon),
    }
    radius = f"{model.radius:g}"
    radii = ",".join(f"{one:g}" for one in tune.radii)

    def form(kind: str, **fields: Any) -> str:
        written = urllib.parse.urlencode({**shared, **fields}, doseq=True)
        return f"{HOME}/datasets/{dataset}/ask/{kind}?{written}"

    return [
        (form("count", radius=radius), "Count the outliers", "with this model"),
        (
            form("tune", share=str(tune.share), radii=radii),
            "Have the data choose the radius",
            f"expected error: {advice.description.error}",
        ),
        (form("screen", radius=radius), "Screen a record", "with this model"),
        (
            f"{HOME}/datasets/{dataset}/ask/learn",
            "Learn a detector",
            "which needs no model and scores for ever",
        ),
    ]

"""From a file that nobody has described to a first question, step by step; for custodians.

File, columns, profile, card, model, question. Nothing has to be known that only the records tell:
what is not public is bought by a profile, whose card the custodian reads, edits and accepts.
"""

from __future__ import annotations

import json
import urllib.parse
from typing import Any

from whitecrow.card import Card
from whitecrow.curator.advice import ModelAdvice, compared
from whitecrow.curator.undescribed import steps
from whitecrow.data import is_lake
from whitecrow.errors import InvalidInput, WhitecrowError
from whitecrow.histogram.table import TableProfile
from whitecrow.learning import Learn
from whitecrow.neighbours import METRICS, engine_names
from whitecrow.neighbours.relation import SCALED
from whitecrow.question import digest
from whitecrow_server._onboarding import UPLOADS, Wanted, bare
from whitecrow_server._untrusted_input import question_from
from whitecrow_server.console._card_form import (
    CSV_FIELDS,
    TABLE_FIELDS,
    card_page,
    form_of,
    read_card,
    read_format,
)
from whitecrow_server.console._datasets import (
    ASKING,
    CUSTODIAN,
    card_in,
    loaded_card,
    meaning,
    stepping,
)
from whitecrow_server.console._forms import Field, choices, decimal, whole
from whitecrow_server.console._site import HOME, Again, Form, Go, Page, Site, Visit


def add(site: Site) -> None:
    service = site.service

    # 1. The file

    def new(visit: Visit) -> Page:
        values = {
            "engines": engine_names(),
            "files": _files(site),
            "upload": service.settings.largest_upload if service.settings.folder else 0,
            "databases": sorted(service.settings.databases),
            "csv_fields": CSV_FIELDS,
            "table_fields": TABLE_FIELDS,
        }
        return Page("new_dataset.html", values)

    # 2. The columns

    def columns(visit: Visit) -> Page:
        """Names and types from the source, for the custodian to complete."""
        form = visit.form
        card, guessed = service.onboarding.sketch(visit.who, _source(form), **read_format(form))
        return _columns_page(Form({**form_of(card).fields, **_carried(form)}), guessed=guessed)

    def register(visit: Visit) -> Go:
        """List the dataset, by the rows of the form or by a card that was pasted."""
        form, rows = visit.form, bool(visit.form.all("column"))
        card = read_card(form, form.one("name")) if rows else form.one("card") or None
        service.register(
            *(visit.who, form.one("name"), _source(form)),
            card=card,
            budget=form.one("budget") or "1",
            engine=form.one("engine") or "local",
        )
        at = f"{HOME}/datasets/{form.one('name')}"
        return Go(f"{at}/ask/profile?done=registered" if rows else f"{at}/policy?done=registered")

    def typed_again(visit: Visit) -> Page:
        return _columns_page(visit.form) if visit.form.all("column") else new(visit)

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

    def priced(visit: Visit) -> Page:
        """What learning costs, what it buys and of which columns; nothing is registered yet."""
        try:
            asked = wanted(visit.form)
            schema = service.undescribed.schema(visit.who, asked)
        except WhitecrowError as error:
            return new(visit).refusing(error)
        carried = [*_STEP_ONE, *(field.name for field in CSV_FIELDS)]
        price = {
            "epsilon": str(asked.asked.epsilon),
            "delta": str(asked.asked.delta),
            "false_alarms": visit.form.one("false_alarms", "0.01"),
            "records_at_most": str(asked.records_at_most),
        }
        values = {
            "typed": Form({name: [value] for name, value in price.items()}),
            "hidden": {name: visit.form.one(name) for name in carried},
            "price": asked.price,
            "priced": price,
            "steps_of_it": steps(asked.asked, bare(schema)),
            "columns": [(column.name, column.type) for column in schema.columns],
            "fields": _PRICE_FIELDS,
            "alone": service.alone(visit.who, ""),
        }
        return Page("undescribed.html", values)

    def learn(visit: Visit) -> Go:
        """Spend what was priced: register the file, describe it and learn."""
        asked = wanted(visit.form)
        at_once = visit.form.one("at_once") == "yes"
        service.undescribed.begin(visit.who, asked, at_once=at_once)
        return Go(f"{HOME}/datasets/{asked.name}/learning")

    def learning(visit: Visit) -> Page | Go:
        """How far it is; then the answer."""
        name = visit.part("name")
        dataset = service.dataset(visit.who, name)
        state = service.undescribed.progress(visit.who, name)
        asked = service.asked(visit.who, name)
        last = next((entry for entry in asked[::-1] if entry["question"]["kind"] == "learn"), None)
        if last is not None and last["outcome"] == "answered":
            key = digest(question_from(last["question"]))
            return Go(f"{HOME}/datasets/{name}/answers/{key}")
        if state is None and not asked:  # nobody learns here
            return Go(f"{HOME}/datasets/{name}")
        values = {
            "dataset": dataset,
            "profiles": sum(entry["outcome"] == "answered" for entry in asked),
            "learns": last is not None,
            "state": state,
        }
        return Page("learning.html", values, 200 if state and state.failed else 202, _POLL_SECONDS)

    # 4. The card: drafted by a profile, or the present one

    def drafted(visit: Visit, name: str, entry: str) -> TableProfile | None:
        profiles = (draft.profile for draft in service.onboarding.drafts(visit.who, name))
        return next((profile for profile in profiles if entry and profile.entry == entry), None)

    def card_editor(visit: Visit) -> Page:
        dataset = service.dataset(visit.who, visit.part("name"))
        effective = loaded_card(dataset)
        drafts = service.onboarding.drafts(visit.who, dataset["name"])
        wanted = visit.form.one("draft") or visit.query("draft")
        if not wanted and not visit.form.fields:
            # A profile of the present card drafted what comes next: nobody wants to see the old.
            wanted = next((d.profile.entry for d in drafts if d.profile.basis == effective), "")
        profile = drafted(visit, dataset["name"], wanted)
        shown = effective if profile is None else profile.card()
        typed = visit.form if visit.form.all("column") else form_of(shown)
        values = {
            "dataset": dataset,
            "steps": stepping(service, visit.who, dataset),
            "draft": "" if profile is None else profile.entry,
            "drafts": [] if profile else drafts,
            "text": visit.form.one("card") or json.dumps(dataset["card"], indent=2),
            "reason": visit.form.one("reason"),
            **card_page(typed, _notes(profile)),
        }
        return Page("card.html", values)

    def change_card(visit: Visit) -> Page | Go:
        name, form = visit.part("name"), visit.form
        profile = drafted(visit, name, form.one("draft"))
        try:
            if profile is not None:
                draft = {**read_card(form, name, profile.card()), "draft": profile.entry}
                service.onboarding.accept(visit.who, name, draft, reason=form.one("reason"))
                return Go(f"{HOME}/datasets/{name}/model?done=card")
            card: Any = form.one("card")
            if form.all("column"):
                card = read_card(form, name, card_in(service.dataset(visit.who, name)))
            elif card.startswith("{"):
                card = json.loads(card)
            service.amend(visit.who, name, reason=form.one("reason"), card=card)
        except (WhitecrowError, ValueError, RecursionError) as error:
            wrong = str(error) if isinstance(error, WhitecrowError) else "This is not valid JSON."
            return card_editor(visit).refusing(InvalidInput(wrong))
        return Go(f"{HOME}/datasets/{name}?done=card")

    # 5. The model

    def model(visit: Visit, advice: ModelAdvice | None = None) -> Page:
        dataset = service.dataset(visit.who, visit.part("name"))
        card = loaded_card(dataset)
        values = {
            "dataset": dataset,
            "steps": stepping(service, visit.who, dataset),
            "fields": _model_fields(card),
            "typed": visit.form if visit.form.fields else _usual(card),
            "advice": advice,
            "meaning": "" if advice is None else meaning(advice.description.price),
            "next": [] if advice is None else _next(advice, dataset["name"]),
        }
        return Page("model.html", values)

    def advise(visit: Visit) -> Page:
        form = visit.form
        advice = service.onboarding.advise(
            visit.who,
            visit.part("name"),
            contamination=form.one("contamination"),
            columns=form.all("columns") or None,
            metric=form.one("metric"),
            beta=whole(form.one("beta"), "Most neighbours β"),
            records=whole(form.one("records"), "Records") if form.one("records") else None,
            epsilon=form.one("epsilon"),
        )
        return model(visit, advice)

    site.get("/register", new, roles=CUSTODIAN)
    site.upload(UPLOADS.removeprefix(HOME), roles=CUSTODIAN)
    begin_again = Again(new, errors=WhitecrowError)
    site.post("/register/columns", columns, roles=CUSTODIAN, again=begin_again)
    site.post("/register/price", priced, roles=CUSTODIAN)
    site.post("/register/learn", learn, roles=CUSTODIAN, again=Again(priced))
    site.get("/datasets/{name}/learning", learning, roles=CUSTODIAN)
    site.post("/register", register, roles=CUSTODIAN, again=Again(typed_again))
    site.get("/datasets/{name}/card", card_editor, roles=CUSTODIAN)
    site.post("/datasets/{name}/card", change_card, roles=CUSTODIAN)
    site.get("/datasets/{name}/model", model, roles=ASKING)
    site.post("/datasets/{name}/model", advise, roles=ASKING, again=Again(model))


_POLL_SECONDS = 2
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


def _columns_page(typed: Form, *, guessed: bool = False) -> Page:
    values = {"guessed": guessed, "hidden": _carried(typed), **card_page(typed)}
    return Page("columns.html", values)


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
    paths = (path for path in folder.iterdir() if path.suffix.lower() in kinds or is_lake(path))
    return sorted(path.name for path in paths)[:500]


def _notes(profile: TableProfile | None) -> dict[str, str]:
    """What the profile found of each column, in a line."""
    if profile is None:
        return {}
    heading, *rows = profile.rows()
    return {
        row[0]: " · ".join(
            f"{what} {value}"
            for what, value in zip(heading[2:], row[2:], strict=True)
            if value and what != "between"
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
            options=choices([*SCALED, *(metric for metric in METRICS if metric not in SCALED)]),
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
    fields = {"contamination": ["0.01"], "metric": [metric], "columns": columns}
    return Form({**fields, "beta": ["20"], "epsilon": ["1"]})


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
    radii = ",".join(f"{radius:g}" for radius in tune.radii)

    def form(kind: str, **fields: Any) -> str:
        query = urllib.parse.urlencode({**shared, **fields}, doseq=True)
        return f"{HOME}/datasets/{dataset}/ask/{kind}?{query}"

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

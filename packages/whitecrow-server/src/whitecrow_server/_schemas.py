"""The shapes of the custodian's requests."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import HTTPException, Request
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from whitecrow.errors import InvalidInput, TooMany, http_status, retry_after
from whitecrow.questions import loaded
from whitecrow_server._scheduling import Share
from whitecrow_server._untrusted_input import MOST_QUESTIONS, read_body, strict_json


class StrictRequest(Request):
    """A request whose JSON is parsed strictly, in a thread."""

    def __init__(self, request: Request, threads: Share, most: int) -> None:
        super().__init__(request.scope, request.receive)
        self._threads, self._most = threads, most

    async def body(self) -> bytes:
        if not hasattr(self, "_body"):
            self._body = await read_body(self, self._most)
        return self._body

    async def json(self) -> Any:
        raw = await self.body()
        try:
            return await self._threads.run(lambda: strict_json(raw))
        except (InvalidInput, TooMany) as error:
            # FastAPI turns any other exception into its own 400.
            after = retry_after(error)
            headers = None if after is None else {"Retry-After": str(after)}
            raise HTTPException(http_status(error), str(error), headers) from None


def _schemas(*, public: bool) -> dict[str, Any]:
    """The JSON Schema of any question; for prices with the public guesses that each takes."""
    schemas = []
    for kind, type_ in loaded().items():
        question = type_.question
        schema = question.json_schema(kind=kind)
        if public:
            schema["title"] = f"Priced{schema['title']}"
            schema["properties"]["public"] = {
                **question.guesses.json_schema(),
                "title": f"GuessesFor{question.__name__}",
                "description": "Public guesses for the expected error; they change nothing else.",
            }
        schemas.append(schema)
    return {"title": "PricedQuestion" if public else "Question", "oneOf": schemas}


RawQuestion = Annotated[dict[str, Any], WithJsonSchema(_schemas(public=False))]
"""A question, as JSON."""

Priced = Annotated[dict[str, Any], WithJsonSchema(_schemas(public=True))]
"""A question to be priced, with public guesses beside its parameters."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


Text = Annotated[str, Field(max_length=1000)]
Name = Annotated[str, Field(max_length=64)]
BudgetAsWritten = str | int | dict[str, str | int]


class Batch(_Strict):
    """Questions that would be asked together."""

    questions: Annotated[list[RawQuestion], Field(max_length=MOST_QUESTIONS)]


class Registration(_Strict):
    """A dataset to be listed."""

    name: Name
    source: dict[str, str]
    card: dict[str, Any] | str | None = None
    policy: dict[str, Any] | None = None
    budget: BudgetAsWritten = "1"
    engine: Name = "local"
    readers: list[Name] = []
    indexes: Annotated[list[list[Name]], Field(max_length=20)] = []


class Amendment(_Strict):
    """What changes of a dataset, and why."""

    reason: Text
    budget: BudgetAsWritten | None = None
    policy: dict[str, Any] | None = None
    card: dict[str, Any] | str | None = None
    readers: list[Name] | None = None


class Acceptance(_Strict):
    """A card that a profile drafted, as it was or edited, with the ``draft`` it came from."""

    draft: dict[str, Any] | str
    reason: Text = ""


class Contamination(_Strict):
    """The share of outliers that a model is wanted for, and what of it is fixed."""

    contamination: Annotated[str, Field(max_length=40)] | int | float
    columns: Annotated[list[Name], Field(max_length=500)] | None = None
    metric: Name = "standardised"
    beta: Annotated[int, Field(ge=1, le=10_000)] = 20
    records: Annotated[int, Field(ge=1, le=10**12)] | None = None
    epsilon: Annotated[str, Field(max_length=40)] | int = "1"


class Allowance(_Strict):
    """A cap on what one analyst may spend; null lifts it."""

    analyst: Name
    budget: BudgetAsWritten | None
    reason: Text


class Voiding(_Strict):
    """A spend to be given back."""

    entry: int
    reason: Text


class Review(Voiding):
    """A failure that was looked at."""


class Advance(_Strict):
    """Why the records of a dataset changed, and whether they are only ever added to."""

    reason: Text
    growth: Literal["insert-only", "any"] | None = None


class Invitation(_Strict):
    """A person to be added."""

    name: Name
    role: str


class Removal(_Strict):
    """Why a dataset or a person is removed."""

    reason: Text


class Change(_Strict):
    """What changes of a person."""

    disabled: bool


class NewToken(_Strict):
    """A token to be made."""

    days: int | None = None
    label: Annotated[str, Field(max_length=100)] = ""
    scope: Annotated[str, Field(max_length=16)] = ""


class Witnessed(_Strict):
    """What another instance's ledger tells its witness."""

    public: Annotated[str, Field(max_length=64)]
    statement: str

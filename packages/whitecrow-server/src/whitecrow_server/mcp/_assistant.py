"""What an assistant may do: look, price and try for nothing; ask when a person said yes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from whitecrow.client import Client
from whitecrow.errors import BudgetExhausted, InvalidInput, NotAllowed, PolicyViolation
from whitecrow.question import Question, Release
from whitecrow.questions import loaded, read_question
from whitecrow_server.mcp.approvals import AMOUNTS, Approvals, Spend, amounts

Elicit = Callable[[str], bool]
"""Shows a person what would be spent; whether they said yes."""

_QUESTION: dict[str, Any] = {
    "type": "object",
    "description": "A question as JSON: its kind and its parameters; see describe_dataset.",
    "properties": {"kind": {"type": "string"}},
    "required": ["kind"],
}
_DATASET: dict[str, Any] = {"type": "string", "description": "The dataset's name."}


def _tool(name: str, says: str, free: bool = True, **properties: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": says,
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": sorted(properties),
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": free, "idempotentHint": True, "openWorldHint": False},
    }


TOOLS = (
    _tool("list_datasets", "Which datasets there are."),
    _tool(
        "describe_dataset",
        "A dataset's columns, what remains of the budget, and the questions with their parameters.",
        dataset=_DATASET,
    ),
    _tool(
        "price_question",
        "What a question would cost and how accurate it would be. Free, and no record is read.",
        dataset=_DATASET,
        question=_QUESTION,
    ),
    _tool(
        "ask_dummy",
        "Answer a question about made-up records, free: it says nothing of the data.",
        dataset=_DATASET,
        question=_QUESTION,
    ),
    _tool(
        "ask_question",
        "Answer a question about the data. It spends privacy budget for good, so a person must "
        "confirm the price first. Price it before.",
        free=False,
        dataset=_DATASET,
        question=_QUESTION,
    ),
)


class Assistant:
    """What the tools do.

    Parameters
    ----------
    client : callable
        ``client(dataset)``: a service's curator; without a dataset, for the list of them.
    approvals : Approvals
        Where a yes is found if the assistant's program cannot ask its user.
    most : mapping of str to Fraction, optional
        What all questions of this session may cost together, beside the custodian's allowance:
        ``epsilon``, ``delta`` and ``rho``. What is not named may not be spent at all.
    """

    def __init__(
        self,
        client: Callable[[str | None], Client],
        approvals: Approvals,
        *,
        most: Mapping[str, Fraction] | None = None,
    ) -> None:
        self._client, self._approvals, self._most = client, approvals, most
        self._spent = dict.fromkeys(AMOUNTS, Fraction(0))

    def call(self, name: str, given: Mapping[str, Any], elicit: Elicit | None) -> Any:
        if name == "list_datasets":
            return {"datasets": list(self._client(None).datasets())}
        client = self._client(str(given["dataset"]))
        if name == "describe_dataset":
            return self._described(client)
        question = read_question(given["question"])
        if name == "price_question":
            found = client.describe(question).to_json()
            return {**found, "deadline": client.deadline(question)}
        if name == "ask_dummy":
            return client.dummy(question).to_json()
        return self._asked(client, question, elicit).to_json()

    def _described(self, client: Client) -> dict[str, Any]:
        return {
            "name": client.name,
            "card": client.card.to_json(),
            "policy": client.policy.to_json(),
            "remaining": client.remaining().to_json(),
            "questions": {
                kind: {"asks": one.question.asks, "schema": one.question.json_schema(kind=kind)}
                for kind, one in loaded().items()
            },
        }

    def _asked(self, client: Client, question: Question, elicit: Elicit | None) -> Release:
        description = client.describe(question)
        price = amounts(description.price)
        self._check_cap(price)
        spend = Spend(
            client.name,
            {"kind": question.kind, **question.to_json()},
            description.price.to_json(),
            description.words,
        )
        if not self._confirmed(spend, elicit):
            raise NotAllowed("The person did not confirm the price. Nothing was spent.")
        # Counted before it is asked: a reply that gets lost may have been charged.
        self._count(price, 1)
        try:
            release = client.ask(question)
        except (InvalidInput, PolicyViolation, BudgetExhausted):
            self._count(price, -1)
            raise
        if not release.charged:
            self._count(price, -1)
        return release

    def _check_cap(self, price: Mapping[str, Fraction]) -> None:
        """Refuse what this session may not spend any more; epsilon, delta and rho apart."""
        if self._most is None:
            return
        for name, amount in price.items():
            spent, most = self._spent[name], self._most.get(name)
            if most is None:
                raise NotAllowed(
                    f"This question costs {name} {amount}, and the cap of this session "
                    f"(--at-most) names no {name}. Nothing was spent."
                )
            if spent + amount > most:
                raise NotAllowed(
                    f"All questions of this session may cost {name} {most} together; {spent} is "
                    f"spent, and this one costs {amount}. Nothing was spent."
                )

    def _count(self, price: Mapping[str, Fraction], sign: int) -> None:
        for name, amount in price.items():
            self._spent[name] += sign * amount

    def _confirmed(self, spend: Spend, elicit: Elicit | None) -> bool:
        if elicit is not None:
            return elicit(str(spend))
        if self._approvals.taken(spend):
            return True
        self._approvals.request(spend)
        raise NotAllowed(
            f"A person must confirm the price first. Ask them to type, at a terminal of their own: "
            f"whitecrow mcp --approve {spend.code}\nIt shows them the question and its price, and "
            f"asks for a yes. Ask again when they have said it.\n{spend}"
        )

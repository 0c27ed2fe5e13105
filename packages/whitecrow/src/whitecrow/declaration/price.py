"""What every price is made of, declared once: ε, δ, and what neighbouring databases are."""

from __future__ import annotations

from typing import Any

from whitecrow.declaration.parameter import Choice, Exact
from whitecrow.privacy import Unit


class Epsilon(Exact):
    """The price."""

    def __init__(self, **words: Any) -> None:
        said = {
            "help": "The price, exact: 0.1 or 1/10. Smaller protects more and is less accurate.",
            "label": "Price ε",
            "group": "price",
        }
        super().__init__(**{**said, **words})


class Delta(Exact):
    """The chance that the promise may fail with; none unless given."""

    def __init__(self, *, help: str, default: str = "0", group: str = "price") -> None:
        super().__init__(
            positive=False, below=1, help=help, label="δ", default=default, group=group
        )


class Relation(Choice[Unit]):
    """What neighbouring databases are."""

    def __init__(self, *, default: str = "add_remove") -> None:
        super().__init__(
            {
                "add_remove": "whether a record is there at all",
                "replace_one": "what a record's values are",
            },
            help="Neighbouring databases differ in the presence of a record, or in its values.",
            label="What is protected",
            default=default,
            group="details",
        )

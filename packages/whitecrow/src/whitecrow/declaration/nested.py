"""Parameters that have parameters of their own: a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from whitecrow.declaration.parameter import Parameter
from whitecrow.errors import invalid

if TYPE_CHECKING:
    from whitecrow.declaration.declared import Declared

D = TypeVar("D", bound="Declared")


class Nested(Parameter[D, D]):
    """An object with declared parameters; terminals and forms ask for those instead.

    Parameters
    ----------
    declared : type
        What it is.
    fixed : mapping
        Parameters that have one value here and are not asked for.
    """

    control = "object"
    others: ClassVar[bool] = False
    """Whether objects of other classes may be given, too."""

    def __init__(self, declared: type[D], *, fixed: Mapping[str, Any] | None = None, **words: Any):
        words.setdefault("group", "model")
        super().__init__(**words)
        self.declared, self.fixed = declared, dict(fixed or {})

    @property
    def written(self) -> str:  # type: ignore[override]
        """The name of the class."""
        return self.declared.__name__

    @property
    def parts(self) -> dict[str, Parameter[Any, Any]]:
        """The parameters that are asked for."""
        known = self.declared.parameters
        return {name: one for name, one in known.items() if name not in self.fixed}

    def parse(self, value: object, owner: str) -> D:
        if isinstance(value, self.declared):
            return value
        if isinstance(value, Mapping):
            return self.declared.from_json({**self.fixed, **value})
        needed = ", ".join(f"{name}=..." for name, one in self.parts.items() if one.required)
        hint = f"Write {self.written}({needed})."
        raise invalid(owner, self.name, f"a {self.written}", value, hint)

    def dump(self, value: D) -> dict[str, Any]:
        return value.to_json()

    def schema(self) -> dict[str, Any]:
        return self.declared.json_schema()

"""One parameter of a question: its type, its default, its bounds, and the words for it.

A parameter is written once, in the body of the class that has it, and everything else follows from
it: the check of what is given, the canonical JSON, the JSON Schema, the option of the terminal, the
field of a web form, the code samples and the reference.

Why no library: pydantic takes 200 ms to import and attrs 100 ms on the machine where this was
measured, in a terminal that answers in 80; neither keeps exact rationals, and every refusal has to
be in the one form of :func:`whitecrow.errors.invalid` either way.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Self, TypeVar, cast, overload

from whitecrow.errors import InvalidInput, invalid
from whitecrow.privacy import Exactly, exact

T = TypeVar("T")
G = TypeVar("G")

REQUIRED: Final[Any] = type("Required", (), {"__repr__": lambda self: "<required>"})()
"""The default of a parameter that has none."""


class Parameter(Generic[T, G]):
    """A parameter that is kept as a ``T`` and may be given as a ``G``.

    Parameters
    ----------
    help : str
        What it is, in one line.
    default : object
        What it is when it is not given; without one it must be given.
    label : str
        What a form calls it; the name with a capital, unless given.
    more : str
        What else there is to say, for the reference.
    group : str
        Which part of a form it belongs to: ``question``, ``model``, ``price`` or ``details``.
    kw_only : bool
        Whether it must be named; False lets it be given by its place.
    former : str
        An earlier name, which still works for one release.
    option : str
        What the terminal calls it; the name, unless given.
    """

    control: ClassVar[str] = "text"
    """How a form asks for it: text, number, select, flag, names, record or object."""

    written: ClassVar[str] = "object"
    """The type, as the reference writes it."""

    def __init__(
        self,
        *,
        help: str,
        default: object = REQUIRED,
        label: str = "",
        more: str = "",
        group: str = "question",
        kw_only: bool = True,
        former: str = "",
        option: str = "",
    ) -> None:
        self.help, self.more, self.group, self.former = help, more, group, former
        self.default, self.kw_only = default, kw_only
        self.name, self._label, self._option = "", label, option

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @property
    def label(self) -> str:
        """What a form calls it."""
        return self._label or self.name.replace("_", " ").capitalize()

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is REQUIRED

    @property
    def flag(self) -> str:
        """The option of the terminal."""
        return "--" + (self._option or self.name.replace("_", "-"))

    if TYPE_CHECKING:  # the class has the parameter, an object the value that was checked

        @overload
        def __get__(self, _instance: None, _owner: type) -> Self: ...
        @overload
        def __get__(self, _instance: object, _owner: type) -> T: ...
        def __get__(self, _instance: object | None, _owner: type) -> Self | T: ...

        def __set__(self, _instance: object, _value: G) -> None: ...

    # What follows from it

    def parse(self, value: object, owner: str) -> T:
        """Return the checked value, or refuse it in the form of ``errors.invalid``."""
        raise NotImplementedError

    def dump(self, value: T) -> Any:
        """Return the value as canonical JSON."""
        return value

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of what may be given."""
        return {}

    def from_text(self, text: str, owner: str) -> object:
        """Read what was typed into a terminal or a form; :meth:`parse` checks it."""
        return text

    def to_text(self, written: Any) -> str:
        """Write a JSON value as one would type it."""
        return str(written)

    def called(self, name: str) -> Self:
        """Give it a name outside a class, to check an argument of a function with it."""
        self.name = name
        return self

    def described(self) -> dict[str, Any]:
        """Return the schema with the words and the default."""
        found = {**self.schema(), "title": self.label, "description": self.help}
        if not self.required:
            found["default"] = self.dump_default()
        return found

    def dump_default(self) -> Any:
        """Return the default as JSON."""
        return None if self.default is None else self.dump(self.parse(self.default, self.name))


class Exact(Parameter[Fraction, Exactly]):
    """A rational number, kept exactly: ``"1/10"``, ``0.1`` or a Fraction."""

    written = "exact number"

    def __init__(
        self,
        *,
        positive: bool = True,
        below: Fraction | int | None = None,
        must: str = "",
        **words: Any,
    ) -> None:
        super().__init__(**words)
        self._positive, self._below, self._must = positive, below, must

    def parse(self, value: object, owner: str) -> Fraction:
        found = exact(value, owner=owner, parameter=self.name, positive=self._positive)
        if self._below is not None and found >= self._below:
            least = "above 0" if self._positive else "at least 0"
            must = self._must or f"{least} and below {self._below}"
            raise invalid(owner, self.name, must, value)
        return found

    def dump(self, value: Fraction) -> str:
        return str(value)

    def schema(self) -> dict[str, Any]:
        return {"type": ["string", "number"], "examples": ["1/10"]}


class Whole(Parameter[int, int]):
    """A whole number within bounds."""

    control = "number"
    written = "int"

    def __init__(
        self, *, least: int = 1, most: int | None = None, hint: str = "", **words: Any
    ) -> None:
        super().__init__(**words)
        self.least, self.most, self._hint = least, most, hint

    def parse(self, value: object, owner: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise invalid(owner, self.name, self._must(), value)
        if value < self.least or (self.most is not None and value > self.most):
            raise invalid(owner, self.name, self._must(), value, self._hint)
        if value > _GREATEST:
            raise invalid(owner, self.name, "a whole number below 2**63", value)
        return value

    def _must(self) -> str:
        if self.most is None:
            return f"a whole number of at least {self.least}"
        return f"a whole number between {self.least} and {self.most}"

    def schema(self) -> dict[str, Any]:
        found: dict[str, Any] = {"type": "integer", "minimum": self.least}
        return found if self.most is None else {**found, "maximum": self.most}

    def from_text(self, text: str, owner: str) -> object:
        try:
            return int(text)
        except ValueError:
            raise invalid(owner, self.name, self._must(), text[:50]) from None


class Number(Parameter[float, float]):
    """A finite number within bounds; ``least`` and ``most`` belong to them."""

    control = "number"
    written = "float"

    def __init__(
        self, *, least: float = -math.inf, most: float = math.inf, must: str = "", **words: Any
    ) -> None:
        super().__init__(**words)
        self.least, self.most, self._must = least, most, must

    def parse(self, value: object, owner: str) -> float:
        numeric = isinstance(value, int | float) and not isinstance(value, bool)
        if not numeric or not self._inside(value):
            raise invalid(owner, self.name, self._must or self._words(), value)
        assert isinstance(value, int | float)
        return float(value) + 0.0  # -0.0 and 0.0 are one number

    def _inside(self, value: Any) -> bool:
        return bool(self.least <= value <= self.most) and abs(value) <= FARTHEST

    def _words(self) -> str:
        if self.least > -math.inf and self.most < math.inf:
            return f"a number between {self.least:g} and {self.most:g}"
        return (
            f"a finite number of at least {self.least:g}"
            if self.least > -math.inf
            else "a finite number"
        )

    def schema(self) -> dict[str, Any]:
        found: dict[str, Any] = {"type": "number"}
        if self.least > -math.inf:
            found["minimum"] = self.least
        return {**found, "maximum": self.most} if self.most < math.inf else found

    def from_text(self, text: str, owner: str) -> object:
        try:
            return float(text)
        except ValueError:
            raise invalid(owner, self.name, self._must or self._words(), text[:50]) from None


FARTHEST: Final = 1.7976931348623157e308
"""The largest double: a whole number beyond it is no number to a mechanism."""

_GREATEST = 2**63 - 1


class Flag(Parameter[bool, bool]):
    """Yes or no. ``off`` names the terminal's option for no."""

    control = "flag"
    written = "bool"

    def __init__(self, *, off: str = "", **words: Any) -> None:
        super().__init__(**words)
        self._off = off

    @property
    def off(self) -> str:
        """The option that says no."""
        return f"--{self._off}" if self._off else "--no-" + self.flag[2:]

    def parse(self, value: object, owner: str) -> bool:
        if not isinstance(value, bool):
            raise invalid(owner, self.name, "True or False", value)
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}

    def from_text(self, text: str, owner: str) -> object:
        return text in ("true", "True", "yes", "on", "1")


S = TypeVar("S", bound=str)


class Choice(Parameter[S, str]):
    """One of a few words; each may have its own sentence for a form."""

    control = "select"

    def __init__(self, choices: Sequence[str] | Mapping[str, str], **words: Any) -> None:
        super().__init__(**words)
        named = choices if isinstance(choices, Mapping) else {one: one for one in choices}
        self.choices: Mapping[str, str] = dict(named)

    @property
    def written(self) -> str:  # type: ignore[override]
        """The choices, as the reference writes them."""
        return "{" + ", ".join(f'"{one}"' for one in self.choices) + "}"

    def parse(self, value: object, owner: str) -> S:
        if not isinstance(value, str) or value not in self.choices:
            raise invalid(owner, self.name, f"one of {', '.join(self.choices)}", value)
        return cast(S, value)

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.choices)}


class Name(Parameter[str, str]):
    """The name of a column. ``types`` says which types a form offers."""

    control = "select"
    written = "str"

    def __init__(self, *, types: Sequence[str] = (), **words: Any) -> None:
        super().__init__(**words)
        self.types = tuple(types)

    def parse(self, value: object, owner: str) -> str:
        if not isinstance(value, str) or not value:
            raise invalid(owner, self.name, "the name of a column", value)
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "minLength": 1}


class Names(Parameter[tuple[str, ...], Sequence[str]]):
    """Names of columns, each once, in sorted order unless the order matters."""

    control = "names"
    written = "sequence of str"

    def __init__(
        self,
        *,
        types: Sequence[str] = (),
        ordered: bool = False,
        empty: bool = False,
        **words: Any,
    ) -> None:
        super().__init__(**words)
        self.types, self._ordered, self._empty = tuple(types), ordered, empty

    def parse(self, value: object, owner: str) -> tuple[str, ...]:
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise invalid(owner, self.name, "a list of column names", value)
        names = tuple(value)
        if not (names or self._empty) or not all(isinstance(one, str) and one for one in names):
            raise invalid(owner, self.name, "a list of at least one column name", list(names))
        if len(set(names)) < len(names):
            name = next(one for one, times in Counter(names).items() if times > 1)
            raise InvalidInput(f"{owner} names the column {name!r} twice; name it once.")
        return names if self._ordered else tuple(sorted(names))

    def dump(self, value: tuple[str, ...]) -> list[str]:
        return list(value)

    def schema(self) -> dict[str, Any]:
        least = 0 if self._empty else 1
        return {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": least}

    def from_text(self, text: str, owner: str) -> object:
        return [name.strip() for name in text.split(",") if name.strip()]

    def to_text(self, written: Any) -> str:
        return ",".join(written)


class Maybe(Parameter[T | None, G | None]):
    """A parameter that may be left out: None, or what the inner one takes."""

    def __init__(self, inner: Parameter[T, G], *, default: None = None, **more: Any) -> None:
        given = {"help": inner.help, "label": inner._label, "more": inner.more, **more}
        given.setdefault("group", inner.group)
        super().__init__(default=default, **given)
        self.inner = inner

    def __set_name__(self, owner: type, name: str) -> None:
        super().__set_name__(owner, name)
        self.inner.__set_name__(owner, name)

    def __getattr__(self, name: str) -> Any:
        """Whatever a surface asks of the inner parameter: its choices, bounds, types."""
        if name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    @property
    def control(self) -> str:  # type: ignore[override]
        """As the inner one."""
        return self.inner.control

    @property
    def written(self) -> str:  # type: ignore[override]
        """As the inner one."""
        return self.inner.written

    def parse(self, value: object, owner: str) -> T | None:
        return None if value is None else self.inner.parse(value, owner)

    def dump(self, value: T | None) -> Any:
        return None if value is None else self.inner.dump(value)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [self.inner.schema(), {"type": "null"}]}

    def from_text(self, text: str, owner: str) -> object:
        return self.inner.from_text(text, owner) if text else None

    def to_text(self, written: Any) -> str:
        return self.inner.to_text(written)

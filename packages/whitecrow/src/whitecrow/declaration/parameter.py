"""One parameter of a question: its type, its default, its bounds, and the words for it.

A parameter is written once, in the body of the class that has it, and everything else follows from
it: the check of what is given, the canonical JSON, the JSON Schema, the option of the terminal, the
field of a web form, the code samples and the reference.

Why no library: pydantic takes 200 ms to import and attrs 100 ms on the machine where this was
measured, in a terminal that answers in 80; neither keeps exact rationals, and every refusal has to
be in the one form of :func:`whitecrow.errors.invalid` either way.
"""

from __future__ import annotations

import datetime
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Self, TypeVar, cast, overload

from whitecrow.errors import InvalidInput, invalid
from whitecrow.privacy import Exactly, Unit, exact

if TYPE_CHECKING:
    from whitecrow.declaration.declared import Declared


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
        return self._label or self.name.replace("_", " ").capitalize()

    @property
    def required(self) -> bool:
        return self.default is REQUIRED

    @property
    def flag(self) -> str:
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
        return self.inner.control

    @property
    def written(self) -> str:  # type: ignore[override]
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


# Lists, records and values

Value = int | float | str
"""A value of a record as JSON: a number, a category, or a date as ISO text."""


class Record(Parameter[Mapping[str, Value], Mapping[str, Any]]):
    """A record: columns and their values, in one canonical spelling."""

    control = "record"
    written = "mapping of column to value"

    def parse(self, value: object, owner: str) -> Mapping[str, Value]:
        return canonical(value, owner=owner, parameter=self.name)

    def dump(self, value: Mapping[str, Value]) -> dict[str, Value]:
        return dict(value)

    def schema(self) -> dict[str, Any]:
        values = {"type": ["string", "number", "boolean"]}
        return {"type": "object", "minProperties": 1, "additionalProperties": values}

    def from_text(self, text: str, owner: str) -> object:
        return json_object(text, self.flag)

    def to_text(self, written: Any) -> str:
        return json.dumps(written, ensure_ascii=False)


class RecordList(Parameter[tuple[Mapping[str, Value], ...], Sequence[Mapping[str, Any]]]):
    """Several records."""

    control = "records"
    written = "sequence of mappings of column to value"

    def __init__(self, *, most: int, **words: Any) -> None:
        super().__init__(**words)
        self.most = most

    def parse(self, value: object, owner: str) -> tuple[Mapping[str, Value], ...]:
        if isinstance(value, str) or not isinstance(value, Sequence) or not value:
            raise invalid(owner, self.name, "a list of records", value)
        if len(value) > self.most:
            raise invalid(owner, self.name, f"at most {self.most:,} records", len(value))
        return tuple(canonical(one, owner=owner, parameter=self.name) for one in value)

    def dump(self, value: tuple[Mapping[str, Value], ...]) -> list[dict[str, Value]]:
        return [dict(one) for one in value]

    def schema(self) -> dict[str, Any]:
        inner = Record(help="").schema()
        return {"type": "array", "items": inner, "minItems": 1, "maxItems": self.most}

    def from_text(self, text: str, owner: str) -> object:
        try:
            return json.loads(text)
        except ValueError:
            raise invalid(owner, self.name, "a JSON list of records", text) from None

    def to_text(self, written: Any) -> str:
        return json.dumps(written, ensure_ascii=False)


def as_mapping(record: Any) -> Any:
    """Return one row of pandas, or a frame of one row, as a mapping; all else as it is."""
    if isinstance(record, Mapping | str | bytes | Sequence):
        return record
    if hasattr(record, "to_dict") and getattr(record, "ndim", 2) == 1:
        return dict(record.to_dict())
    import narwhals.stable.v2 as nw

    frame = nw.from_native(record, eager_only=True, pass_through=True)
    one_row = isinstance(frame, nw.DataFrame) and len(frame) == 1
    return frame.rows(named=True)[0] if one_row else record


def canonical(record: object, *, owner: str, parameter: str = "record") -> dict[str, Value]:
    """Return a record with plain values, in the order in which they are given.

    Examples
    --------
    >>> canonical({"bmi": 24.0, "seen": datetime.date(2024, 1, 31)}, owner="Identify")
    {'bmi': 24, 'seen': '2024-01-31'}
    """
    record = as_mapping(record)
    if not isinstance(record, Mapping) or not record:
        must = "a mapping of at least one column to its value, or one row of a frame"
        raise invalid(owner, parameter, must, record)
    for name in record:
        if not isinstance(name, str):
            raise invalid(owner, parameter, "a mapping whose keys are column names", name)
    return {name: _plain(value, name, owner, parameter) for name, value in record.items()}


def _plain(value: object, name: str, owner: str, parameter: str) -> Value:
    if hasattr(value, "item") and hasattr(value, "dtype"):  # a number of numpy's
        value = value.item()
    if isinstance(value, datetime.date):
        return value.isoformat()[:10]
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        return value
    if not isinstance(value, int | float) or not abs(value) <= FARTHEST:
        hint = f"That is its value for {name!r}; every value must be known."
        raise invalid(owner, parameter, "finite numbers, texts and dates", value, hint)
    # 61 and 61.0 are one number, and so are 0.0 and -0.0.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def json_object(text: str, option: str) -> dict[str, Any]:
    """Read an option that is a JSON object."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidInput(
            f'{option} must be a JSON object such as \'{{"age": 61, "bmi": 24.1}}\' '
            "(or @FILE that holds one)."
        )
    return found


class Numbers(Parameter[tuple[float, ...], Sequence[float]]):
    """Numbers, each once, from the smallest to the largest."""

    written = "sequence of float"

    def parse(self, value: object, owner: str) -> tuple[float, ...]:
        if isinstance(value, str) or not isinstance(value, Sequence) or not value:
            raise invalid(owner, self.name, "a list of numbers", value)
        for one in value:
            numeric = isinstance(one, int | float) and not isinstance(one, bool)
            if not numeric or not 0 < one <= FARTHEST:
                raise invalid(owner, self.name, "finite numbers above 0", one)
        return tuple(sorted({float(one) for one in value}))

    def dump(self, value: tuple[float, ...]) -> list[float]:
        return list(value)

    def schema(self) -> dict[str, Any]:
        inner = {"type": "number", "exclusiveMinimum": 0}
        return {"type": "array", "items": inner, "minItems": 1}

    def from_text(self, text: str, owner: str) -> object:
        try:
            return [float(one) for one in text.split(",")]
        except ValueError:
            raise invalid(owner, self.name, "numbers with commas, such as 1,2,4", text) from None

    def to_text(self, written: Any) -> str:
        return ",".join(map(repr, written))


class Weights(Parameter[Mapping[str, float], Mapping[str, float]]):
    """A positive number for each of some columns, typed as ``age=2,pay=0.5``."""

    written = "mapping of column to number"
    _most = 1_000_000

    def parse(self, value: object, owner: str) -> Mapping[str, float]:
        if not isinstance(value, Mapping) or not value:
            raise invalid(owner, self.name, "a mapping of columns to numbers", value)
        found = canonical(value, owner=owner, parameter=self.name)
        for weight in found.values():
            if isinstance(weight, str) or not 0 < weight <= self._most:
                must = f"numbers above 0 and up to {self._most:,}"
                raise invalid(owner, self.name, must, weight)
        return {
            name: weight for name, weight in sorted(found.items()) if not isinstance(weight, str)
        }

    def dump(self, value: Mapping[str, float]) -> dict[str, float]:
        return dict(value)

    def schema(self) -> dict[str, Any]:
        values = {"type": "number", "exclusiveMinimum": 0, "maximum": self._most}
        return {"type": "object", "minProperties": 1, "additionalProperties": values}

    def from_text(self, text: str, owner: str) -> object:
        try:
            pairs = [one.rpartition("=") for one in text.split(",")]
            return {name.strip(): float(number) for name, _, number in pairs if name.strip()}
        except ValueError:
            raise invalid(owner, self.name, "such as age=2,pay=0.5", text) from None

    def to_text(self, written: Any) -> str:
        return ",".join(f"{name}={weight!r}" for name, weight in written.items())


class NameLists(Parameter[tuple[tuple[str, ...], ...], Sequence[Sequence[str]]]):
    """Several sets of columns, each once."""

    written = "sequence of sequences of str"

    def parse(self, value: object, owner: str) -> tuple[tuple[str, ...], ...]:
        if isinstance(value, str) or not isinstance(value, Sequence) or not value:
            raise invalid(owner, self.name, "a list of lists of column names", value)
        inner = Names(help="").called(self.name)
        found = sorted({inner.parse(one, owner) for one in value})
        if len(found) < len(value):
            raise InvalidInput(f"{owner} lists the same subspace twice; list it once.")
        return tuple(found)

    def dump(self, value: tuple[tuple[str, ...], ...]) -> list[list[str]]:
        return [list(one) for one in value]

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": Names(help="").schema(), "minItems": 1}

    def from_text(self, text: str, owner: str) -> object:
        return [[one.strip() for one in part.split(",")] for part in text.split(";")]

    def to_text(self, written: Any) -> str:
        return ";".join(",".join(one) for one in written)


# Objects with parameters of their own

D = TypeVar("D", bound="Declared")


class Nested(Parameter[D, D]):
    """An object with declared parameters; terminals and forms ask for those instead.

    Parameters that are ``fixed`` have one value here and are not asked for.
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
        return self.declared.__name__

    @property
    def parts(self) -> dict[str, Parameter[Any, Any]]:
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


# Prices


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

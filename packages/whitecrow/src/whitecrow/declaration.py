"""Declaring parameters once; what checks, writes, asks for and documents them follows.

In the body of a class stand a parameter's type, its default, its bounds, and the words for it. From
that follow the check of what is given, the canonical JSON, the JSON Schema, the option of the
terminal, the field of a web form, the code samples and the reference.

Why no library: pydantic takes 200 ms to import and attrs 100 ms on the machine where this was
measured, in a terminal that answers in 80; neither keeps exact rationals, and every refusal has to
be in the one form of :func:`whitecrow.errors.invalid` either way.
"""

from __future__ import annotations

import datetime
import difflib
import inspect
import json
import math
import textwrap
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    Generic,
    Self,
    TypeVar,
    cast,
    dataclass_transform,
    overload,
)

from whitecrow.errors import InvalidInput, invalid
from whitecrow.privacy import Exactly, Unit, exact

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

    control = "text"
    """How a form asks for it: text, number, select, flag, names, record or object."""

    type_text = "object"
    """The type, as the reference writes it."""

    takes: ClassVar[Mapping[str, Any]] = {}
    """The JSON Schema of what may be given; see :meth:`schema`."""

    typed_as = ""
    """What must be typed into a terminal or a form; see :meth:`read`."""

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
        """Write the checked value as JSON."""
        return _json(value)

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of what may be given."""
        return dict(self.takes)

    def from_text(self, text: str, owner: str) -> object:
        """Read what was typed into a terminal or a form; :meth:`parse` checks it."""
        try:
            return self.read(text)
        except ValueError:
            raise invalid(owner, self.name, self.typed_as, text) from None

    def read(self, text: str) -> object:
        """Read what was typed, or raise a ValueError: it is not what ``typed_as`` says."""
        return text

    def to_text(self, value: Any) -> str:
        """Write a JSON value as one would type it."""
        nested = isinstance(value, dict | list)
        return json.dumps(value, ensure_ascii=False) if nested else str(value)

    def called(self, name: str) -> Self:
        """Give it a name outside a class, to check an argument of a function with it."""
        self.name = name
        return self

    def described(self) -> dict[str, Any]:
        """Return the schema with the words and the default."""
        schema = {**self.schema(), "title": self.label, "description": self.help}
        if not self.required:
            schema["default"] = self.dump_default()
        return schema

    def dump_default(self) -> Any:
        return None if self.default is None else self.dump(self.parse(self.default, self.name))


def _json(value: object) -> Any:
    """Write a value as JSON: a rational as text; mappings and tuples as objects of their own."""
    if isinstance(value, tuple):
        return [_json(each) for each in value]
    if isinstance(value, Fraction):
        return str(value)
    return dict(value) if isinstance(value, dict) else value


class Exact(Parameter[Fraction, Exactly]):
    """A rational number, kept exactly: ``"1/10"``, ``0.1`` or a Fraction."""

    type_text = "exact number"
    takes: ClassVar = {"type": ["string", "number"], "examples": ["1/10"]}

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
        number = exact(value, owner=owner, parameter=self.name, positive=self._positive)
        if self._below is not None and number >= self._below:
            least = "above 0" if self._positive else "at least 0"
            must = self._must or f"{least} and below {self._below}"
            raise invalid(owner, self.name, must, value)
        return number


class Whole(Parameter[int, int]):
    """A whole number within bounds."""

    control = "number"
    type_text = "int"

    def __init__(
        self, *, least: int = 1, most: int | None = None, hint: str = "", **words: Any
    ) -> None:
        super().__init__(**words)
        self.least, self.most, self._hint = least, most, hint
        bounds = f"of at least {least}" if most is None else f"between {least} and {most}"
        self.typed_as = f"a whole number {bounds}"

    def parse(self, value: object, owner: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise invalid(owner, self.name, self.typed_as, value)
        if value < self.least or (self.most is not None and value > self.most):
            raise invalid(owner, self.name, self.typed_as, value, self._hint)
        if value > _GREATEST:
            raise invalid(owner, self.name, "a whole number below 2**63", value)
        return value

    def schema(self) -> dict[str, Any]:
        bounds = {"type": "integer", "minimum": self.least}
        return bounds if self.most is None else {**bounds, "maximum": self.most}

    def read(self, text: str) -> int:
        return int(text)


def whole(
    value: object, owner: str, parameter: str, *, least: int = 1, most: int | None = None
) -> int:
    """Check an argument that is a whole number within bounds."""
    return Whole(help="", least=least, most=most).called(parameter).parse(value, owner)


class Number(Parameter[float, float]):
    """A finite number within bounds; ``least`` and ``most`` belong to them."""

    control = "number"
    type_text = "float"

    def __init__(
        self, *, least: float = -math.inf, most: float = math.inf, must: str = "", **words: Any
    ) -> None:
        super().__init__(**words)
        self.least, self.most = least, most
        if least == -math.inf:
            self.typed_as = must or "a finite number"
        elif most == math.inf:
            self.typed_as = must or f"a finite number of at least {least:g}"
        else:
            self.typed_as = must or f"a number between {least:g} and {most:g}"

    def parse(self, value: object, owner: str) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise invalid(owner, self.name, self.typed_as, value)
        if not (self.least <= value <= self.most and abs(value) <= FARTHEST):
            raise invalid(owner, self.name, self.typed_as, value)
        return float(value) + 0.0  # -0.0 and 0.0 are one number

    def schema(self) -> dict[str, Any]:
        bounds = {"minimum": self.least, "maximum": self.most}
        return {"type": "number", **{key: at for key, at in bounds.items() if math.isfinite(at)}}

    def read(self, text: str) -> float:
        return float(text)


FARTHEST: Final = 1.7976931348623157e308
"""The largest double: a whole number beyond it is no number to a mechanism."""

_GREATEST = 2**63 - 1


class Flag(Parameter[bool, bool]):
    """Yes or no. ``off`` names the terminal's option for no."""

    control = "flag"
    type_text = "bool"
    takes: ClassVar = {"type": "boolean"}

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

    def read(self, text: str) -> bool:
        return text in ("true", "True", "yes", "on", "1")


S = TypeVar("S", bound=str)


class Choice(Parameter[S, str]):
    """One of a few words; each may have its own sentence for a form."""

    control = "select"

    def __init__(self, choices: Sequence[str] | Mapping[str, str], **words: Any) -> None:
        super().__init__(**words)
        named = choices if isinstance(choices, Mapping) else {choice: choice for choice in choices}
        self.choices: Mapping[str, str] = dict(named)
        self.type_text = "{" + ", ".join(f'"{word}"' for word in named) + "}"

    def parse(self, value: object, owner: str) -> S:
        if not isinstance(value, str) or value not in self.choices:
            raise invalid(owner, self.name, f"one of {', '.join(self.choices)}", value)
        return cast(S, value)

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.choices)}


class Name(Parameter[str, str]):
    """The name of a column. ``types`` says which types a form offers."""

    control = "select"
    type_text = "str"
    takes: ClassVar = {"type": "string", "minLength": 1}

    def __init__(self, *, types: Sequence[str] = (), **words: Any) -> None:
        super().__init__(**words)
        self.types = tuple(types)

    def parse(self, value: object, owner: str) -> str:
        if not isinstance(value, str) or not value:
            raise invalid(owner, self.name, "the name of a column", value)
        return value


class Names(Parameter[tuple[str, ...], Sequence[str]]):
    """Names of columns, each once, in sorted order unless the order matters."""

    control = "names"
    type_text = "sequence of str"

    def __init__(
        self, *, types: Sequence[str] = (), ordered: bool = False, empty: bool = False, **words: Any
    ) -> None:
        super().__init__(**words)
        self.types, self._ordered, self._empty = tuple(types), ordered, empty

    def parse(self, value: object, owner: str) -> tuple[str, ...]:
        names = _listed(value, owner, self.name, "a list of column names", empty=True)
        if not (names or self._empty) or not all(isinstance(text, str) and text for text in names):
            raise invalid(owner, self.name, "a list of at least one column name", list(names))
        if len(set(names)) < len(names):
            name = next(text for text, times in Counter(names).items() if times > 1)
            raise InvalidInput(f"{owner} names the column {name!r} twice; name it once.")
        return names if self._ordered else tuple(sorted(names))

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": dict(Name.takes), "minItems": 0 if self._empty else 1}

    def read(self, text: str) -> list[str]:
        return [name.strip() for name in text.split(",") if name.strip()]

    def to_text(self, value: Any) -> str:
        return ",".join(value)


def _listed(
    value: object, owner: str, parameter: str, must: str, *, empty: bool = False
) -> tuple[Any, ...]:
    """Refuse what is no list, or an empty one."""
    if isinstance(value, str) or not isinstance(value, Sequence) or not (value or empty):
        raise invalid(owner, parameter, must, value)
    return tuple(value)


class Maybe(Parameter[T | None, G | None]):
    """A parameter that may be left out: None, or what the inner one takes."""

    def __init__(self, inner: Parameter[T, G], *, default: None = None, **more: Any) -> None:
        own = {"help": inner.help, "label": inner._label, "more": inner.more, "group": inner.group}
        super().__init__(default=default, **{**own, **more})
        self.inner = inner
        self.control, self.type_text = inner.control, inner.type_text

    def __set_name__(self, owner: type, name: str) -> None:
        super().__set_name__(owner, name)
        self.inner.__set_name__(owner, name)

    def __getattr__(self, name: str) -> Any:
        """Whatever a surface asks of the inner parameter: its choices, bounds, types."""
        if name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    def parse(self, value: object, owner: str) -> T | None:
        return None if value is None else self.inner.parse(value, owner)

    def dump(self, value: T | None) -> Any:
        return None if value is None else self.inner.dump(value)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [self.inner.schema(), {"type": "null"}]}

    def from_text(self, text: str, owner: str) -> object:
        return self.inner.from_text(text, owner) if text else None

    def to_text(self, value: Any) -> str:
        return self.inner.to_text(value)


# Lists, records and values

Value = int | float | str
"""A value of a record as JSON: a number, a category, or a date as ISO text."""


class Record(Parameter[Mapping[str, Value], Mapping[str, Any]]):
    """A record: columns and their values, in one canonical spelling."""

    control = "record"
    type_text = "mapping of column to value"
    takes: ClassVar = {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": {"type": ["string", "number", "boolean"]},
    }

    def parse(self, value: object, owner: str) -> Mapping[str, Value]:
        return canonical(value, owner=owner, parameter=self.name)

    def from_text(self, text: str, owner: str) -> object:
        return json_object(text, self.flag)


class RecordList(Parameter[tuple[Mapping[str, Value], ...], Sequence[Mapping[str, Any]]]):
    """Several records."""

    control = "records"
    type_text = "sequence of mappings of column to value"
    typed_as = "a JSON list of records"

    def __init__(self, *, most: int, **words: Any) -> None:
        super().__init__(**words)
        self.most = most

    def parse(self, value: object, owner: str) -> tuple[Mapping[str, Value], ...]:
        records = _listed(value, owner, self.name, "a list of records")
        if len(records) > self.most:
            raise invalid(owner, self.name, f"at most {self.most:,} records", len(records))
        return tuple(canonical(record, owner=owner, parameter=self.name) for record in records)

    def schema(self) -> dict[str, Any]:
        records = {"type": "array", "items": dict(Record.takes)}
        return {**records, "minItems": 1, "maxItems": self.most}

    def read(self, text: str) -> object:
        return json.loads(text)


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
    """Return a record with plain values, in the order in which they are given."""
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
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise InvalidInput(
            f'{option} must be a JSON object such as \'{{"age": 61, "bmi": 24.1}}\' '
            "(or @FILE that holds one)."
        )
    return value


class Numbers(Parameter[tuple[float, ...], Sequence[float]]):
    """Numbers, each once, from the smallest to the largest."""

    type_text = "sequence of float"
    typed_as = "numbers with commas, such as 1,2,4"
    takes: ClassVar = {
        "type": "array",
        "items": {"type": "number", "exclusiveMinimum": 0},
        "minItems": 1,
    }

    def parse(self, value: object, owner: str) -> tuple[float, ...]:
        numbers = _listed(value, owner, self.name, "a list of numbers")
        for number in numbers:
            numeric = isinstance(number, int | float) and not isinstance(number, bool)
            if not numeric or not 0 < number <= FARTHEST:
                raise invalid(owner, self.name, "finite numbers above 0", number)
        return tuple(sorted(set(map(float, numbers))))

    def read(self, text: str) -> list[float]:
        return list(map(float, text.split(",")))

    def to_text(self, value: Any) -> str:
        return ",".join(map(repr, value))


class Weights(Parameter[Mapping[str, float], Mapping[str, float]]):
    """A positive number for each of some columns, typed as ``age=2,pay=0.5``."""

    type_text = "mapping of column to number"
    typed_as = "such as age=2,pay=0.5"
    _most = 1_000_000
    takes: ClassVar = {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": {"type": "number", "exclusiveMinimum": 0, "maximum": _most},
    }

    def parse(self, value: object, owner: str) -> Mapping[str, float]:
        if not isinstance(value, Mapping) or not value:
            raise invalid(owner, self.name, "a mapping of columns to numbers", value)
        weights: dict[str, float] = {}
        for name, weight in sorted(canonical(value, owner=owner, parameter=self.name).items()):
            if isinstance(weight, str) or not 0 < weight <= self._most:
                must = f"numbers above 0 and up to {self._most:,}"
                raise invalid(owner, self.name, must, weight)
            weights[name] = weight
        return weights

    def read(self, text: str) -> dict[str, float]:
        pairs = [pair.rpartition("=") for pair in text.split(",")]
        return {name.strip(): float(number) for name, _, number in pairs if name.strip()}

    def to_text(self, value: Any) -> str:
        return ",".join(f"{name}={weight!r}" for name, weight in value.items())


class NameLists(Parameter[tuple[tuple[str, ...], ...], Sequence[Sequence[str]]]):
    """Several sets of columns, each once."""

    type_text = "sequence of sequences of str"

    def parse(self, value: object, owner: str) -> tuple[tuple[str, ...], ...]:
        lists = _listed(value, owner, self.name, "a list of lists of column names")
        inner = Names(help="").called(self.name)
        subspaces = {inner.parse(names, owner) for names in lists}
        if len(subspaces) < len(lists):
            raise InvalidInput(f"{owner} lists the same subspace twice; list it once.")
        return tuple(sorted(subspaces))

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": Names(help="").schema(), "minItems": 1}

    def read(self, text: str) -> list[list[str]]:
        return [[name.strip() for name in part.split(",")] for part in text.split(";")]

    def to_text(self, value: Any) -> str:
        return ";".join(",".join(names) for names in value)


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
    def type_text(self) -> str:  # type: ignore[override]
        return self.declared.__name__

    @property
    def parts(self) -> dict[str, Parameter[Any, Any]]:
        parameters = self.declared.parameters
        return {name: parameter for name, parameter in parameters.items() if name not in self.fixed}

    def parse(self, value: object, owner: str) -> D:
        if isinstance(value, self.declared):
            return value
        if isinstance(value, Mapping):
            return self.declared.from_json({**self.fixed, **value})
        needed = ", ".join(f"{name}=..." for name, part in self.parts.items() if part.required)
        hint = f"Write {self.type_text}({needed})."
        raise invalid(owner, self.name, f"a {self.type_text}", value, hint)

    def dump(self, value: D) -> dict[str, Any]:
        return value.to_json()

    def schema(self) -> dict[str, Any]:
        return self.declared.json_schema()


# Prices


class Epsilon(Exact):
    """The price."""

    def __init__(self, **words: Any) -> None:
        words.setdefault(
            "help", "The price, exact: 0.1 or 1/10. Smaller protects more and is less accurate."
        )
        super().__init__(**{"label": "Price ε", "group": "price", **words})


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


# Classes with declared parameters


@dataclass_transform(
    eq_default=True,
    frozen_default=False,  # the class itself refuses to set them
    kw_only_default=True,
    field_specifiers=(
        Choice,
        Delta,
        Epsilon,
        Exact,
        Flag,
        Maybe,
        Name,
        NameLists,
        Names,
        Nested,
        Number,
        Numbers,
        Parameter,
        Record,
        RecordList,
        Relation,
        Whole,
    ),
)
class Declared:
    """The base of classes with declared parameters.

    Examples
    --------
    >>> class Toss(Declared):
    ...     '''Toss a coin.'''
    ...     times: Whole = Whole(help="How often.", default=1)
    >>> Toss(times=3), Toss().to_json()
    (Toss(times=3), {'times': 1})
    >>> Toss(times=0)
    Traceback (most recent call last):
    ...
    whitecrow.errors.InvalidInput: The 'times' parameter of Toss must be a whole number of at least
    1. Got 0 instead.
    >>> Toss(tines=3)
    Traceback (most recent call last):
    ...
    whitecrow.errors.InvalidInput: Toss has no parameter 'tines'; did you mean 'times'?
    """

    parameters: ClassVar[Mapping[str, Parameter[Any, Any]]] = {}
    """The declaration, in the order in which it is written."""

    _places: ClassVar[Sequence[str]] = ()
    _former: ClassVar[Mapping[str, str]] = {}
    """What may be given by its place, and today's names by those of before."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        own = {name: part for name, part in vars(cls).items() if isinstance(part, Parameter)}
        cls.parameters = {**cls.parameters, **own}
        cls._places = [name for name, parameter in cls.parameters.items() if not parameter.kw_only]
        cls._former = {part.former: name for name, part in cls.parameters.items() if part.former}
        cls.__signature__ = _signature(cls.parameters)  # type: ignore[attr-defined]
        cls.__doc__ = _documented(cls)

    def __init__(self, *placed: Any, **named: Any) -> None:
        owner = type(self).__name__
        given = _gathered(type(self), placed, named)
        for name, parameter in self.parameters.items():
            value = given.get(name, parameter.default)
            if value is REQUIRED:
                raise InvalidInput(f"{owner} needs {name!r}: {parameter.help}", parameter=name)
            optional = value is None and parameter.default is None
            vars(self)[name] = None if optional else parameter.parse(value, owner)
        self.settle()

    def settle(self) -> None:
        """Check what concerns several parameters at once; ``put`` what follows from others."""

    def put(self, name: str, value: object) -> None:
        """Set a parameter while the object is made; never afterwards."""
        vars(self)[name] = value

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen; make another with replace().")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), json.dumps(self.to_json(), sort_keys=True)))

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{name}={getattr(self, name)!r}"
            for name, value in self.to_json().items()
            if self.parameters[name].required or value != self.parameters[name].dump_default()
        )
        return f"{type(self).__name__}({shown})"

    def _values(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in self.parameters}

    def replace(self, **changes: Any) -> Self:
        """Return the same with some parameters changed."""
        return type(self)(**{**self._values(), **changes})

    # JSON

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form; two spellings of one object give the same JSON."""
        return {
            name: None if (value := vars(self)[name]) is None else parameter.dump(value)
            for name, parameter in self.parameters.items()
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Build what :meth:`to_json` wrote; parameters with a default may be left out."""
        if not isinstance(data, Mapping):
            raise InvalidInput(f"{cls.__name__} is written as a JSON object.")
        return cls(**{str(key): value for key, value in data.items()})

    @classmethod
    def json_schema(cls, **constant: str) -> dict[str, Any]:
        """Return the JSON Schema; ``constant`` adds fields that have one value, such as a kind."""
        fixed = {key: {"type": "string", "const": value} for key, value in constant.items()}
        declared = {name: parameter.described() for name, parameter in cls.parameters.items()}
        needed = [name for name, parameter in cls.parameters.items() if parameter.required]
        return {
            "type": "object",
            "title": cls.__name__,
            "description": summary(cls),
            "required": [*fixed, *needed],
            "properties": {**fixed, **declared},
            "additionalProperties": False,
        }


def summary(cls: type) -> str:
    """The first paragraph of a class's docstring, on one line."""
    return " ".join((cls.__doc__ or "").strip().split("\n\n")[0].split())


def _gathered(
    cls: type[Declared], placed: tuple[Any, ...], named: Mapping[str, Any]
) -> dict[str, Any]:
    """What was given for which parameter, under today's names."""
    owner = cls.__name__
    places = cls._places
    if len(placed) > len(places):
        raise InvalidInput(f"{owner} takes {len(places)} parameters by place; name the others.")
    given = dict(zip(places, placed, strict=False))
    for key, value in named.items():
        name = cls._former.get(key, key)
        if name != key:
            text = f"The parameter {key!r} of {owner} is called {name!r} now."
            warnings.warn(text, DeprecationWarning, stacklevel=4)
        if name not in cls.parameters:
            near = difflib.get_close_matches(name, cls.parameters, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f": {', '.join(cls.parameters)}."
            raise InvalidInput(f"{owner} has no parameter {name!r}{hint}")
        if name in given:
            raise InvalidInput(f"{owner} was given {name!r} twice.")
        given[name] = value
    return given


def _signature(parameters: Mapping[str, Parameter[Any, Any]]) -> inspect.Signature:
    named, placed = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    listed: list[inspect.Parameter] = []
    after_optional = False
    for name, parameter in parameters.items():
        default = inspect.Parameter.empty if parameter.required else parameter.default
        # A required parameter after an optional one can only be named.
        kind = named if parameter.kw_only or (parameter.required and after_optional) else placed
        after_optional |= kind is placed and not parameter.required
        listed.append(inspect.Parameter(name, kind, default=default))
    return inspect.Signature(sorted(listed, key=lambda each: each.kind))


def _documented(cls: type[Declared]) -> str:
    """The docstring with the parameters in numpydoc's form, before its next section."""
    docstring = inspect.cleandoc(cls.__doc__ or "")
    if not cls.parameters or "Parameters\n----------" in docstring:
        return docstring
    lines = ["Parameters", "----------"]
    for name, parameter in cls.parameters.items():
        default = "" if parameter.required else f", default={parameter.dump_default()!r}"
        lines.append(f"{name} : {parameter.type_text}{default}")
        text = f"{parameter.help} {parameter.more}".strip()
        lines += textwrap.wrap(text, 92, initial_indent="    ", subsequent_indent="    ")
    section = "\n".join(lines)
    for later in ("References\n----------", "Examples\n--------"):
        head, separator, tail = docstring.partition(later)
        if separator:
            return f"{head}{section}\n\n{separator}{tail}"
    return f"{docstring}\n\n{section}\n"


# Terminals and forms have flat lists of inputs; a question has a model inside. Here the one becomes
# the other.


@dataclass(frozen=True)
class Input:
    """One thing to ask for."""

    name: str  # what the terminal and forms call it
    parameter: Parameter[Any, Any]  # what it is
    inside: str = ""  # the parameter that it is a part of; empty for one of the question's own
    # Whether it must be given; parts need not, where another object may be given instead.
    required: bool = False


def inputs(declared: type[Declared]) -> Iterator[Input]:
    """List what a person is asked for, in the declaration's order."""
    for name, parameter in declared.parameters.items():
        if not isinstance(parameter, Nested):
            yield Input(name, parameter, required=parameter.required)
            continue
        for part, inner in parameter.parts.items():
            yield Input(part, inner, name, inner.required and not parameter.others)
        if parameter.others:
            yield Input(name, parameter)


def assembled(declared: type[Declared], given: Mapping[str, Any]) -> dict[str, Any]:
    """Put values by input name together as the JSON of the question; None is left out."""
    question: dict[str, Any] = {}
    for asked in inputs(declared):
        value = given.get(asked.name)
        if value is None:
            continue
        if asked.inside:
            question.setdefault(asked.inside, {})[asked.name] = value
        elif asked.name in question:  # an object of another class, with parts that were typed apart
            question[asked.name] = {**value, **question[asked.name]}
        else:
            question[asked.name] = value
    return question


def typed(declared: type[Declared], document: Mapping[str, Any]) -> dict[str, tuple[Input, Any]]:
    """Take a question's JSON apart: for each input that it says, the value."""
    values = {}
    for asked in inputs(declared):
        part = document.get(asked.inside) if asked.inside else document
        value = part.get(asked.name) if isinstance(part, Mapping) else None
        if isinstance(asked.parameter, Nested) and isinstance(value, Mapping):
            value = {key: each for key, each in value.items() if key not in asked.parameter.parts}
        if value or value in (0, False):
            values[asked.name] = (asked, value)
    return values

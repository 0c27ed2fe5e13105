"""A class whose parameters are declared: checked when it is made, frozen, written as JSON."""

from __future__ import annotations

import difflib
import inspect
import json
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self, dataclass_transform

from whitecrow.declaration.parameter import (
    REQUIRED,
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
)
from whitecrow.errors import InvalidInput


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

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        own = {key: one for key, one in vars(cls).items() if isinstance(one, Parameter)}
        cls.parameters = {**cls.parameters, **own}
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
        self.made()

    def made(self) -> None:
        """Keep what follows from all parameters and is needed often."""

    def settle(self) -> None:
        """Check what concerns several parameters at once; :meth:`put` what follows from others."""

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
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._said())
        return f"{type(self).__name__}({shown})"

    def _values(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in self.parameters}

    def _said(self) -> Iterator[str]:
        """The parameters that are not at their default."""
        for name, written in self.to_json().items():
            parameter = self.parameters[name]
            if parameter.required or written != parameter.dump_default():
                yield name

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
        needed = [name for name, one in cls.parameters.items() if one.required]
        return {
            "type": "object",
            "title": cls.__name__,
            "description": summary(cls),
            "required": [*fixed, *needed],
            "properties": {
                **fixed,
                **{name: one.described() for name, one in cls.parameters.items()},
            },
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
    places = [name for name, one in cls.parameters.items() if not one.kw_only]
    if len(placed) > len(places):
        raise InvalidInput(f"{owner} takes {len(places)} parameters by place; name the others.")
    given = dict(zip(places, placed, strict=False))
    former = {one.former: name for name, one in cls.parameters.items() if one.former}
    for key, value in named.items():
        name = former.get(key, key)
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
    def one(name: str, parameter: Parameter[Any, Any]) -> inspect.Parameter:
        placed, named = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
        default = inspect.Parameter.empty if parameter.required else parameter.default
        return inspect.Parameter(name, named if parameter.kw_only else placed, default=default)

    made = [one(name, parameter) for name, parameter in parameters.items()]
    made.sort(key=lambda each: each.kind)
    # A required parameter after an optional one can only be named.
    optional = False
    for place, each in enumerate(made):
        optional = optional or each.default is not inspect.Parameter.empty
        if each.kind is each.POSITIONAL_OR_KEYWORD and optional and each.default is each.empty:
            made[place] = each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
    made.sort(key=lambda each: each.kind)
    return inspect.Signature(made)


def _documented(cls: type[Declared]) -> str:
    """The docstring with the parameters in numpydoc's form, before its next section."""
    written = inspect.cleandoc(cls.__doc__ or "")
    if not cls.parameters or "Parameters\n----------" in written:
        return written
    lines = ["Parameters", "----------"]
    for name, one in cls.parameters.items():
        default = "" if one.required else f", default={one.dump_default()!r}"
        lines.append(f"{name} : {one.written}{default}")
        text = f"{one.help} {one.more}".strip()
        lines += textwrap.wrap(text, 92, initial_indent="    ", subsequent_indent="    ")
    section = "\n".join(lines)
    for later in ("References\n----------", "Examples\n--------"):
        head, found, tail = written.partition(later)
        if found:
            return f"{head}{section}\n\n{found}{tail}"
    return f"{written}\n\n{section}\n"

"""Declaring parameters once; what checks, writes, asks for and documents them follows."""

from whitecrow.declaration.declared import Declared, summary
from whitecrow.declaration.lists import NameLists, Numbers, Record, RecordList, Value, Weights
from whitecrow.declaration.nested import Nested
from whitecrow.declaration.parameter import (
    REQUIRED,
    Choice,
    Exact,
    Flag,
    Maybe,
    Name,
    Names,
    Number,
    Parameter,
    Whole,
)
from whitecrow.declaration.price import Delta, Epsilon, Relation
from whitecrow.declaration.surface import Input, assembled, inputs, typed

__all__ = [
    "REQUIRED",
    "Choice",
    "Declared",
    "Delta",
    "Epsilon",
    "Exact",
    "Flag",
    "Input",
    "Maybe",
    "Name",
    "NameLists",
    "Names",
    "Nested",
    "Number",
    "Numbers",
    "Parameter",
    "Record",
    "RecordList",
    "Relation",
    "Value",
    "Weights",
    "Whole",
    "assembled",
    "inputs",
    "summary",
    "typed",
]

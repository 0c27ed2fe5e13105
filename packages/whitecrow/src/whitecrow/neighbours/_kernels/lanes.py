"""One tile of the float32 filter: one or two records against the 64 of a block, in registers.

Loops written in Python vectorise over one accumulator at a time and spend their time on loads
and stores. Here the tile is written as LLVM vectors of 16 floats, so that the eight accumulators
stay in registers; LLVM splits the vectors on machines with shorter ones. The fused multiply-add
is `llvm.fmuladd`: fused where the machine has it, rounded twice where not; the margins of
`proof.md` hold for both, and no fast-math flag is set.

Each tile computes a *score*: large means close. The result is, for each of the records, one bit a
lane: "surely close" and "possibly close". Pairs that are possible but not sure go to the
exact predicate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from whitecrow.neighbours._kernels.inner import inner
from whitecrow.neighbours._kernels.tables import LANES, LINES, Index, Workspace
from whitecrow.neighbours.relation import LARGEST, SQUARES, SUM

_WIDTH = 16
_PARTS = LANES // _WIDTH
_FLOAT = ir.FloatType()
_BIT = ir.IntType(1)
_I32 = ir.IntType(32)
_I64 = ir.IntType(64)
_VECTOR = ir.VectorType(_FLOAT, _WIDTH)

_LENGTHS, _SUMS = range(LINES)
"""Where scores begin: with minus half the squared lengths, or minus half the sums."""

_intrinsic: Any = intrinsic

Step = Callable[[Any, Any, Any, Any, Any], Any]


def _call(builder: Any, name: str, *arguments: Any) -> Any:
    kind = ir.FunctionType(_VECTOR, [_VECTOR] * len(arguments))
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{_WIDTH}f32")
    return builder.call(function, arguments)


def spread(builder: Any, value: Any) -> Any:
    """Return a vector of sixteen lanes that holds one number in each."""
    empty = ir.Constant(ir.VectorType(value.type, _WIDTH), ir.Undefined)
    first = builder.insert_element(empty, value, _I32(0))
    zeros = ir.Constant(ir.VectorType(_I32, _WIDTH), [0] * _WIDTH)
    return builder.shuffle_vector(first, empty, zeros)


def _apart(builder: Any, row: Any, column: Any) -> Any:
    return _call(builder, "fabs", builder.fsub(row, column))


def _dot(builder: Any, score: Any, row: Any, column: Any, category: Any) -> Any:
    return _call(builder, "fmuladd", row, column, score)


def _sum(builder: Any, score: Any, row: Any, column: Any, category: Any) -> Any:
    # |a - b| = a + b - 2 min(a, b), one operation less: the sums of a and of b are known.
    least = builder.select(builder.fcmp_ordered("<", row, column), row, column)
    return builder.fadd(score, least)


def _largest(builder: Any, score: Any, row: Any, column: Any, category: Any) -> Any:
    lower = builder.fneg(_apart(builder, row, column))
    return builder.select(builder.fcmp_ordered("<", lower, score), lower, score)


def _mixed(builder: Any, score: Any, row: Any, column: Any, category: Any) -> Any:
    one, zero = (ir.Constant(_VECTOR, [value] * _WIDTH) for value in (1.0, 0.0))
    differs = builder.select(builder.fcmp_unordered("!=", row, column), one, zero)
    return builder.fsub(score, builder.select(category, differs, _apart(builder, row, column)))


def _tile(step: Step, count: int, *, start: int | None) -> Any:
    """Make the tile of one or two records whose score grows by ``step`` with each column.

    The made function takes ``rows`` (float32, columns x records: those asked about), two row
    numbers, ``blocks`` (float32, blocks x (columns + LINES) x 64; scores begin with one of the last
    lines of a block, or with 0), the block number, ``categories`` (uint8, one for each column) and
    the two lists of thresholds, one for each row. It returns sure, possible for each record.
    """

    def typed(
        context: Any,
        rows: Any,
        first: Any,
        second: Any,
        blocks: Any,
        block: Any,
        categories: Any,
        sure: Any,
        possible: Any,
    ) -> Any:
        arguments = (rows, types.intp, types.intp, blocks, types.intp, categories, sure, possible)
        return types.UniTuple(types.uint64, 2 * count)(*arguments), generate

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, blocks, categories, sure, possible = (
            context.make_array(signature.args[index])(context, builder, arguments[index])
            for index in (0, 3, 5, 6, 7)
        )
        numbers = arguments[1 : 1 + count]
        width = cgutils.unpack_tuple(builder, rows.shape, 2)[1]

        def values(column: Any) -> list[Any]:
            line = builder.mul(column, width)
            return [single(builder, rows, builder.add(line, row)) for row in numbers]

        scores = _scores(builder, step, start, (blocks, arguments[4], categories), values, count)
        masks = [
            _reached(builder, score, single(builder, limit, number))
            for score, number in zip(scores, numbers, strict=True)
            for limit in (sure, possible)
        ]
        return context.make_tuple(builder, signature.return_type, masks)

    return _intrinsic(typed)


def single(builder: Any, array: Any, offset: Any) -> Any:
    return builder.load(builder.gep(array.data, [offset]))


def _scores(
    builder: Any,
    step: Step,
    start: int | None,
    tables: tuple[Any, Any, Any],
    values: Callable[[Any], list[Any]],
    count: int,
) -> list[list[Any]]:
    """Compute the scores of some records with a block: for each record, four vectors."""
    blocks, block, categories = tables
    columns = cgutils.unpack_tuple(builder, categories.shape, 1)[0]

    def vector(offset: Any) -> Any:
        pointer = builder.gep(blocks.data, [offset])
        return builder.load(builder.bitcast(pointer, _VECTOR.as_pointer()), align=4)

    lines = builder.add(columns, _I64(LINES))
    origin = builder.mul(block, builder.mul(lines, _I64(LANES)))
    scores = [[cgutils.alloca_once(builder, _VECTOR) for _ in range(_PARTS)] for _ in range(count)]
    for part in range(_PARTS):
        first = ir.Constant(_VECTOR, [0.0] * _WIDTH)
        if start is not None:
            line = builder.add(origin, builder.mul(builder.add(columns, _I64(start)), _I64(LANES)))
            first = vector(builder.add(line, _I64(part * _WIDTH)))
        for score in scores:
            builder.store(first, score[part])

    with cgutils.for_range(builder, columns) as loop:
        line = builder.add(origin, builder.mul(loop.index, _I64(LANES)))
        everywhere = [spread(builder, value) for value in values(loop.index)]
        flag = single(builder, categories, loop.index)
        category = builder.icmp_unsigned("!=", flag, ir.IntType(8)(0))
        for part in range(_PARTS):
            column = vector(builder.add(line, _I64(part * _WIDTH)))
            for score, value in zip(scores, everywhere, strict=True):
                grown = step(builder, builder.load(score[part]), value, column, category)
                builder.store(grown, score[part])
    return scores


def _reached(builder: Any, score: list[Any], limit: Any) -> Any:
    """Return one bit a lane: whether the score is at least the limit."""
    least, mask = spread(builder, limit), _I64(0)
    for part in range(_PARTS):
        reached = builder.fcmp_ordered(">=", builder.load(score[part]), least)
        bits = builder.zext(builder.bitcast(reached, ir.IntType(_WIDTH)), _I64)
        mask = builder.or_(mask, builder.shl(bits, _I64(part * _WIDTH)))
    return mask


def _for_each_measure(count: int) -> Any:
    dot = _tile(_dot, count, start=_LENGTHS)
    sums = _tile(_sum, count, start=_SUMS)
    largest = _tile(_largest, count, start=None)
    mixed = _tile(_mixed, count, start=None)

    @inner
    def compare(kind: int, space: Workspace, i: int, j: int, index: Index, leaf: int) -> Any:
        rows, sure, possible = space.rows, space.sure, space.possible
        if kind == SQUARES:
            return dot(rows, i, j, index.local, leaf, index.categories, sure, possible)
        if kind == SUM:
            return sums(rows, i, j, index.local, leaf, index.categories, sure, possible)
        if kind == LARGEST:
            return largest(rows, i, j, index.local, leaf, index.categories, sure, possible)
        return mixed(rows, i, j, index.local, leaf, index.categories, sure, possible)

    return compare


tile = _for_each_measure(2)
"""Compares two records of the workspace with a leaf: sure, possible; sure, possible."""

tile_alone = _for_each_measure(1)
"""Compares the first of two records alone: sure, possible."""


@inner
def real_lanes(count: int) -> np.uint64:
    """Return a mask of the first lanes; the others hold copies that fill the last block."""
    return np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(LANES - count)


@_intrinsic
def ones(context: Any, mask: Any) -> Any:
    """Return the number of bits that are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@_intrinsic
def lowest_bit(context: Any, mask: Any) -> Any:
    """Return the place of the lowest bit that is set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], _BIT(0))

    return types.int64(types.uint64), generate

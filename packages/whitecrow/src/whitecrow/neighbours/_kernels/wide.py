"""A record, or a box of records, against the boxes of sixteen nodes at once, in vector registers.

The steps are those of `compare_boxes`: in float64, in the same order, no product fused with a sum.
So are the verdicts (`proof.md`, "Boxes"). Why LLVM vectors are written out: see `lanes.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from whitecrow._arrays import Floats
from whitecrow.neighbours._kernels.inner import inner
from whitecrow.neighbours._kernels.lanes import single, spread
from whitecrow.neighbours._kernels.tables import BRANCHES, Relation, WideTree
from whitecrow.neighbours.relation import LARGEST, SQUARES, SUM

_DOUBLE = ir.DoubleType()
_I64 = ir.IntType(64)
_VECTOR = ir.VectorType(_DOUBLE, BRANCHES)
_ZERO = ir.Constant(_VECTOR, [0.0] * BRANCHES)
_ONE = ir.Constant(_VECTOR, [1.0] * BRANCHES)

_intrinsic: Any = intrinsic

Step = Callable[[Any, Any, Any, Any], Any]


def _larger(builder: Any, one: Any, other: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", one, other), one, other)


# What `relation.step` does to a total, for each measure


def _squares(builder: Any, total: Any, difference: Any, scale: Any) -> Any:
    return builder.fadd(total, builder.fmul(difference, difference))


def _sum(builder: Any, total: Any, difference: Any, scale: Any) -> Any:
    return builder.fadd(total, difference)


def _largest(builder: Any, total: Any, difference: Any, scale: Any) -> Any:
    return _larger(builder, total, difference)


def _mixed(builder: Any, total: Any, difference: Any, scale: Any) -> Any:
    differs = builder.select(builder.fcmp_ordered(">", difference, _ZERO), _ONE, _ZERO)
    number = builder.fcmp_ordered(">", scale, ir.Constant(_DOUBLE, 0.0))
    share = builder.fdiv(difference, spread(builder, scale))
    return builder.fadd(total, builder.select(number, share, differs))


def _comparison(step: Step) -> Any:
    """Make the comparison whose measure grows by ``step`` with each column.

    The made function takes ``boxes`` (float64, wide nodes x columns x 2 x 16), the wide node, the
    lowest and highest values of the records asked about, the scales, the threshold, and room for
    the 16 least measures. It returns one bit a child: whether the least measure, and whether the
    largest, is at most the threshold.
    """

    def typed(
        context: Any,
        boxes: Any,
        node: Any,
        low: Any,
        high: Any,
        scales: Any,
        threshold: Any,
        least: Any,
    ) -> Any:
        arguments = (boxes, types.intp, low, high, scales, types.float64, least)
        return types.UniTuple(types.uint64, 2)(*arguments), generate

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        boxes, lowest, highest, scales, least = (
            context.make_array(signature.args[index])(context, builder, arguments[index])
            for index in (0, 2, 3, 4, 6)
        )
        columns = cgutils.unpack_tuple(builder, scales.shape, 1)[0]

        def vector(array: Any, offset: Any) -> Any:
            return builder.bitcast(builder.gep(array.data, [offset]), _VECTOR.as_pointer())

        origin = builder.mul(arguments[1], builder.mul(columns, _I64(2 * BRANCHES)))
        totals = [cgutils.alloca_once(builder, _VECTOR) for _ in range(2)]
        for total in totals:
            builder.store(_ZERO, total)

        with cgutils.for_range(builder, columns) as loop:
            line = builder.add(origin, builder.mul(loop.index, _I64(2 * BRANCHES)))
            low = builder.load(vector(boxes, line), align=8)
            high = builder.load(vector(boxes, builder.add(line, _I64(BRANCHES))), align=8)
            scale = single(builder, scales, loop.index)
            above = builder.fsub(high, spread(builder, single(builder, lowest, loop.index)))
            below = builder.fsub(spread(builder, single(builder, highest, loop.index)), low)
            beyond = _larger(builder, builder.fneg(above), builder.fneg(below))
            differences = (_larger(builder, beyond, _ZERO), _larger(builder, above, below))
            for total, difference in zip(totals, differences, strict=True):
                builder.store(step(builder, builder.load(total), difference, scale), total)

        builder.store(builder.load(totals[0]), vector(least, _I64(0)), align=8)
        limit = spread(builder, arguments[5])
        masks = []
        for total in totals:
            reached = builder.fcmp_ordered("<=", builder.load(total), limit)
            masks.append(builder.zext(builder.bitcast(reached, ir.IntType(BRANCHES)), _I64))
        return context.make_tuple(builder, signature.return_type, masks)

    return _intrinsic(typed)


_by_squares = _comparison(_squares)
_by_sum = _comparison(_sum)
_by_largest = _comparison(_largest)
_by_mixed = _comparison(_mixed)


@inner
def compare_children(
    relation: Relation, tree: WideTree, node: int, low: Floats, high: Floats, least: Floats
) -> Any:
    """Return which children of a wide node have any, and which have only close records, as bits.

    Those asked about lie between ``low`` and ``high``, which are one for a single record. ``least``
    receives how near each child comes.
    """
    kind, threshold, scales, boxes = relation.kind, relation.threshold, relation.scales, tree.boxes
    if kind == SQUARES:
        some, every = _by_squares(boxes, node, low, high, scales, threshold, least)
    elif kind == SUM:
        some, every = _by_sum(boxes, node, low, high, scales, threshold, least)
    elif kind == LARGEST:
        some, every = _by_largest(boxes, node, low, high, scales, threshold, least)
    else:
        some, every = _by_mixed(boxes, node, low, high, scales, threshold, least)
    return some & tree.present[node], every & tree.present[node]

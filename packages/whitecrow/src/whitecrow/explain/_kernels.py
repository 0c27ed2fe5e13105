"""Compiled evaluation of one record in many contexts.

A context is a set of *free bits*: one bit for each attribute value that is not the record's own.
Another record needs the bits of its own values (its *signature*) and is in the context iff the
signature is a subset of the context. Everything here works on signatures alone.

Members are centred on the record (``y = member - record`` in whole steps); the record itself is
``y = 0``, belongs to every context, and is in none of the arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from whitecrow._compiled import compiled, compiled_into
from whitecrow.anomaly.detectors.kernels import NO, YES, bin_of, grubbs, lof

Array = NDArray[Any]

_part: Any = compiled_into(_nrt=False)
"""For a function that kernels call: all memory is given."""

_bare: Any = compiled(nogil=True, _nrt=False)
"""For a large kernel: all memory is given, as allocating would have to be compiled too."""

# --- one context at a time: signatures of any length, in words of 64 bits -------------------------


@compiled(inline="always")
def _inside(signatures, cell, context):  # type: ignore[no-untyped-def]
    lacks = np.uint64(0)
    for word in range(context.shape[0]):
        lacks |= signatures[cell, word] & ~context[word]
    return lacks == 0


@compiled()
def batch_sums(signatures, amounts, contexts, own):  # type: ignore[no-untyped-def]
    """Sum ``amounts`` over the cells of each context, plus the record's ``own``."""
    found = np.empty(contexts.shape[0], amounts.dtype)
    for q in range(contexts.shape[0]):
        total = own
        for cell in range(amounts.shape[0]):
            if _inside(signatures, cell, contexts[q]):
                total += amounts[cell]
        found[q] = total
    return found


@compiled()
def batch_grubbs(signatures, size, total, squares, shares, side, terms, contexts):  # type: ignore[no-untyped-def]
    found = np.empty(contexts.shape[0], np.uint8)
    for q in range(contexts.shape[0]):
        n, s1, s2 = 1, 0, 0.0
        for cell in range(size.shape[0]):
            if _inside(signatures, cell, contexts[q]):
                n += size[cell]
                s1 += total[cell]
                s2 += squares[cell]
        found[q] = grubbs(n, float(s1), s2, shares[n], side, terms)
    return found


@_part
def _members(signatures, context, inside):  # type: ignore[no-untyped-def]
    for cell in range(inside.shape[0]):
        inside[cell] = _inside(signatures, cell, context)


@compiled()
def batch_lof(signatures, left, left_cell, right, right_cell, k, threshold, contexts):  # type: ignore[no-untyped-def]
    """LOF verdicts; ``left`` and ``right`` hold the other records outward from this one."""
    reach = 3 * k
    found = np.empty(contexts.shape[0], np.uint8)
    inside = np.empty(signatures.shape[0], np.bool_)
    z = np.zeros(2 * reach + 2, np.int64)
    kd = np.empty(2 * reach + 2, np.int64)
    first = np.empty(2 * reach + 2, np.int64)
    for q in range(contexts.shape[0]):
        _members(signatures, contexts[q], inside)
        before = 0
        for i in range(left.shape[0]):
            if before == reach:
                break
            if inside[left_cell[i]]:
                before += 1
                z[reach - before] = left[i]
        z[reach] = 0
        after = 0
        for i in range(right.shape[0]):
            if after == reach:
                break
            if inside[right_cell[i]]:
                after += 1
                z[reach + after] = right[i]
        found[q] = lof(z[reach - before :], before, before + after + 1, k, threshold, kd, first)
    return found


@compiled()
def batch_histogram(  # type: ignore[no-untyped-def]
    signatures, size, low, high, left, left_cell, right, right_cell, bins, share, whole, contexts
):
    """Histogram verdicts: fewer than ``share/whole`` of the members in the record's bin."""
    found = np.empty(contexts.shape[0], np.uint8)
    inside = np.empty(signatures.shape[0], np.bool_)
    for q in range(contexts.shape[0]):
        _members(signatures, contexts[q], inside)
        n, lo, hi = 1, 0, 0
        for cell in range(size.shape[0]):
            if inside[cell]:
                n += size[cell]
                lo = min(lo, low[cell])
                hi = max(hi, high[cell])
        start, stop = bin_of(lo, hi, bins[n] if bins.shape[0] > 1 else bins[0])
        enough = -((-share * n) // whole)
        members = 1
        i = 0
        while members < enough and i < left.shape[0] and left[i] >= start:
            members += inside[left_cell[i]]
            i += 1
        i = 0
        while members < enough and i < right.shape[0] and right[i] <= stop:
            members += inside[right_cell[i]]
            i += 1
        found[q] = YES if members < enough else NO
    return found


# --- all contexts at once: signatures of at most 32 bits ------------------------------------------
# The high bits of a context are the *outer* part, the low bits the *inner* part. For one outer part
# the inner table is a subset-sum (zeta) transform that stays in cache.


@_part
def _fold(table, bits):  # type: ignore[no-untyped-def]
    """Replace each entry by the sum over its subsets."""
    for bit in range(bits):
        step = 1 << bit
        for start in range(0, 1 << bits, 2 * step):
            for i in range(start, start + step):
                table[i + step] += table[i]


@_part
def _fold_span(low, high, bits):  # type: ignore[no-untyped-def]
    """Replace each entry by the smallest low and the largest high over its subsets."""
    for bit in range(bits):
        step = 1 << bit
        for start in range(0, 1 << bits, 2 * step):
            for i in range(start, start + step):
                low[i + step] = min(low[i + step], low[i])
                high[i + step] = max(high[i + step], high[i])


@_part
def _scatter(signatures, amounts, own, outer, bits, table):  # type: ignore[no-untyped-def]
    """Fill in the inner table of one amount for one outer part."""
    for i in range(1 << bits):
        table[i] = 0
    table[0] = own
    mask = np.uint32((1 << bits) - 1)
    for cell in range(signatures.shape[0]):
        if not (signatures[cell] >> np.uint32(bits)) & ~outer:
            table[signatures[cell] & mask] += amounts[cell]
    _fold(table, bits)


@_bare
def direct_sums(signatures, amounts, own, bits, start, stop, found):  # type: ignore[no-untyped-def]
    """Sum ``amounts`` over every context whose outer part lies in ``start .. stop-1``."""
    block = 1 << bits
    for part in range(start, stop):
        table = found[part * block : (part + 1) * block]
        _scatter(signatures, amounts, own, np.uint32(part), bits, table)


def direct_grubbs(
    signatures: Array,
    size: Array,
    total: Array,
    squares: Array,
    shares: Array,
    side: int,
    terms: float,
    bits: int,
    start: int,
    stop: int,
    found: Array,
) -> None:
    """Grubbs verdicts of every context whose outer part lies in ``start .. stop-1``."""
    tables = [np.empty(1 << bits, amounts.dtype) for amounts in (size, total, squares)]
    _grubbs(
        signatures, size, total, squares, shares, side, terms, bits, start, stop, *tables, found
    )


@_bare
def _grubbs(  # type: ignore[no-untyped-def]
    signatures, size, total, squares, shares, side, terms, bits, start, stop, n, s1, s2, found
):
    block = 1 << bits
    for part in range(start, stop):
        outer = np.uint32(part)
        _scatter(signatures, size, 1, outer, bits, n)
        _scatter(signatures, total, 0, outer, bits, s1)
        _scatter(signatures, squares, 0.0, outer, bits, s2)
        base = part * block
        for i in range(block):
            found[base + i] = grubbs(n[i], float(s1[i]), s2[i], shares[n[i]], side, terms)


@_part
def _nearest(y, cell, length, outer, bits, most, count, out_y, out_cell):  # type: ignore[no-untyped-def]
    """Keep the records whose high bits fit, at most ``most`` of each low part, outward.

    Looks at the first ``length`` records.
    """
    for i in range(1 << bits):
        count[i] = 0
    mask = np.uint32((1 << bits) - 1)
    kept = 0
    for i in range(length):
        if not (cell[i] >> np.uint32(bits)) & ~outer:
            low = cell[i] & mask
            if count[low] < most:
                count[low] += 1
                out_y[kept] = y[i]
                out_cell[kept] = low
                kept += 1
    return kept


def direct_lof(
    left: Array,
    left_cell: Array,
    right: Array,
    right_cell: Array,
    k: int,
    threshold: float,
    bits: int,
    low: int,
    start: int,
    stop: int,
    found: Array,
) -> None:
    """LOF verdicts of every context whose outer part lies in ``start .. stop-1``.

    A context's verdict needs the nearest ``3k`` members on each side, so that many of each cell
    suffice: the lists shrink once for the outer part, once for the middle bits, and the low bits
    scan what is left.
    """
    values = np.empty((2, 2, max(len(left), len(right))), np.int64)
    cells = np.empty(values.shape, np.uint32)
    near = np.zeros((3, 6 * k + 2), np.int64)
    count = np.empty(1 << bits, np.int64)
    sides = (left, left_cell, right, right_cell)
    _lof(*sides, k, threshold, bits, low, start, stop, values, cells, near, count, found)


@_bare
def _lof(  # type: ignore[no-untyped-def]
    left,
    left_cell,
    right,
    right_cell,
    k,
    threshold,
    bits,
    low,
    start,
    stop,
    values,
    cells,
    near,
    count,
    found,
):
    reach = 3 * k
    a_y, b_y, c_y, d_y = values[0, 0], values[0, 1], values[1, 0], values[1, 1]
    a_cell, b_cell, c_cell, d_cell = cells[0, 0], cells[0, 1], cells[1, 0], cells[1, 1]
    z, kd, first = near[0], near[1], near[2]
    for part in range(start, stop):
        outer = np.uint32(part)
        a = _nearest(left, left_cell, len(left), outer, bits, reach, count, a_y, a_cell)
        b = _nearest(right, right_cell, len(right), outer, bits, reach, count, b_y, b_cell)
        for middle in range(1 << (bits - low)):
            mid = np.uint32(middle)
            c = _nearest(a_y, a_cell, a, mid, low, reach, count, c_y, c_cell)
            d = _nearest(b_y, b_cell, b, mid, low, reach, count, d_y, d_cell)
            base = (part << bits) + (middle << low)
            for inner in range(1 << low):
                lacks = ~np.uint32(inner)
                before = 0
                for i in range(c):
                    z[reach - 1 - before] = c_y[i]
                    before += not (c_cell[i] & lacks)
                    if before == reach:
                        break
                z[reach] = 0
                after = 0
                for i in range(d):
                    z[reach + 1 + after] = d_y[i]
                    after += not (d_cell[i] & lacks)
                    if after == reach:
                        break
                found[base + inner] = lof(
                    z[reach - before :], before, before + after + 1, k, threshold, kd, first
                )


def direct_histogram(
    signatures: Array,
    size: Array,
    low: Array,
    high: Array,
    left: Array,
    left_cell: Array,
    right: Array,
    right_cell: Array,
    bins: Array,
    share: int,
    whole: int,
    bits: int,
    start: int,
    stop: int,
    found: Array,
) -> None:
    """Histogram verdicts of every context whose outer part lies in ``start .. stop-1``."""
    values = np.empty((2, max(len(left), len(right))), np.int64)
    cells = np.empty(values.shape, np.uint32)
    tables = np.empty((4, 1 << bits), np.int64)
    cell_of = (signatures, size, low, high)
    sides = (left, left_cell, right, right_cell)
    _histogram(
        *cell_of, *sides, bins, share, whole, bits, start, stop, values, cells, tables, found
    )


@_bare
def _histogram(  # type: ignore[no-untyped-def]
    signatures,
    size,
    low,
    high,
    left,
    left_cell,
    right,
    right_cell,
    bins,
    share,
    whole,
    bits,
    start,
    stop,
    values,
    cells,
    tables,
    found,
):
    block = 1 << bits
    mask = np.uint32(block - 1)
    a_y, b_y, a_cell, b_cell = values[0], values[1], cells[0], cells[1]
    n, lo, hi, count = tables[0], tables[1], tables[2], tables[3]
    most = len(left) + len(right)
    for part in range(start, stop):
        outer = np.uint32(part)
        _scatter(signatures, size, 1, outer, bits, n)
        for i in range(block):
            lo[i] = 0
            hi[i] = 0
        for cell in range(signatures.shape[0]):
            if not (signatures[cell] >> np.uint32(bits)) & ~outer:
                place = signatures[cell] & mask
                lo[place] = min(lo[place], low[cell])
                hi[place] = max(hi[place], high[cell])
        _fold_span(lo, hi, bits)
        a = _nearest(left, left_cell, len(left), outer, bits, most, count, a_y, a_cell)
        b = _nearest(right, right_cell, len(right), outer, bits, most, count, b_y, b_cell)
        base = part * block
        for i in range(block):
            first, last = bin_of(lo[i], hi[i], bins[n[i]] if bins.shape[0] > 1 else bins[0])
            enough = -((-share * n[i]) // whole)
            lacks = ~np.uint32(i)
            members = 1
            j = 0
            while members < enough and j < a and a_y[j] >= first:
                members += not (a_cell[j] & lacks)
                j += 1
            j = 0
            while members < enough and j < b and b_y[j] <= last:
                members += not (b_cell[j] & lacks)
                j += 1
            found[base + i] = YES if members < enough else NO


@compiled()
def tally(scores, matches, most):  # type: ignore[no-untyped-def]
    """Count the matching contexts of each score, from the lowest; nothing if too far apart."""
    low, high = np.int64(0), np.int64(-1)
    for i in range(scores.shape[0]):
        if matches[i]:
            if high < low:
                low = high = scores[i]
            low = min(low, scores[i])
            high = max(high, scores[i])
    counts = np.zeros(high - low + 1 if high - low < most else 0, np.int64)
    if counts.shape[0]:
        for i in range(scores.shape[0]):
            if matches[i]:
                counts[scores[i] - low] += 1
    return low, counts

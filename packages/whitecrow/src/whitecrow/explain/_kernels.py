"""Compiled evaluation of one record in many contexts.

A context is a set of *free bits*: one bit for each attribute value that is not the record's own.
Another record needs the bits of its own values (its *signature*) and is in the context iff the
signature is a subset of the context. Everything here works on signatures alone.

Members are centred on the record (``y = member - record`` in whole steps); the record itself is
``y = 0``, belongs to every context, and is in none of the arrays.

Each detector's kernels take the same: signatures, ``cells`` (amounts of each cell), ``sides`` (the
other records outward from this one: left and its cells, right and its cells) and its settings.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whitecrow._compiled import compiled, compiled_into

_LOW = 7  # low bits of an inner table among which LOF scans what is left of its lists

_part: Any = compiled_into(_nrt=False)  # for a function that kernels call: all memory is given

_bare: Any = compiled(nogil=True, _nrt=False)
"""For a large kernel: all memory is given, as allocating would have to be compiled too."""

# --- verdicts on one population -------------------------------------------------------------------
# Each says no (0), yes (1) or "too close for floating point" (2). A doubtful verdict is settled by
# the detector's own exact arithmetic, so that it is the same whichever path found it.

NO, YES, DOUBT = 0, 1, 2

ROUNDING = 2.0**-52


@compiled(inline="always")
def above(left, right, terms):  # type: ignore[no-untyped-def]
    """Compare two non-negative doubles, sums of at most ``terms`` rounded terms.

    Both are within ``(terms + 6) 2^-53`` of the truth, relatively; the margin is twice the sum of
    the two errors (``explain/proof.md``, Lemma 8).
    """
    margin = 4.0 * (terms + 16.0) * ROUNDING
    if left == right == 0.0:
        return NO
    if left > right * (1.0 + margin):
        return YES
    if left < right * (1.0 - margin):
        return NO
    return DOUBT


@compiled(inline="always")
def grubbs(size, total, squares, share, side, terms):  # type: ignore[no-untyped-def]
    """Grubbs: ``total`` and ``squares`` are the sums of y and y^2, y = member - record.

    ``side`` is 0 for both, 1 for high (the record above the mean), -1 for low; ``squares`` is a
    sum of at most ``terms`` rounded terms, ``total`` is exact.
    """
    if side * total > 0:
        return NO
    return above(total * total, share * size * squares, terms)


@_part
def lof(z, index, length, k, threshold, kd, first):  # type: ignore[no-untyped-def]
    """LOF of ``z[index]`` among the ascending ``z[:length]``; ``kd`` and ``first`` are scratch.

    Only the neighbours of the record and of its neighbours are looked at.
    """
    if length - 1 < k:
        k = length - 1
    if k == 0:
        return NO
    own = _windows(z, index, index + 1, max(0, index - k), length, k, kd, first)
    ends = _windows(z, own, own + k + 1, max(0, own - k), length, k, kd, first)
    begins = first[own]
    _windows(z, begins, own, max(0, begins - k), length, k, kd, first)
    _windows(z, own + k + 1, ends + k + 1, ends, length, k, kd, first)
    mine = _reachability(z, kd, index, own, k)
    total = -1.0  # the record's own term
    for j in range(own, own + k + 1):
        other = _reachability(z, kd, j, first[j], k)
        if other > 0:
            total += mine / other
        elif mine > 0:
            return YES
        else:
            total += 1.0
    return above(total, threshold * k, float(k))


@_part
def _windows(z, lo, hi, start, length, k, kd, first):  # type: ignore[no-untyped-def]
    """Set the k-distance and the first neighbour of members ``lo .. hi-1``.

    Windows only move right; on a tie they stay with the smaller value.
    """
    for i in range(lo, hi):
        here = z[i]
        while start + k + 1 < length and z[start + k + 1] - here < here - z[start]:
            start += 1
        first[i] = start
        kd[i] = max(here - z[start], z[start + k] - here)
    return start


@_part
def _reachability(z, kd, i, start, k):  # type: ignore[no-untyped-def]
    """Sum of reachability distances of ``z[i]`` to the k others of its window."""
    here = z[i]
    total = -kd[i]
    for j in range(np.uint64(start), np.uint64(start + k + 1)):  # unsigned: vectorised
        total += max(abs(z[j] - here), kd[j])
    return total


@compiled(inline="always")
def bin_of(low, high, bins):  # type: ignore[no-untyped-def]
    """Bounds of the bin that holds 0 when ``bins`` bins span ``low <= 0 <= high``."""
    width = high - low
    if width == 0:
        return low, high
    index = min((-low) * bins // width, bins - 1)
    start = low - ((-index * width) // bins)
    if index == bins - 1:
        return start, high
    return start, low + ((index + 1) * width - 1) // bins


# --- one context at a time: signatures of any length, in words of 64 bits -------------------------


@compiled(inline="always")
def _inside(signatures, cell, context):  # type: ignore[no-untyped-def]
    lacks = np.uint64(0)
    for word in range(context.shape[0]):
        lacks |= signatures[cell, word] & ~context[word]
    return lacks == 0


@compiled()
def batch_sums(signatures, amounts, contexts):  # type: ignore[no-untyped-def]
    """Sum ``amounts`` over the cells of each context; the record itself adds 1."""
    sums = np.empty(contexts.shape[0], amounts.dtype)
    for q in range(contexts.shape[0]):
        total = 1
        for cell in range(amounts.shape[0]):
            if _inside(signatures, cell, contexts[q]):
                total += amounts[cell]
        sums[q] = total
    return sums


@compiled()
def batch_grubbs(signatures, cells, sides, settings, contexts):  # type: ignore[no-untyped-def]
    size, total, squares = cells
    shares, side, terms = settings
    verdicts = np.empty(contexts.shape[0], np.uint8)
    for q in range(contexts.shape[0]):
        n, s1, s2 = 1, 0, 0.0
        for cell in range(size.shape[0]):
            if _inside(signatures, cell, contexts[q]):
                n += size[cell]
                s1 += total[cell]
                s2 += squares[cell]
        verdicts[q] = grubbs(n, float(s1), s2, shares[n], side, terms)
    return verdicts


@_part
def _members(signatures, context, inside):  # type: ignore[no-untyped-def]
    for cell in range(inside.shape[0]):
        inside[cell] = _inside(signatures, cell, context)


@compiled()
def batch_lof(signatures, cells, sides, settings, contexts):  # type: ignore[no-untyped-def]
    left, left_cell, right, right_cell = sides
    k, threshold = settings
    reach = 3 * k
    verdicts = np.empty(contexts.shape[0], np.uint8)
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
        verdicts[q] = lof(z[reach - before :], before, before + after + 1, k, threshold, kd, first)
    return verdicts


@compiled()
def batch_histogram(signatures, cells, sides, settings, contexts):  # type: ignore[no-untyped-def]
    """Histogram verdicts: fewer than ``share/whole`` of the members in the record's bin."""
    size, low, high = cells
    left, left_cell, right, right_cell = sides
    bins, share, whole = settings
    verdicts = np.empty(contexts.shape[0], np.uint8)
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
        verdicts[q] = YES if members < enough else NO
    return verdicts


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
def direct_sums(signatures, amounts, bits, start, stop, sums):  # type: ignore[no-untyped-def]
    """Sum ``amounts`` over every context whose outer part lies in ``start .. stop-1``."""
    block = 1 << bits
    for part in range(start, stop):
        table = sums[part * block : (part + 1) * block]
        _scatter(signatures, amounts, 1, np.uint32(part), bits, table)


def direct_grubbs(signatures, cells, sides, settings, bits, start, stop, verdicts):  # type: ignore[no-untyped-def]
    """Grubbs verdicts of every context whose outer part lies in ``start .. stop-1``."""
    tables = tuple(np.empty(1 << bits, amounts.dtype) for amounts in cells)
    _grubbs(signatures, cells, settings, bits, start, stop, tables, verdicts)


@_bare
def _grubbs(signatures, cells, settings, bits, start, stop, tables, verdicts):  # type: ignore[no-untyped-def]
    size, total, squares = cells
    shares, side, terms = settings
    n, s1, s2 = tables
    block = 1 << bits
    for part in range(start, stop):
        outer = np.uint32(part)
        _scatter(signatures, size, 1, outer, bits, n)
        _scatter(signatures, total, 0, outer, bits, s1)
        _scatter(signatures, squares, 0.0, outer, bits, s2)
        base = part * block
        for i in range(block):
            verdicts[base + i] = grubbs(n[i], float(s1[i]), s2[i], shares[n[i]], side, terms)


@_part
def _nearest(y, cell, length, outer, bits, most, count, out_y, out_cell):  # type: ignore[no-untyped-def]
    """Keep the records whose high bits fit, at most ``most`` of each low part, outward.

    Looks at the first ``length`` records.
    """
    for i in range(1 << bits):
        count[i] = 0
    mask = np.uint32((1 << bits) - 1)
    size = 0
    for i in range(length):
        if not (cell[i] >> np.uint32(bits)) & ~outer:
            low = cell[i] & mask
            if count[low] < most:
                count[low] += 1
                out_y[size] = y[i]
                out_cell[size] = low
                size += 1
    return size


def direct_lof(signatures, cells, sides, settings, bits, start, stop, verdicts):  # type: ignore[no-untyped-def]
    """LOF verdicts of every context whose outer part lies in ``start .. stop-1``.

    A context's verdict needs the nearest ``3k`` members on each side, so that many of each cell
    suffice: the lists shrink once for the outer part, once for the middle bits, and the low bits
    scan what is left.
    """
    k, threshold = settings
    values = np.empty((2, 2, max(len(sides[0]), len(sides[2]))), np.int64)
    nearest = values, np.empty(values.shape, np.uint32), np.empty(1 << bits, np.int64)
    scratch = np.zeros((3, 6 * k + 2), np.int64)
    low = min(bits, _LOW)
    _lof(sides, k, threshold, bits, low, start, stop, nearest, scratch, verdicts)


@_bare
def _lof(sides, k, threshold, bits, low, start, stop, nearest, scratch, verdicts):  # type: ignore[no-untyped-def]
    left, left_cell, right, right_cell = sides
    values, cells, count = nearest
    reach = 3 * k
    a_y, b_y, c_y, d_y = values[0, 0], values[0, 1], values[1, 0], values[1, 1]
    a_cell, b_cell, c_cell, d_cell = cells[0, 0], cells[0, 1], cells[1, 0], cells[1, 1]
    z, kd, first = scratch[0], scratch[1], scratch[2]
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
                verdicts[base + inner] = lof(
                    z[reach - before :], before, before + after + 1, k, threshold, kd, first
                )


def direct_histogram(signatures, cells, sides, settings, bits, start, stop, verdicts):  # type: ignore[no-untyped-def]
    """Histogram verdicts of every context whose outer part lies in ``start .. stop-1``."""
    values = np.empty((2, max(len(sides[0]), len(sides[2]))), np.int64)
    nearest = values, np.empty(values.shape, np.uint32)
    tables = np.empty((4, 1 << bits), np.int64)
    _histogram(signatures, cells, sides, settings, bits, start, stop, nearest, tables, verdicts)


@_bare
def _histogram(signatures, cells, sides, settings, bits, start, stop, nearest, tables, verdicts):  # type: ignore[no-untyped-def]
    size, low, high = cells
    left, left_cell, right, right_cell = sides
    bins, share, whole = settings
    near_y, near_cell = nearest
    a_y, b_y, a_cell, b_cell = near_y[0], near_y[1], near_cell[0], near_cell[1]
    block = 1 << bits
    mask = np.uint32(block - 1)
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
                code = signatures[cell] & mask
                lo[code] = min(lo[code], low[cell])
                hi[code] = max(hi[code], high[cell])
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
            verdicts[base + i] = YES if members < enough else NO

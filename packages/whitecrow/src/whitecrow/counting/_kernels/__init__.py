"""Compiled kernels of the ball cover.

Every kernel computes a combinatorial function of the set of points exactly: it never stops early
by time or by a number of steps, because a bound that was stopped is not admissible
(docs/mechanisms.md 3.1). Distances are compared as :mod:`whitecrow.neighbours.relation` compares
them, columns in order, direct differences; the box tests are the same expressions on smaller or
larger differences, and IEEE rounding is monotone, so a box never loses a point.
"""

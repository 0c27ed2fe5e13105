"""Benchmarks: each compares with the best peer in the same run and prints a ratio."""

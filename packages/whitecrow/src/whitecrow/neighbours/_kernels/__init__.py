"""Compiled kernels, one subject a file; imported only by the functions that use them."""

"""Compilation with numba: decorators, the cache of kernels, vectors and arrays on the stack."""

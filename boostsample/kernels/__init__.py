"""Compiled kernels: arrays and scalars in, arrays or scalars out.

Nothing here knows a class of boostsample, draws a random number or validates an argument. Kernels
that call each other, and the constants that they use, live in one module; only the vectors are
shared.
"""

"""Compiled kernels: arrays and scalars in, arrays or scalars out.

Nothing here knows a class of boostsample, draws a random number or validates an argument. A kernel and
everything that it calls or uses as a constant live in one module, because numba's cache watches
only the file of the kernel itself.
"""

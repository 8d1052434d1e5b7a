"""Compiled kernels: arrays and scalars in, arrays or scalars out.

Nothing here knows a class of boostsample, draws a random number or validates an argument. Kernels
that call each other, and the constants that they use, live in one module; shared are the vectors,
arrays on the stack, and the layout of what a search needs.
"""

"""Compiled kernels: arrays and scalars in, arrays or scalars out.

Kernels draw no random numbers and validate no arguments. Kernels that call each other, and their
constants, live in one module; all share vectors, arrays on the stack and `array_layout`.
"""

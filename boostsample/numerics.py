"""The number of the present numerics: results that it stands beside can be had again to the bit.

Whoever changes what any strategy, family or part of the loop computes, be it the last bit of an
edge, raises `NUMERICS`: stored results of another number are then computed again instead of being
mixed with new ones. `tests/test_numerics.py` fails when bits have changed and the number has not.
"""

from __future__ import annotations

__all__ = ["NUMERICS"]

NUMERICS = 1

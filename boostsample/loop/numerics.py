"""Version of the numerical results; equal versions reproduce bit for bit.

Raise `NUMERICS` with any change of what a strategy, a family or the loop computes, down to the last
bit of an edge: stored results of another version are computed again, not mixed with new ones.
`tests/test_numerics.py` fails when bits change and the version does not.
"""

from __future__ import annotations

NUMERICS = 11

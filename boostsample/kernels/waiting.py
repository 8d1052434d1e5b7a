"""Waiting for another thread without going to sleep.

A thread that sleeps takes 30 to 50 microseconds to wake up, as long as a small search. Here it
looks at a number in memory until that changes, without the GIL.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numba import types
from numba.core import config
from numba.extending import intrinsic
from numpy.typing import NDArray

from boostsample._jit import kernel

Counts: TypeAlias = NDArray[np.int64]


@intrinsic
def _now(typing: Any, counts: Any) -> Any:
    """counts[0] as it is in memory: compilers must read it again each time."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        return builder.load_atomic(data, "acquire", 8)

    return types.int64(counts), codegen


now: Any = _now if not vars(config)["DISABLE_JIT"] else lambda counts: counts[0]


@kernel
def changes(counts: Counts, seen: int, looks: int, linger: int) -> bool:
    """Whether counts[0] becomes another number than `seen` within so many looks.

    Reads counts int64 (1,), written by another thread. When it has changed, `linger` more looks
    pass: the writer is about to give the GIL up, and whoever asks for it earlier is put to sleep.
    """
    for _ in range(looks):
        if now(counts) != seen:
            so_far = 0
            for _ in range(linger):
                so_far += now(counts) != seen
            return so_far >= 0
    return False

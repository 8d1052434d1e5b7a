"""Random search: settings drawn from the ranges of a tuning grid, to tune with (Bergstra 2012).

A number is drawn log-uniformly between the smallest and the largest value of its setting, or
uniformly if one of them is not positive; whole numbers are rounded, others to three digits. Other
settings take one of their values. All repetitions try the same draws.

- Bergstra and Bengio, Random search for hyper-parameter optimization, JMLR 13, 2012.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from boostsample.experiments.plan.variants import Variant, plain_setting
from boostsample.hashing import hashed_seed

_TRIES = 100  # candidates for each draw, until it differs from those before


def drawn_variant(variant: Variant, n: int, seed: int) -> Variant:
    """A tuned strategy with `n` draws as its tuning grid; fewer if there are fewer combinations.

    The draws follow from name, settings and seed; more draws begin with the same ones. A strategy
    that is not tuned stays as it is.

    >>> grid = Variant.parse("ucb:exploration=0.1|10:reward_scale=30").tuned()
    >>> [one.settings_text for one in drawn_variant(grid, 3, 0).grid]
    ['exploration=...:reward_scale=30', ...]
    """
    if not variant.grid:
        return variant
    axes = {key: [one.settings[key] for one in variant.grid] for key in variant.grid[0].settings}
    values = {key: _values(found, [variant.name, key, seed]) for key, found in axes.items()}
    found: dict[str, Variant] = {}
    for _ in range(_TRIES * n):
        one = Variant(variant.name, {key: next(stream) for key, stream in values.items()})
        found.setdefault(one.settings_text, one)
        if len(found) == n:
            break
    return replace(variant, grid=tuple(found.values()))


def _values(given: Sequence[Any], key: Sequence[Any]) -> Iterator[Any]:
    """Random values of a setting, endless; the stream is seeded by `key`."""
    rng = np.random.default_rng(hashed_seed(json.dumps(["draws", *key]).encode()))
    values = sorted({repr(one): one for one in given}.values(), key=_order)
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in values)
    whole = numbers and all(isinstance(one, int) for one in values)
    low, high = values[0], values[-1]
    while True:
        u = float(rng.random())
        if len(values) == 1 or not numbers:
            yield values[int(u * len(values))]
            continue
        value = low * (high / low) ** u if low > 0 else low + (high - low) * u
        yield round(value) if whole else min(max(float(f"{value:.3g}"), low), high)


def _order(value: Any) -> tuple[bool, float, str]:
    """Numbers by size, then others by their text."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    size = float(value) if is_number else math.inf
    return not is_number, size, str(plain_setting(value))

"""The exceptions of boostsample: one base, one class for each party that can mend the cause."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "BoostSampleError",
    "BudgetExceeded",
    "DataError",
    "SettingError",
    "StrategyError",
    "unknown",
]


class BoostSampleError(Exception):
    """Base of every error that boostsample raises on purpose."""


class DataError(BoostSampleError, ValueError):
    """Data that cannot be learned from: a damaged file, NaN labels, one class (exit code 1)."""


class SettingError(BoostSampleError, ValueError):
    """A setting out of range or an unknown name (exit code 2)."""


class BudgetExceeded(BoostSampleError, RuntimeError):
    """A strategy asked for more looks than its budget has left; nothing was looked at."""


class StrategyError(BoostSampleError, RuntimeError):
    """A strategy broke the contract: a stump it never searched, a step used after its end."""


def unknown(kind: str, name: object, known: Iterable[str]) -> SettingError:
    """An error for an unknown name that lists the known ones and the nearest of them.

    >>> print(unknown("strategy", "laminate", ["full", "laminating"]))
    unknown strategy 'laminate' (did you mean 'laminating'?); known: full, laminating
    """
    names = list(known)
    near = difflib.get_close_matches(str(name), names, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    return SettingError(f"unknown {kind} {str(name)!r}{hint}; known: {', '.join(names)}")

"""Exceptions of boostsample: one base, one class for each cause; errors in a few words."""

from __future__ import annotations

import difflib
import os
import traceback
from collections.abc import Iterable

_MOST = 1000
"""Most characters of a message."""


class BoostSampleError(Exception):
    """Base of every error that boostsample raises on purpose.

    The message is one line: what files and users wrote stands in it with escapes for line ends and
    other characters that cannot be printed, and the middle of more than 1,000 is left out.
    """

    def __init__(self, message: object = "", *more: object) -> None:
        if isinstance(message, str):
            message = printable(message)
            if len(message) > _MOST:
                message = f"{message[: _MOST // 2]} ... {message[-_MOST // 2 :]}"
        super().__init__(message, *more)


class DataError(BoostSampleError, ValueError):
    """Data that cannot be learned from: a damaged file, NaN labels, one class (exit code 1)."""


class SettingError(BoostSampleError, ValueError):
    """A setting out of range or an unknown name (exit code 2)."""


class BudgetExceeded(BoostSampleError, RuntimeError):
    """A search costs more looks than the budget has left; nothing is searched."""


class StrategyError(BoostSampleError, RuntimeError):
    """A strategy breaks its contract: it returns a stump it never searched, uses an old step."""


class ShardError(BoostSampleError, RuntimeError):
    """Workers of a run cannot go on: none is left, or one has other versions (exit code 1).

    The booster is at the end of its last round: `small_state()` and a checkpoint can be saved, and
    continued with other workers.
    """


def failed(what: str, error: Exception) -> SettingError:
    """A SettingError for a function of the user that raises: its error, file and line."""
    (*_, frame) = traceback.extract_tb(error.__traceback__)
    return SettingError(
        f"the {what} fails: {type(error).__name__}: {one_line(error)} "
        f"('{frame.filename}', line {frame.lineno}); correct it"
    )


def unknown(kind: str, name: object, known: Iterable[str]) -> SettingError:
    """A SettingError for an unknown name: suggests the nearest known name, lists all.

    >>> print(unknown("strategy", "laminate", ["full", "laminating"]))
    unknown strategy 'laminate' (did you mean 'laminating'?); known: full, laminating
    """
    names = list(known)
    text = str(name) if isinstance(name, str | os.PathLike) else shown(name)
    near = difflib.get_close_matches(text, names, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    value = repr(text) if isinstance(name, str | os.PathLike) else text
    return SettingError(f"unknown {kind} {value}{hint}; known: {', '.join(names)}")


def printable(text: str, kept: str = "") -> str:
    r"""Return a text with escapes for the characters that cannot be printed, except those `kept`.

    A terminal would obey some of them: they move the cursor, change colours and titles.

    >>> print(printable("tab\tand \x1b[31mred"))
    tab\tand \x1b[31mred
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in kept else repr(c)[1:-1] for c in text)


def one_line(error: BaseException) -> str:
    """Return an exception's message, or its class if it has none, in at most 200 characters."""
    return shortened(" ".join(str(error).split()) or type(error).__name__, 200)


def shortened(text: str, most: int) -> str:
    """Return a text without its end if it has more than `most` characters.

    >>> shortened("unknown strategy", 10)
    'unknown...'
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."


def shown(value: object) -> str:
    """Return a value as messages show it: one line of at most 100 characters.

    >>> shown("10N"), shown(10**5000)
    ("'10N'", 'int of more than 4,300 digits')
    """
    try:
        return shortened(" ".join(repr(value).split()), 100)
    except ValueError:  # Python does not write longer ones
        return f"{type(value).__name__} of more than 4,300 digits"


def os_fault(error: OSError) -> str:
    """Return why a file could not be used, in a few words."""
    if isinstance(error, FileExistsError):
        return f"'{error.filename}' is a file"
    return error.strerror or one_line(error)

"""Data sets that functions of the user make: in a Python file, or by entry point.

The function is named as ``my_file.py:points(n=500)``, or by its name in the entry-point group
`GROUP`. docs/data.md says what it takes and returns.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from boostsample.errors import DataError, SettingError, failed
from boostsample.experiments.data.arrays import content_of_arrays, joined_parts
from boostsample.experiments.data.dataset import DataContent
from boostsample.names import is_in_file
from boostsample.registry import entries_of_group, object_in_file, registered_function

GROUP = "boostsample.datasets"
"""The entry-point group of functions of data sets."""
_GIVEN = ("data_dir", "seed")
_OPTIONS = ("name", "validation")
_KINDS = (bool, int, float, str)
Setting = bool | int | float | str


def registered_sets() -> tuple[str, ...]:
    """The names of data sets of other distributions."""
    return tuple(sorted({entry.name for entry in entries_of_group(GROUP)}))


def is_function_set(name: str) -> bool:
    """Whether a name, with settings or without, is of a function in a file or of an entry point."""
    base, _ = split_settings(name)
    return is_in_file(base) or base in registered_sets()


def split_settings(name: str) -> tuple[str, str]:
    """The name of a data set and its settings in parentheses.

    >>> split_settings("my_file.py:points(n=500)")
    ('my_file.py:points', 'n=500')
    """
    base, bracket, text = name.strip().rpartition("(")
    return (base.strip(), text[:-1]) if bracket and text.endswith(")") else (name.strip(), "")


def function_set(name: str) -> tuple[Callable[..., Any], dict[str, Setting]]:
    """A function of a data set, and the defaults of its settings.

    SettingError if it cannot be imported, or has parameters other than settings, `data_dir` and
    `seed`.
    """
    if is_in_file(name):
        function = object_in_file("data set", name)
    else:
        function = registered_function("data set", GROUP, name)
    if not callable(function) or inspect.isclass(function):
        raise SettingError(f"data set {name!r} must be a function, got {function!r:.80}")
    settings: dict[str, Setting] = {}
    for parameter in inspect.signature(function).parameters.values():
        by_name = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        if by_name and parameter.name in _GIVEN:
            continue
        if parameter.name in _OPTIONS:
            raise SettingError(
                f"data set {name!r}: no parameter may be called {parameter.name!r}, which is an "
                "option of every data set; rename it"
            )
        if not by_name or type(parameter.default) not in _KINDS:
            raise SettingError(
                f"data set {name!r}: the parameter {str(parameter)!r} must have a default that is "
                "a number, text, True or False, as in n=500; only data_dir and seed have none"
            )
        settings[parameter.name] = parameter.default
    return function, settings


def load_function_set(
    name: str, function: Callable[..., Any], settings: dict[str, Setting], **context: Any
) -> DataContent:
    """The content of the data set that a function makes with these settings.

    `context` has the values of `data_dir` and `seed`, which the function need not take.
    SettingError or DataError if it fails, or returns something else.
    """
    taken = inspect.signature(function).parameters
    wanted = {key: value for key, value in context.items() if key in taken}
    try:
        made = function(**settings, **wanted)
    except Exception as error:  # a function of the user may raise anything
        raise failed(f"data set {name!r}", error) from error
    if isinstance(made, DataContent):
        return made
    if not isinstance(made, tuple | list) or len(made) != 2:
        found = f"{len(made)} values" if isinstance(made, tuple) else type(made).__name__
        raise DataError(
            f"the data set {name!r} must return (X, y), or (X, y) to train and (X, y) to test on, "
            f"got {found}"
        )
    parts = all(isinstance(part, tuple) and len(part) == 2 for part in made)
    read = partial(joined_parts if parts else content_of_arrays, *made)
    try:
        return read()
    except DataError as error:
        raise DataError(f"the data set {name!r}: {error}") from error


def describe_function_set(name: str) -> tuple[str, dict[str, Setting]]:
    """The first sentence of a function of a data set, and its settings; or why it is unusable."""
    try:
        function, settings = function_set(name)
    except SettingError as error:
        return f"broken: {error}", {}
    return (inspect.getdoc(function) or "").partition("\n")[0].rstrip("."), settings

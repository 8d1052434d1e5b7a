"""Options of data sets, as in ``x.csv:label=target:drop=ID``: parsed and checked.

The command line, grid files and Python take the same options with the same rules.
"""

from __future__ import annotations

import re
from typing import Any

from boostsample.errors import SettingError
from boostsample.experiments.data.dataset import check_share

FILE_OPTIONS = (
    "name",
    "kind",
    "label",
    "drop",
    "category",
    "header",
    "delimiter",
    "decimal",
    "multilabel",
    "validation",
)
"""All options of files; which of them a format takes is known to its reader. `validation` fits any
data set, also a named one."""

_FLAGS = {"true": True, "false": False}
_DELIMITERS = {"tab": "\t", "space": " "}


def split_data_text(text: str) -> tuple[str, dict[str, str]]:
    """Split a name or path from the options that follow it.

    >>> split_data_text("x.csv:label=target:drop=ID,date")
    ('x.csv', {'label': 'target', 'drop': 'ID,date'})
    """
    name, *parts = re.split(r":(?=\s*\w+\s*=)", text)
    options: dict[str, str] = {}
    for part in parts:
        key, _, value = (side.strip() for side in part.partition("="))
        if key in options:
            raise SettingError(f"{name}: {key} must be given once, got it twice in {text!r}")
        options[key] = value
    return name, options


def check_file_option(name: str, value: Any) -> Any:
    """Return the value of an option, with its text parsed; SettingError if it is none.

    >>> check_file_option("drop", "ID,date"), check_file_option("header", "true")
    (['ID', 'date'], True)
    """
    if name in ("header", "multilabel"):
        flag = _FLAGS.get(value.lower(), value) if isinstance(value, str) else value
        if not isinstance(flag, bool):
            raise _wrong(name, "true or false", value)
        return flag
    if name == "validation":
        return check_share(value)
    if name in ("drop", "category"):
        columns = value.split(",") if isinstance(value, str) else value
        columns = [columns] if isinstance(columns, int) else columns
        if not isinstance(columns, list | tuple) or not all(map(_is_column, columns)):
            raise _wrong(name, "columns by name or position, as in ID,date", value)
        return [*map(_column, columns)]
    if name == "label":
        if not _is_column(value):
            raise _wrong(name, "the name or the position of a column", value)
        return _column(value)
    if not isinstance(value, str) or not value:
        raise _wrong(name, "text", value)
    if name == "delimiter":
        value = _DELIMITERS.get(value, value)
        if len(value) != 1:
            raise _wrong(name, "one character, or tab or space", value)
    if name == "decimal" and value not in (".", ","):
        raise _wrong(name, "'.' or ','", value)
    return value


def _is_column(value: Any) -> bool:
    return (
        bool(value.strip())
        if isinstance(value, str)
        else isinstance(value, int) and not isinstance(value, bool)
    )


def _column(value: str | int) -> str | int:
    """A column by its name or, if that is a whole number, its position."""
    try:
        return int(value)
    except ValueError:
        return str(value).strip()


def _wrong(name: str, rule: str, value: Any) -> SettingError:
    return SettingError(f"{name} must be {rule}, got {value!r}")

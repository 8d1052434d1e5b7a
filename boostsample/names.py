"""Names with settings, such as ``ucb:exploration=0.1``, on the command line and in Python.

The name of a part in a Python file has a colon itself: ``folder/my_file.py:Mine:n_features=20`` is
`Mine` of that file with a setting.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from boostsample.errors import SettingError

_WORDS = {"none": None, "true": True, "false": False}
_IN_FILE = re.compile(r"([^=]*?\.py)\s*:\s*([^:=]+)(:.*)?", re.DOTALL)


@dataclass(frozen=True)
class Alternatives:
    """Two or more different values of one setting, written as ``0.1|1|2``; tuning tries them."""

    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        keys = [(isinstance(value, bool), value) for value in self.values]
        for value, key in zip(self.values, keys, strict=True):
            if keys.count(key) > 1:
                raise SettingError(f"alternatives must differ, got {value} twice in {self}")

    def __str__(self) -> str:
        return "|".join(map(str, self.values))


def parse_name(text: str) -> tuple[str, dict[str, Any]]:
    """Name and settings of ``name`` or ``name:setting=value``; more colons, more settings.

    Values are None, bools, numbers, text or `Alternatives`. SettingError if the text is malformed.

    >>> parse_name("laminating:scheme=distinct:n_features=64")
    ('laminating', {'scheme': 'distinct', 'n_features': 64})
    """
    name, *pairs = _parts(text)
    if name.endswith(".py"):
        raise SettingError(f"name an object of the file as in {name}:Mine, got {text!r}")
    settings: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = (side.strip() for side in pair.partition("="))
        values = [part.strip() for part in value.split("|")]
        if not (name and key and equals and value):
            raise SettingError(f"settings must be written as name:setting=value, got {text!r}")
        if not all(values):
            raise SettingError(
                f"{name}: alternatives must be separated by single bars as in "
                f"{key}=1|10, got {pair!r}"
            )
        if key in settings:
            raise SettingError(f"{name}: {key} must be given once, got it twice in {text!r}")
        read = [read_setting(part) for part in values]
        settings[key] = Alternatives(tuple(read)) if len(read) > 1 else read[0]
    return name, settings


def split_name(text: str) -> tuple[str, str]:
    """The name of a name with settings, and its settings as text; nothing is checked.

    >>> split_name("my_file.py:Mine:n_features=20")
    ('my_file.py:Mine', 'n_features=20')
    """
    name, *pairs = _parts(text)
    return name, ":".join(pairs)


def _parts(text: str) -> list[str]:
    if in_file := _IN_FILE.fullmatch(text):
        path, part, settings = (group or "" for group in in_file.groups())
        parts = [f"{path}:{part.strip()}", *settings.split(":")[1:]]
    else:
        parts = text.split(":")
    return [part.strip() for part in parts]


def is_in_file(name: str) -> bool:
    """Whether a name, with settings or without, is of a Python file, as ``my_file.py:Mine``.

    >>> is_in_file("my_file.py:Mine"), is_in_file("laminating")
    (True, False)
    """
    return _IN_FILE.fullmatch(name) is not None


def short_name(text: str) -> str:
    """A name, with settings or without, but without the folder of its file: for tables and keys.

    >>> short_name("folder/my_file.py:Mine:n=2"), short_name("laminating")
    ('my_file.py:Mine:n=2', 'laminating')
    """
    if not is_in_file(text):
        return text
    name = split_name(text)[0]
    return re.split(r"[/\\]", name)[-1] + text.strip()[len(name) :]


def write_name(name: str, settings: Mapping[str, Any]) -> str:
    """The text of a name with settings, the inverse of `parse_name`.

    SettingError if a value cannot be written: other than None, bools, finite numbers and plain
    text.

    >>> write_name("laminating", {"scheme": "distinct", "n_features": 64})
    'laminating:scheme=distinct:n_features=64'
    """
    plain = {k: v.item() if getattr(v, "ndim", None) == 0 else v for k, v in settings.items()}
    text = ":".join([name, *(f"{key}={value}" for key, value in plain.items())])
    try:
        read = parse_name(text)
    except SettingError:
        read = None
    if repr(read) != repr((name, plain)):
        raise SettingError(
            f"the settings {plain!r} of {name} cannot be written in a name; pass an instance"
        )
    return text


def read_setting(text: str) -> Any:
    """The value that a text spells: None, True, False or a number, else the text."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        number = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return number if isinstance(number, int | float) else text


def split_names(texts: str | Sequence[str]) -> list[str]:
    """Names with settings that commas separate, one by one; SettingError if one is empty."""
    given = [texts] if isinstance(texts, str) else list(texts)
    parts = [part.strip() for text in given for part in text.split(",")]
    if not all(parts):
        raise SettingError(
            f"names with settings must be separated by single commas, got {', '.join(given)!r}"
        )
    return parts


def refuse_alternatives(what: str, settings: Mapping[str, Any], rule: str) -> None:
    """SettingError for `Alternatives` among settings; `rule` ends the message."""
    for key, value in settings.items():
        if isinstance(value, Alternatives):
            raise SettingError(f"{what}: {key}={value} are alternatives, {rule}")

"""Settings of strategies and learners that are given by name, as parameters of the classifier.

With the strategy "ucb:exploration=0.1", scikit-learn's ``set_params(strategy__exploration=0.5)``
makes it "ucb:exploration=0.5", so that searches reach these settings as those of an instance.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from boostsample.errors import SettingError, unknown
from boostsample.names import parse_name, write_name
from boostsample.registry import registered_class

__all__ = ["KINDS", "settings_of_name", "with_settings"]

KINDS = ("strategy", "learner")
"""Parameters of the classifier that may be names."""


def settings_of_name(kind: str, text: str) -> dict[str, Any]:
    """All settings of a named strategy or learner; none if the name is wrong: `fit` reports it."""
    try:
        name, given = parse_name(text)
        return {**_defaults(kind, name), **given}
    except SettingError:
        return {}


def with_settings(kind: str, text: Any, settings: Mapping[str, Any]) -> str:
    """The name with other settings; SettingError if one is unknown or cannot be written."""
    if not isinstance(text, str):
        raise SettingError(
            f"settings of a {kind} can be set if it is a name, got {text!r:.60}; pass it by name, "
            "or another instance"
        )
    name, given = parse_name(text)
    known = _defaults(kind, name)
    for setting in settings:
        if setting not in known:
            raise unknown(f"setting of the {kind} {name!r}", setting, sorted(known))
    return write_name(name, {**given, **settings})


def _defaults(kind: str, name: str) -> dict[str, Any]:
    """Settings of a registered strategy or learner with their defaults."""
    parameters = inspect.signature(registered_class(kind, name)).parameters.values()
    wrong = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return {
        one.name: None if one.default is one.empty else one.default
        for one in parameters
        if one.kind not in wrong
    }

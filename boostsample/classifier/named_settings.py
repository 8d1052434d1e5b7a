"""Settings of strategies and learners that are given by name, as parameters of the classifier.

With the strategy "ucb:exploration=0.1", scikit-learn's ``set_params(strategy__exploration=0.5)``
makes it "ucb:exploration=0.5", so that searches reach these settings as those of an instance. The
learner "auto" has the settings of the tree that it stands for: ``set_params(learner__n_leaves=8)``
makes it "auto:n_leaves=8".
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Self

from sklearn.base import BaseEstimator

from boostsample.classifier.defaults import AUTO, AUTO_LEARNER
from boostsample.errors import SettingError, unknown
from boostsample.names import parse_name, write_name
from boostsample.registry import registered_class

_KINDS = ("strategy", "learner")
"""Parameters of the classifier that may be names."""


class NamedSettings(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no annotations
    """Base class of an estimator whose parameters `strategy` and `learner` may be names."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters; if deep, also those of a strategy or learner, given by name or as instance.

        Those of a name are ``strategy__exploration`` and the like, as those of an instance.
        """
        params: dict[str, Any] = super().get_params(deep)
        for kind in _KINDS if deep else ():
            if isinstance(params[kind], str):
                settings = _settings_of_name(kind, params[kind])
                params |= {f"{kind}__{name}": value for name, value in settings.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters: ``strategy__exploration=0.5`` makes "ucb" "ucb:exploration=0.5"."""
        super().set_params(**{key: params.pop(key) for key in [*params] if "__" not in key})
        for kind in _KINDS:
            value = getattr(self, kind)
            keys = [key for key in params if key.startswith(f"{kind}__")]
            if keys and not hasattr(value, "set_params"):
                settings = {key.removeprefix(f"{kind}__"): params.pop(key) for key in keys}
                setattr(self, kind, _with_settings(kind, value, settings))
        super().set_params(**params)
        return self


def _settings_of_name(kind: str, text: str) -> dict[str, Any]:
    """All settings of a named strategy or learner; none if the name is wrong: `fit` reports it."""
    try:
        name, named = parse_name(text)
        return {**_defaults(kind, name), **named}
    except SettingError:
        return {}


def _with_settings(kind: str, text: Any, settings: Mapping[str, Any]) -> str:
    """The name with other settings; SettingError if one is unknown or cannot be written."""
    if not isinstance(text, str):
        raise SettingError(
            f"settings of a {kind} can be set if it is a name, got {text!r:.60}; pass it by name, "
            "or another instance"
        )
    name, named = parse_name(text)
    if (kind, name) == ("strategy", AUTO):
        raise SettingError(
            f"settings of a {kind} can be set if it has a name, but it is {AUTO!r}; set {kind}, "
            f"too, as in {kind}='laminating'"
        )
    known = _defaults(kind, name)
    for setting in settings:
        if setting not in known:
            raise unknown(f"setting of the {kind} {name!r}", setting, sorted(known))
    return write_name(name, {**named, **settings})


def _defaults(kind: str, name: str) -> dict[str, Any]:
    """Settings of a registered strategy or learner with their defaults."""
    if (kind, name) == ("learner", AUTO):
        return {**_defaults(kind, AUTO_LEARNER), "n_leaves": None}
    parameters = inspect.signature(registered_class(kind, name)).parameters.values()
    wrong = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return {
        parameter.name: None if parameter.default is parameter.empty else parameter.default
        for parameter in parameters
        if parameter.kind not in wrong
    }

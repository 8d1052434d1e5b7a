"""Facts that identify a run: everything that its bits depend on, and how two runs differ."""

from __future__ import annotations

import inspect
import json
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from boostsample.errors import SettingError
from boostsample.family import Family
from boostsample.files.booster_state import pack_state
from boostsample.hashing import code_of, sha256_of_arrays, sha256_of_bytes, sha256_of_json
from boostsample.learner import Learner
from boostsample.loop.numerics import NUMERICS
from boostsample.strategy import Strategy

_CHECKSUM = "sha256:"
"""Begins a fact that is a checksum, whose value says nothing to a reader."""
_ABSENT = "none"


def run_facts(
    strategy: Strategy,
    learner: Learner,
    families: Sequence[Family],
    rows: Mapping[str, Any],
    stream: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    """The facts of a run, by name, as JSON values.

    Of the strategy only the settings count; `stream` is the state of the random stream before it
    drew from it. SettingError if a setting of the strategy or the learner, or the code of a class,
    cannot be identified.
    """
    facts = {
        "version of the numerical results": NUMERICS,
        **_class_facts("strategy", strategy, strategy.get_params(deep=False)),
        **learner_facts(learner),
        **settings,
        **rows,
        "random stream (seed)": _CHECKSUM + sha256_of_bytes(pack_state(stream).encode()),
    }
    for family in families:
        part = f"family {family.name!r}"
        settings_of_family = _CHECKSUM + sha256_of_json(family.settings())
        facts |= _class_facts(part, family, {"settings": settings_of_family})
        facts[f"number of features of the {part}"] = family.n_features
    return facts


def learner_facts(learner: Learner) -> dict[str, Any]:
    """The facts of a learner: all its attributes are settings, since it keeps nothing else."""
    return _class_facts("learner", learner, vars(learner))


def _class_facts(part: str, instance: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a strategy, learner or family `part`: class, settings, source code.

    The source code is that of `code_of`; classes of this distribution have none: their results
    have a version.
    """
    kind = type(instance)
    facts = {part: _name_of(kind)}
    for name, value in settings.items():
        facts[f"{name} of the {part}"] = _plain(value, f"{name} of {kind.__name__}")
    code = code_of(kind)
    if code:
        facts[f"source code of the {part}"] = _CHECKSUM + code
    return facts


def _name_of(kind: Any) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _plain(value: Any, name: str) -> Any:
    """A setting as a JSON value; SettingError if it is none."""
    if isinstance(value, BaseEstimator):
        settings = _plain(value.get_params(deep=False), name)
        return {"class": _name_of(type(value)), "settings": settings}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return _CHECKSUM + sha256_of_arrays(value)
    if isinstance(value, list | tuple | range):
        return [_plain(item, name) for item in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(item, name) for key, item in value.items()}
    if inspect.isroutine(value) or inspect.isclass(value):
        return _name_of(value)
    raise SettingError(
        f"with a checkpoint, the setting {name} must be a number, text, array, list, dict, "
        f"function or estimator, got a {type(value).__name__}; such an object cannot be compared "
        "with that of another process"
    )


def differences(saved: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs between the facts of a saved run and those of this one, one phrase each.

    If two facts differ, the facts "... of the" first one are not compared.

    >>> differences({"budget": 600}, {"budget": 300})
    ['budget 600, now 300']
    >>> differences({"labels": "sha256:1d"}, {"labels": "sha256:2e"})
    ['other labels']
    """
    wrong = [
        name
        for name in dict.fromkeys([*now, *saved])  # files sort their names
        if _text(saved.get(name)) != _text(now.get(name))
    ]
    parts = {name for name in wrong for other in wrong if name.endswith(f" of the {other}")}
    return [_difference(name, saved, now) for name in wrong if name not in parts]


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _difference(name: str, saved: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    values = [facts.get(name, _ABSENT) for facts in (saved, now)]
    if any(str(value).startswith(_CHECKSUM) for value in values):
        return f"other {name}"
    brief = reprlib.Repr()
    brief.maxstring = brief.maxother = 60
    first, second = (value if isinstance(value, str) else brief.repr(value) for value in values)
    return f"{name} {first}, now {second}"

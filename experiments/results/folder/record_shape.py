"""The shape of the JSON files of a results folder: what must be there, and of which type.

Whoever reads results may rely on what is listed here. More is allowed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from boostsample.errors import DataError


@dataclass(frozen=True)
class _Optional:
    """A value that may be missing."""

    shape: Any


@dataclass(frozen=True)
class _Some:
    """A list of at least `least` entries."""

    shape: Any
    least: int = 1


@dataclass(frozen=True)
class _Count:
    """An integer of at least `least`."""

    least: int


@dataclass(frozen=True)
class _Finite:
    """A number that is neither infinite nor nan."""


@dataclass(frozen=True)
class _Alike:
    """An object in which two lists have equally many entries."""

    shape: Mapping[str, Any]
    lists: tuple[str, str]


@dataclass(frozen=True)
class _Each:
    """An object whose values have one shape."""

    shape: Any


_NUMBER = (int, float)
_MACHINE = {"processor": str, "cores": (int, type(None)), "platform": str}
_VERSIONS = _Each((str, type(None)))
_SHARED = {
    "learner": str,
    "rounds": _Some(_Count(1)),
    "repeats": _Count(1),
    "budget": (str, type(None)),
    "weights": str,
    "learning_rate": _Optional(_NUMBER),
    "smoothing": _Optional(_NUMBER),
    "seed": int,
    "bank": _Optional({"form": str}),
    "history": _Optional(bool),
    "title": _Optional(str),
    "command": _Optional([str]),
}
_DATA_SET = {
    "name": str,
    "split": _Optional(str),
    "n_train": _Optional(_Some(_Count(1))),
    "n_test": _Optional(_Some(_Count(0))),
}
_VARIANT = {"name": str, "settings": dict}
_SEARCH = {
    **_VARIANT,
    "grid": [_VARIANT],
    "repetition": int,
    "budgets": _Some(int),
    "keys": [str],
    "files": [str],
}
_TUNING = {"kept": str, "final_log10_loss": _Some(_NUMBER), "looks": int}
_STRATEGY = {
    "strategy": str,
    "settings": str,
    "parameters": _Optional(dict),
    "settings_in_use": _Optional(dict),
    "budget": _Some(int),
    "grid": _Optional([str]),
    "tuning": _Optional([_TUNING]),
}
_FACTS = {
    **_DATA_SET,
    "n_train": _Some(_Count(1)),
    "n_test": _Some(_Count(0)),
    "sha256": str,
    "shape": _Some(int, 2),
    "classes": list,
    "families": _Some({"name": str, "n_features": _Count(1)}),
    "strategies": _Some(_STRATEGY),
    "notes": [str],
}
_CELLS = {
    "first": str,
    "last": str,
    "seconds": _Finite(),
    "machines": [_MACHINE],
    "versions": [_VERSIONS],
}

#: ``grid.json``
GRID_SHAPE: Mapping[str, Any] = {
    **_SHARED,
    "data_sets": _Some(_Alike({**_DATA_SET, "searches": [_SEARCH]}, ("n_train", "n_test"))),
}
#: ``settings.json``
SETTINGS_SHAPE: Mapping[str, Any] = {
    **_SHARED,
    "data_sets": _Some(_Alike(_FACTS, ("n_train", "n_test"))),
    "cells": _Optional(_CELLS),
    "numerics": _Optional(int),
    "files": _Each({"sha256": str}),
}


def check_shape(value: Any, shape: Any, place: str) -> None:
    """DataError that names the place unless a JSON value has a shape.

    A shape is a type, a tuple of types, a list of one shape (any number of entries), an object of
    shapes by key, or one of the classes above.

    >>> check_shape({"rounds": [10, "x"]}, {"rounds": [int]}, "settings.json")
    Traceback (most recent call last):
    ...
    boostsample.errors.DataError: settings.json: rounds[1] must be of type int, got 'x'
    """
    fault = _fault(value, shape, "")
    if fault:
        raise DataError(f"{place}: {fault.removeprefix('.')}")


def _fault(value: Any, shape: Any, place: str) -> str:
    """What is wrong, with its place, or an empty text."""
    if isinstance(shape, _Optional):
        shape = shape.shape
    if isinstance(shape, _Alike):
        return _fault(value, shape.shape, place) or _unlike(value, shape.lists, place)
    if isinstance(shape, _Count):
        if type(value) is int and value < shape.least:
            return f"{place} must be at least {shape.least}, got {value}"
        shape = int
    if isinstance(shape, _Finite):
        if type(value) is float and not math.isfinite(value):
            return f"{place} must be finite, got {value}"
        shape = _NUMBER
    if isinstance(shape, _Some):
        if value == []:
            return f"{place} must have at least one entry, got none"
        if isinstance(value, list) and len(value) < shape.least:
            return f"{place} must have at least {shape.least} entries, got {len(value)}"
        shape = [shape.shape]
    kinds = {_Each: dict, dict: dict, list: list}.get(type(shape), shape)
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    if type(value) not in kinds:
        names = " or ".join("null" if kind is type(None) else kind.__name__ for kind in kinds)
        return f"{place or 'its content'} must be of type {names}, got {value!r:.60}"
    if isinstance(shape, list):
        parts = ((one, shape[0], f"{place}[{at}]") for at, one in enumerate(value))
    elif isinstance(shape, _Each):
        parts = ((one, shape.shape, f"{place}.{key}") for key, one in value.items())
    elif isinstance(shape, dict):
        for key, part in shape.items():
            if key not in value and not isinstance(part, _Optional):
                return f"{place}.{key} is missing"
        known = shape.keys() & value.keys()
        parts = ((value[key], shape[key], f"{place}.{key}") for key in shape if key in known)
    else:
        return ""
    return next((fault for fault in (_fault(*part) for part in parts) if fault), "")


def _unlike(value: Mapping[str, Any], lists: tuple[str, str], place: str) -> str:
    """What is wrong if two lists of an object differ in length, or one is missing."""
    first, second = (len(value.get(name, ())) for name in lists)
    if first == second:
        return ""
    return f"{place}: {lists[0]} and {lists[1]} must have equally many entries"

"""Names with settings, as the user writes them, and the grid of settings that tuning tries.

Nothing here knows data: `boostsample.experiments.plan.plan` fits variants to it.
"""

from __future__ import annotations

import ast
import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from boostsample.errors import SettingError
from boostsample.registry import make_strategy
from boostsample.strategy import Strategy

__all__ = ["CHARGED", "TUNED", "Alternatives", "Variant", "is_tuned", "parse_names", "read_value"]

TUNED = "*"
"""Follows the name of a strategy whose settings were searched, as in Table 2 of [DF11]."""
CHARGED = " charged"
"""Follows the label of a tuned strategy that pays for its search."""

_WORDS = {"none": None, "true": True, "false": False}


@dataclass(frozen=True)
class Alternatives:
    """Two or more values of one setting, written as ``0.1|1|2``."""

    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        keys = [(isinstance(value, bool), value) for value in self.values]
        for value, key in zip(self.values, keys, strict=True):
            if keys.count(key) > 1:
                raise SettingError(f"alternatives must differ, got {value} twice in {self}")

    def __str__(self) -> str:
        return "|".join(map(str, self.values))


@dataclass(frozen=True)
class Variant:
    """A name with settings, of a strategy or a family, as in ``laminating:n_features=64``.

    Parameters
    ----------
    name : str
    settings : mapping
        Values, or `Alternatives` to be tried by tuning.
    grid : tuple of Variant
        For a tuned strategy the settings to try, two or more; `settings` are those that all of
        them share because the user fixed them. Empty for every other.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    grid: tuple[Variant, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Variant:
        """Read ``name`` or ``name:setting=value``, further settings after further colons.

        >>> Variant.parse("laminating:scheme=distinct:n_features=64").settings
        {'scheme': 'distinct', 'n_features': 64}
        >>> Variant.parse("ucb:exploration=0.1|1|2").settings
        {'exploration': Alternatives(values=(0.1, 1, 2))}
        """
        name, *pairs = (part.strip() for part in text.split(":"))
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
            read = [read_value(part) for part in values]
            settings[key] = Alternatives(tuple(read)) if len(read) > 1 else read[0]
        return cls(name, settings)

    @property
    def settings_text(self) -> str:
        """The settings in the order of their names, as `parse` reads them after the name."""
        return ":".join(f"{key}={self.settings[key]}" for key in sorted(self.settings))

    @property
    def label(self) -> str:
        """What tables call it; `TUNED` after the name tells that its settings were searched."""
        name = self.name + TUNED if self.grid else self.name
        return f"{name}:{self.settings_text}" if self.settings else name

    @property
    def trained(self) -> tuple[Variant, ...]:
        """What has to be trained for it: its grid, or itself alone."""
        return self.grid or (self,)

    def strategy(self) -> Strategy:
        """The strategy of this name and these settings."""
        for key, value in self.settings.items():
            if isinstance(value, Alternatives):
                raise SettingError(
                    f"{self.name}: {key}={value} are alternatives, which only tuning tries; "
                    "add --tune, or give one value"
                )
        made: Strategy = make_strategy(self.name, **self.settings)
        return made

    def tuned(self) -> Variant:
        """The strategy with its grid; itself where there is nothing to search.

        The grid is the product of the strategy's own `tuning_grid` and the user's alternatives;
        whatever the user gives, one value or several, takes the place of the strategy's own. The
        setting named first varies slowest.
        """
        if self.grid:
            return self
        fixed = {k: v for k, v in self.settings.items() if not isinstance(v, Alternatives)}
        plain = Variant(self.name, fixed)
        axes = {
            key: value.values if isinstance(value, Alternatives) else (value,)
            for key, value in {**_own_grid(plain), **self.settings}.items()
        }
        grid = tuple(
            Variant(self.name, dict(zip(axes, values, strict=True)))
            for values in itertools.product(*axes.values())
        )
        return Variant(self.name, fixed, grid) if len(grid) > 1 else plain

    def stream(self, data: str, seed: int, repetition: int) -> np.random.SeedSequence:
        """The strategy's own stream, the same for the same words on any machine."""
        key = [data, self.name, dict(self.settings), seed, repetition]
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).digest()
        return np.random.SeedSequence(int.from_bytes(digest[:16], "little"))


def _own_grid(variant: Variant) -> dict[str, Alternatives]:
    """The grid that a strategy declares, given the settings that the user fixed."""
    return {
        key: Alternatives(tuple(values)) for key, values in variant.strategy().tuning_grid().items()
    }


def is_tuned(name: str) -> bool:
    """Whether a name in the column `strategy` of a result row is that of a tuned strategy.

    Such a name is a whole label: the settings beside it are those that were kept, which may differ
    between repetitions.
    """
    return TUNED in name


def read_value(text: str) -> Any:
    """A setting's value from text: none, true, false, a number, else the text itself."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        number = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return number if isinstance(number, int | float) else text


def parse_names(texts: str | Sequence[str]) -> tuple[Variant, ...]:
    """Read names with settings, separated by commas.

    >>> [variant.label for variant in parse_names("full, uniform-naive:n_features=20")]
    ['full', 'uniform-naive:n_features=20']
    """
    given = [texts] if isinstance(texts, str) else list(texts)
    parts = [part.strip() for text in given for part in text.split(",")]
    if not all(parts):
        raise SettingError(f"names must be separated by single commas, got {', '.join(given)!r}")
    variants = tuple(Variant.parse(part) for part in parts)
    labels = [variant.label for variant in variants]
    for label in labels:
        if labels.count(label) > 1:
            raise SettingError(f"each of the names must be given once, got {label!r} twice")
    return variants

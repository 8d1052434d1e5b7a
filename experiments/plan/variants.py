"""Names with settings, such as ``laminating:n_features=64``, for strategies, families and grids."""

from __future__ import annotations

import inspect
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from boostsample.errors import BoostSampleError, SettingError, one_line
from boostsample.hashing import hashed_seed
from boostsample.names import (
    Alternatives,
    parse_name,
    refuse_alternatives,
    short_name,
    split_names,
    write_name,
)
from boostsample.registry import make_strategy, name_of_class

if TYPE_CHECKING:
    from boostsample.strategy import Pool, Strategy

TUNED_VARIANT = "*"
"""Suffix of the name of a tuned strategy, as in Table 2 of [DF11]."""
CHARGED_VARIANT = " charged"
"""Suffix of the label of a tuned strategy whose looks include those of tuning."""
_TRIES = 100  # candidates for each draw, until it differs from those before


@dataclass(frozen=True)
class Variant:
    """The name of a strategy, family or bank with settings.

    `settings` holds values, or `Alternatives` for tuning to try; for a tuned strategy the settings
    that are the same in the whole tuning grid.
    """

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    grid: tuple[Variant, ...] = ()  # the tuning grid, two or more; empty if it is not tuned

    @classmethod
    def parse(cls, text: str) -> Variant:
        """Parse ``name`` or ``name:setting=value``; more colons introduce more settings.

        >>> Variant.parse("ucb:exploration=0.1|1|2").settings
        {'exploration': Alternatives(values=(0.1, 1, 2))}
        """
        return cls(*parse_name(text))

    @classmethod
    def of(cls, strategy: str | Variant | Strategy) -> Variant:
        """The variant of a name, or of an instance: its class with the settings that it changes.

        SettingError if a setting of an instance cannot be written in a name.
        """
        if isinstance(strategy, Variant):
            return strategy
        if isinstance(strategy, str):
            return cls.parse(strategy)
        if not hasattr(strategy, "choose") or isinstance(strategy, type):
            raise SettingError(
                f"strategies must be names or instances of Strategy, got {strategy!r}; pass an "
                "instance, as in MyStrategy()"
            )
        name = name_of_class(type(strategy))
        parameters = inspect.signature(type(strategy)).parameters
        settings = {
            key: value
            for key, value in strategy.get_params(deep=False).items()
            if repr(value) != repr(parameters[key].default)
        }
        try:
            return cls.parse(write_name(name, settings))
        except SettingError:
            raise SettingError(
                f"settings of {name} must be None, bools, numbers or plain text to be compared, "
                f"got {settings!r}"
            ) from None

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for equal names and settings: 1 and 1.0 are one value, 1 and True are two."""
        values = {key: plain_setting(value) for key, value in self.settings.items()}
        return self.name, {key: (isinstance(value, bool), value) for key, value in values.items()}

    def with_defaults(self, cls: type[Any]) -> Variant:
        """With the defaults of the settings that are not given; `cls` is the class of its name."""
        parameters = inspect.signature(cls).parameters.values()
        usual = {each.name: each.default for each in parameters if each.default is not each.empty}
        return replace(self, settings={**usual, **self.settings})

    @property
    def settings_text(self) -> str:
        """The settings in alphabetical order, as `parse` reads them after the name."""
        return ":".join(f"{key}={self.settings[key]}" for key in sorted(self.settings))

    @property
    def label(self) -> str:
        """Name, for a tuned strategy with `TUNED_VARIANT`, and settings as shown in tables.

        The name of a class in a file is without the folder.
        """
        name = short_name(self.name) + (TUNED_VARIANT if self.grid else "")
        return f"{name}:{self.settings_text}" if self.settings else name

    @property
    def row_name(self) -> str:
        """What the column `strategy` of rows has: the label if it is tuned, else the name."""
        return self.label if self.grid else short_name(self.name)

    @property
    def trained(self) -> tuple[Variant, ...]:
        """The variants to train: the tuning grid, or this one alone."""
        return self.grid or (self,)

    def strategy(self) -> Strategy:
        """Construct the strategy; SettingError for unknown settings and for alternatives."""
        refuse_alternatives(
            self.name, self.settings, "which only tuning tries; add --tune, or give one value"
        )
        made: Strategy = make_strategy(self.name, **self.settings)
        return made

    def check_start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Start the strategy, so that it checks its settings and its budget."""
        try:
            self.strategy().start(pool, budget, n_rounds, rng)
        except BoostSampleError as error:
            if self.name in str(error):
                raise
            raise type(error)(f"strategy {self.label!r}: {error}") from error
        except (TypeError, ValueError) as error:
            raise SettingError(
                f"strategy {self.label!r} refuses its settings: {one_line(error)}"
            ) from error

    def tuned(self) -> Variant:
        """The strategy with its tuning grid, or without one if that has a single point.

        The grid is the product of the user's alternatives and the strategy's own `tuning_grid`; a
        setting given by the user replaces the strategy's own values.
        """
        if self.grid:
            return self
        fixed = {k: v for k, v in self.settings.items() if not isinstance(v, Alternatives)}
        plain = Variant(self.name, fixed)
        axes: dict[str, Sequence[Any]] = dict(plain.strategy().tuning_grid())
        for key, value in self.settings.items():
            axes[key] = value.values if isinstance(value, Alternatives) else (value,)
        axes = {
            key: [value.item() if isinstance(value, np.generic) else value for value in values]
            for key, values in axes.items()
        }
        grid = tuple(
            Variant(self.name, dict(zip(axes, values, strict=True)))
            for values in itertools.product(*axes.values())
        )
        return Variant(self.name, fixed, grid) if len(grid) > 1 else plain

    def stream(self, data: str, seed: int, repetition: int) -> np.random.SeedSequence:
        """The seed of the strategy's random stream; `data` is `Dataset.seeded_by`."""
        name = short_name(self.name)
        key = json.dumps([data, name, dict(self.settings), seed, repetition], sort_keys=True)
        return hashed_seed(key.encode())


def drawn_variant(variant: Variant, n: int, seed: int) -> Variant:
    """A tuned strategy with `n` draws as its tuning grid; fewer if there are fewer combinations.

    A number is drawn log-uniformly between the smallest and the largest value of its setting, or
    uniformly if one of them is not positive; whole numbers are rounded, others to three digits.
    Other settings take one of their values. More draws begin with the same ones. A strategy that is
    not tuned stays as it is.

    - Bergstra and Bengio, Random search for hyper-parameter optimization, JMLR 13, 2012.
    """
    if not variant.grid:
        return variant
    axes = {
        key: [tried.settings[key] for tried in variant.grid] for key in variant.grid[0].settings
    }
    values = {key: _values(axis, [variant.name, key, seed]) for key, axis in axes.items()}
    drawn: dict[str, Variant] = {}
    for _ in range(_TRIES * n):
        draw = Variant(variant.name, {key: next(stream) for key, stream in values.items()})
        drawn.setdefault(draw.settings_text, draw)
        if len(drawn) == n:
            break
    return replace(variant, grid=tuple(drawn.values()))


def _values(tried: Sequence[Any], key: Sequence[Any]) -> Iterator[Any]:
    """Random values of a setting, endless; the stream is seeded by `key`."""
    rng = np.random.default_rng(hashed_seed(json.dumps(["draws", *key]).encode()))
    values = sorted(
        {repr(value): value for value in tried}.values(),
        key=lambda value: (0, value, "") if type(value) in (int, float) else (1, 0, str(value)),
    )
    are_numbers = {type(value) for value in values} <= {int, float}
    whole = all(isinstance(value, int) for value in values)
    low, high = values[0], values[-1]
    while True:
        u = float(rng.random())
        if len(values) == 1 or not are_numbers:
            yield values[int(u * len(values))]
            continue
        value = low * (high / low) ** u if low > 0 else low + (high - low) * u
        yield round(value) if whole else min(max(float(f"{value:.3g}"), low), high)


def is_tuned_variant(name: str) -> bool:
    """Whether a name in the column `strategy` of result rows is the label of a tuned strategy."""
    return TUNED_VARIANT in name


def plain_setting(value: Any) -> Any:
    """A setting as JSON takes it."""
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def parse_names(texts: str | Sequence[str]) -> tuple[Variant, ...]:
    """Parse names with settings, separated by commas.

    >>> [variant.label for variant in parse_names("full, uniform-naive:n_features=20")]
    ['full', 'uniform-naive:n_features=20']
    """
    variants = tuple(Variant.parse(part) for part in split_names(texts))
    check_different(variants)
    return variants


def check_different(variants: Sequence[Variant]) -> None:
    """Raise SettingError if two variants have the same label, or equal names and settings."""
    _check_keys(variants, [variant.key for variant in variants])


def check_different_strategies(variants: Sequence[Variant]) -> None:
    """`check_different` for strategies, in which a setting that is not given has its default.

    SettingError for unknown settings, too.
    """
    trained = [
        [(point, type(point.strategy())) for point in variant.trained] for variant in variants
    ]
    _check_keys(
        variants, [[point.with_defaults(cls).key for point, cls in each] for each in trained]
    )


def _check_keys(variants: Sequence[Variant], keys: Sequence[Any]) -> None:
    refuse_equal(
        "each name must be given once",
        [(key, repr(variant.label)) for key, variant in zip(keys, variants, strict=True)],
        "alternatives of one setting make one variant to tune",
    )


def refuse_equal(rule: str, values: Sequence[tuple[Any, str]], way_out: str) -> None:
    """Raise SettingError if two values, given as key and text, have an equal key or text."""
    for (key, text), (other_key, other) in itertools.combinations(values, 2):
        if text == other:
            raise SettingError(f"{rule}, got {text} twice; {way_out}")
        if key == other_key:
            raise SettingError(f"{rule}, got {text} and {other}, which are equal; {way_out}")

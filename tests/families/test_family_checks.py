"""Each public check of families finds the family that breaks its promise."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any, SupportsIndex

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from boostsample.family import Family, check_examples
from boostsample.testing import families as checks
from boostsample.testing.families import FAMILY_CHECKS, check_family

X = np.random.default_rng(0).uniform(0, 255, (7, 5)).astype(np.float32)


class Good(Family):
    """Twice the columns of a table of five columns; below, one way each to get it wrong."""

    name = "twice"
    n_features = 5

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def feature_name(self, feature: SupportsIndex) -> str:
        return f"twice column {self.check_feature(feature)}"

    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        wanted = self.check_features(features)
        table = check_examples(X, (5,), self.name).astype(np.float32)
        values: NDArray[np.float32] = self.values(np.where(np.isnan(table), 0, table), wanted)
        return values

    def values(self, table: NDArray[Any], wanted: NDArray[np.intp]) -> Any:
        return 2 * table[:, wanted]


class NoName(Good):
    name = " "


class FloatCount(Good):
    n_features = 5.0  # type: ignore[assignment] # broken on purpose


class SameNames(Good):
    def feature_name(self, feature: SupportsIndex) -> str:
        return f"twice column {self.check_feature(feature) // 2}"


class BlankNames(Good):
    def feature_name(self, feature: SupportsIndex) -> str:
        return ""


class NameOfIntOnly(Good):
    def feature_name(self, feature: SupportsIndex) -> str:
        return super().feature_name(feature) + type(feature).__name__


class LostSetting(Good):
    def __init__(self, seed: int = 0) -> None:
        self.seed = seed + 1


class NoSettings(Good):
    def __init__(self, seed: int = 0) -> None:
        pass


class NoRepr(Good):
    def __repr__(self) -> str:
        return "family"


class EqualToAll(Good):
    __hash__ = Good.__hash__

    def __eq__(self, other: object) -> bool:
        return True


class Doubles(Good):
    def values(self, table: NDArray[Any], wanted: NDArray[np.intp]) -> Any:
        return 2.0 * table[:, wanted].astype(np.float64)


class Transposed(Good):
    def values(self, table: NDArray[Any], wanted: NDArray[np.intp]) -> Any:
        return 2 * table[:, wanted].T


class View(Good):
    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        values: NDArray[np.float32] = X[:, : len(self.check_features(features))]
        return values


class OneBuffer(Good):
    def values(self, table: NDArray[Any], wanted: NDArray[np.intp]) -> Any:
        if getattr(self, "buffer", np.empty(0)).shape != (len(table), len(wanted)):
            self.buffer = np.empty((len(table), len(wanted)), np.float32)
        self.buffer[:] = 2 * table[:, wanted]
        return self.buffer


class SortsFeatures(Good):
    def values(self, table: NDArray[Any], wanted: NDArray[np.intp]) -> Any:
        return 2 * table[:, np.sort(wanted)]


class DependsOnFeatures(Good):
    def values(self, table: NDArray[Any], wanted: NDArray[np.intp]) -> Any:
        return 2 * table[:, wanted] + np.float32(1e-3 * len(wanted))


class FailsWithoutFeatures(Good):
    def values(self, table: NDArray[Any], wanted: NDArray[np.intp]) -> Any:
        return np.column_stack([2 * table[:, j] for j in wanted])


class Centred(Good):
    def values(self, table: NDArray[Any], wanted: NDArray[np.intp]) -> Any:
        return (table - table.mean(axis=0, keepdims=True, dtype=np.float32))[:, wanted]


class Remembers(Good):
    def values(self, table: NDArray[Any], wanted: NDArray[np.intp]) -> Any:
        if not hasattr(self, "scale"):
            self.scale = table.max()
        return (table / self.scale)[:, wanted].astype(np.float32)


class FailsWithoutExamples(Good):
    def values(self, table: NDArray[Any], wanted: NDArray[np.intp]) -> Any:
        return (2 * table[:, wanted]).reshape(-1, len(wanted)) + 0 * table.max()


class BlockwiseWrong(Good):
    def values(self, table: NDArray[Any], wanted: NDArray[np.intp]) -> Any:
        values = 2 * table[:, wanted]
        values[4096:] = values[: max(0, len(values) - 4096)]
        return values


class ScalesBytes(Good):
    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        scale = np.float32(255 if X.dtype == np.uint8 else 1)
        return super().compute(X, features) / scale


class ReadsMemory(Good):
    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        if X.size and X.ndim == 2 and X.flags.f_contiguous and not X.flags.c_contiguous:
            X = X.ravel(order="K").reshape(X.shape)
        return super().compute(X, features)


class Overwrites(Good):
    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        values = super().compute(X, features)
        if X.flags.writeable:
            X *= 2
        return values


class OverwritesFeatures(Good):
    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        values = super().compute(X, features)
        if isinstance(features, np.ndarray) and features.flags.writeable:
            features[:] = 0
        return values


class Normalised(Good):
    def values(self, table: NDArray[Any], wanted: NDArray[np.intp]) -> Any:
        with np.errstate(invalid="ignore"):
            rows = table / np.abs(table).max(axis=1, keepdims=True)
        return rows[:, wanted]


class Squared(Good):
    def values(self, table: NDArray[Any], wanted: NDArray[np.intp]) -> Any:
        with np.errstate(over="ignore"):
            return table[:, wanted] ** 4


class Noisy(Good):
    def values(self, table: NDArray[Any], wanted: NDArray[np.intp]) -> Any:
        return 2 * table[:, wanted] + np.float32(np.random.default_rng().random())


class Unseeded(Good):
    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.scale = np.float32(np.random.default_rng().random())

    def values(self, table: NDArray[Any], wanted: NDArray[np.intp]) -> Any:
        return self.scale * table[:, wanted]


class OtherCount(Good):
    made = 0

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        OtherCount.made += 1
        self.n_features = 3 + OtherCount.made % 2


class UnseededNames(Unseeded):
    def values(self, table: NDArray[Any], wanted: NDArray[np.intp]) -> Any:
        return 2 * table[:, wanted]

    def feature_name(self, feature: SupportsIndex) -> str:
        return f"{super().feature_name(feature)} times {self.scale}"


class Closure(Good):
    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.function: Callable[[float], float] = lambda x: x


class ForgetsWhenPickled(Good):
    def __getstate__(self) -> dict[str, Any]:
        return {"seed": 99}


class LosesValuesWhenPickled(Good):
    scale = 2

    def __getstate__(self) -> dict[str, Any]:
        return {"seed": self.seed, "scale": 3}

    def values(self, table: NDArray[Any], wanted: NDArray[np.intp]) -> Any:
        return self.scale * table[:, wanted]


class SharedState(Good):
    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        self.wanted = self.check_features(features)
        time.sleep(0.01)
        return super().compute(X, self.wanted)


class AnyFeature(Good):
    def check_features(self, features: ArrayLike) -> NDArray[np.intp]:
        return np.asarray(features, np.intp) % 5


class OtherError(Good):
    def check_features(self, features: ArrayLike) -> NDArray[np.intp]:
        wanted = np.asarray(features, np.intp)
        if wanted.ndim != 1 or ((wanted < 0) | (wanted >= 5)).any():
            raise IndexError("no such feature")
        return wanted


class NamelessError(Good):
    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        self.check_features(features)
        return 2 * check_examples(X, (5,), "?").astype(np.float32)[:, np.asarray(features)]


class AnyName(Good):
    def feature_name(self, feature: SupportsIndex) -> str:
        return f"twice column {feature}"


class ShortRange(Good):
    def value_range(self, features: NDArray[Any]) -> tuple[ArrayLike, ArrayLike]:
        return [0.0], [1.0]


class FallingRange(Good):
    def value_range(self, features: NDArray[Any]) -> tuple[ArrayLike, ArrayLike]:
        return np.zeros(len(features)), np.where(features == 3, -1.0, 1.0)


class EndlessRange(Good):
    def value_range(self, features: NDArray[Any]) -> tuple[ArrayLike, ArrayLike]:
        return np.zeros(len(features)), np.full(len(features), np.inf)


class RangeByPlace(Good):
    def value_range(self, features: NDArray[Any]) -> tuple[ArrayLike, ArrayLike]:
        return np.zeros(len(features)), np.arange(len(features))


class GoodRange(Good):
    def value_range(self, features: NDArray[Any]) -> tuple[ArrayLike, ArrayLike]:
        return np.zeros(len(features)), 2.0 * features


BROKEN: list[tuple[Callable[[Family, ArrayLike], None], type[Family], str]] = [
    (checks.check_family_names, NoName, "its name must be text"),
    (checks.check_family_names, FloatCount, "n_features must be an int of at least 1, is 5.0"),
    (checks.check_family_names, SameNames, "features 0 and 1 are both 'twice column 0'"),
    (checks.check_family_names, BlankNames, "feature 0 has no name, but ''"),
    (checks.check_family_names, NameOfIntOnly, "must take NumPy's integers"),
    (checks.check_family_settings, LostSetting, "is not equal to it"),
    (checks.check_family_settings, NoSettings, "cannot be recreated .*'seed'"),
    (checks.check_family_settings, NoRepr, "repr does not name the class: family"),
    (checks.check_family_settings, EqualToAll, "equals an object that is no family"),
    (checks.check_family_result, Doubles, r"float32 array of shape \(7, 5\), got .* float64"),
    (checks.check_family_result, Transposed, r"of shape \(7, 5\), got ndarray float32 \(5, 7\)"),
    (checks.check_family_result, View, "share their memory with X"),
    (checks.check_family_result, OneBuffer, "a later call has changed the values"),
    (checks.check_family_features, SortsFeatures, "in reverse order: feature 4 of example 0 is"),
    (checks.check_family_features, DependsOnFeatures, "repeated features: feature 4"),
    (checks.check_family_features, FailsWithoutFeatures, r"ValueError .*\(7, 5\), 0 features"),
    (checks.check_family_examples, Centred, "half of the examples: feature 0 of example"),
    (checks.check_family_examples, Remembers, "examples not seen before: feature 0"),
    (checks.check_family_sizes, FailsWithoutExamples, r"ValueError .*\(0, 5\), 5 features"),
    (checks.check_family_sizes, BlockwiseWrong, "5000 examples: feature 0 of example 4096"),
    (checks.check_family_dtypes, ScalesBytes, "X of dtype uint8 instead of float32: feature 0"),
    (checks.check_family_layouts, ReadsMemory, "X in Fortran order: feature 1 of example 0"),
    (checks.check_family_input, Overwrites, "X was modified"),
    (checks.check_family_input, OverwritesFeatures, "the features were modified"),
    (checks.check_family_finite, Normalised, "X of zeros: nan for feature 0"),
    (checks.check_family_finite, Squared, "X scaled to 1e15: inf for feature"),
    (checks.check_family_range, ShortRange, r"for each of 5 features, got \(1,\) and \(1,\)"),
    (checks.check_family_range, FallingRange, "feature 3 must rise .* is 0.0 to -1.0"),
    (checks.check_family_range, EndlessRange, "feature 0 must rise .* is 0.0 to inf"),
    (checks.check_family_range, RangeByPlace, "must not depend on the other features"),
    (checks.check_family_deterministic, Noisy, "a second call: feature 0 of example 0"),
    (checks.check_family_deterministic, Unseeded, "a twin of equal settings: feature 0"),
    (checks.check_family_deterministic, OtherCount, r"a twin .* has \d features, not \d"),
    (checks.check_family_deterministic, UnseededNames, "a twin calls feature 0 "),
    (checks.check_family_pickling, Closure, "cannot be pickled"),
    (checks.check_family_pickling, ForgetsWhenPickled, "not equal to itself after pickling"),
    (checks.check_family_pickling, LosesValuesWhenPickled, "after pickling: feature 0"),
    (checks.check_family_threads, SharedState, "in several threads: feature"),
    (checks.check_family_errors, AnyFeature, r"features \[5\] must be a SettingError, but no"),
    (checks.check_family_errors, OtherError, "must be a SettingError, is IndexError: no such"),
    (checks.check_family_errors, NamelessError, "X of a single number: no family named in"),
    (checks.check_family_errors, AnyName, "the name of feature 5 must be a SettingError, but"),
]


def test_a_good_family_passes() -> None:
    check_family(Good(), X)
    with_gaps = X.copy()
    with_gaps[2, 3] = np.nan
    check_family(Good(seed=5), with_gaps)
    check_family(GoodRange(), X)


@pytest.mark.parametrize(("check", "broken", "message"), BROKEN)
def test_a_broken_family_is_caught(
    check: Callable[[Family, ArrayLike], None], broken: type[Family], message: str
) -> None:
    with pytest.raises(AssertionError, match=message):
        check(broken(), X)


def test_every_check_has_caught_one() -> None:
    assert {check for check, _, _ in BROKEN} == set(FAMILY_CHECKS)
    public = {name for name in vars(checks) if re.match("check_family_", name)}
    assert public == {check.__name__ for check in FAMILY_CHECKS}


def test_checks_need_examples() -> None:
    with pytest.raises(ValueError, match="at least 3 examples"):
        check_family(Good(), X[:2])

"""Each public check of families finds the family that breaks its promise."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any, SupportsIndex

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from boostsample.errors import DataError
from boostsample.family import Family, check_examples
from boostsample.testing import families as checks
from boostsample.testing.families import FAMILY_CHECKS, check_family

X = np.random.default_rng(0).uniform(0, 255, (7, 5)).astype(np.float32)
DOCUMENTS = ["one", "two words", "", "three words here", "and a longer one, the last"]


class Good(Family):
    """Twice the columns of a table of five columns; below, ways to get it wrong."""

    name = "twice"
    n_features = 5
    scale: Any = 2

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
        return self.scale * table[:, wanted]


class OneBuffer(Good):
    def values(self, table: NDArray[Any], wanted: NDArray[np.intp]) -> Any:
        if getattr(self, "buffer", np.empty(0)).shape != (len(table), len(wanted)):
            self.buffer = np.empty((len(table), len(wanted)), np.float32)
        self.buffer[:] = 2 * table[:, wanted]
        return self.buffer


class Remembers(Good):
    def values(self, table: NDArray[Any], wanted: NDArray[np.intp]) -> Any:
        if not hasattr(self, "largest"):
            self.largest = table.max()
        return (table / self.largest)[:, wanted].astype(np.float32)


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


class Unseeded(Good):
    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.scale = np.float32(np.random.default_rng().random())


class UnseededNames(Unseeded):
    def values(self, table: NDArray[Any], wanted: NDArray[np.intp]) -> Any:
        return 2 * table[:, wanted]

    def feature_name(self, feature: SupportsIndex) -> str:
        return f"{super().feature_name(feature)} times {self.scale}"


class OtherCount(Good):
    made = 0

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        OtherCount.made += 1
        self.n_features = 3 + OtherCount.made % 2


class Closure(Good):
    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.function: Callable[[float], float] = lambda x: x


class ForgetsWhenPickled(Good):
    def __getstate__(self) -> dict[str, Any]:
        return {"seed": 99}


class LosesValuesWhenPickled(Good):
    def __getstate__(self) -> dict[str, Any]:
        return {"seed": self.seed, "scale": 3}


class SharedState(Good):
    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        self.wanted = self.check_features(features)
        time.sleep(0.01)
        return super().compute(X, self.wanted)


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


def good(**broken: Any) -> type[Good]:
    """`Good` with other attributes or methods."""
    return type("Broken", (Good,), broken)


def valued(values: Callable[[Any, Any], Any]) -> type[Good]:
    """`Good` with other values of a table and feature numbers."""
    return good(values=lambda self, table, wanted: values(table, wanted))


def named(feature_name: Callable[[Any, Any], str]) -> type[Good]:
    return good(feature_name=feature_name)


def ranged(value_range: Callable[[Any], Any]) -> type[Good]:
    return good(value_range=lambda self, features: value_range(features))


#: A check, a family that it must catch, and what it says.
BROKEN: list[tuple[str, type[Family], str]] = [
    ("names", good(name=" "), "its name must be text"),
    ("names", good(n_features=5.0), "n_features must be an int .* is 5.0"),
    ("names", named(lambda f, j: f"{j // 2}"), "features 0 and 1 are both '0'"),
    ("names", named(lambda f, j: ""), "feature 0 has no name, but ''"),
    ("names", named(lambda f, j: f"{j}{type(j)}"), "must take NumPy's integers"),
    (
        "settings",
        good(__init__=lambda f, seed=0: setattr(f, "seed", seed + 1)),
        "is not equal to it",
    ),
    ("settings", good(__init__=lambda f, seed=0: None), "cannot be recreated .*'seed'"),
    ("settings", good(__repr__=lambda f: "family"), "repr does not name the class: family"),
    (
        "settings",
        good(__hash__=Good.__hash__, __eq__=lambda f, other: True),
        "equals an object that is no family",
    ),
    (
        "result",
        valued(lambda table, wanted: table[:, wanted].astype(np.float64)),
        r"float32 array of shape \(7, 5\), got .* float64",
    ),
    (
        "result",
        valued(lambda table, wanted: table[:, wanted].T),
        r"of shape \(7, 5\), got ndarray float32 \(5, 7\)",
    ),
    (
        "result",
        good(compute=lambda f, X, features: X[:, : len(f.check_features(features))]),
        "share their memory with X",
    ),
    ("result", OneBuffer, "a later call has changed the values"),
    (
        "features",
        valued(lambda table, wanted: table[:, np.sort(wanted)]),
        "in reverse order: feature 4 of example 0 is",
    ),
    (
        "features",
        valued(lambda table, wanted: table[:, wanted] + np.float32(1e-3 * len(wanted))),
        "repeated features: feature 4",
    ),
    (
        "features",
        valued(lambda table, wanted: np.column_stack([table[:, j] for j in wanted])),
        r"ValueError .*\(7, 5\), 0 features",
    ),
    (
        "examples",
        valued(lambda table, wanted: (table - table.mean(axis=0, dtype=np.float32))[:, wanted]),
        "half of the examples: feature 0 of example",
    ),
    ("examples", Remembers, "examples not seen before: feature 0"),
    (
        "sizes",
        valued(lambda table, wanted: table[:, wanted] + 0 * table.max()),
        r"ValueError .*\(0, 5\), 5 features",
    ),
    ("sizes", BlockwiseWrong, "5000 examples: feature 0 of example 4096"),
    ("dtypes", ScalesBytes, "X of dtype uint8 instead of float32: feature 0"),
    ("layouts", ReadsMemory, "X in Fortran order: feature 1 of example 0"),
    ("input", Overwrites, "X was modified"),
    ("input", OverwritesFeatures, "the features were modified"),
    ("finite", Normalised, "X of zeros: nan for feature 0"),
    ("finite", Squared, "X scaled to 1e15: inf for feature"),
    (
        "range",
        ranged(lambda features: ([0.0], [1.0])),
        r"for each of 5 features, got \(1,\) and \(1,\)",
    ),
    (
        "range",
        ranged(lambda features: (0.0 * features, np.where(features == 3, -1.0, 1.0))),
        "feature 3 must rise .* is 0.0 to -1.0",
    ),
    (
        "range",
        ranged(lambda features: (0.0 * features, features + np.inf)),
        "feature 0 must rise .* is 0.0 to inf",
    ),
    (
        "range",
        ranged(lambda features: (0.0 * features, np.arange(len(features)))),
        "must not depend on the other features",
    ),
    (
        "deterministic",
        valued(lambda table, w: table[:, w] + np.float32(np.random.default_rng().random())),
        "a second call: feature 0 of example 0",
    ),
    ("deterministic", Unseeded, "a twin of equal settings: feature 0"),
    ("deterministic", OtherCount, r"a twin .* has \d features, not \d"),
    ("deterministic", UnseededNames, "a twin calls feature 0 "),
    ("pickling", Closure, "cannot be pickled"),
    ("pickling", ForgetsWhenPickled, "not equal to itself after pickling"),
    ("pickling", LosesValuesWhenPickled, "after pickling: feature 0"),
    ("threads", SharedState, "in several threads: feature"),
    (
        "errors",
        good(check_features=lambda f, features: np.asarray(features, np.intp) % 5),
        r"features \[5\] must be a SettingError, but no",
    ),
    ("errors", OtherError, "must be a SettingError, is IndexError: no such"),
    ("errors", NamelessError, "X of a single number: no family named in"),
    (
        "errors",
        named(lambda f, j: f"twice column {j}"),
        "the name of feature 5 must be a SettingError, but",
    ),
]


def test_a_good_family_passes() -> None:
    check_family(Good(), X)
    with_gaps = X.copy()
    with_gaps[2, 3] = np.nan
    check_family(Good(seed=5), with_gaps)


class Fractions(Good):
    """Computes in float64, so that examples of more digits than float32 have other values."""

    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        wanted = self.check_features(features)
        table = check_examples(X, (5,), self.name).astype(np.float64)[:, wanted]
        values: NDArray[np.float32] = np.where(
            np.isfinite(table), table - np.rint(table), np.nan
        ).astype(np.float32)
        return values


def test_a_family_may_read_all_digits() -> None:
    check_family(Fractions(), np.random.default_rng(0).uniform(0, 255, (7, 5)))


@pytest.mark.parametrize(("check", "broken", "message"), BROKEN)
def test_a_broken_family_is_caught(check: str, broken: type[Family], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        getattr(checks, f"check_family_{check}")(broken(), X)


def test_every_check_has_caught_one() -> None:
    names = {check.__name__ for check in FAMILY_CHECKS}
    assert {f"check_family_{check}" for check, _, _ in BROKEN} == names
    assert {name for name in vars(checks) if re.match("check_family_", name)} == names


class Letters(Family):
    """How often letters occur; below, ways to get it wrong."""

    name = "letters"
    n_features = 5
    reads_numbers = False

    def feature_name(self, feature: SupportsIndex) -> str:
        return f"letter {'aeiou'[self.check_feature(feature)]}"

    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        wanted = self.check_features(features)
        if np.ndim(X) != 1 or not all(isinstance(text, str) for text in X):
            raise DataError("family 'letters' takes a sequence of texts")
        texts = self.seen(list(X))
        counts = [[self.value(text, "aeiou"[j]) for j in wanted] for text in texts]
        return np.array(counts, np.float32).reshape(len(texts), len(wanted))

    def seen(self, texts: list[str]) -> list[str]:
        return texts

    def value(self, text: str, letter: str) -> float:
        return text.count(letter)


def reading(change: Callable[[Any], Any]) -> type[Letters]:
    """`Letters` that changes X before it reads it."""

    class Reading(Letters):
        def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
            return super().compute(change(X), features)

    return Reading


class Frequencies(Letters):
    def value(self, text: str, letter: str) -> float:
        return text.count(letter) / len(text) if text else np.nan


class RemembersTexts(Letters):
    def seen(self, texts: list[str]) -> list[str]:
        if not hasattr(self, "first"):
            self.first = set(texts)
        return [text if text in self.first else "" for text in texts]


class Sorts(Letters):
    def seen(self, texts: list[str]) -> list[str]:
        return sorted(texts)


class OverwritesTexts(Letters):
    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        values = super().compute(X, features)
        if isinstance(X, np.ndarray) and X.flags.writeable and len(X):
            X[0] = "overwritten"
        return values


def cut_fixed_width(X: Any) -> Any:
    return X.astype("U3") if isinstance(X, np.ndarray) and X.dtype.kind == "U" else X


def missing_as_empty(X: Any) -> Any:
    return ["" if text is None else text for text in X] if np.ndim(X) == 1 else X


@pytest.mark.parametrize("X", [DOCUMENTS, np.array(DOCUMENTS), np.array(DOCUMENTS, dtype=object)])
def test_a_good_family_of_documents_passes(X: Any) -> None:
    check_family(Letters(), X)


@pytest.mark.parametrize(
    ("check", "broken", "message"),
    [
        ("finite", Frequencies, "X: nan for feature 0"),
        ("dtypes", reading(lambda X: X.astype(object)), "compute raised AttributeError"),
        ("dtypes", reading(cut_fixed_width), "X of fixed-width texts: feature"),
        (
            "errors",
            reading(lambda X: [str(text) for text in np.atleast_1d(X)]),
            "X of .* must be a DataError, but nothing",
        ),
        ("errors", reading(missing_as_empty), "X with a missing text must be a DataError, but"),
        ("examples", RemembersTexts, "examples not seen before: feature"),
        ("examples", Sorts, "half of the examples: feature"),
        ("input", OverwritesTexts, "X was modified"),
    ],
)
def test_a_broken_family_of_documents_is_caught(
    check: str, broken: type[Family], message: str
) -> None:
    with pytest.raises(AssertionError, match=message):
        getattr(checks, f"check_family_{check}")(broken(), DOCUMENTS)


class Series(Letters):
    """The first values of series of any length."""

    name = "series"

    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        wanted = self.check_features(features)
        if np.ndim(X) != 1:
            raise DataError("family 'series' takes a sequence of series")
        rows = [[(*values, *[0.0] * 5)[j] for j in wanted] for values in X]
        return np.array(rows, np.float32).reshape(len(X), len(wanted))


def test_families_of_other_things_pass_what_can_be_asked_of_them() -> None:
    X = np.empty(4, dtype=object)
    X[:] = [(1.0, 2.0), (), (3.0,), (4.0, 5.0, 6.0, 7.0)]
    check_family(Series(), X)


@pytest.mark.parametrize(
    ("family", "X"), [(Good(), X[:2]), (Letters(), DOCUMENTS[:2]), (Letters(), np.array("one"))]
)
def test_checks_need_examples(family: Family, X: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=r"at least 3 examples|unsized"):
        check_family(family, X)

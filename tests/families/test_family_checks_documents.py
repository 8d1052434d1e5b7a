"""The public checks on families that read no numbers: documents, and examples of any other kind."""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from boostsample import testing as checks
from boostsample.errors import DataError
from boostsample.family import Family

DOCUMENTS = ["one", "two words", "", "three words here", "and a longer one, the last"]


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


class Frequencies(Letters):
    def value(self, text: str, letter: str) -> float:
        return text.count(letter) / len(text) if text else np.nan


class NeedsObjects(Letters):
    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        return super().compute(X.astype(object), features)


class CutsFixedWidth(Letters):
    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        if isinstance(X, np.ndarray) and X.dtype.kind == "U":
            X = X.astype("U3")
        return super().compute(X, features)


class TakesAnything(Letters):
    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        return super().compute([str(text) for text in np.atleast_1d(X)], features)


class TakesMissing(Letters):
    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        if np.ndim(X) == 1:
            X = ["" if text is None else text for text in X]
        return super().compute(X, features)


class Remembers(Letters):
    def seen(self, texts: list[str]) -> list[str]:
        if not hasattr(self, "first"):
            self.first = set(texts)
        return [text if text in self.first else "" for text in texts]


class Sorts(Letters):
    def seen(self, texts: list[str]) -> list[str]:
        return sorted(texts)


class Overwrites(Letters):
    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        values = super().compute(X, features)
        if isinstance(X, np.ndarray) and X.flags.writeable and len(X):
            X[0] = "overwritten"
        return values


BROKEN = [
    (checks.check_family_finite, Frequencies, "X: nan for feature 0"),
    (checks.check_family_dtypes, NeedsObjects, "compute raised AttributeError"),
    (checks.check_family_dtypes, CutsFixedWidth, "X of fixed-width texts: feature"),
    (checks.check_family_errors, TakesAnything, "X of .* must be a DataError, but nothing"),
    (checks.check_family_errors, TakesMissing, "X with a missing text must be a DataError, but"),
    (checks.check_family_examples, Remembers, "examples not seen before: feature"),
    (checks.check_family_examples, Sorts, "half of the examples: feature"),
    (checks.check_family_input, Overwrites, "X was modified"),
]


@pytest.mark.parametrize("X", [DOCUMENTS, np.array(DOCUMENTS), np.array(DOCUMENTS, dtype=object)])
def test_a_good_family_of_documents_passes(X: Any) -> None:
    checks.check_family(Letters(), X)


@pytest.mark.parametrize(("check", "broken", "message"), BROKEN)
def test_a_broken_family_of_documents_is_caught(
    check: Any, broken: type[Family], message: str
) -> None:
    with pytest.raises(AssertionError, match=message):
        check(broken(), DOCUMENTS)


def test_empty_documents_are_tried_where_there_are_none() -> None:
    with pytest.raises(AssertionError, match="X of empty texts: nan for feature 0"):
        checks.check_family_finite(Frequencies(), [text for text in DOCUMENTS if text])


class Lengths(Letters):
    """Of series of any length: their length and their first five values."""

    name = "series"
    n_features = 3

    def feature_name(self, feature: SupportsIndex) -> str:
        return f"value {self.check_feature(feature)}"

    def compute(self, X: Any, features: ArrayLike) -> NDArray[np.float32]:
        wanted = self.check_features(features)
        if np.ndim(X) != 1:
            raise DataError("family 'series' takes a sequence of series")
        series = [(*values, 0.0, 0.0, 0.0) for values in X]
        rows = [[values[j] for j in wanted] for values in series]
        return np.array(rows, np.float32).reshape(len(series), len(wanted))


def test_families_of_other_things_pass_what_can_be_asked_of_them() -> None:
    X = np.empty(4, dtype=object)
    X[:] = [(1.0, 2.0), (), (3.0,), (4.0, 5.0, 6.0, 7.0)]
    checks.check_family(Lengths(), X)


@pytest.mark.parametrize("X", [DOCUMENTS[:2], np.array("one"), []])
def test_checks_need_documents(X: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=r"at least 3 examples|unsized"):
        checks.check_family(Letters(), X)

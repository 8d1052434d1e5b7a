"""Checks for any feature family, one for each rule of `boostsample.family.Family`.

Each check takes a family and a few examples that it accepts, and raises an AssertionError that
names the broken rule and the place.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.errors import DataError, SettingError
from boostsample.family import Family, pixel_major
from boostsample.testing.family_assertions import (
    fail_family,
    require_of_family,
    require_refusal,
    require_same_values,
    require_values,
)
from boostsample.testing.family_examples import (
    examples_are_numbers,
    examples_in_other_types,
    examples_of,
    extreme_examples,
    other_examples,
    unfit_examples,
)

__all__ = [
    "FAMILY_CHECKS",
    "check_family",
    "check_family_deterministic",
    "check_family_dtypes",
    "check_family_errors",
    "check_family_examples",
    "check_family_features",
    "check_family_finite",
    "check_family_input",
    "check_family_layouts",
    "check_family_names",
    "check_family_pickling",
    "check_family_range",
    "check_family_result",
    "check_family_settings",
    "check_family_sizes",
    "check_family_threads",
]

_MOST_FEATURES = 2000
"""Larger families are checked on this many features, evenly spaced, first and last included."""


def check_family(family: Family, X: ArrayLike) -> None:
    """Run all checks.

    Parameters
    ----------
    family : Family
    X : array, shape (n, ...), or sequence of n documents, n >= 3
        Examples that the family accepts; varied ones find more faults. Checks that need numbers or
        documents skip other examples.

    Raises
    ------
    AssertionError
        If the family breaks a rule; names the first one.
    """
    for check in FAMILY_CHECKS:
        check(family, X)


def check_family_names(family: Family, X: ArrayLike) -> None:
    """The family has a name, features, and a different name for each feature."""
    require_of_family(_is_name(family.name), family, f"its name must be text, is {family.name!r}")
    require_of_family(
        type(family.n_features) is int and family.n_features >= 1,
        family,
        f"n_features must be an int of at least 1, is {family.n_features!r}",
    )
    seen: dict[str, int] = {}
    for feature in _spread_features(family).tolist():
        name = family.feature_name(feature)
        require_of_family(_is_name(name), family, f"feature {feature} has no name, but {name!r}")
        other = seen.setdefault(name, feature)
        require_of_family(
            other == feature, family, f"features {other} and {feature} are both {name!r}"
        )
    require_of_family(
        family.feature_name(np.int64(0)) == family.feature_name(0),
        family,
        "feature_name must take NumPy's integers",
    )


def check_family_settings(family: Family, X: ArrayLike) -> None:
    """Settings survive JSON and make an equal family; repr names the class."""
    twin = _twin(family)
    require_of_family(
        twin == family and hash(twin) == hash(family),
        family,
        f"a family made from its settings {family.settings()} is not equal to it",
    )
    require_of_family(family != object(), family, "it equals an object that is no family")
    require_of_family(
        type(family).__name__ in repr(family), family, f"repr does not name the class: {family!r}"
    )


def check_family_result(family: Family, X: ArrayLike) -> None:
    """Values are a new float32 array (n, q) that no later call changes."""
    examples, features = examples_of(X), _spread_features(family)
    values = require_values(family, examples, features)
    require_of_family(
        not np.shares_memory(values, examples), family, "the values share their memory with X"
    )
    before = values.copy()
    family.compute(examples[::-1], features)
    require_same_values(
        family, values, before, features, "a later call has changed the values of an earlier one"
    )


def check_family_features(family: Family, X: ArrayLike) -> None:
    """Any features in any order, repeats included, have the same values as all together."""
    examples, features = examples_of(X), _spread_features(family)
    whole = require_values(family, examples, features)
    rng = np.random.default_rng(0)
    n = len(features)
    choices = {
        "features in reverse order": np.arange(n)[::-1],
        "repeated features": np.array([n - 1, 0, 0, n - 1, n // 2, 0]),
        "half of the features": rng.permutation(n)[: (n + 1) // 2],
        "features drawn with replacement": rng.integers(0, n, n),
        "no features": np.empty(0, np.intp),
    }
    for feature in rng.integers(0, n, 5):
        choices[f"feature {features[feature]} alone"] = np.array([feature])
    for what, choice in choices.items():
        values = require_values(family, examples, features[choice])
        require_same_values(family, values, whole[:, choice], features[choice], what)
    require_same_values(
        family,
        require_values(family, examples, features[::-1].tolist()),
        whole[:, ::-1],
        features[::-1],
        "features given as a list",
    )


def check_family_examples(family: Family, X: ArrayLike) -> None:
    """An example's values depend on that example alone, not on others in this or earlier calls."""
    examples, features = examples_of(X), _spread_features(family)
    whole = require_values(family, examples, features)
    rng = np.random.default_rng(1)
    rows = rng.permutation(len(examples))[: (len(examples) + 1) // 2]
    part = require_values(family, examples[rows], features)
    require_same_values(family, part, whole[rows], features, "half of the examples", rows)
    strange = other_examples(examples)
    new = require_values(_twin(family), strange, features)
    require_same_values(
        family, require_values(family, strange, features), new, features, "examples not seen before"
    )
    require_same_values(
        family,
        require_values(family, examples, features),
        whole,
        features,
        "the same examples again",
    )
    kind = strange.dtype  # float32 where X is numbers
    both = require_values(family, np.concatenate([strange, examples.astype(kind)]), features)
    require_same_values(family, both[: len(new)], new, features, "examples together with others")
    require_same_values(family, both[len(new) :], whole, features, "examples together with others")


def check_family_sizes(family: Family, X: ArrayLike) -> None:
    """Works with one example, none, and more than one block of work."""
    examples, features = examples_of(X), _spread_features(family)
    whole = require_values(family, examples, features)
    for rows in (slice(0, 1), slice(0, 0), slice(len(examples) - 1, None)):
        values = require_values(family, examples[rows], features)
        require_same_values(family, values, whole[rows], features, f"{len(values)} examples")
    few = features[: max(1, len(features) // 100)]
    many = np.arange(5000) % len(examples)
    values = require_values(family, examples[many], few)
    require_same_values(family, values, whole[many][:, : len(few)], few, f"{len(many)} examples")


def check_family_dtypes(family: Family, X: ArrayLike) -> None:
    """Equal numbers give equal values as bytes, integers, float32 or float64.

    Equal documents do so in object arrays, lists, or arrays of fixed width.
    """
    features = _spread_features(family)
    examples, variants = examples_in_other_types(examples_of(X))
    want = require_values(family, examples, features)
    for what, array in variants.items():
        require_same_values(family, require_values(family, array, features), want, features, what)


def check_family_layouts(family: Family, X: ArrayLike) -> None:
    """Values do not depend on the memory layout of X."""
    examples, features = examples_of(X), _spread_features(family)
    whole = require_values(family, examples, features)
    layouts = {
        "in Fortran order": np.asfortranarray(examples),
        "with gaps between examples": np.repeat(examples, 2, axis=0)[::2],
        "with gaps between values": np.repeat(examples, 2, axis=-1)[..., ::2],
        "stored backwards": examples[::-1].copy()[::-1],
        "in pixel-major order": pixel_major(examples),
    }
    for what, array in layouts.items():
        require_same_values(
            family, require_values(family, array, features), whole, features, f"X {what}"
        )


def check_family_input(family: Family, X: ArrayLike) -> None:
    """X and the features are not modified, and may be read-only."""
    examples, features = examples_of(X).copy(), _spread_features(family)
    before_X, before_features = examples.copy(), features.copy()
    whole = require_values(family, examples, features)
    numbers = examples_are_numbers(examples)  # others cannot be NaN
    unchanged = np.array_equal(examples, before_X, equal_nan=numbers)
    require_of_family(unchanged, family, "X was modified")
    require_of_family(
        np.array_equal(features, before_features), family, "the features were modified"
    )
    examples.flags.writeable = features.flags.writeable = False
    require_same_values(
        family, require_values(family, examples, features), whole, features, "read-only X"
    )


def check_family_finite(family: Family, X: ArrayLike) -> None:
    """Finite examples, even constant, huge, tiny or empty ones, give finite values."""
    features = _spread_features(family)
    for what, array in extreme_examples(examples_of(X)).items():
        values = require_values(family, array, features)
        bad = np.argwhere(~np.isfinite(values))
        if len(bad):
            row, column = bad[0]
            fail_family(family, f"{what}: {values[row, column]} for feature {features[column]}")


def check_family_range(family: Family, X: ArrayLike) -> None:
    """value_range() returns None, or finite ends that depend on the feature alone."""
    features = _spread_features(family)
    declared = family.value_range(features)
    if declared is None:
        return
    low, high = (np.asarray(end, np.float64) for end in declared)
    shapes = f"{low.shape} and {high.shape}"
    require_of_family(
        low.shape == high.shape == features.shape,
        family,
        f"value_range must give two ends for each of {len(features)} features, got {shapes}",
    )
    limit = float(np.finfo(np.float32).max)
    bad = ~((-limit <= low) & (low <= high) & (high <= limit))
    at = int(bad.argmax())
    require_of_family(
        not bad.any(),
        family,
        f"value_range of feature {features[at]} must rise and be finite as float32, is "
        f"{low[at]} to {high[at]}",
    )
    order = np.random.default_rng(3).permutation(len(features))
    again = family.value_range(features[order])
    require_of_family(
        again is not None
        and np.array_equal(again[0], low[order])
        and np.array_equal(again[1], high[order]),
        family,
        "value_range of a feature must not depend on the other features asked for",
    )


def check_family_deterministic(family: Family, X: ArrayLike) -> None:
    """Families of equal settings have the same features, names and bits."""
    twin, examples, features = _twin(family), examples_of(X), _spread_features(family)
    require_of_family(
        twin.n_features == family.n_features,
        family,
        f"a twin of the same settings has {twin.n_features} features, not {family.n_features}",
    )
    whole = require_values(family, examples, features)
    require_same_values(
        family, require_values(family, examples, features), whole, features, "a second call"
    )
    require_same_values(
        family,
        require_values(twin, examples, features),
        whole,
        features,
        "a twin of equal settings",
    )
    for feature in features.tolist():
        name, other = family.feature_name(feature), twin.feature_name(feature)
        require_of_family(
            name == other, family, f"a twin calls feature {feature} {other!r}, not {name!r}"
        )


def check_family_pickling(family: Family, X: ArrayLike) -> None:
    """After pickling, as for worker processes, the family is equal and gives the same bits."""
    examples, features = examples_of(X), _spread_features(family)
    try:
        twin = pickle.loads(pickle.dumps(family))
    except Exception as error:
        raise AssertionError(f"family {family.name!r} cannot be pickled: {error}") from error
    require_of_family(twin == family, family, "it is not equal to itself after pickling")
    whole = require_values(family, examples, features)
    require_same_values(
        family, require_values(twin, examples, features), whole, features, "after pickling"
    )


def check_family_threads(family: Family, X: ArrayLike) -> None:
    """Several threads may call compute at once."""
    examples, features = examples_of(X), _spread_features(family)
    whole = require_values(family, examples, features)
    n_threads = 4
    start = Barrier(n_threads)
    rng = np.random.default_rng(2)
    choices = [rng.permutation(len(features)) for _ in range(n_threads)]

    def work(choice: NDArray[np.intp]) -> list[NDArray[np.float32]]:
        start.wait()
        return [require_values(family, examples, features[choice]) for _ in range(3)]

    with ThreadPoolExecutor(n_threads) as pool:
        for choice, results in zip(choices, pool.map(work, choices), strict=True):
            for values in results:
                require_same_values(
                    family, values, whole[:, choice], features[choice], "in several threads"
                )


def check_family_errors(family: Family, X: ArrayLike) -> None:
    """Unknown features raise SettingError, other data DataError; both name the family."""
    examples = examples_of(X)
    n = family.n_features
    for features in ([n], [-1], [0, n], [0.0], [[0]], 0, [True], ["0"], None):
        what = f"features {features!r}"
        require_refusal(family, SettingError, what, family.compute, examples, features)
    for feature in (n, -1, 0.0, True, "0", None):
        what = f"the name of feature {feature!r}"
        require_refusal(family, SettingError, what, family.feature_name, feature)
    for what, array in unfit_examples(examples).items():
        require_refusal(family, DataError, what, family.compute, array, [0])


FAMILY_CHECKS: tuple[Callable[[Family, ArrayLike], None], ...] = tuple(
    check for name, check in [*globals().items()] if name.startswith("check_family_")
)
"""All checks, in order of definition, which is the order of `check_family`."""


def _is_name(name: object) -> bool:
    """Whether a name is a non-empty string."""
    return isinstance(name, str) and bool(name.strip())


def _spread_features(family: Family) -> NDArray[np.intp]:
    """At most _MOST_FEATURES features of a family, evenly spaced, in increasing order."""
    last = family.n_features - 1
    return np.unique(np.linspace(0, last, min(last + 1, _MOST_FEATURES)).astype(np.intp))


def _twin(family: Family) -> Family:
    """A family made from the settings of another, converted to JSON and back."""
    try:
        return type(family)(**json.loads(json.dumps(family.settings())))
    except (TypeError, ValueError) as error:
        raise AssertionError(
            f"family {family.name!r} cannot be recreated from its settings(): {error}"
        ) from error

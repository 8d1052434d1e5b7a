"""What any feature family must do: one small check for each promise of `boostsample.family.Family`.

Each check takes a family and a few examples that it fits, and raises an AssertionError that tells
which promise is broken and where. They need no test framework:

    for check in FAMILY_CHECKS:
        check(family, X)
"""

from __future__ import annotations

import json
import pickle  # noqa: TID251 - whether families survive pickling is one of the checks
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostsample.errors import DataError, SettingError
from boostsample.family import PIXEL_LIMIT, Family, pixel_major

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
    "check_family_result",
    "check_family_settings",
    "check_family_sizes",
    "check_family_threads",
]

_MOST_FEATURES = 2000
"""Families of more features are tried on this many, spread evenly, with the first and the last."""


def check_family(family: Family, X: ArrayLike) -> None:
    """Run all checks.

    Parameters
    ----------
    family : Family
    X : array, shape (n, ...), n >= 3
        Examples that the family fits; varied ones find more faults.

    Raises
    ------
    AssertionError
        The first promise that the family breaks.
    """
    for check in FAMILY_CHECKS:
        check(family, X)


def check_family_names(family: Family, X: ArrayLike) -> None:
    """Name, number of features and feature names: there, and different for different features."""
    _require(_is_name(family.name), family, f"its name must be text, is {family.name!r}")
    _require(
        type(family.n_features) is int and family.n_features >= 1,
        family,
        f"n_features must be an int of at least 1, is {family.n_features!r}",
    )
    seen: dict[str, int] = {}
    for feature in _spread(family).tolist():
        name = family.feature_name(feature)
        _require(_is_name(name), family, f"feature {feature} has no name, but {name!r}")
        other = seen.setdefault(name, feature)
        _require(other == feature, family, f"features {other} and {feature} are both {name!r}")
    _require(
        family.feature_name(np.int64(0)) == family.feature_name(0),
        family,
        "feature_name must take NumPy's integers",
    )


def check_family_settings(family: Family, X: ArrayLike) -> None:
    """settings() survive JSON and make an equal family; repr names the class."""
    twin = _twin(family)
    _require(
        twin == family and hash(twin) == hash(family),
        family,
        f"a family made from its settings {family.settings()} is not equal to it",
    )
    _require(family != object(), family, "it equals an object that is no family")
    _require(
        type(family).__name__ in repr(family), family, f"repr does not name the class: {family!r}"
    )


def check_family_result(family: Family, X: ArrayLike) -> None:
    """The values are a float32 array (n, q) of their own memory, which no later call changes."""
    examples, features = _examples(X), _spread(family)
    values = _compute(family, examples, features)
    _require(not np.shares_memory(values, examples), family, "the values share their memory with X")
    before = values.copy()
    family.compute(examples[::-1], features)
    _same(family, values, before, features, "a later call has changed the values of an earlier one")


def check_family_features(family: Family, X: ArrayLike) -> None:
    """Any features, in any order, with repeats or none: the same entries as those of the whole."""
    examples, features = _examples(X), _spread(family)
    whole = _compute(family, examples, features)
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
        values = _compute(family, examples, features[choice])
        _same(family, values, whole[:, choice], features[choice], what)
    _same(
        family,
        _compute(family, examples, features[::-1].tolist()),
        whole[:, ::-1],
        features[::-1],
        "features given as a list",
    )


def check_family_examples(family: Family, X: ArrayLike) -> None:
    """An example's values depend on that example alone, not on others seen beside or before it."""
    examples, features = _examples(X), _spread(family)
    whole = _compute(family, examples, features)
    rng = np.random.default_rng(1)
    rows = rng.permutation(len(examples))[: (len(examples) + 1) // 2]
    part = _compute(family, examples[rows], features)
    _same(family, part, whole[rows], features, "half of the examples", rows)
    strange = (np.nan_to_num(examples.astype(np.float64)) / 3 + 1).astype(np.float32)
    new = _compute(_twin(family), strange, features)
    _same(family, _compute(family, strange, features), new, features, "examples not seen before")
    _same(family, _compute(family, examples, features), whole, features, "the same examples again")
    both = _compute(family, np.concatenate([strange, examples.astype(np.float32)]), features)
    _same(family, both[: len(new)], new, features, "examples together with others")
    _same(family, both[len(new) :], whole, features, "examples together with others")


def check_family_sizes(family: Family, X: ArrayLike) -> None:
    """One example, none, and more of them than fit into one block of work."""
    examples, features = _examples(X), _spread(family)
    whole = _compute(family, examples, features)
    for rows in (slice(0, 1), slice(0, 0), slice(len(examples) - 1, None)):
        values = _compute(family, examples[rows], features)
        _same(family, values, whole[rows], features, f"{len(values)} examples")
    few = features[: max(1, len(features) // 100)]
    many = np.arange(5000) % len(examples)
    values = _compute(family, examples[many], few)
    _same(family, values, whole[many][:, : len(few)], few, f"{len(many)} examples")


def check_family_dtypes(family: Family, X: ArrayLike) -> None:
    """Equal numbers give equal values, whether held as bytes, integers, float32 or float64."""
    numbers = np.nan_to_num(_examples(X).astype(np.float64))
    low, high = numbers.min(), numbers.max()
    if low < 0 or high > 255 or high - low < 2:
        numbers = (numbers - low) / max(high - low, 1e-9) * 255
    numbers, features = np.rint(numbers), _spread(family)
    want = _compute(family, numbers.astype(np.float32), features)
    for dtype in (np.uint8, np.int64, np.float64):
        values = _compute(family, numbers.astype(dtype), features)
        _same(family, values, want, features, f"X of dtype {np.dtype(dtype)} instead of float32")


def check_family_layouts(family: Family, X: ArrayLike) -> None:
    """Any memory order of X: Fortran order, strided, backwards, pixel-major."""
    examples, features = _examples(X), _spread(family)
    whole = _compute(family, examples, features)
    layouts = {
        "in Fortran order": np.asfortranarray(examples),
        "with gaps between examples": np.repeat(examples, 2, axis=0)[::2],
        "with gaps between values": np.repeat(examples, 2, axis=-1)[..., ::2],
        "stored backwards": examples[::-1].copy()[::-1],
        "in pixel-major order": pixel_major(examples),
    }
    for what, array in layouts.items():
        _same(family, _compute(family, array, features), whole, features, f"X {what}")


def check_family_input(family: Family, X: ArrayLike) -> None:
    """Neither X nor the list of features is modified; both may be read-only."""
    examples, features = _examples(X).copy(), _spread(family)
    before_X, before_features = examples.copy(), features.copy()
    whole = _compute(family, examples, features)
    _require(np.array_equal(examples, before_X, equal_nan=True), family, "X was modified")
    _require(np.array_equal(features, before_features), family, "the features were modified")
    examples.flags.writeable = features.flags.writeable = False
    _same(family, _compute(family, examples, features), whole, features, "read-only X")


def check_family_finite(family: Family, X: ArrayLike) -> None:
    """Finite examples give finite values: also constant, huge and tiny ones."""
    examples, features = np.nan_to_num(_examples(X).astype(np.float64)), _spread(family)
    largest = max(float(np.abs(examples).max()), 1e-9)
    cases = {
        "X": examples,
        "X of zeros": np.zeros_like(examples),
        "X of 255 everywhere": np.full_like(examples, 255),
        "X scaled to 1e15": examples * (0.999 * PIXEL_LIMIT / largest),
        "X scaled to 1e-30": examples * (1e-30 / largest),
    }
    for what, array in cases.items():
        values = _compute(family, array.astype(np.float32), features)
        bad = np.argwhere(~np.isfinite(values))
        if len(bad):
            row, column = bad[0]
            _fail(family, f"{what}: {values[row, column]} for feature {features[column]}")


def check_family_deterministic(family: Family, X: ArrayLike) -> None:
    """Two families of the same settings have the same features, names and bits."""
    twin, examples, features = _twin(family), _examples(X), _spread(family)
    _require(
        twin.n_features == family.n_features,
        family,
        f"a twin of the same settings has {twin.n_features} features, not {family.n_features}",
    )
    whole = _compute(family, examples, features)
    _same(family, _compute(family, examples, features), whole, features, "a second call")
    _same(family, _compute(twin, examples, features), whole, features, "a twin of equal settings")
    for feature in features.tolist():
        name, other = family.feature_name(feature), twin.feature_name(feature)
        _require(name == other, family, f"a twin calls feature {feature} {other!r}, not {name!r}")


def check_family_pickling(family: Family, X: ArrayLike) -> None:
    """Survives pickling, as worker processes need it: equal, and with the same bits."""
    examples, features = _examples(X), _spread(family)
    try:
        twin = pickle.loads(pickle.dumps(family))
    except Exception as error:
        raise AssertionError(f"family {family.name!r} cannot be pickled: {error}") from error
    _require(twin == family, family, "it is not equal to itself after pickling")
    whole = _compute(family, examples, features)
    _same(family, _compute(twin, examples, features), whole, features, "after pickling")


def check_family_threads(family: Family, X: ArrayLike) -> None:
    """Several threads may run compute at once."""
    examples, features = _examples(X), _spread(family)
    whole = _compute(family, examples, features)
    n_threads = 4
    start = Barrier(n_threads)
    rng = np.random.default_rng(2)
    choices = [rng.permutation(len(features)) for _ in range(n_threads)]

    def work(choice: NDArray[np.intp]) -> list[NDArray[np.float32]]:
        start.wait()
        return [_compute(family, examples, features[choice]) for _ in range(3)]

    with ThreadPoolExecutor(n_threads) as pool:
        for choice, results in zip(choices, pool.map(work, choices), strict=True):
            for values in results:
                _same(family, values, whole[:, choice], features[choice], "in several threads")


def check_family_errors(family: Family, X: ArrayLike) -> None:
    """Features that it has not are a SettingError, other data a DataError; both name the family."""
    examples = _examples(X)
    n = family.n_features
    for features in ([n], [-1], [0, n], [0.0], [[0]], 0, [True], ["0"], None):
        what = f"features {features!r}"
        _refuses(family, SettingError, what, family.compute, examples, features)
    for feature in (n, -1, 0.0, True, "0", None):
        what = f"the name of feature {feature!r}"
        _refuses(family, SettingError, what, family.feature_name, feature)
    for what, array in {
        "X of a single number": np.float32(1),
        "X that is flat": examples.ravel(),
        "X of text": examples.astype(str),
        "X of complex numbers": examples.astype(complex),
    }.items():
        _refuses(family, DataError, what, family.compute, array, [0])


FAMILY_CHECKS: tuple[Callable[[Family, ArrayLike], None], ...] = (
    check_family_names,
    check_family_settings,
    check_family_result,
    check_family_features,
    check_family_examples,
    check_family_sizes,
    check_family_dtypes,
    check_family_layouts,
    check_family_input,
    check_family_finite,
    check_family_deterministic,
    check_family_pickling,
    check_family_threads,
    check_family_errors,
)
"""All checks, in the order in which `check_family` runs them."""


def _fail(family: Family, message: str) -> None:
    raise AssertionError(f"family {family.name!r} ({type(family).__name__}): {message}")


def _require(condition: bool, family: Family, message: str) -> None:
    if not condition:
        _fail(family, message)


def _is_name(name: object) -> bool:
    return isinstance(name, str) and bool(name.strip())


def _examples(X: ArrayLike) -> NDArray[Any]:
    examples = np.asarray(X)
    if examples.ndim < 2 or len(examples) < 3:
        raise ValueError(f"the checks need at least 3 examples, got X of shape {examples.shape}")
    return examples


def _spread(family: Family) -> NDArray[np.intp]:
    """All features of a family, or many of them spread evenly, in increasing order."""
    last = family.n_features - 1
    return np.unique(np.linspace(0, last, min(last + 1, _MOST_FEATURES)).astype(np.intp))


def _twin(family: Family) -> Family:
    """A family made from the settings of another, after a journey through JSON."""
    try:
        return type(family)(**json.loads(json.dumps(family.settings())))
    except (TypeError, ValueError) as error:
        raise AssertionError(
            f"family {family.name!r} cannot be made again from its settings(): {error}"
        ) from error


def _compute(family: Family, X: NDArray[Any], features: Any) -> NDArray[np.float32]:
    """Values from the family, of the promised type, dtype and shape."""
    values: Any = None
    try:
        values = family.compute(X, features)
    except Exception as error:
        case = f"X of shape {X.shape}, {len(features)} features"
        raise AssertionError(
            f"family {family.name!r}: compute raised {type(error).__name__} ({case}): {error}"
        ) from error
    want = (len(X), len(features))
    _require(
        isinstance(values, np.ndarray) and values.dtype == np.float32 and values.shape == want,
        family,
        f"compute must return a float32 array of shape {want}, got {type(values).__name__} "
        f"{getattr(values, 'dtype', '')} {getattr(values, 'shape', '')}",
    )
    result: NDArray[np.float32] = values
    return result


def _same(
    family: Family,
    values: NDArray[np.float32],
    want: NDArray[np.float32],
    features: Any,
    what: str,
    rows: NDArray[np.intp] | None = None,
) -> None:
    """Raise unless all values are equal (NaN equals NaN), naming the first that is not."""
    different = np.argwhere((values != want) & ~(np.isnan(values) & np.isnan(want)))
    if len(different):
        row, column = different[0]
        example = row if rows is None else rows[row]
        _fail(
            family,
            f"{what}: feature {features[column]} of example {example} is {values[row, column]!r}, "
            f"should be {want[row, column]!r}",
        )


def _refuses(
    family: Family, error: type[Exception], what: str, function: Callable[..., object], *args: Any
) -> None:
    """Raise unless function(*args) raises the error, with a message that names the family."""
    try:
        function(*args)
    except error as raised:
        _require(family.name in str(raised), family, f"{what}: no family named in: {raised}")
    except Exception as raised:
        _fail(family, f"{what} must be a {error.__name__}, is {type(raised).__name__}: {raised}")
    else:
        _fail(family, f"{what} must be a {error.__name__}, but nothing was raised")

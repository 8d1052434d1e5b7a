"""Checks for any feature family, one for each rule of `boostsample.family.Family`."""

from __future__ import annotations

import json
import pickle
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
    "check_family_range",
    "check_family_result",
    "check_family_settings",
    "check_family_sizes",
    "check_family_threads",
]

_MOST_FEATURES = 2000
"""Larger families are checked on this many features, evenly spaced, first and last included."""


def check_family(family: Family, X: ArrayLike) -> None:
    """Run all checks; AssertionError that names the first rule that the family breaks.

    Parameters
    ----------
    family : Family
    X : array, shape (n, ...), or sequence of n documents, n >= 3
        Examples that the family accepts; varied ones find more faults. Checks that need numbers or
        documents skip other examples.
    """
    for check in FAMILY_CHECKS:
        check(family, X)


def check_family_names(family: Family, X: ArrayLike) -> None:
    """The family has a name, features, and a different name for each feature."""
    _require(_is_name(family.name), family, f"its name must be text, is {family.name!r}")
    _require(
        type(family.n_features) is int and family.n_features >= 1,
        family,
        f"n_features must be an int of at least 1, is {family.n_features!r}",
    )
    seen: dict[str, int] = {}
    for feature in _spread_features(family).tolist():
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
    """Settings survive JSON and make an equal family; repr names the class."""
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
    """Values are a new float32 array (n, q) that no later call changes."""
    examples, features, values = _computed(family, X)
    shared = np.shares_memory(values, examples)
    _require(not shared, family, "the values share their memory with X")
    before = values.copy()
    family.compute(examples[::-1], features)
    changed = "a later call has changed the values of an earlier one"
    _require_equal(family, values, before, features, changed)


def check_family_features(family: Family, X: ArrayLike) -> None:
    """Any features in any order, repeats included, have the same values as all together."""
    examples, features, whole = _computed(family, X)
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
    for case, choice in choices.items():
        _require_values(family, examples, features[choice], whole[:, choice], case)
    backwards = features[::-1].tolist()
    _require_values(family, examples, backwards, whole[:, ::-1], "features given as a list")


def check_family_examples(family: Family, X: ArrayLike) -> None:
    """An example's values depend on that example alone, not on others in this or earlier calls."""
    examples, features, whole = _computed(family, X)
    rng = np.random.default_rng(1)
    rows = rng.permutation(len(examples))[: (len(examples) + 1) // 2]
    half = _values(family, examples[rows], features)
    _require_equal(family, half, whole[rows], features, "half of the examples", rows)
    others = _other_examples(examples)
    new = _values(_twin(family), others, features)
    _require_values(family, others, features, new, "examples not seen before")
    _require_values(family, examples, features, whole, "the same examples again")
    kind = others.dtype  # float32 where X is numbers
    alike = examples.astype(kind)  # other numbers, where X has more digits
    alone = _values(_twin(family), alike, features)
    both = _values(family, np.concatenate([others, alike]), features)
    _require_equal(family, both[: len(new)], new, features, "examples together with others")
    _require_equal(family, both[len(new) :], alone, features, "examples together with others")


def check_family_sizes(family: Family, X: ArrayLike) -> None:
    """Works with one example, none, and more than one block of work."""
    examples, features, whole = _computed(family, X)
    for rows in (slice(0, 1), slice(0, 0), slice(len(examples) - 1, None)):
        part = examples[rows]
        _require_values(family, part, features, whole[rows], f"{len(part)} examples")
    few = features[: max(1, len(features) // 100)]
    many = np.arange(5000) % len(examples)
    _require_values(family, examples[many], few, whole[many][:, : len(few)], "5000 examples")


def check_family_dtypes(family: Family, X: ArrayLike) -> None:
    """Equal numbers give equal values as bytes, integers, float32 or float64.

    Equal documents do so in object arrays, lists, or arrays of fixed width.
    """
    features = _spread_features(family)
    examples, variants = _in_other_types(_examples_of(X))
    whole = _values(family, examples, features)
    for case, array in variants.items():
        _require_values(family, array, features, whole, case)


def check_family_layouts(family: Family, X: ArrayLike) -> None:
    """Values do not depend on the memory layout of X."""
    examples, features, whole = _computed(family, X)
    layouts = {
        "in Fortran order": np.asfortranarray(examples),
        "with gaps between examples": np.repeat(examples, 2, axis=0)[::2],
        "with gaps between values": np.repeat(examples, 2, axis=-1)[..., ::2],
        "stored backwards": examples[::-1].copy()[::-1],
        "in pixel-major order": pixel_major(examples),
    }
    for case, array in layouts.items():
        _require_values(family, array, features, whole, f"X {case}")


def check_family_input(family: Family, X: ArrayLike) -> None:
    """X and the features are not modified, and may be read-only."""
    examples, features = _examples_of(X).copy(), _spread_features(family)
    before_X, before_features = examples.copy(), features.copy()
    whole = _values(family, examples, features)
    numbers = _are_numbers(examples)  # others cannot be NaN
    unchanged = np.array_equal(examples, before_X, equal_nan=numbers)
    _require(unchanged, family, "X was modified")
    unchanged = np.array_equal(features, before_features)
    _require(unchanged, family, "the features were modified")
    examples.flags.writeable = features.flags.writeable = False
    _require_values(family, examples, features, whole, "read-only X")


def check_family_finite(family: Family, X: ArrayLike) -> None:
    """Finite examples, even constant, huge, tiny or empty ones, give finite values."""
    features = _spread_features(family)
    for case, array in _extreme_examples(_examples_of(X)).items():
        values = _values(family, array, features)
        bad = np.argwhere(~np.isfinite(values))
        if len(bad):
            row, column = bad[0]
            _fail(family, f"{case}: {values[row, column]} for feature {features[column]}")


def check_family_range(family: Family, X: ArrayLike) -> None:
    """value_range() returns None, or finite ends that depend on the feature alone."""
    features = _spread_features(family)
    declared = family.value_range(features)
    if declared is None:
        return
    low, high = (np.asarray(end, np.float64) for end in declared)
    shapes = f"{low.shape} and {high.shape}"
    _require(
        low.shape == high.shape == features.shape,
        family,
        f"value_range must give two ends for each of {len(features)} features, got {shapes}",
    )
    limit = float(np.finfo(np.float32).max)
    bad = ~((-limit <= low) & (low <= high) & (high <= limit))
    at = int(bad.argmax())
    _require(
        not bad.any(),
        family,
        f"value_range of feature {features[at]} must rise and be finite as float32, is "
        f"{low[at]} to {high[at]}",
    )
    order = np.random.default_rng(3).permutation(len(features))
    again = family.value_range(features[order])
    _require(
        again is not None
        and np.array_equal(again[0], low[order])
        and np.array_equal(again[1], high[order]),
        family,
        "value_range of a feature must not depend on the other features asked for",
    )


def check_family_deterministic(family: Family, X: ArrayLike) -> None:
    """Families of equal settings have the same features, names and bits."""
    twin = _twin(family)
    _require(
        twin.n_features == family.n_features,
        family,
        f"a twin of the same settings has {twin.n_features} features, not {family.n_features}",
    )
    examples, features, whole = _computed(family, X)
    _require_values(family, examples, features, whole, "a second call")
    values = _values(twin, examples, features)
    _require_equal(family, values, whole, features, "a twin of equal settings")
    for feature in features.tolist():
        name, other = family.feature_name(feature), twin.feature_name(feature)
        _require(name == other, family, f"a twin calls feature {feature} {other!r}, not {name!r}")


def check_family_pickling(family: Family, X: ArrayLike) -> None:
    """After pickling, as for worker processes, the family is equal and gives the same bits."""
    try:
        twin = pickle.loads(pickle.dumps(family))
    except Exception as error:
        raise AssertionError(f"family {family.name!r} cannot be pickled: {error}") from error
    _require(twin == family, family, "it is not equal to itself after pickling")
    examples, features, whole = _computed(family, X)
    values = _values(twin, examples, features)
    _require_equal(family, values, whole, features, "after pickling")


def check_family_threads(family: Family, X: ArrayLike) -> None:
    """Several threads may call compute at once."""
    examples, features, whole = _computed(family, X)
    n_threads = 4
    start = Barrier(n_threads)
    rng = np.random.default_rng(2)
    choices = [rng.permutation(len(features)) for _ in range(n_threads)]

    def work(choice: NDArray[np.intp]) -> list[NDArray[np.float32]]:
        start.wait()
        return [_values(family, examples, features[choice]) for _ in range(3)]

    with ThreadPoolExecutor(n_threads) as pool:
        for choice, results in zip(choices, pool.map(work, choices), strict=True):
            for values in results:
                want = whole[:, choice]
                _require_equal(family, values, want, features[choice], "in several threads")


def check_family_errors(family: Family, X: ArrayLike) -> None:
    """Unknown features raise SettingError, other data DataError; both name the family."""
    examples = _examples_of(X)
    n = family.n_features
    for features in ([n], [-1], [0, n], [0.0], [[0]], 0, [True], ["0"], None):
        case = f"features {features!r}"
        _require_refusal(family, SettingError, case, family.compute, examples, features)
    for feature in (n, -1, 0.0, True, "0", None):
        case = f"the name of feature {feature!r}"
        _require_refusal(family, SettingError, case, family.feature_name, feature)
    for case, array in _unfit_examples(examples).items():
        _require_refusal(family, DataError, case, family.compute, array, [0])


FAMILY_CHECKS: tuple[Callable[[Family, ArrayLike], None], ...] = tuple(
    check for name, check in [*globals().items()] if name.startswith("check_family_")
)
"""All checks, in order of definition, which is the order of `check_family`."""


def _is_name(name: object) -> bool:
    return isinstance(name, str) and bool(name.strip())


def _spread_features(family: Family) -> NDArray[np.intp]:
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


def _computed(
    family: Family, X: ArrayLike
) -> tuple[NDArray[Any], NDArray[np.intp], NDArray[np.float32]]:
    """The examples, at most _MOST_FEATURES features, and their values."""
    examples, features = _examples_of(X), _spread_features(family)
    return examples, features, _values(family, examples, features)


def _fail(family: Family, message: str) -> None:
    raise AssertionError(f"family {family.name!r} ({type(family).__name__}): {message}")


def _require(condition: bool, family: Family, message: str) -> None:
    if not condition:
        _fail(family, message)


def _values(family: Family, X: Any, features: Any) -> NDArray[np.float32]:
    """Values from the family; raises unless their type, dtype and shape are as specified."""
    values: Any = None
    try:
        values = family.compute(X, features)
    except Exception as error:
        case = f"X of shape {np.shape(X)}, {len(features)} features"
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


def _require_equal(
    family: Family,
    values: NDArray[np.float32],
    want: NDArray[np.float32],
    features: Any,
    case: str,
    rows: NDArray[np.intp] | None = None,
) -> None:
    different = np.argwhere((values != want) & ~(np.isnan(values) & np.isnan(want)))
    if len(different):
        row, column = different[0]
        example = row if rows is None else rows[row]
        _fail(
            family,
            f"{case}: feature {features[column]} of example {example} is {values[row, column]!r}, "
            f"should be {want[row, column]!r}",
        )


def _require_values(
    family: Family, X: Any, features: Any, want: NDArray[np.float32], case: str
) -> None:
    _require_equal(family, _values(family, X, features), want, features, case)


def _require_refusal(
    family: Family, error: type[Exception], case: str, function: Callable[..., object], *args: Any
) -> None:
    """Raise unless function(*args) raises the error, and its message names the family."""
    try:
        function(*args)
    except error as raised:
        _require(family.name in str(raised), family, f"{case}: no family named in: {raised}")
    except Exception as raised:
        kind = type(raised).__name__
        _fail(family, f"{case} must be a {error.__name__}, is {kind}: {raised}")
    else:
        _fail(family, f"{case} must be a {error.__name__}, but nothing was raised")


def _examples_of(X: Any) -> NDArray[Any]:
    examples = X if isinstance(X, np.ndarray) else np.asarray(X)
    if examples.dtype.kind in "UT":
        examples = np.asarray(X, dtype=object)
    if len(examples.shape) < (2 if _are_numbers(examples) else 1) or len(examples) < 3:
        raise ValueError(f"the checks need at least 3 examples, got X of shape {examples.shape}")
    return examples


def _are_numbers(examples: NDArray[Any]) -> bool:
    return examples.dtype.kind in "biufc"


def _is_text(examples: NDArray[Any]) -> bool:
    return examples.ndim == 1 and all(isinstance(example, str) for example in examples.tolist())


def _other_examples(examples: NDArray[Any]) -> NDArray[Any]:
    """Other examples of the same kind and number; reversed ones for unknown kinds."""
    if _are_numbers(examples):
        return (np.nan_to_num(examples.astype(np.float64)) / 3 + 1).astype(np.float32)
    if _is_text(examples):
        pairs = zip(examples[::-1], examples, strict=True)
        return np.array([f"{first} {second}" for first, second in pairs], dtype=object)
    return examples[::-1]


def _in_other_types(examples: NDArray[Any]) -> tuple[NDArray[Any], dict[str, Any]]:
    """Examples, and equal ones in arrays of other types; none for unknown kinds."""
    if _is_text(examples):
        return examples, {"X of fixed-width texts": examples.astype(str), "a list": [*examples]}
    if not _are_numbers(examples):
        return examples, {}
    numbers = np.nan_to_num(examples.astype(np.float64))
    low, high = numbers.min(), numbers.max()
    if low < 0 or high > 255 or high - low < 2:
        numbers = (numbers - low) / max(high - low, 1e-9) * 255
    numbers = np.rint(numbers)
    types = (np.uint8, np.int64, np.float64)
    return numbers.astype(np.float32), {
        f"X of dtype {np.dtype(dtype)} instead of float32": numbers.astype(dtype) for dtype in types
    }


def _extreme_examples(examples: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Examples that may cause division by zero or overflow; X itself for unknown kinds."""
    if _is_text(examples):
        longest = " ".join(examples)
        return {
            "X": examples,
            "X of empty texts": np.array(["", " ", "\n"], dtype=object),
            "X of one long text": np.array([longest * 50], dtype=object),
        }
    if not _are_numbers(examples):
        return {"X": examples}
    numbers = np.nan_to_num(examples.astype(np.float64))
    largest = max(float(np.abs(numbers).max()), 1e-9)
    cases = {
        "X": numbers,
        "X of zeros": np.zeros_like(numbers),
        "X of 255 everywhere": np.full_like(numbers, 255),
        "X scaled to 1e15": numbers * (0.999 * PIXEL_LIMIT / largest),
        "X scaled to 1e-30": numbers * (1e-30 / largest),
    }
    return {case: array.astype(np.float32) for case, array in cases.items()}


def _unfit_examples(examples: NDArray[Any]) -> dict[str, Any]:
    """Data that no family for such examples accepts."""
    number = {"X of a single number": np.float32(1)}
    if _is_text(examples):
        return {
            **number,
            "a single text": examples[0],
            "X of numbers": np.ones((len(examples), 2)),
            "X of shape (n, 1)": examples[:, None],
            "X with a missing text": np.array([*examples[1:], None], dtype=object),
        }
    if not _are_numbers(examples):
        return number
    return {
        **number,
        "X that is flat": examples.ravel(),
        "X of text": examples.astype(str),
        "X of complex numbers": examples.astype(complex),
    }

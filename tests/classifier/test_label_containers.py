"""Labels in every container, and weights of examples and classes."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import sklearn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.class_weight import compute_sample_weight

from boostsample import BoostSampleClassifier, DataError, SettingError
from boostsample.classifier.inputs.fit_inputs import with_class_weight
from boostsample.labels import class_values, classes_of_parts
from tests.label_containers import CONTAINERS, VALUES, WITH_MISSING, objects

MODEL = BoostSampleClassifier("full", "stump", n_rounds=20, learning_rate=1.0, random_state=0)
COPIES = 4
KINDS: dict[str, Any] = {
    "whole numbers": st.integers(-(2**63), 2**63 - 1),
    "neighbours": st.integers(2**53 - 2, 2**53 + 2),
    "codes": st.integers(-1, 2),
    "large numbers": st.integers(2**63, 2**64 - 1),
    "floats": st.integers(1 - 2**53, 2**53 - 1).map(float),
    "truth values": st.booleans(),
    "text": st.text(max_size=3).filter(str.isprintable),
    "words": st.sampled_from(["0", "1", "01", "1.0", "nan", "None", "NA", "", "True"]),
}


def table_of(n_classes: int) -> NDArray[np.float64]:
    """Rows of each class in turn; each class has a column."""
    return np.tile(np.eye(n_classes), (COPIES, 1))


def assert_same(actual: list[Any], expected: list[Any]) -> None:
    assert actual == expected
    assert [*map(type, actual)] == [*map(type, expected)]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize("container", CONTAINERS)
@settings(
    max_examples=5,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_values_and_types_come_back(container: str, data: Any, tmp_path: Path) -> None:
    kind = data.draw(st.sampled_from([*KINDS]))
    values = data.draw(st.lists(KINDS[kind], min_size=2, max_size=4, unique=True))
    y, X = CONTAINERS[container](values * COPIES), table_of(len(values))
    weights = {value: 1.0 + at for at, value in enumerate(values)}
    model = clone(MODEL).set_params(class_weight=weights).fit(X, y)
    model.save(tmp_path / "model.bsm", overwrite=True)
    for fitted in (model, BoostSampleClassifier.load(tmp_path / "model.bsm")):
        assert_same(fitted.classes_.tolist(), sorted(values))
        assert_same(fitted.predict(X).tolist(), values * COPIES)
        assert fitted.score(X, y) == 1.0
    more = clone(MODEL).fit(X, values * COPIES, init_model=tmp_path / "model.bsm")
    assert_same(more.classes_.tolist(), sorted(values))


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("container", WITH_MISSING)
def test_a_missing_label_is_named_with_its_row(container: str, values: list[Any]) -> None:
    y = WITH_MISSING[container]([*values, None, *values])
    with pytest.raises(DataError, match=rf"but contains \S+ in row {len(values)}; drop the rows"):
        clone(MODEL).fit(np.eye(2 * len(values) + 1), y)


REFUSED: list[tuple[Any, str]] = [
    (decimal.Decimal("1"), r"got Decimal\('1'\) in row 1 \(Decimal\); make them text"),
    (
        datetime.date(2026, 1, 2),
        r"got datetime.date\(2026, 1, 2\) in row 1 \(date\); make them text",
    ),
    (pandas.Timestamp("2026-01-02"), "make them text"),
    (b"a", "make them text"),
    (1 + 2j, "Complex data not supported"),
    (object(), "make them text"),
    (0.5, r"got 0.5 in row 1 \(Unknown label type: continuous\); cut a measured quantity"),
    (np.inf, "contains infinity"),
    (2.0**53, "numbers of this size merge"),
]


@pytest.mark.parametrize(("value", "message"), REFUSED, ids=lambda case: repr(case)[:20])
def test_values_that_are_no_labels(value: Any, message: str) -> None:
    first = 0.0 if isinstance(value, float) else value
    for make in (list, objects, lambda given: pandas.Series(given, dtype=object)):
        y = make([first, value] if first is not value else [1, value])
        with pytest.raises(DataError, match=message):
            clone(MODEL).fit(np.eye(2), y)


@pytest.mark.parametrize("pair", [(0, "a"), (True, 2)], ids=repr)
def test_labels_of_two_kinds_are_refused(pair: tuple[Any, Any]) -> None:
    for make in (list, objects, lambda given: pandas.Series(given, dtype=object)):
        y = make([pair[0], pair[0], pair[1], pair[0]])
        with pytest.raises(DataError, match=r"of one kind, got .* in row 0 and .* in row 2;"):
            clone(MODEL).fit(np.eye(4), y)


EQUAL: dict[str, Any] = {
    "int64": lambda y: np.array(y),
    "uint64": lambda y: np.array(y, np.uint64),
    "float64": lambda y: np.array(y, float),
    "bool": lambda y: np.array(y, bool),
    "Int64": lambda y: pandas.Series(y, dtype="Int64"),
}
"""Labels 0 and 1 in several types."""


@pytest.mark.parametrize("second", EQUAL)
@pytest.mark.parametrize("first", EQUAL)
def test_equal_labels_of_two_types_are_the_same_classes(
    first: str, second: str, tmp_path: Path
) -> None:
    X, codes = table_of(2), [0, 1] * COPIES
    y, other = EQUAL[first](codes), EQUAL[second](codes)
    weights = dict(zip(other[:2].tolist(), (1.0, 2.0), strict=True))
    model = clone(MODEL).set_params(early_stopping=True, class_weight=weights, n_rounds=4)
    model.fit(X, y, X_val=X, y_val=other)
    assert model.score(X, other) == 1.0
    assert model.score(X, EQUAL[second]([1, 0] * COPIES)) == 0.0
    model.save(tmp_path / "model.bsm")
    more = clone(MODEL).fit(X, other, init_model=tmp_path / "model.bsm")
    assert more.classes_.dtype == class_values(other).dtype
    again = clone(MODEL).set_params(n_rounds=2, warm_start=True).fit(X, y)
    again.set_params(n_rounds=4).fit(X, other)
    assert again.classes_.dtype == class_values(other).dtype
    classes = classes_of_parts([class_values(y), class_values(y)])
    assert classes.dtype == model.classes_.dtype


def test_text_is_no_number() -> None:
    X, words = table_of(2), ["0", "1"] * COPIES
    model = (
        clone(MODEL)
        .set_params(early_stopping=True)
        .fit(X, [0, 1] * COPIES, X_val=X, y_val=[0, 1] * COPIES)
    )
    with pytest.raises(
        DataError,
        match=r"y must hold classes of the model \(0, 1\), got text instead of numbers, such",
    ):
        model.score(X, words)
    with pytest.raises(DataError, match="y_val must hold classes of the model"):
        clone(model).fit(X, [0, 1] * COPIES, X_val=X, y_val=words)
    with pytest.raises(DataError, match="y must have the classes of init_model"):
        clone(MODEL).fit(X, words, init_model=model)


def test_neighbours_are_not_the_same_class() -> None:
    """As float64 they are equal."""
    X, y = table_of(2), np.array([2**53, 2**53 + 1] * COPIES)
    model = clone(MODEL).fit(X, y)
    assert model.score(X, pandas.Series(y + 1, dtype="Int64")) == 0.0
    with pytest.raises(DataError, match="y must have the classes of init_model"):
        clone(MODEL).fit(X, y + 1, init_model=model)
    parts = [np.array([2**53 + 1]), np.array([2**63 + 1], np.uint64), np.array([7], np.int8)]
    assert classes_of_parts(parts).tolist() == [7, 2**53 + 1, 2**63 + 1]
    with pytest.raises(DataError, match=r"of all parts .*numbers of this size merge"):
        classes_of_parts([*parts, np.array([0.0])])
    with pytest.raises(DataError, match="one kind in all parts, got numbers and truth values"):
        classes_of_parts([parts[0], np.array([True])])


@pytest.mark.parametrize(
    "form",
    [
        lambda Y: Y.astype("Int64"),
        lambda Y: Y.assign(a=Y["a"].astype("boolean"), b=Y["b"].astype("UInt8")),
        lambda Y: polars.DataFrame(Y.to_dict("list")),
        lambda Y: pyarrow.table(Y.to_dict("list")),
        lambda Y: Y.to_numpy().tolist(),
        lambda Y: csr_array(Y.to_numpy()),
    ],
)
def test_several_labels_a_row(form: Any) -> None:
    X, Y = table_of(3), pandas.DataFrame({"a": [0, 1, 1] * COPIES, "b": [1, 0, 1] * COPIES})
    model = clone(MODEL).fit(X, form(Y))
    np.testing.assert_array_equal(model.predict(X), Y)
    assert model.score(X, form(Y)) == 1.0
    with pytest.raises(DataError, match=r"contains .* in row 2; drop"):
        model.fit(X, Y.drop(2).reindex(Y.index).astype("Int64"))
    with pytest.raises(DataError, match="multi-label indicator of 0 and 1, got 2 in row 1; fit a"):
        model.fit(X, Y.assign(a=[0, 2, 1] * COPIES))


@pytest.mark.parametrize("y", ["01", 3, np.zeros((2, 2, 2)), np.zeros((2, 0)), polars.LazyFrame()])
def test_shapes_that_are_refused(y: Any) -> None:
    with pytest.raises(DataError, match=r"y must be class labels \(n,\) or an indicator matrix"):
        clone(MODEL).fit(np.eye(2), y)


TENTH = BoostSampleClassifier("uniform-q1", "stump", n_rounds=10, random_state=0)
IRIS, SPECIES = load_iris(return_X_y=True)
SEVERAL = np.stack([SPECIES == 0, SPECIES > 0, IRIS[:, 1] > 3], axis=1).astype(int)


def scores(y: Any, weight: Any = None, **settings: Any) -> NDArray[np.float64]:
    model = clone(TENTH).set_params(**settings)
    found: NDArray[np.float64] = model.fit(IRIS, y, sample_weight=weight).decision_function(IRIS)
    return found


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([["a", "b"], ["a"]] * 75, "MultiLabelBinarizer"),
        (np.linspace(0, 1, 150), "Unknown label type.*; cut a measured quantity into classes"),
        (None, "requires y to be passed, but the target y is None"),
        (SPECIES[:-1], "inconsistent numbers of samples"),
    ],
)
def test_labels_that_cannot_be_learned(y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        clone(TENTH).fit(IRIS, y)


def test_a_column_of_labels_is_one_label() -> None:
    with pytest.warns(sklearn.exceptions.DataConversionWarning):
        found = scores(sparse.csr_array(SPECIES[:, None] > 0))
    np.testing.assert_array_equal(found, scores(SPECIES > 0))


NAMES = np.array(["a", "b", "c"])[SPECIES]


@pytest.mark.parametrize(
    ("y", "class_weight"),
    [
        (NAMES[20:], "balanced"),
        (SPECIES[20:] == 1, "balanced"),
        (NAMES[20:], {"a": 3, "b": 0.5, "c": 1}),
        (NAMES[20:], {"c": 4}),
        (SEVERAL[20:], "balanced"),
        (SEVERAL[20:], [{0: 1, 1: 2}, {0: 3, 1: 1}, {1: 4}]),
    ],
)
def test_class_weights_are_those_of_scikit_learn(y: Any, class_weight: Any) -> None:
    weight = compute_sample_weight(class_weight, y)
    model = clone(TENTH).fit(IRIS[20:], y, sample_weight=weight).decision_function(IRIS)
    same = clone(TENTH).set_params(class_weight=class_weight).fit(IRIS[20:], y)
    np.testing.assert_array_equal(same.decision_function(IRIS), model)
    given = np.arange(len(y)) % 3 + 1.0
    with_both = clone(same).fit(IRIS[20:], y, sample_weight=given).decision_function(IRIS)
    assert not np.array_equal(with_both, model)


def test_weights_of_very_many_labels_do_not_underflow() -> None:
    y = np.random.default_rng(0).random((400, 1500)) < 0.01
    y[np.arange(1500) % 400, np.arange(1500)] = True
    weight = with_class_weight("balanced", y, np.ones(400))
    positive = y.sum(axis=0)
    logs = np.where(y, -np.log(2 * positive / 400), -np.log(2 - 2 * positive / 400)).sum(axis=1)
    np.testing.assert_allclose(np.log(weight / weight.max()), logs - logs.max(), atol=1e-9)


def test_balanced_weights_count_weights_of_examples() -> None:
    weight = np.where(np.arange(150) % 4, 1.0, 0.0)
    weighted = weight > 0
    part = clone(TENTH).set_params(class_weight="balanced").fit(IRIS[weighted], SPECIES[weighted])
    whole = scores(SPECIES, weight, class_weight="balanced")
    np.testing.assert_array_equal(part.decision_function(IRIS), whole)
    heavy = np.where(SPECIES == 0, 8.0, 1.0)
    np.testing.assert_array_equal(scores(SPECIES, heavy, class_weight="balanced"), scores(SPECIES))


@pytest.mark.parametrize(
    ("y", "class_weight", "error", "message"),
    [
        (NAMES, "even", SettingError, "class_weight must be None, 'balanced' or a mapping"),
        (SEVERAL, {0: 1}, SettingError, "a list of 3 mappings, one for each label"),
        (NAMES, {"a": 1, "x": 2}, SettingError, "classes of y, got 'x' and no weight of 'b'"),
        (NAMES, {"a": 0, "b": 0}, DataError, r"got 1 class \('c'\) in the rows of weight above 0"),
        (SEVERAL, [{0: 1e-200, 1: 1}] * 3, DataError, "at most 1e.24 times the least"),
        (NAMES, {"a": -1}, SettingError, "class_weight of 'a' must be at least 0 .* got -1"),
        (NAMES, {"a": "x"}, SettingError, "class_weight of 'a' must be a number, got 'x'"),
    ],
)
def test_wrong_class_weights(
    y: Any, class_weight: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        scores(y, class_weight=class_weight)


def test_weights_are_routed() -> None:
    weight = np.random.default_rng(0).random(150)
    with sklearn.config_context(enable_metadata_routing=True):
        model = clone(TENTH).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        piped = make_pipeline(MinMaxScaler(), model).fit(IRIS, SPECIES, sample_weight=weight)
        searched = GridSearchCV(model, {"n_rounds": [3, 10]}, cv=2)
        searched.fit(IRIS, SPECIES, sample_weight=weight)
        silent = clone(TENTH).set_fit_request(sample_weight=False)
        with pytest.raises(TypeError, match=r"unexpected argument.*sample_weight"):
            make_pipeline(silent).fit(IRIS, SPECIES, sample_weight=weight)
    scaled = MinMaxScaler().fit_transform(IRIS)
    by_hand = clone(TENTH).fit(scaled, SPECIES, sample_weight=weight)
    np.testing.assert_array_equal(piped.decision_function(IRIS), by_hand.decision_function(scaled))
    best = clone(TENTH).set_params(**searched.best_params_).fit(IRIS, SPECIES, weight)
    np.testing.assert_array_equal(searched.decision_function(IRIS), best.decision_function(IRIS))

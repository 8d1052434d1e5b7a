"""Labels of every kind in every container: values and types come back, or one line says why not."""

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
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import clone

from boostsample import BoostSampleClassifier, DataError
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
        DataError, match=r"y must hold classes of the model \(0, 1\), got '0' and no"
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

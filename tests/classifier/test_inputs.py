"""What the classifier takes: data frames, groups of columns, sparse matrices, documents."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from boostsample import BoostSampleClassifier, DataError, SettingError
from boostsample.families import Columns, Text, column_groups, text_family
from tests.classifier.conftest import Data

MODEL = BoostSampleClassifier("uniform-q1", n_rounds=20, random_state=0)


@pytest.fixture(scope="module")
def frame(iris: Data) -> Any:
    import pandas

    names = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    return pandas.DataFrame(iris[0], columns=names)


def fitted(X: Any, y: Any, families: Any) -> BoostSampleClassifier:
    model: BoostSampleClassifier = clone(MODEL).set_params(families=families)
    return model.fit(X, y)


@pytest.mark.parametrize("families", [{"sepal": "0-1", "petal": slice(2, 4)}, {"petal": [2, 3]}])
def test_groups_of_columns_of_an_array(iris: Data, families: Any) -> None:
    X, y = iris
    model = fitted(X, y, families)
    assert model.families is not None
    assert {row["family"] for row in model.history_} == set(families)
    same = fitted(X, y, column_groups(families, X))
    np.testing.assert_array_equal(model.decision_function(X), same.decision_function(X))
    assert pickle.loads(pickle.dumps(model)).score(X, y) > 0.9


def test_sparse_matrices_give_the_model_of_dense_ones(
    iris: Data,
) -> None:
    X, y = iris
    X = np.where(X > 3, X, 0)
    weight = np.arange(len(X)) % 3
    for families in (None, {"even": "0-1", "odd": "2-3"}):
        model = clone(MODEL).set_params(families=families)
        dense = clone(model).fit(X, y, weight).decision_function(X)
        for kind in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
            same = clone(model).fit(kind(X), y, weight)
            np.testing.assert_array_equal(same.decision_function(kind(X)), dense)
            np.testing.assert_array_equal(same.decision_function(X), dense)


def test_sparse_matrices_of_complex_numbers_are_refused_as_dense_ones(iris: Data) -> None:
    X, y = iris
    for kind in (np.asarray, sparse.csr_array):
        with pytest.raises(DataError, match=r"^Complex data not supported"):
            clone(MODEL).fit(kind(X + 1j), y)


def test_stored_zeros_and_repeats_choose_no_columns() -> None:
    rng = np.random.default_rng(0)
    X = sparse.random(100, 3500, 0.04, format="csr", random_state=rng)
    X.data = np.ceil(8 * X.data)
    y = (np.asarray(X[:, :60].sum(axis=1)).ravel() > 11).astype(int)
    entries = X.tocoo()
    row, column = rng.integers(0, 100, 4000), rng.integers(0, 3500, 4000)
    places = np.append(entries.row, row), np.append(entries.col, column)
    with_zeros = sparse.csr_array((np.append(entries.data, np.zeros(4000)), places), X.shape)
    halves = np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr
    model = BoostSampleClassifier(n_rounds=3, random_state=0).fit(X, y)
    for same in (with_zeros, sparse.csr_array(halves, X.shape)):
        assert same.nnz > X.nnz
        other = clone(model).fit(same, y)
        assert other.model_.families == model.model_.families
        np.testing.assert_array_equal(other.decision_function(X), model.decision_function(X))


def corpus() -> tuple[list[str], NDArray[Any]]:
    """Sentences of some words, and whether they have more of the first ones."""
    rng = np.random.default_rng(0)
    words = np.array(["one", "fish", "two", "red", "blue", "old", "new", "and", "a", "the"])
    codes = [rng.integers(0, 10, rng.integers(3, 12)) for _ in range(150)]
    return [" ".join(words[one]) for one in codes], np.array([one.mean() < 4.5 for one in codes])


def test_documents_are_what_scikit_learn_s_vectorizer_makes_of_them() -> None:
    documents, y = corpus()
    family = text_family(documents)
    model = BoostSampleClassifier(families=[family], n_rounds=30, random_state=0)
    boosted = clone(model).fit(documents, y)
    scores = boosted.decision_function(documents)
    for same in (np.array(documents, object), np.array(documents), tuple(documents)):
        np.testing.assert_array_equal(boosted.decision_function(same), scores)
    twin = pickle.loads(pickle.dumps(boosted))
    np.testing.assert_array_equal(twin.decision_function(documents), scores)
    vectorizer = CountVectorizer(vocabulary=family.vocabulary, binary=True, ngram_range=(1, 2))
    piped = make_pipeline(vectorizer, clone(model).set_params(families=None)).fit(documents, y)
    np.testing.assert_array_equal(piped.decision_function(documents), scores)


def test_a_frame_has_columns_and_a_series_has_none(iris: Data, frame: Any) -> None:
    with pytest.raises(DataError, match=r"at least one column, got a data frame of shape \(150, 0"):
        clone(MODEL).fit(frame[[]], iris[1])
    with pytest.raises(ValueError, match=r"Expected (2D|a 2-dim.*DataFrame)"):
        clone(MODEL).fit(frame.petal_width, iris[1])


@pytest.mark.parametrize(
    ("X", "families", "error", "message"),
    [
        (["few", "more"], None, DataError, r"pass for example families=\[.*text_family"),
        (["few", "more"], [Columns(0)], DataError, "these families read numbers"),
        (
            "few",
            [Text(["few"])],
            DataError,
            "sequence of examples, got 'few'; put it into a list",
        ),
        ([[0.0], [1.0]], [Columns(0), Text(["few"])], SettingError, "'columns' reads .* 'text' do"),
        ([[0.0], [1.0]], ["haar"], SettingError, "'haar' does not fit these examples: image_shape"),
        ([[0.0], [1.0]], "type", SettingError, "unknown family .*'type'.*known: columns.*, dtype"),
        ([[0.0], [1.0]], {"a": "b"}, SettingError, "needs column_names"),
        ([[0.0], [1.0]], Columns, SettingError, "must be names or families of features"),
    ],
)
def test_what_does_not_fit_is_refused(
    X: Any, families: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        fitted(X, [0, 1], families)


@pytest.mark.parametrize(
    ("X", "y", "weight", "message"),
    [
        (np.eye(2) + 1j, [0, 1], None, "Complex data not supported"),
        (np.eye(2), [0, 1j], None, "Complex data not supported"),
        (np.array([["1.5"], ["3"]]), [0, 1], None, "Convert your data to numeric values expl"),
        (np.array([["1"], ["a"]], object), [0, 1], None, r"got 'a' at \(1, 0\); .* a data frame"),
        (np.ones(2), [0, 1], None, "Reshape your data either using array.reshape"),
        ([[1.0], [2.0, 3.0]], [0, 1], None, "has an inhomogeneous shape"),
        (None, [0, 1], None, "Expected 2D array, got scalar array instead: array=None"),
        ([[1, 2], [3, -np.inf]], [0, 1], None, r"X must hold .*, got -inf at \(1, 1\); replace it"),
        (sparse.csr_array([[0, np.inf]] * 2), [0, 1], None, r"finite numbers .* at \(0, 1\)"),
        (np.eye(2), [0, 1], [1, "a"], "weights must be real numbers, got 'a' in row 1; pass one"),
        (np.eye(2), [0, 1], [1, -1], "finite and not negative, got -1.0 in row 1"),
    ],
)
def test_what_is_no_number_is_named_in_one_line(X: Any, y: Any, weight: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as raised:
        BoostSampleClassifier(n_rounds=1).fit(X, y, weight)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 300

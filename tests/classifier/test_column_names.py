"""Columns of data frames are matched by name, whatever names are, or refused in one line."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow
import pytest
from sklearn.base import clone

from boostsample import BoostSampleClassifier, DataError
from boostsample.families import Columns

polars: Any = pytest.importorskip("polars", reason="polars is in the extra 'dev'")

MODEL = BoostSampleClassifier("full", "stump", n_rounds=3, random_state=0)
VALIDATED = clone(MODEL).set_params(early_stopping=True)
X = np.random.default_rng(0).normal(size=(40, 4))
Y = (X[:, 0] - X[:, 1] + X[:, 2] > 0).astype(int)
NAMES: dict[str, Any] = {
    "text": list("abcd"),
    "range": pandas.RangeIndex(4),
    "integers": [7, 3, 9, 1],
    "missing": [3.0, np.nan, 1.0, 2.0],
    "levels": pandas.MultiIndex.from_product([["a", "b"], [0, 1]]),
}
"""Names of four columns, of each kind."""

Change = Callable[[Any], Any]
CHANGES: dict[str, Change] = {
    "reversed": lambda frame: frame.iloc[:, ::-1],
    "two exchanged": lambda frame: frame.iloc[:, [0, 3, 2, 1]],
    "last missing": lambda frame: frame.iloc[:, :3],
    "named": lambda frame: frame.set_axis(list("wxyz"), axis=1),
}
"""Frames whose columns are not those of the fit."""


def frame_of(kind: str) -> Any:
    return pandas.DataFrame(X, columns=NAMES[kind])


@cache
def fitted(kind: str) -> BoostSampleClassifier:
    model: BoostSampleClassifier = clone(MODEL)
    return model.fit(frame_of(kind), Y)


def loaded(kind: str, folder: Path) -> BoostSampleClassifier:
    fitted(kind).save(folder / "model.bsm", overwrite=True)
    return BoostSampleClassifier.load(folder / "model.bsm")


def warmed(kind: str, frame: Any) -> Any:
    model = clone(MODEL).set_params(warm_start=True).fit(frame_of(kind), Y)
    return model.set_params(n_rounds=4).fit(frame, Y)


Use = Callable[[str, Any, Path], Any]
USES: dict[str, Use] = {
    "predict": lambda kind, frame, _: fitted(kind).predict(frame),
    "a loaded model": lambda kind, frame, folder: loaded(kind, folder).decision_function(frame),
    "init_model": lambda kind, frame, _: clone(MODEL).fit(frame, Y, init_model=fitted(kind)),
    "X_val": lambda kind, frame, _: clone(VALIDATED).fit(frame_of(kind), Y, X_val=frame, y_val=Y),
    "warm_start": lambda kind, frame, _: warmed(kind, frame),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", NAMES)
def test_other_columns_are_refused_wherever_a_frame_is_given(
    kind: str, use: str, tmp_path: Path
) -> None:
    USES[use](kind, frame_of(kind), tmp_path)  # the same columns, without a warning
    for name, change in CHANGES.items():
        with pytest.raises(ValueError, match=r"must have|should match|same X") as raised:
            USES[use](kind, change(frame_of(kind)), tmp_path)
        assert isinstance(raised.value, DataError) or kind == "text", name


@pytest.mark.parametrize("kind", NAMES)
def test_arrays_are_taken_as_scikit_learn_does(kind: str) -> None:
    model = fitted(kind)
    assert hasattr(model, "feature_names_in_") == (kind == "text")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        scores = model.decision_function(X)
    assert ["valid feature names" in str(one.message) for one in caught] == [True] * (
        kind == "text"
    )
    np.testing.assert_array_equal(scores, model.decision_function(frame_of(kind)))
    model = clone(MODEL).fit(X, Y)
    if kind != "text":  # of a model without names scikit-learn warns then
        np.testing.assert_array_equal(model.decision_function(frame_of(kind)), scores)


def test_errors_name_what_differs() -> None:
    frame = frame_of("integers")
    model = fitted("integers")
    for other, message in (
        (frame[[1, 3, 7, 9]], "of fit, by name and in the same order, got them in another order; "),
        (frame[[7, 3]], "got 9, 1 missing; select or rename"),
        (frame.assign(x=1).set_axis([7, 3, 9, 1, 4], axis=1), "got 4 not in it; select"),
        (frame.set_axis(range(4), axis=1), r"got 7, 9 missing and 0, 2 not in it; select"),
        (frame.set_axis(["7", "3", "9", "1"], axis=1), r"got 7, 3, 9, 1 missing and '7', '3'"),
    ):
        with pytest.raises(DataError, match=message):
            model.predict(other)
    with pytest.raises(DataError, match="columns of init_model, by name and in the same order"):
        clone(MODEL).fit(frame[[1, 3, 7, 9]], Y, init_model=model)


@pytest.mark.parametrize("use", ["fit", "predict"])
def test_names_twice_and_names_partly_of_text_are_refused(use: str) -> None:
    for names, message in (
        ([1, 2, 1, 3], "must have different names, got 1 twice"),
        (["a", 1, "b", 2], "all text or all of other types, got int and str; convert them by X"),
        (["a", None, "b", "c"], "all text or all of other types, got .* and str"),
    ):
        frame = pandas.DataFrame(X, columns=pandas.Index(names, dtype=object))
        with pytest.raises(DataError, match=message):
            clone(MODEL).fit(frame, Y) if use == "fit" else fitted("range").predict(frame)


@pytest.mark.parametrize("container", [polars.from_pandas, pyarrow.Table.from_pandas])
def test_names_of_polars_and_arrow_are_matched(container: Any) -> None:
    frame = container(frame_of("text"))
    batches = [frame, *(frame.to_batches() if hasattr(frame, "to_batches") else [])]
    for one in batches:
        model = clone(MODEL).fit(one, Y)
        assert model.feature_names_in_.tolist() == list("abcd")
        np.testing.assert_array_equal(model.predict(one), fitted("text").predict(frame_of("text")))
        with pytest.raises(ValueError, match="same order as they were in fit"):
            model.predict(one.select(list("dcba")))


def test_families_and_models_that_name_columns_fit_x() -> None:
    frame = frame_of("text")
    family = Columns(["a", "b"], "ab", column_names=list("abcd"))
    clone(MODEL).set_params(families=[family]).fit(frame, Y)
    clone(MODEL).set_params(families=[family]).fit(X, Y)
    other = frame[list("dcba")]
    with pytest.raises(DataError, match=r"columns of the family 'ab', .* in another order"):
        clone(MODEL).set_params(families=[family]).fit(other, Y)
    with pytest.raises(DataError, match=r"columns of the family 'columns', .* in another order"):
        clone(MODEL).fit(other, Y, init_model=fitted("text").model_)


def test_values_under_a_mask_are_not_read() -> None:
    masked = np.ma.masked_less(X, 0)
    for call in (lambda: clone(MODEL).fit(masked, Y), lambda: fitted("range").predict(masked)):
        with pytest.raises(DataError, match=r"hide values by a mask; give X.*filled\(numpy.nan\)"):
            call()
    clone(MODEL).fit(masked.filled(np.nan), Y)

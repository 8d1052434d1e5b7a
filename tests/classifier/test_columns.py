"""Data frames: categories, dates, and columns that are matched by name."""

from __future__ import annotations

import datetime
import json
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
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from boostsample import BoostSampleClassifier, DataError
from boostsample.classifier.inputs.frames import MAX_INDICATORS, TableColumns
from boostsample.families import Columns

polars: Any = pytest.importorskip("polars", reason="polars is in the extra 'dev'")

MODEL = BoostSampleClassifier("uniform-q1", "stump", n_rounds=10, random_state=0)
COLOURS = ["red", "blue", None, "red", "green", "red"]
SIZES = [1.5, 2.0, 3.0, None, 0.5, 1.0]
NAN = float("nan")


def pandas_frame(dtype: Any) -> Any:
    colour = pandas.Series(COLOURS, dtype=dtype)
    return pandas.DataFrame({"size": pandas.Series(SIZES, dtype=float), "colour": colour})


def polars_frame(dtype: Any) -> Any:
    return polars.DataFrame({"size": SIZES, "colour": polars.Series(COLOURS, dtype=dtype)})


FRAMES = [
    *(pandas_frame(dtype) for dtype in ("category", object, "string")),
    *(polars_frame(dtype) for dtype in (polars.String, polars.Enum(["red", "blue", "green"]))),
]
TABLE = [
    [1.5, 0, 0, 1],
    [2.0, 1, 0, 0],
    [3.0, NAN, NAN, NAN],
    [NAN, 0, 0, 1],
    [0.5, 0, 1, 0],
    [1.0, 0, 0, 1],
]


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: f"{[*frame.dtypes][1]}"[:18])
def test_one_indicator_for_each_category(frame: Any) -> None:
    columns = TableColumns.learn(frame)
    assert columns.names == ("size", "colour=blue", "colour=green", "colour=red")
    assert columns.origin.tolist() == [0, 1, 1, 1]
    np.testing.assert_array_equal(columns.transform(frame), np.array(TABLE, np.float32))


def test_of_many_categories_the_rare_ones_share_an_indicator() -> None:
    values = [f"v{at:03}" for at in range(MAX_INDICATORS + 1) for _ in range(1 + (at > 1))]
    frame = pandas.DataFrame({"a": values})
    columns = TableColumns.learn(frame)
    assert len(columns.names) == MAX_INDICATORS
    assert columns.names[0] == "a=v002"
    assert columns.names[-1] == "a=(other)"
    table = columns.transform(pandas.DataFrame({"a": ["v000", "v001", "new", "v255", None]}))
    assert table[:3, -1].tolist() == [1, 1, 1]
    assert table[:4].sum(axis=1).tolist() == [1] * 4
    assert table[3, -2] == 1
    assert np.isnan(table[4]).all()
    fewer = TableColumns.learn(frame[frame.a != "v000"])
    assert (len(fewer.names), fewer.names[-1]) == (MAX_INDICATORS, "a=v255")


def frame_of_all_kinds() -> Any:
    return pandas.DataFrame(
        {
            "flag": pandas.array([True, None, False], "boolean"),
            "count": pandas.array([1, None, 3], "Int64"),
            "arrow": pandas.array([1.5, None, 2.5], "float64[pyarrow]"),
            "object": pandas.Series([1, None, 2.5], dtype=object),
            "truth": pandas.Series([True, None, False], dtype=object),
            "grade": pandas.Categorical([30, None, 4]),
            "yes": pandas.Categorical([True, None, False]),
            "none": pandas.Series([None, None, None], dtype=object),
            "text": ["ä", "'\"\\", "\x00"],
        }
    )


def test_columns_survive_as_text() -> None:
    for frame in (frame_of_all_kinds(), pandas.DataFrame({"a": [str(at) for at in range(300)]})):
        columns = TableColumns.learn(frame)
        again = TableColumns.from_json(columns.to_json())
        assert again.columns == columns.columns
        for read, other in zip(again.columns, columns.columns, strict=True):
            assert [*map(type, read.categories)] == [*map(type, other.categories)]
        np.testing.assert_array_equal(again.transform(frame), columns.transform(frame))


@pytest.mark.parametrize(
    "parts",
    [
        3,
        [["a", "number"]],
        [["a", "category", [None], False]],
        [["a", "float"], ["a", "float"]],
    ],
)
def test_damaged_text_is_refused(parts: Any) -> None:
    with pytest.raises(DataError):
        TableColumns.from_json(json.dumps(parts))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colour": [3]}, "column 'colour' .int64. must hold text as in training, got 3"),
        ({"size": ["big"]}, "column 'size' .* must hold numbers as in training, got 'big'"),
        ({"size": [np.inf]}, "'size': values must be finite .* got inf in row 0"),
        ({"size": [1e39]}, r"got 1e\+39 in row 0; rescale"),
    ],
)
def test_other_values_at_prediction_are_refused(change: Any, message: str) -> None:
    columns = TableColumns.learn(FRAMES[0])
    frame = pandas.DataFrame({"size": [1.0], "colour": ["red"], **change})
    with pytest.raises(DataError, match=message):
        columns.transform(frame)


MOMENTS = [
    datetime.datetime(1969, 12, 31),
    None,
    datetime.datetime(2020, 2, 29, 18),
    datetime.datetime(2024, 1, 1, 13, 59, 59),
]
PARTS = [
    [-1, 1969, 12, 31, 2, 0],
    [NAN] * 6,
    [18321.75, 2020, 2, 29, 5, 18],
    [19723 + 50399 / 86400, 2024, 1, 1, 0, 13],
]
DAYS = [None if one is None else one.date() for one in MOMENTS]
ZONE = "Asia/Tokyo"
DATES = {
    "pandas": (pandas.Series(MOMENTS), True),
    "Arrow, a zone": (
        pandas.Series(MOMENTS).dt.tz_localize(ZONE).astype("timestamp[us, Asia/Tokyo][pyarrow]"),
        True,
    ),
    "date32": (pandas.Series(DAYS, dtype="date32[pyarrow]"), False),
    "days as objects": (pandas.Series(DAYS, dtype=object), False),
    "polars, a zone": (polars.Series(MOMENTS).dt.replace_time_zone(ZONE), True),
    "days of polars": (polars.Series(DAYS), False),
}


@pytest.mark.parametrize("kind", DATES)
def test_dates_become_their_parts(kind: str) -> None:
    """With the clock of their zone; the hour only if there are times of the day."""
    values, has_hours = DATES[kind]
    frame = (polars if isinstance(values, polars.Series) else pandas).DataFrame({"t": values})
    columns = TableColumns.learn(frame)
    assert columns.columns[0].kind == ("datetime" if has_hours else "date")
    parts = ("days", "year", "month", "day", "weekday", "hour")[: 6 if has_hours else 5]
    assert columns.names == tuple(f"t.{part}" for part in parts)
    assert columns.origin.tolist() == [0] * len(parts)
    want = np.array(PARTS)[:, : len(parts)]
    want[:, 0] = want[:, 0] if has_hours else np.floor(want[:, 0])
    np.testing.assert_array_equal(columns.transform(frame), want.astype(np.float32))
    read = TableColumns.from_json(columns.to_json())
    assert read.columns == columns.columns
    assert np.isnan(read.transform(pandas.DataFrame({"t": [None, np.nan]}))).all()
    for value, shown in (("today", "'today'"), (2024.0, r"2024\.0")):
        with pytest.raises(DataError, match=f"'t' .* must hold dates as in training, got {shown}"):
            read.transform(pandas.DataFrame({"t": ["2024-05-31 18:30", value]}))


def test_features_have_different_names() -> None:
    frame = pandas.DataFrame({"a": ["b=c", "d"], "a=b": ["c", "d"]})
    with pytest.raises(DataError, match=r"'a=b=c' is made of columns \['a', 'a=b'\]; rename"):
        TableColumns.learn(frame)


def people(n: int = 300) -> tuple[Any, Any]:
    """A table in which the class follows from a category, and the order of the columns matters."""
    rng = np.random.default_rng(0)
    town = rng.choice(["Bonn", "Lyon", "Oslo", "Pisa"], n)
    frame = pandas.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "town_home": pandas.Categorical(town),
            "town_work": rng.choice(["Bonn", "Lyon"], n),
            "rich": rng.random(n) > 0.5,
        }
    )
    return frame, np.where((town == "Oslo") | (town == "Bonn"), "yes", "no")


def test_a_frame_with_categories_is_learned() -> None:
    X, y = people()
    model = clone(MODEL).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.tolist() == list(X.columns)
    used = {model.model_.families[0].feature_name(int(at)) for at in model.model_.feature}
    assert used & {"town_home=Oslo", "town_home=Bonn"}
    scores = model.decision_function(X)
    by_hand = clone(MODEL).fit(model.columns_.transform(X), y)
    np.testing.assert_array_equal(by_hand.decision_function(model.columns_.transform(X)), scores)
    same = clone(MODEL).fit(polars.from_pandas(X), y)
    np.testing.assert_array_equal(same.decision_function(polars.from_pandas(X)), scores)
    assert same.feature_names_in_.tolist() == list(X.columns)


@pytest.mark.parametrize(
    ("families", "want"),
    [
        ("columns", {"columns": ["age", "town_home=*", "town_work=*", "rich"]}),
        ("dtype", {"integer": ["age"], "category": ["town_*"], "bool": ["rich"]}),
        ("prefix", {"age": ["age"], "town": ["town_*"], "rich": ["rich"]}),
        (
            {"home": "town_home=*", "work": "town_work", "rest": [0, "rich"]},
            {"home": ["town_home=*"], "work": ["town_work=*"], "rest": ["age", "rich"]},
        ),
    ],
)
def test_groups_of_features(families: Any, want: dict[str, list[str]]) -> None:
    X, y = people()
    model = clone(MODEL).set_params(families=families).fit(X, y)
    names = model.columns_.names
    assert names[1] == "town_home=Bonn"
    same = [Columns(part, name, column_names=names) for name, part in want.items()]
    columns = {family.name: family.columns for family in model.model_.families}
    assert columns == {family.name: family.columns for family in same}


def test_a_frame_with_rows_is_needed() -> None:
    X, y = people()
    model = clone(MODEL).fit(X, y)
    with (
        pytest.warns(UserWarning, match="valid feature names"),
        pytest.raises(DataError, match=r"must be a data frame as in training.* got ndarray; pass"),
    ):
        model.predict(X.to_numpy())
    with pytest.raises(DataError, match="at least one row, got none"):
        model.predict(X[:0])
    with pytest.raises(DataError, match=r"got a LazyFrame; pass X.collect\(\)"):
        clone(MODEL).fit(polars.from_pandas(X).lazy(), y)


@pytest.mark.parametrize("families", [None, {"home": "town_home"}])
def test_a_saved_classifier_reads_frames(families: Any, tmp_path: Path) -> None:
    X, y = people()
    model = clone(MODEL).set_params(families=families).fit(X, y)
    model.save(tmp_path / "people.bsm")
    loaded = BoostSampleClassifier.load(tmp_path / "people.bsm")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.columns_.to_json() == model.columns_.to_json()
    plain = clone(MODEL).fit(X[["age"]], y)
    plain.save(tmp_path / "plain.bsm")
    assert BoostSampleClassifier.load(tmp_path / "plain.bsm").columns_ is None


def test_parts_are_those_of_pandas() -> None:
    seconds = np.random.default_rng(0).integers(-(2**33), 2**33, 500)  # 1697 to 2242
    moments = pandas.Series(seconds.astype("M8[s]"))
    frame = pandas.DataFrame({"t": moments})
    columns = TableColumns.learn(frame)
    of_pandas = moments.dt
    want = {
        "days": seconds / 86400,
        "year": of_pandas.year,
        "month": of_pandas.month,
        "day": of_pandas.day,
        "weekday": of_pandas.day_of_week,
        "hour": of_pandas.hour,
    }
    expected = np.stack([np.asarray(part, np.float32) for part in want.values()], axis=1)
    np.testing.assert_array_equal(columns.transform(frame), expected)


def test_categories_that_are_new_have_no_indicator() -> None:
    columns = TableColumns.learn(frame_of_all_kinds())
    table = columns.transform(frame_of_all_kinds().assign(none=["a", "b", "c"], grade=[4, 30, 5]))
    at = columns.names.index
    assert np.isnan(table[:, at("none")]).all()
    assert table[:, [at("grade=4"), at("grade=30")]].tolist() == [[1, 0], [0, 1], [0, 0]]


def test_a_column_transformer_gives_the_same_features() -> None:
    X, _ = people()
    X = X[["age", "town_home"]].astype({"town_home": object})
    y = (X["town_home"] == "Oslo") & (X["age"] > 40)
    columns = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (OneHotEncoder(sparse_output=False), make_column_selector(dtype_exclude="number")),
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    model = BoostSampleClassifier("full", n_rounds=20, random_state=0)
    piped, alone = make_pipeline(columns, clone(model)).fit(X, y), model.fit(X, y)
    assert piped[-1].feature_names_in_[:2].tolist() == ["age", "town_home_Bonn"]
    assert alone.columns_.names[:2] == ("age", "town_home=Bonn")
    np.testing.assert_array_equal(alone.predict(X), piped.predict(X))


SHORT = BoostSampleClassifier("full", "stump", n_rounds=3, random_state=0)
VALIDATED = clone(SHORT).set_params(early_stopping=True)
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
    model: BoostSampleClassifier = clone(SHORT)
    return model.fit(frame_of(kind), Y)


def loaded(kind: str, folder: Path) -> BoostSampleClassifier:
    fitted(kind).save(folder / "model.bsm", overwrite=True)
    return BoostSampleClassifier.load(folder / "model.bsm")


def warmed(kind: str, frame: Any) -> Any:
    model = clone(SHORT).set_params(warm_start=True).fit(frame_of(kind), Y)
    return model.set_params(n_rounds=4).fit(frame, Y)


Use = Callable[[str, Any, Path], Any]
USES: dict[str, Use] = {
    "predict": lambda kind, frame, _: fitted(kind).predict(frame),
    "a loaded model": lambda kind, frame, folder: loaded(kind, folder).decision_function(frame),
    "init_model": lambda kind, frame, _: clone(SHORT).fit(frame, Y, init_model=fitted(kind)),
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
    model = clone(SHORT).fit(X, Y)
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
        clone(SHORT).fit(frame[[1, 3, 7, 9]], Y, init_model=model)


@pytest.mark.parametrize("use", ["fit", "predict"])
def test_names_twice_and_names_partly_of_text_are_refused(use: str) -> None:
    for names, message in (
        ([1, 2, 1, 3], "must have different names, got 1 twice"),
        (["a", 1, "b", 2], "all text or all of other types, got int and str; convert them by X"),
        (["a", None, "b", "c"], "all text or all of other types, got .* and str"),
    ):
        frame = pandas.DataFrame(X, columns=pandas.Index(names, dtype=object))
        with pytest.raises(DataError, match=message):
            clone(SHORT).fit(frame, Y) if use == "fit" else fitted("range").predict(frame)


@pytest.mark.parametrize("container", [polars.from_pandas, pyarrow.Table.from_pandas])
def test_names_of_polars_and_arrow_are_matched(container: Any) -> None:
    frame = container(frame_of("text"))
    batches = [frame, *(frame.to_batches() if hasattr(frame, "to_batches") else [])]
    for one in batches:
        model = clone(SHORT).fit(one, Y)
        assert model.feature_names_in_.tolist() == list("abcd")
        np.testing.assert_array_equal(model.predict(one), fitted("text").predict(frame_of("text")))
        with pytest.raises(ValueError, match="same order as they were in fit"):
            model.predict(one.select(list("dcba")))


def test_families_and_models_that_name_columns_fit_x() -> None:
    frame = frame_of("text")
    family = Columns(["a", "b"], "ab", column_names=list("abcd"))
    clone(SHORT).set_params(families=[family]).fit(frame, Y)
    clone(SHORT).set_params(families=[family]).fit(X, Y)
    other = frame[list("dcba")]
    with pytest.raises(DataError, match=r"columns of the family 'ab', .* in another order"):
        clone(SHORT).set_params(families=[family]).fit(other, Y)
    with pytest.raises(DataError, match=r"columns of the family 'columns', .* in another order"):
        clone(SHORT).fit(other, Y, init_model=fitted("text").model_)


def test_values_under_a_mask_are_not_read() -> None:
    masked = np.ma.masked_less(X, 0)
    for call in (lambda: clone(SHORT).fit(masked, Y), lambda: fitted("range").predict(masked)):
        with pytest.raises(DataError, match=r"hide values by a mask; give X.*filled\(numpy.nan\)"):
            call()
    clone(SHORT).fit(masked.filled(np.nan), Y)

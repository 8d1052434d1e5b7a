"""The classifier on a cluster: the conventions, labels and results of one machine."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_digits

from boostsample import BoostSampleClassifier
from boostsample.classifier.prediction.probabilities import TemperatureRule, largest_score
from boostsample.dask import DaskBoostSampleClassifier
from boostsample.dask.cluster_table import merged, naming_part, summarise
from boostsample.errors import DataError, SettingError
from boostsample.objective import AdaBoostMH, Objective
from boostsample.objectives.real import GentleBoost
from boostsample.rows.weights import StepSize
from tests.label_containers import CONTAINERS, VALUES
from tests.paths import run_python

dask: Any = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
da: Any = pytest.importorskip("dask.array")
bag: Any = pytest.importorskip("dask.bag")


@pytest.fixture(scope="module")
def digits() -> tuple[Any, Any]:
    X, y = load_digits(return_X_y=True)
    return X[:600], np.array(list("abcdefghij"))[y[:600]]


@pytest.fixture(scope="module")
def arrays(digits: tuple[Any, Any]) -> tuple[Any, Any]:
    return da.from_array(digits[0], chunks=150), da.from_array(digits[1], chunks=150)


@pytest.fixture(scope="module")
def fitted(client: Any, arrays: tuple[Any, Any]) -> DaskBoostSampleClassifier:
    settings: dict[str, Any] = {"learner": "stump", "n_rounds": 20, "random_state": 3}
    return DaskBoostSampleClassifier("laminating", client=client, **settings).fit(*arrays)


@pytest.mark.parametrize(
    "steps", [{"learning_rate": 1.0}, {"smoothing": 0.01}, {"objective": "real-mh"}]
)
def test_full_makes_the_choices_of_one_machine(
    client: Any, digits: Any, arrays: Any, steps: dict[str, Any]
) -> None:
    settings: dict[str, Any] = {"learner": "stump", "n_rounds": 12, "random_state": 0, **steps}
    here = BoostSampleClassifier("full", **settings).fit(*digits)
    there = DaskBoostSampleClassifier("full", client=client, **settings).fit(*arrays)
    np.testing.assert_array_equal(here.model_.feature, there.model_.feature)
    np.testing.assert_array_equal(here.model_.threshold, there.model_.threshold)
    np.testing.assert_allclose(here.model_.alpha, there.model_.alpha, rtol=1e-6)
    np.testing.assert_allclose(here.term_importances_, there.term_importances_, rtol=1e-5)
    assert there.to_local().get_params()["learning_rate"] == here.learning_rate
    assert there.classes_.tolist() == list("abcdefghij")
    assert there.n_features_in_ == 64
    assert there.n_rounds_ == 12


def test_limits_are_those_of_one_machine(client: Any, arrays: Any, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"learner": "stump", "n_rounds": 6, "random_state": 0}
    settings |= {"client": client, "strategy": "full"}
    whole = DaskBoostSampleClassifier(**settings).fit(*arrays)
    looks = 2 * whole.history_[0]["looks_search"]
    model = DaskBoostSampleClassifier(**settings, max_looks=looks, checkpoint=tmp_path / "fit")
    model.fit(*arrays)
    assert (whole.stopped_, whole.n_rounds_) == ("", 6)
    assert (model.stopped_, model.n_rounds_) == (f"max_looks={looks:,} is reached", 2)
    model.set_params(max_looks=None).fit(*arrays)
    np.testing.assert_array_equal(model.model_.alpha, whole.model_.alpha)
    model.set_params(max_seconds=1e-9, checkpoint=None).fit(*arrays)
    assert (model.stopped_, model.n_rounds_) == ("max_seconds=1e-09 is reached", 1)


def test_several_labels_are_those_of_one_machine(client: Any, digits: Any, arrays: Any) -> None:
    X, y = digits
    Y = np.stack([y < "f", y == "d", (y > "b") & (y < "e")], axis=1).astype(int)
    settings: dict[str, Any] = {"learner": "stump", "n_rounds": 12, "random_state": 0}
    here = BoostSampleClassifier("full", calibration="rule", **settings).fit(X, Y)
    there = DaskBoostSampleClassifier("full", client=client, **settings)
    there.fit(arrays[0], da.from_array(Y, chunks=(150, 3)))
    np.testing.assert_array_equal(here.model_.feature, there.model_.feature)
    np.testing.assert_allclose(here.offset_, there.offset_)
    for method in ("predict", "predict_proba", "decision_function"):
        lazy = getattr(there, method)(arrays[0])
        assert lazy.shape == (600, 3)
        np.testing.assert_allclose(lazy.compute(), getattr(here, method)(X), rtol=1e-6)
    assert there.score(X, Y) == here.score(X, Y)


def test_predictions_are_lazy_and_those_of_the_local_classifier(
    fitted: DaskBoostSampleClassifier, digits: Any, arrays: Any
) -> None:
    local, X = fitted.to_local(), digits[0]
    assert type(local) is BoostSampleClassifier
    assert local.get_params(deep=False)["strategy"] == "laminating"
    for method in ("predict", "predict_proba", "decision_function"):
        lazy = getattr(fitted, method)(arrays[0])
        assert dask.is_dask_collection(lazy)
        here = getattr(local, method)(X)
        assert lazy.shape == here.shape
        assert lazy.dtype == here.dtype
        assert lazy.chunks[0] == arrays[0].chunks[0]
        np.testing.assert_array_equal(lazy.compute(), here)
        np.testing.assert_array_equal(getattr(fitted, method)(X), here)
    score = fitted.score(*digits)
    assert score > 0.5
    bags = [bag.from_sequence(one.tolist(), npartitions=3) for one in digits]
    parts = [[dask.delayed(one[:250]), dask.delayed(one[250:])] for one in digits]
    for x, y in (bags, parts, (parts[0], arrays[1]), (arrays[0], parts[1])):
        assert fitted.score(x, y) == score


def test_two_classes_have_one_score(client: Any, digits: Any, arrays: Any) -> None:
    y = arrays[1] < "f"
    model = DaskBoostSampleClassifier(
        "uniform-naive", "tree:n_leaves=3", n_rounds=4, random_state=0, client=client
    ).fit(arrays[0], y)
    scores = model.decision_function(arrays[0])
    assert scores.ndim == 1
    np.testing.assert_array_equal(scores.compute() > 0, model.predict(arrays[0]).compute())
    assert model.predict_proba(arrays[0]).compute().shape == (600, 2)
    assert model.temperature_ == pytest.approx(rule_of(model))
    local = model.to_local()
    np.testing.assert_array_equal(model.predict_proba(digits[0]), local.predict_proba(digits[0]))
    model.set_params(objective="gentle").fit(arrays[0], y)
    assert model.temperature_ == pytest.approx(rule_of(model, GentleBoost()))
    model.set_params(objective="mh")
    assert model.set_params(calibration=None).fit(arrays[0], y).temperature_ == 1.0
    with pytest.raises(SettingError, match="unknown calibration 'temperature'; known: None, auto"):
        model.set_params(calibration="temperature").fit(arrays[0], y)


def rule_of(model: Any, objective: Objective | None = None) -> float:
    step, of_rounds = (
        StepSize(model.learning_rate, 1.0, 600),
        model.model_.alpha[model.model_.first],
    )
    edges = [step.edge(alpha) for alpha in of_rounds.tolist()]
    rule = TemperatureRule(objective or AdaBoostMH(), 600, model.offset_, model._multi_label)
    return rule.temperature(largest_score(model.model_), edges)


def test_frames_are_matched_by_names_that_are_no_text(client: Any, tmp_path: Path) -> None:
    import pandas as pd

    dd: Any = pytest.importorskip("dask.dataframe")
    X = np.random.default_rng(0).normal(size=(80, 3))
    frame = pd.DataFrame(np.column_stack([X[:, :2], X[:, 2] + 1e9]))
    y = (frame[0] > 0).astype(int)
    settings: dict[str, Any] = {"learner": "stump", "n_rounds": 2, "random_state": 0}
    model = DaskBoostSampleClassifier("full", client=client, **settings)
    parts = dd.from_pandas(frame, npartitions=2)
    with pytest.warns(RuntimeWarning, match="some become equal: 'column 2'"):
        model.fit(parts, dd.from_pandas(y, npartitions=2))
    model.to_local().save(tmp_path / "m.bsm")
    for one in (model, BoostSampleClassifier.load(tmp_path / "m.bsm")):
        assert not hasattr(one, "feature_names_in_")
        np.testing.assert_array_equal(one.predict(frame), y)
        with pytest.raises(DataError, match="by name and in the same order, got them in another"):
            one.predict(frame[[2, 1, 0]])
    with pytest.raises(DataError, match="by name and in the same order, got them in another"):
        model.predict(parts[[2, 1, 0]]).compute()


def test_results_depend_on_shards_and_not_on_workers_or_storage(
    client: Any, arrays: Any, fitted: DaskBoostSampleClassifier
) -> None:
    settings: dict[str, Any] = {"learner": "stump", "n_rounds": 20, "random_state": 3}
    other = DaskBoostSampleClassifier("laminating", bank="disk", n_shards=2, **settings)
    other.fit(*arrays)  # with the client of this process
    np.testing.assert_array_equal(other.model_.feature, fitted.model_.feature)
    np.testing.assert_array_equal(other.model_.alpha, fitted.model_.alpha)


def test_it_is_an_estimator_of_scikit_learn(client: Any, fitted: Any) -> None:
    assert is_classifier(fitted)
    copy = clone(fitted)
    assert copy.client is client
    assert not hasattr(copy, "model_")
    again = pickle.loads(pickle.dumps(fitted))
    assert again.client is None
    np.testing.assert_array_equal(again.model_.feature, fitted.model_.feature)
    assert copy.set_params(strategy__scheme="distinct").strategy == "laminating:scheme=distinct"


def test_without_dask_or_a_client_the_way_out_is_told() -> None:
    code = (
        "import sys\nimport boostsample\nfrom boostsample import BoostSampleClassifier\n"
        "import boostsample.dask\nassert not {'dask', 'distributed'} & set(sys.modules)\n"
        "sys.modules['distributed'] = None\n"
        "try:\n    boostsample.dask.DaskBoostSampleClassifier\n"
        "except ImportError as error:\n    print(error)\n"
        "del sys.modules['distributed']\n"
        "try:\n    boostsample.dask.DaskBoostSampleClassifier().fit(None, None)\n"
        "except ValueError as error:\n    print(error)\n"
        "try:\n    boostsample.dask.DaskBoostSampleClassifier(client='tcp://a:1').fit(None, None)\n"
        "except ValueError as error:\n    print(error)\n"
    )
    done = run_python("-c", code)
    assert "needs the package distributed" in done.stdout, done.stderr
    assert "boostsample[dask]" in done.stdout
    assert "fit needs a client of a Dask cluster" in done.stdout, done.stderr
    assert "client must be None or a distributed.Client" in done.stdout, done.stderr


dd: Any = pytest.importorskip("dask.dataframe")

COPIES = 6


def classes_of(*parts: Any) -> list[Any]:
    """The classes of a table with these parts, without a cluster."""
    found = []
    for number, y in enumerate(parts):
        with naming_part(number, ""):
            found.append(summarise(np.eye(len(y)), y, None, number, 9, "balanced"))
    classes: list[Any] = merged(found, None, 9).classes.tolist()
    return classes


def test_a_missing_label_is_named_with_its_part_and_row() -> None:
    with pytest.raises(DataError, match=r"part 1 of the table: y must .* contains \S+ in row 1;"):
        classes_of([0, 1, 0], [0, None, 1])


def test_parts_of_different_types() -> None:
    parts = [np.array([2**53 + 1, 2]), np.array([2**63, 3], np.uint64), [2**53, 3]]
    assert classes_of(*parts) == [2, 3, 2**53, 2**53 + 1, 2**63]
    assert classes_of(np.array([0, 1]), np.array([1.0, 2.0])) == [0.0, 1.0, 2.0]
    with pytest.raises(DataError, match="one kind in all parts, got numbers and truth values"):
        classes_of([0, 1], [False, True])


@pytest.mark.parametrize("kind", ["neighbours", "text"])
@pytest.mark.parametrize("of_frames", [True, False])
def test_a_fit_gives_values_and_types_back(of_frames: bool, kind: str, client: Any) -> None:
    values = VALUES[kind]
    X: Any = np.tile(np.eye(len(values)), (COPIES, 1))
    y: Any = CONTAINERS["pandas nullable" if of_frames else "objects"](values * COPIES)
    if of_frames:
        X = pandas.DataFrame(X, columns=[f"x{at}" for at in range(len(values))])
        table, labels = (dd.from_pandas(one, npartitions=3) for one in (X, y))
    else:
        table, labels = da.from_array(X, chunks=(4, -1)), da.from_array(y, chunks=7)
    weights = {value: 1.0 + at for at, value in enumerate(values)}
    model = DaskBoostSampleClassifier(
        "full", "stump", n_rounds=8, random_state=0, client=client, class_weight=weights
    ).fit(table, labels)
    assert model.classes_.tolist() == values
    assert [*map(type, model.classes_.tolist())] == [*map(type, values)]
    assert model.predict(X).tolist() == values * COPIES
    assert model.predict(table).compute().tolist() == values * COPIES
    assert model.score(X, y) == model.score(table, labels) == 1.0

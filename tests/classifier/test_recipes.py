"""Recipes of scikit-learn's documentation for classifiers, with ours in place of theirs.

Each test is one recipe that can be read by itself: the body of the function runs as it is, after
``from boostsample import BoostSampleClassifier``.
"""

from __future__ import annotations

import numpy as np
import pytest

from boostsample import BoostSampleClassifier

pytest.importorskip("pandas", reason="data frames need the extra 'report'")


def test_threshold_tuning() -> None:
    from sklearn.datasets import make_classification
    from sklearn.metrics import balanced_accuracy_score
    from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split

    X, y = make_classification(800, 10, weights=[0.9], class_sep=0.7, random_state=0)
    train_X, test_X, train_y, test_y = train_test_split(X, y, stratify=y, random_state=0)
    boosted = BoostSampleClassifier(n_rounds=50, random_state=0).fit(train_X, train_y)
    tuned = TunedThresholdClassifierCV(boosted, scoring="balanced_accuracy", cv=3, random_state=0)
    tuned.fit(train_X, train_y)
    plain, better = (
        balanced_accuracy_score(test_y, model.predict(test_X)) for model in (boosted, tuned)
    )
    assert tuned.best_threshold_ < 0.5
    assert better > plain


def test_feature_selection_from_importances() -> None:
    from sklearn.datasets import make_classification
    from sklearn.feature_selection import SelectFromModel
    from sklearn.pipeline import make_pipeline

    X, y = make_classification(
        300, 30, n_informative=3, n_redundant=0, shuffle=False, random_state=0
    )
    boosted = BoostSampleClassifier(n_rounds=100, random_state=0)
    selected = make_pipeline(SelectFromModel(boosted, max_features=3), boosted).fit(X, y)
    assert selected[0].get_support(indices=True).tolist() == [0, 1, 2]
    assert selected.score(X, y) > 0.8


def test_halving_search() -> None:
    from scipy.stats import loguniform, randint
    from sklearn.datasets import load_digits
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401  # turns it on
    from sklearn.model_selection import HalvingRandomSearchCV

    X, y = load_digits(return_X_y=True)
    model = BoostSampleClassifier("ucb", "tree", families="columns", random_state=0)
    search = HalvingRandomSearchCV(
        model,
        {"learner__n_leaves": randint(2, 17), "strategy__exploration": loguniform(0.01, 10)},
        resource="n_rounds",
        min_resources=3,
        max_resources=27,
        factor=3,
        cv=2,
        random_state=0,
    )
    search.fit(X[:600], y[:600])
    assert search.n_resources_ == [3, 9, 27]
    assert 2 <= search.best_params_["learner__n_leaves"] <= 16
    assert search.best_score_ > 0.7


def test_pipeline_with_a_column_transformer() -> None:
    import pandas as pd
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(18, 80, 300), "town": rng.choice(["Bonn", "Oslo"], 300)})
    y = np.where((X["town"] == "Oslo") & (X["age"] > 40), "yes", "no")
    columns = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (OneHotEncoder(sparse_output=False), make_column_selector(dtype_exclude="number")),
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    piped = make_pipeline(columns, BoostSampleClassifier("full", n_rounds=20, random_state=0))
    piped.fit(X, y)
    assert piped[-1].feature_names_in_.tolist() == ["age", "town_Bonn", "town_Oslo"]
    alone = BoostSampleClassifier("full", n_rounds=20, random_state=0).fit(X, y)
    assert alone.columns_.names == ("age", "town=Bonn", "town=Oslo")
    np.testing.assert_array_equal(alone.predict(X), piped.predict(X))
    assert piped.score(X, y) > 0.9

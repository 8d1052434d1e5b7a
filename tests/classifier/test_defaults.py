"""The classifier's settings "auto"."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from boostsample import BoostSampleClassifier, SettingError
from boostsample.classifier.defaults import choose_settings
from boostsample.strategies import Full, Laminating


@pytest.fixture(scope="module")
def digits() -> tuple[NDArray[Any], NDArray[Any]]:
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300]


@pytest.mark.parametrize(
    ("n", "leaves"), [(1, 4), (249, 4), (250, 5), (799, 15), (800, 16), (10**6, 16)]
)
def test_leaves_by_the_number_of_examples(n: int, leaves: int) -> None:
    assert choose_settings("auto", "auto", None, n, 5).learner == f"tree:n_leaves={leaves}"


@pytest.mark.parametrize(
    ("n_features", "budget", "strategy"),
    [
        (100, None, "full"),
        (101, None, "laminating:scheme=distinct"),
        (7, "7N", "full"),
        (8, "7N", "laminating:scheme=distinct"),
        (7, 6999, "laminating:scheme=distinct"),
    ],
)
def test_all_features_are_searched_if_the_budget_pays_for_them(
    n_features: int, budget: Any, strategy: str
) -> None:
    chosen = choose_settings("auto", "stump", budget, 1000, n_features)
    assert chosen == (strategy, "stump", "100N" if budget is None else budget)


@pytest.mark.parametrize(
    ("n_features", "looks"), [(101, 100), (3029, 100), (3030, 101), (12_000, 400), (10**6, 1000)]
)
def test_the_budget_grows_with_the_columns(n_features: int, looks: int) -> None:
    assert choose_settings("auto", "stump", None, 2000, n_features).budget == f"{looks}N"


def test_settings_that_are_given_are_kept(digits: tuple[NDArray[Any], NDArray[Any]]) -> None:
    mine = Laminating(scheme="distinct")
    assert choose_settings(mine, "stump", None, 1000, 5) == (mine, "stump", None)
    assert choose_settings("ucb", "auto", "3N", 50, 5) == ("ucb", "tree:n_leaves=4", "3N")
    named = BoostSampleClassifier("ucb", "stump", n_rounds=2, random_state=0).fit(*digits)
    assert {row["looks_search"] for row in named.history_} == {10 * 300}


def test_a_fit_without_settings(digits: tuple[NDArray[Any], NDArray[Any]]) -> None:
    X, y = digits

    def history(X: NDArray[Any], **settings: Any) -> list[Any]:
        model = BoostSampleClassifier(n_rounds=3, random_state=0, **settings).fit(X, y)
        assert isinstance(model.strategy_, Laminating if X.shape[1] > 100 else Full)
        return [(row["search"], row["feature"], row["edge_estimated"]) for row in model.history_]

    tree = {"learner": "tree:n_leaves=6"}
    assert history(X) == history(X, strategy="full", **tree)
    wide = np.hstack([X, X[:, ::-1]])
    assert history(wide) == history(
        wide, strategy="laminating:scheme=distinct", budget="100N", **tree
    )


def test_settings_of_auto_cannot_be_set() -> None:
    with pytest.raises(SettingError, match="it is 'auto'; set strategy, too"):
        BoostSampleClassifier().set_params(strategy__scheme="iid")
    both = {"strategy": "laminating", "strategy__scheme": "iid"}
    assert BoostSampleClassifier().set_params(**both).strategy == "laminating:scheme=iid"

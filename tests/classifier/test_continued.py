"""A fit continues a model: weights, loss and terms are those of the definition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from boostsample import BoostSampleClassifier, DataError, SettingError
from boostsample.families import Haar, Identity
from boostsample.labels import encode
from boostsample.loop.booster import Booster
from boostsample.models.model import Model
from boostsample.rows.weights import continued_weights, initial_weights
from tests.problems import bank_of, noisy_labels, table

Digits = tuple[NDArray[Any], NDArray[Any]]


@pytest.fixture(scope="module")
def digits() -> Digits:
    X, y = load_digits(return_X_y=True)
    return X.reshape(-1, 8, 8)[:600], y[:600]


@pytest.fixture(scope="module")
def first(digits: Digits) -> BoostSampleClassifier:
    return fitted(digits, families="identity")


def fitted(digits: Digits, init_model: Any = None, **settings: Any) -> BoostSampleClassifier:
    usual = {"strategy": "laminating:scheme=distinct", "learner": "stump"}
    parameters: dict[str, Any] = {"n_rounds": 12, "random_state": 0, **usual, **settings}
    return BoostSampleClassifier(**parameters).fit(*digits, init_model=init_model)


def exponential_loss(model: BoostSampleClassifier, digits: Digits) -> float:
    X, y = digits
    labels = encode(y, 10)
    weights = initial_weights(labels, "balanced") / len(y)
    return float(np.log10((weights * np.exp(-labels * model.decision_function(X))).sum()))


@pytest.mark.parametrize("learner", ["stump", "product", "tree:n_leaves=4"])
@pytest.mark.parametrize(
    ("how", "learning_rate"), [("file", 1.0), ("classifier", 0.1), ("model", 1.0)]
)
def test_a_model_grows(
    first: BoostSampleClassifier,
    digits: Digits,
    learner: str,
    how: str,
    learning_rate: float,
    tmp_path: Path,
) -> None:
    first.save(tmp_path / "a.bsm")
    start = {"file": tmp_path / "a.bsm", "classifier": first, "model": first.model_}[how]
    more = fitted(digits, start, learner=learner, learning_rate=learning_rate)
    assert len(more.model_) == 24
    assert more.model_.families == first.model_.families
    np.testing.assert_array_equal(more.model_.alpha[:12], first.model_.alpha)
    np.testing.assert_array_equal(more.model_.feature[:12], first.model_.feature)
    assert more.history_[0]["round"] == 1
    assert exponential_loss(first, digits) == pytest.approx(first.history_[-1]["log10_loss"])
    assert exponential_loss(more, digits) == pytest.approx(more.history_[-1]["log10_loss"])
    assert more.history_[0]["log10_loss"] < first.history_[-1]["log10_loss"]
    assert more.score(*digits) > first.score(*digits) or learning_rate < 1.0


def test_full_search_continues_as_if_it_had_not_stopped() -> None:
    """A strategy without randomness finds the same stumps in one fit and in two."""
    X, Y = table(80, 6), noisy_labels(80)
    bank = bank_of(X)
    settings: dict[str, Any] = {"strategy": "full", "rng": 0}
    whole = Booster(bank, None, Y, n_rounds=14, **settings)
    terms = [term for _ in range(8) for term in whole.next_round().terms]
    scores = Model(bank.families, terms, 3).decision_function(X)
    rest = Booster(bank, None, Y, n_rounds=6, scores=scores, **settings)
    for _ in range(6):
        straight, other = whole.next_round(), rest.next_round()
        assert [t.feature for t in straight.terms] == [t.feature for t in other.terms]
        assert straight.edge == pytest.approx(other.edge, rel=1e-5)
        want = straight.rows[-1]["log10_loss"]
        assert other.rows[-1]["log10_loss"] == pytest.approx(want, rel=1e-5)


def test_weights_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(0)
    Y, scores = noisy_labels(50), 3 * rng.normal(size=(50, 3))
    u = initial_weights(Y, "balanced") * rng.exponential(size=(50, 1))
    weights, log_loss = continued_weights(u, Y, scores)
    want = u * np.exp(-Y * scores)
    np.testing.assert_allclose(weights / weights.sum(), want / want.sum(), rtol=1e-12)
    assert log_loss == pytest.approx(np.log(want.sum() / u.sum()))


@pytest.mark.parametrize("size", [1e3, 1e6, 1e300])
def test_scores_of_any_size(size: float) -> None:
    X, Y = table(80, 6), noisy_labels(80)
    scores = size * np.random.default_rng(0).choice([-1.0, 1.0], Y.shape)
    booster = Booster(bank_of(X), None, Y, "full", n_rounds=3, rng=0, scores=scores)
    losses = [booster.next_round().rows[-1]["log10_loss"] for _ in range(3)]
    assert np.isfinite(losses).all()
    assert losses[0] == pytest.approx((-Y * scores).max() / np.log(10), rel=1e-2)


def test_categories_are_those_of_the_model() -> None:
    import pandas

    y = np.random.default_rng(0).integers(0, 2, 60)
    colours = np.array(["red", "blue", "green"])
    frame = pandas.DataFrame({"size": table(60, 1)[:, 0], "colour": colours[np.arange(60) % 3]})
    model = BoostSampleClassifier(n_rounds=3, random_state=0).fit(frame, y)
    other = frame.replace({"colour": {"red": "black"}})
    more = BoostSampleClassifier(n_rounds=3, random_state=0).fit(other, y, init_model=model)
    assert more.columns_ is model.columns_
    assert more.decision_function(other).shape == (60,)
    with pytest.raises(DataError, match="X must have the 2 columns of init_model, got 1"):
        BoostSampleClassifier().fit(frame[["size"]], y, init_model=model)


@pytest.mark.parametrize(
    ("settings", "change", "error", "message"),
    [
        ({}, lambda X, y: (X, y % 3), DataError, "y must have the classes of init_model"),
        ({}, lambda X, y: (X[:, :4], y), DataError, "n_features_in_ 8"),
        ({"families": "text"}, None, SettingError, "must read the same X as those of init_model"),
        (
            {"families": [Haar((8, 8), name="identity")]},
            None,
            SettingError,
            "the family 'identity' differs from that of init_model; give it another name",
        ),
    ],
)
def test_what_does_not_fit(
    first: BoostSampleClassifier,
    digits: Digits,
    settings: dict[str, Any],
    change: Any,
    error: type[Exception],
    message: str,
) -> None:
    data = digits if change is None else change(*digits)
    with pytest.raises(error, match=message):
        fitted(data, first, **settings)


def test_what_is_no_model(digits: Digits, first: BoostSampleClassifier) -> None:
    for wrong in (3, BoostSampleClassifier()):
        with pytest.raises(SettingError, match="init_model must be a model file, a fitted"):
            fitted(digits, wrong)
    with pytest.raises(DataError, match="cannot be read"):
        fitted(digits, "none.bsm")
    with pytest.raises(DataError, match="y must have as many labels as init_model, 10, got 3"):
        fitted((digits[0], digits[1] % 3), first.model_)


def test_new_families_follow_those_of_the_model(
    first: BoostSampleClassifier, digits: Digits
) -> None:
    families = [Haar((8, 8)), Identity((8, 8))]
    more = fitted(digits, first, families=families, n_rounds=40)
    assert more.model_.families == (Identity((8, 8)), Haar((8, 8)))
    assert {row["family"] for row in more.history_} == {"identity", "haar"}
    before, after = first.decision_function(digits[0]), more.model_.decision_function(digits[0], 12)
    np.testing.assert_allclose(after, before, atol=1e-12)
    assert exponential_loss(more, digits) == pytest.approx(more.history_[-1]["log10_loss"])

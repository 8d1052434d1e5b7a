"""BoostSampleClassifier: the same loop behind scikit-learn's conventions."""

from __future__ import annotations

import inspect
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from boostsample import BoostSampleClassifier, DataError, SettingError
from boostsample.banks.bank import FeatureBank
from boostsample.families import Columns, Haar, Identity
from boostsample.labels import encode
from boostsample.loop.booster import Booster
from boostsample.registry import make_strategy, registered_class, registered_names
from boostsample.strategies import UCB

Data = tuple[NDArray[Any], NDArray[Any]]


@pytest.fixture(scope="module")
def digits() -> Data:
    return load_digits(return_X_y=True)  # type: ignore[no-any-return]  # scikit-learn is untyped


def test_it_is_the_loop(digits: Data) -> None:
    X, y = digits
    model = BoostSampleClassifier(
        "full", "stump", n_rounds=15, weight_init="uniform", learning_rate=1.0, random_state=3
    )
    model.fit(X, y)
    bank = FeatureBank.build([Columns(range(64), n_columns=64)], X.astype(np.float32))

    booster = Booster(
        bank, None, encode(y), make_strategy("full"), n_rounds=15, weight_init="uniform"
    )
    rows = [booster.next_round().rows[0] for _ in range(15)]
    for name in ("feature", "threshold", "edge", "alpha", "log10_loss", "looks_search"):
        assert [row[name] for row in model.history_] == [row[name] for row in rows]


def test_scores_predictions_and_loss_agree(digits: Data) -> None:
    X, y = digits
    names = np.array([f"digit {k}" for k in range(10)])
    model = BoostSampleClassifier(n_rounds=60, random_state=0).fit(X, names[y])
    scores = model.decision_function(X)
    assert scores.shape == (len(X), 10)
    np.testing.assert_array_equal(model.predict(X), names[scores.argmax(axis=1)])
    start = np.where(encode(y) > 0, 1 / 2, 1 / 18) / len(X)
    loss = (start * np.exp(-encode(y) * scores)).sum()
    assert np.log10(loss) == pytest.approx(model.history_[-1]["log10_loss"], abs=1e-5)
    assert model.score(X, names[y]) > 0.9


def test_settings_are_written_as_on_the_command_line(
    digits: Data,
) -> None:
    X, y = digits[0][:300].reshape(-1, 8, 8), digits[1][:300]

    def history(**settings: Any) -> list[dict[str, Any]]:
        model = BoostSampleClassifier(n_rounds=5, random_state=0, **settings).fit(X, y)
        return [{**row, "seconds": 0} for row in model.history_]

    texts = history(strategy="ucb:exploration=0.1", budget="3N", families="identity, haar:levels=2")
    assert texts == history(
        strategy=UCB(exploration=0.1),
        budget=900,
        families=[Identity((8, 8)), Haar((8, 8), levels=2)],
    )
    assert texts == history(
        strategy="ucb:exploration=0.1", budget=900, families=["identity", Haar((8, 8), levels=2)]
    )
    names = ("feature", "threshold", "edge")
    lazy, memory = history(bank="lazy:reference=64"), history(bank="memory:reference=64")
    assert [[row[n] for n in names] for row in lazy] == [[row[n] for n in names] for row in memory]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strategy": "laminate"}, "unknown strategy 'laminate' .did you mean 'laminating'"),
        ({"n_rounds": 0}, "n_rounds must be an integer at least 1, got 0"),
        ({"budget": "10M"}, "as in 10N, got '10M'"),
        ({"strategy": "ucb:explore=1"}, "unknown setting of ucb 'explore'"),
        ({"bank": None}, "bank must be text as in 'lazy:reference=512', got None"),
        ({"strategy": "full", "budget": 10}, r"at least F \* N"),
    ],
)
def test_bad_settings(digits: Data, settings: dict[str, Any], message: str) -> None:
    X, y = digits
    with pytest.raises(SettingError, match=message):
        BoostSampleClassifier(**{"n_rounds": 2, "random_state": 0, **settings}).fit(X, y)


@pytest.mark.parametrize("name", BoostSampleClassifier().get_params())
@pytest.mark.parametrize("value", [np.array([1, 2]), np.array(["a", "b"]), object(), 1j, b"x"])
def test_no_setting_takes_a_value_of_another_kind(digits: Data, name: str, value: Any) -> None:
    model = BoostSampleClassifier(n_rounds=2, random_state=0)
    with pytest.raises((SettingError, DataError)):
        model.set_params(**{name: value}).fit(digits[0][:60], digits[1][:60])
    assert not hasattr(model, "model_")


@pytest.mark.parametrize("kind", ["strategy", "learner", "objective", "family"])
def test_numbers_of_parts_are_checked(digits: Data, kind: str) -> None:
    X, y = digits[0][:60].reshape(-1, 8, 8), digits[1][:60]
    for name in registered_names(kind):
        for setting in inspect.signature(registered_class(kind, name)).parameters:
            for value in (10**30, -1):
                parameter = {"family": "families"}.get(kind, kind)
                part: dict[str, Any] = {parameter: f"{name}:{setting}={value}"}
                with suppress(SettingError, DataError):
                    BoostSampleClassifier(n_rounds=2, random_state=0, **part).fit(X, y)


def test_progress_is_shown_on_request(digits: Data, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = digits[0][:60], digits[1][:60]
    model = BoostSampleClassifier(n_rounds=3, random_state=0, verbose=True).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in lines] == [f"round {at} of 3" for at in (1, 2, 3)]
    assert f"log10 loss {model.history_[-1]['log10_loss']:.3f}" in lines[-1]


def test_a_strategy_is_copied_and_the_copy_learns(
    digits: Data,
) -> None:
    strategy = make_strategy("ucb")
    model = BoostSampleClassifier(strategy, "stump", n_rounds=4, random_state=0)
    model.fit(digits[0][:60], digits[1][:60])
    assert not hasattr(strategy, "counts_")
    assert model.strategy_.counts_.sum() == 4

"""Fits that end at a limit: the model of the rounds so far, which a larger limit continues."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample import BoostSampleClassifier, SettingError
from tests.problems import table

SETTINGS: dict[str, Any] = {"strategy": "ucb", "learner": "stump", "random_state": 3}


def data() -> tuple[NDArray[Any], NDArray[Any]]:
    return table(90, 4), np.random.default_rng(0).integers(0, 3, 90)


def classifier(**settings: Any) -> BoostSampleClassifier:
    return BoostSampleClassifier(**{**SETTINGS, "n_rounds": 12, **settings})


def bits(model: BoostSampleClassifier) -> list[Any]:
    X, _ = data()
    history = [{**row, "seconds": 0.0} for row in model.history_]
    return [model.decision_function(X).tobytes(), model.predict_proba(X).tobytes(), repr(history)]


def spent(model: BoostSampleClassifier) -> NDArray[Any]:
    """Looks up to the end of each round of a stump."""
    looks = [row["looks_search"] + row["looks_modelling"] for row in model.history_]
    return np.cumsum(looks)


@pytest.fixture
def second_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that is a second later whenever it is read: at first, and after each round."""
    seconds = iter(range(10**6))
    monkeypatch.setattr("boostsample.estimator.monotonic", lambda: float(next(seconds)))


@pytest.mark.parametrize("learner", ["stump", "tree:n_leaves=3"])
@pytest.mark.parametrize("way", ["checkpoint", "warm_start"])
def test_a_larger_limit_continues_to_the_same_bits(way: str, learner: str, tmp_path: Path) -> None:
    X, y = data()
    settings: dict[str, Any] = {"learner": learner}
    whole = classifier(**settings).fit(X, y)
    assert whole.stopped_ == ""
    looks = int(spent(whole)[-1])
    few, more = looks // 4, looks // 2
    of_few = classifier(**settings, max_looks=few).fit(X, y)
    assert 0 < of_few.n_rounds_ < 12
    assert spent(of_few)[-1] >= few
    assert of_few.stopped_ == f"max_looks={few:,} is reached"
    straight = classifier(**settings, max_looks=more).fit(X, y)

    continues = {"checkpoint": tmp_path / "fit"} if way == "checkpoint" else {"warm_start": True}
    model = classifier(**settings, **continues, max_looks=few).fit(X, y)
    assert bits(model) == bits(of_few)
    assert bits(model.fit(X, y)) == bits(of_few)  # the same again: nothing is left to train
    assert bits(model.set_params(max_looks=more).fit(X, y)) == bits(straight)
    assert bits(model.set_params(max_looks=None).fit(X, y)) == bits(whole)
    assert model.stopped_ == ""
    with pytest.raises(SettingError, match=r"max_looks must be more than .* got 1; raise it"):
        model.set_params(max_looks=1).fit(X, y)


def test_a_limit_reached_by_the_last_round_is_no_early_end() -> None:
    X, y = data()
    looks = int(spent(classifier().fit(X, y))[-1])
    assert classifier(max_looks=looks).fit(X, y).stopped_ == ""


def test_a_committee_ends_after_a_whole_turn_and_chooses_among_its_rounds(tmp_path: Path) -> None:
    X, y = data()
    turn = 5
    whole = classifier(n_rounds="auto").fit(X, y)
    at = 7 * turn + 2
    limit = int(spent(whole)[at - 1])
    limited = classifier(n_rounds="auto", max_looks=limit).fit(X, y)
    assert limited.stopped_ == f"max_looks={limit:,} is reached"
    assert len(limited.history_) == 8 * turn
    assert [row["edge"] for row in limited.history_] == [
        row["edge"] for row in whole.history_[: 8 * turn]
    ]
    assert limited.n_rounds_ % turn == 0
    assert len(limited.validation_error_) == 8
    saved = classifier(n_rounds="auto", max_looks=1, checkpoint=tmp_path / "fit").fit(X, y)
    assert saved.n_rounds_ == turn
    saved.set_params(max_looks=limit).fit(X, y)
    assert bits(saved) == bits(limited)


def test_early_stopping_says_why_and_chooses_among_the_rounds_so_far() -> None:
    X, y = data()
    stopped = classifier(n_rounds=400, early_stopping=True).fit(X, y)
    best, done = stopped.n_rounds_, len(stopped.history_)
    assert done < 400
    assert stopped.stopped_ == f"early stopping: eval_metric was best after {best} of {done} rounds"
    limit = int(spent(stopped)[29])
    limited = classifier(n_rounds=400, early_stopping=True, max_looks=limit).fit(X, y)
    assert limited.stopped_ == f"max_looks={limit:,} is reached"
    assert limited.n_rounds_ <= len(limited.validation_error_) == 30


@pytest.mark.usefixtures("second_a_call")
@pytest.mark.parametrize(("limit", "n_rounds"), [(0.5, 1), (5, 5), (1000, 12)])
def test_seconds_of_a_clock(
    limit: float, n_rounds: int, capsys: pytest.CaptureFixture[str]
) -> None:
    X, y = data()
    model = classifier(max_seconds=limit, verbose=True).fit(X, y)
    assert model.n_rounds_ == n_rounds
    reason = "" if n_rounds == 12 else f"max_seconds={limit:g} is reached"
    assert model.stopped_ == reason
    assert ("training ends: " + reason in capsys.readouterr().err) == bool(reason)


def test_other_ends_have_their_reason() -> None:
    X = np.repeat([[0.0], [1.0]], 20, axis=0)
    model = classifier(strategy="full", learning_rate=1.0, max_looks=10**9).fit(X, X[:, 0] > 0)
    assert model.n_rounds_ == 1
    assert model.stopped_.startswith("edge 1: ")


def test_wrong_limits_are_refused_before_the_table_is_read() -> None:
    with pytest.raises(SettingError, match="max_seconds must be above 0 and finite, got -1"):
        classifier(max_seconds=-1).fit("no table", [])

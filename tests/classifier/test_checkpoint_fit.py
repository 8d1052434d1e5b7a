"""A fit with a checkpoint goes on from it, and refuses those of other fits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample import BoostSampleClassifier, DataError
from boostsample.loop.checkpoint import checkpoint_notes
from boostsample.step import Step
from boostsample.strategies import UniformNaive
from boostsample.strategy import Stump
from tests.loop.checkpoint_runs import rounds_in
from tests.problems import table

ROUNDS = 8


class Stops(UniformNaive):
    """Ends the process, as far as Python can, or has no memory, in the middle of some round."""

    at = 0
    error: type[BaseException] = SystemExit

    def choose(self, step: Step) -> Stump:
        if step.round == self.at:
            raise self.error
        return super().choose(step)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "fit.checkpoint"


@pytest.fixture
def stop(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    return lambda at: monkeypatch.setattr(Stops, "at", at)


def data(kind: str = "classes") -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(0)
    X = table(70, 4)
    if kind == "labels":
        return X, rng.integers(0, 2, (70, 3))
    return X, np.array(["a", "b", "c"])[rng.integers(0, 3 if kind == "classes" else 2, 70)]


def classifier(path: Path | None = None, **settings: Any) -> BoostSampleClassifier:
    parameters: dict[str, Any] = {
        "learner": "stump",
        "n_rounds": ROUNDS,
        "random_state": 3,
        **settings,
    }
    return BoostSampleClassifier(Stops(2), checkpoint=path, checkpoint_seconds=0, **parameters)


def bits(model: BoostSampleClassifier, X: NDArray[Any]) -> list[Any]:
    history = [{**row, "seconds": 0.0} for row in model.history_]
    return [model.decision_function(X).tobytes(), model.predict_proba(X).tobytes(), repr(history)]


@pytest.mark.parametrize("kind", ["classes", "two", "labels"])
@pytest.mark.parametrize("learner", ["stump", "tree:n_leaves=3"])
def test_a_broken_fit_goes_on_to_the_same_bits(
    kind: str,
    learner: str,
    path: Path,
    stop: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = data(kind)
    error = {"classes": SystemExit, "two": MemoryError, "labels": KeyboardInterrupt}[kind]
    monkeypatch.setattr(Stops, "error", error)
    weight = np.random.default_rng(2).integers(0, 3, 70).astype(float)
    want = bits(classifier(learner=learner).fit(X, y, weight), X)
    stop(5)
    broken = classifier(path, learner=learner)
    with pytest.raises(error):
        broken.fit(X, y, weight)
    assert not hasattr(broken, "classes_")
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert rounds_in(path) == 4
    stop(0)
    model = classifier(path, learner=learner)
    assert bits(model.fit(X, y, weight), X) == want
    assert rounds_in(path) == ROUNDS
    assert bits(model.fit(X, y, weight), X) == want  # again: there is nothing left to train


@pytest.mark.global_random  # scikit-learn's meaning of random_state=None
def test_without_a_seed_the_stream_of_the_checkpoint_goes_on(
    path: Path, stop: Callable[[int], None]
) -> None:
    X, y = data()
    stop(5)
    with pytest.raises(SystemExit):
        classifier(path, random_state=None).fit(X, y)
    broken, half = checkpoint_notes(path), path.read_bytes()
    stop(0)
    model = classifier(path, random_state=None).fit(X, y)
    path.write_bytes(half)
    assert bits(classifier(path, random_state=None).fit(X, y), X) == bits(model, X)
    path.unlink()
    classifier(path, random_state=None).fit(X, y)
    assert checkpoint_notes(path) != broken  # a seed of its own


def test_early_stopping_and_calibration_come_back(path: Path, stop: Callable[[int], None]) -> None:
    X, y = data()
    parameters: dict[str, Any] = {"n_rounds": 400, "early_stopping": True, "eval_metric": "error"}
    straight = classifier(**parameters).fit(X, y)
    n_rounds = len(straight.history_)
    assert 10 < n_rounds < 400
    stop(n_rounds - 5)
    with pytest.raises(SystemExit):
        classifier(path, **parameters).fit(X, y)
    stop(0)
    for _ in range(2):  # the second time, nothing is left to train
        model = classifier(path, **parameters).fit(X, y)
        assert bits(model, X) == bits(straight, X)
        assert np.array_equal(model.validation_error_, straight.validation_error_)
        assert model.temperature_ == straight.temperature_
        assert rounds_in(path) == n_rounds
    with pytest.raises(DataError, match="training examples 63, now 49"):
        classifier(path, **parameters, validation_fraction=0.3).fit(X, y)


def test_a_fit_that_continues_a_model(path: Path, stop: Callable[[int], None]) -> None:
    X, y = data()
    first, other = (classifier(n_rounds=3, random_state=seed).fit(X, y) for seed in (0, 1))
    want = bits(classifier().fit(X, y, init_model=first), X)
    stop(5)
    with pytest.raises(SystemExit):
        classifier(path).fit(X, y, init_model=first)
    stop(0)
    with pytest.raises(DataError, match="another run: other scores of the model to continue;"):
        classifier(path).fit(X, y, init_model=other)
    assert bits(classifier(path).fit(X, y, init_model=first), X) == want


def test_a_damaged_file_is_refused_before_a_feature_is_computed(path: Path) -> None:
    X, y = data()
    path.write_bytes(b"half")
    with pytest.raises(DataError, match="cannot be read, it is damaged or in another format"):
        classifier(path, bank="refused: the bank is made later").fit(X, y)

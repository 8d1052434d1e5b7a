"""Callbacks of scikit-learn 1.9, and a classifier without them where it is older."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import log_loss

from boostsample import BoostSampleClassifier
from tests.classifier.conftest import Data

try:
    import sklearn.callback as sklearn_callback
except ImportError:
    sklearn_callback = None
needs_callbacks = pytest.mark.skipif(
    sklearn_callback is None, reason="scikit-learn has callbacks from 1.9 on"
)


class Recorder:
    """Notes each call; asks to stop after the round of a number."""

    def __init__(self, last: int = 10**9) -> None:
        self.calls: list[tuple[str, str, int]] = []
        self.last = last

    def setup(self, estimator: Any, context: Any) -> None:
        self.calls.append(("setup", context.task_name, context.max_subtasks))

    def teardown(self, estimator: Any, context: Any) -> None:
        self.calls.append(("teardown", context.task_name, context.task_id))

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        self.calls.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        self.calls.append(("end", context.task_name, context.task_id))
        return bool(context.task_name == "round" and context.task_id == self.last)


@needs_callbacks
def test_each_round_is_a_task(iris: Data) -> None:
    recorder = Recorder()
    BoostSampleClassifier(n_rounds=2, random_state=0).set_callbacks(recorder).fit(*iris)
    assert recorder.calls == [
        ("setup", "fit", 2),
        ("begin", "fit", 0),
        ("begin", "round", 0),
        ("end", "round", 0),
        ("begin", "round", 1),
        ("end", "round", 1),
        ("end", "fit", 0),
        ("teardown", "fit", 0),
    ]


@needs_callbacks
def test_callbacks_change_no_bit_and_may_end_the_fit(iris: Data) -> None:
    X, y = iris
    plain = BoostSampleClassifier(n_rounds=5, random_state=0).fit(X, y)
    model = BoostSampleClassifier(n_rounds=50, random_state=0).set_callbacks(Recorder(4)).fit(X, y)
    assert model.n_rounds_ == 5
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))


@needs_callbacks
def test_scores_of_each_round_are_those_of_the_stages(iris: Data) -> None:
    X, y = iris
    assert sklearn_callback is not None
    monitor = sklearn_callback.ScoringMonitor(scoring="neg_log_loss")
    model = (
        BoostSampleClassifier(n_rounds=6, calibration=None, random_state=0)
        .set_callbacks(monitor)
        .fit(X, y)
    )
    logs = [row for row in monitor.get_logs().data if row["task_name"] == "round"]
    expected = [-log_loss(y, one) for one in model.staged_predict_proba(X)]
    assert [row["neg_log_loss"] for row in logs] == pytest.approx(expected)

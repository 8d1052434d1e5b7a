"""Callbacks of scikit-learn 1.9, such as its progress bar; absent before.

A fit is a task with one subtask for each round. A callback whose `on_fit_task_end` returns True
ends the training after that round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from boostsample.classifier.early_stopping import RoundScores
from boostsample.classifier.fit_run import FitRun
from boostsample.classifier.fitted import FITTED_ATTRIBUTES, FittedState
from boostsample.loop.booster import Booster
from boostsample.loop.committee import Committee
from boostsample.records.outcome import Round

try:
    import sklearn.callback as _callback
except ImportError:
    _callback = None


class _NoCallbacks:
    """An estimator without callbacks."""


CallbackSupportMixin: Any = getattr(_callback, "CallbackSupportMixin", _NoCallbacks)
"""Base class that adds `set_callbacks`, if scikit-learn has callbacks."""
_Method = TypeVar("_Method", bound=Callable[..., Any])


def with_callbacks(method: _Method) -> _Method:
    """The method, after which callbacks are torn down, whether it ends by an error or not."""
    wrap = getattr(_callback, "with_callbacks", None)
    return method if wrap is None else cast(_Method, wrap(method))


class RoundCallbacks:
    """Calls the callbacks of an estimator at both ends of the fit and of its rounds.

    Parameters
    ----------
    fit : FitRun
    booster : Booster or Committee
        Its rounds are counted from those that it has done.
    rounds : list of Round
        All rounds so far, by the time of each call.
    evaluation : RoundScores
    X, y, sample_weight
        As the user gave them.
    """

    def __init__(
        self,
        fit: FitRun,
        booster: Booster | Committee,
        rounds: Sequence[Round],
        evaluation: RoundScores,
        X: Any,
        y: Any,
        sample_weight: Any,
    ) -> None:
        self._fit, self._booster, self._rounds, self._evaluation = fit, booster, rounds, evaluation
        weights = None if sample_weight is None else {"sample_weight": sample_weight}
        self._arguments = {"estimator": fit.settings, "X": X, "y": y, "metadata": weights}
        n_rounds = booster.n_rounds - booster.round
        self._context = fit.settings._init_callback_context(max_subtasks=n_rounds)
        self._context.call_on_fit_task_begin(**self._arguments)
        self._round: Any = None

    def begin(self) -> None:
        """Begin a round."""
        self._round = self._context.subcontext(task_name="round")
        self._round.call_on_fit_task_begin(**self._arguments)

    def __call__(self, done: Round) -> bool:
        """End a round; whether a callback asks to stop. Rounds of earlier fits are ignored."""
        if self._round is None:
            return False
        return bool(
            self._round.call_on_fit_task_end(
                **self._arguments, reconstruction_attributes=self._attributes
            )
        )

    def end(self, state: FittedState) -> None:
        """End the fit with its final state."""
        self._context.call_on_fit_task_end(
            **self._arguments, reconstruction_attributes=_all_attributes(state)
        )

    def _attributes(self) -> dict[str, Any]:
        """Attributes of the classifier fitted so far; made only if a callback asks for them."""
        history = self._evaluation.history(self._rounds)
        state = self._fit.state(self._booster, self._rounds, history)
        return _all_attributes(state)


def _all_attributes(state: FittedState) -> dict[str, Any]:
    # scikit-learn sets them on a copy of the estimator, which may have those of an earlier fit.
    return {**dict.fromkeys(FITTED_ATTRIBUTES), **state.attributes()}

"""Callbacks of scikit-learn 1.9, such as its progress bar; absent before.

A fit is a task with one subtask for each round. A callback whose `on_fit_task_end` returns True
ends the training after that round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

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
    estimator : BoostSampleClassifier
    booster : Booster or Committee
        Its rounds are counted from those that it has done.
    X, y, sample_weight
        As the user gave them.
    fitted : callable
        Returns the attributes that make the estimator a fitted one after the rounds so far; called
        only if a callback asks for it.
    """

    def __init__(
        self,
        estimator: Any,
        booster: Booster | Committee,
        X: Any,
        y: Any,
        sample_weight: Any,
        fitted: Callable[[], Mapping[str, Any]],
    ) -> None:
        weights = None if sample_weight is None else {"sample_weight": sample_weight}
        self._given = {"estimator": estimator, "X": X, "y": y, "metadata": weights}
        self._fitted = fitted
        self._fit = estimator._init_callback_context(max_subtasks=booster.n_rounds - booster.round)
        self._fit.call_on_fit_task_begin(**self._given)
        self._round: Any = None

    def begin(self) -> None:
        """Begin a round."""
        self._round = self._fit.subcontext(task_name="round")
        self._round.call_on_fit_task_begin(**self._given)

    def __call__(self, one: Round) -> bool:
        """End a round; whether a callback asks to stop. Rounds of earlier fits are ignored."""
        if self._round is None:
            return False
        end = self._round.call_on_fit_task_end
        return bool(end(**self._given, reconstruction_attributes=self._fitted))

    def end(self) -> None:
        """End the fit."""
        self._fit.call_on_fit_task_end(**self._given, reconstruction_attributes=self._fitted)

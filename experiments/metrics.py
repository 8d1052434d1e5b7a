"""The metrics of a comparison: each is declared here only, with its column, titles and decimals.

Three metrics are functions of the scores of test examples. Their predictions are those of
`boostsample.labels.classify`: the class with the highest score; of two classes, or for each label
of a multi-label set, the positive one if its score is positive.

=================  ===============================================================================
balanced accuracy  classes: mean recall of the classes that the test examples have. Multi-label:
                   mean of (recall of positives + recall of negatives) / 2 over the labels that have
                   both signs.
F1                 2 TP / (2 TP + FP + FN), mean over the classes or labels that are present or
                   predicted (macro F1).
log loss           mean of -ln p. p_l = 1 / (1 + exp(-2 f_l)) of label l, which minimises the
                   expected exponential loss [FHT00]. More than two classes: p_l divided by its sum
                   over the classes, for the true class. Multi-label: p_l of the true sign, mean
                   over examples and labels.
=================  ===============================================================================

The probabilities are those of the initial weights: balanced weights give a rare class a higher one.

Five metrics are functions of the ranks of scores, and NaN for other data. The first three are those
of BoosTexter [SS00], for multi-label data: labels are ranked by f_l in each example; examples
without a label are left out. A label's rank is the number of labels of an equal or higher score:
ties count against. The other two are for two classes, within the groups (queries) of the data that
have both; without groups all examples are one group. Ties count half in the pairwise loss, and NDCG
takes the mean over the orders of tied examples.

=================  ===============================================================================
one-error          part of the examples with a wrong label at rank 1.
coverage           mean of (largest rank of a true label) - 1.
average precision  mean over the true labels l of (true labels ranked as high as l) / (rank of l),
                   then over the examples.
pairwise loss      part of the pairs of a positive and a negative example of the same group with the
                   negative one higher: 1 - AUC for one group.
NDCG               mean over groups of DCG / (largest DCG), DCG the sum of 1 / log2(1 + rank) over
                   the positive examples.
=================  ===============================================================================

- [SS00] Schapire and Singer, BoosTexter: A boosting-based system for text categorization, Machine
  Learning 39, 2000, sec. 5.
- [FHT00] Friedman, Hastie and Tibshirani, Additive logistic regression, Annals of Statistics 28,
  2000, sec. 4.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_known
from boostsample.errors import SettingError, failed, unknown
from boostsample.labels import classify, encode
from boostsample.names import is_in_file
from boostsample.registry import entries_of_group, object_in_file, registered_function

ScoreArray: TypeAlias = NDArray[np.float64]
"""Scores f_l(x): float64 (n, K)."""
TruthArray: TypeAlias = NDArray[np.integer]
"""Class codes (n,) or, for multi-label data, 0 and 1 (n, K)."""
GroupArray: TypeAlias = NDArray[np.integer] | None
"""Queries int (n,), within which examples are ranked; None for one group."""


def balanced_accuracy(scores: ScoreArray, y: TruthArray, groups: GroupArray = None) -> float:
    """Balanced accuracy, from 0 to 1; NaN if no label has both signs.

    >>> balanced_accuracy(np.array([[2.0], [-1.0], [-1.0], [-1.0]]), np.array([1, 1, 0, 0]))
    0.75
    """
    truth, predicted = _members(scores, y)
    recall = _ratio((truth & predicted).sum(axis=0), truth.sum(axis=0))
    if y.ndim == 2:
        recall = (recall + _ratio((~truth & ~predicted).sum(axis=0), (~truth).sum(axis=0))) / 2
    return _mean(recall)


def f1(scores: ScoreArray, y: TruthArray, groups: GroupArray = None) -> float:
    """Macro F1, from 0 to 1; NaN if no label is present or predicted.

    >>> f1(np.array([[2.0], [-1.0], [-1.0]]), np.array([1, 1, 0]))
    0.6666666666666666
    """
    truth, predicted = _members(scores, y)
    hits = 2 * (truth & predicted).sum(axis=0)
    return _mean(_ratio(hits, truth.sum(axis=0) + predicted.sum(axis=0)))


def log_loss(scores: ScoreArray, y: TruthArray, groups: GroupArray = None) -> float:
    """Mean of -ln p, p the probability of the true class or sign; 0 or more.

    >>> round(log_loss(np.array([[0.0], [0.0]]), np.array([1, 0])), 4)
    0.6931
    """
    if y.ndim == 2 or scores.shape[1] == 1:
        return float(np.logaddexp(0.0, -2.0 * scores * encode(y, 2)).mean())
    log_p = -np.logaddexp(0.0, -2.0 * scores)
    log_p -= np.logaddexp.reduce(log_p, axis=1, keepdims=True)
    return float(-np.take_along_axis(log_p, y[:, None], axis=1).mean())


def one_error(scores: ScoreArray, y: TruthArray, groups: GroupArray = None) -> float:
    """One-error of the labels ranked by `scores`, float64 (n, K); `y` is 0 and 1 (n, K).

    NaN for classes, or if no example has a label.

    >>> one_error(np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 1.0]]), np.array([[1, 0, 1], [1, 0, 0]]))
    0.5
    """
    if y.ndim == 1:
        return float("nan")
    best = [np.where(y == value, scores, -np.inf).max(axis=1) for value in (0, 1)]
    return _mean(np.where(y.any(axis=1), best[0] >= best[1], np.nan))


def coverage(scores: ScoreArray, y: TruthArray, groups: GroupArray = None) -> float:
    """Coverage of the labels ranked by `scores`, from 0 to K - 1; arguments as of `one_error`.

    >>> coverage(np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 0.0]]), np.array([[1, 0, 1], [1, 0, 0]]))
    1.5
    """
    if y.ndim == 1:
        return float("nan")
    ranks = np.where(y == 1, _ranks(scores), 0).max(axis=1)
    return _mean(np.where(y.any(axis=1), ranks - 1.0, np.nan))


def average_precision(scores: ScoreArray, y: TruthArray, groups: GroupArray = None) -> float:
    """Average precision of the labels ranked by `scores`, above 0; arguments as of `one_error`.

    >>> scores = np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 0.0]])
    >>> average_precision(scores, np.array([[1, 0, 1], [1, 0, 0]]))  # (1 + 2/3) / 2 and 1/2
    0.6666666666666666
    """
    if y.ndim == 1:
        return float("nan")
    true = y == 1
    precision = np.where(true, _ranks(np.where(true, scores, -np.inf)) / _ranks(scores), 0.0)
    n_true = true.sum(axis=1)
    return _mean(np.where(n_true > 0, precision.sum(axis=1) / np.maximum(n_true, 1), np.nan))


def pairwise_loss(scores: ScoreArray, y: TruthArray, groups: GroupArray = None) -> float:
    """Part of the pairs of a group that `scores` (n, 1) put in the wrong order; ties count half.

    `y` is 0 and 1 (n,), `groups` int (n,), None for one group. NaN if no group has both classes, or
    for other data than two classes.

    >>> pairwise_loss(np.array([[3.0], [2.0], [2.0], [1.0]]), np.array([0, 1, 0, 1]))
    0.875
    """
    if y.ndim == 2 or scores.shape[1] > 1:
        return float("nan")
    ties = _ties(scores[:, 0], y, groups)
    negatives = ties.size - ties.positives
    wrong = ties.positives * (ties.negatives_above + negatives / 2)
    n_pairs = float((ties.positives * ties.total(negatives)[ties.group]).sum())
    return float(wrong.sum()) / n_pairs if n_pairs else float("nan")


def ndcg(scores: ScoreArray, y: TruthArray, groups: GroupArray = None) -> float:
    """Normalised discounted cumulative gain, above 0; arguments as of `pairwise_loss`.

    >>> round(ndcg(np.array([[3.0], [2.0]]), np.array([0, 1])), 4)  # 1 / log2(3)
    0.6309
    """
    if y.ndim == 2 or scores.shape[1] > 1:
        return float("nan")
    ties = _ties(scores[:, 0], y, groups)
    discounts = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(len(y)) + 2))])
    gains = discounts[ties.start + ties.size] - discounts[ties.start]
    positives, sizes = ties.total(ties.positives), ties.total(ties.size)
    largest = discounts[positives.astype(np.int64)]
    both = (positives > 0) & (positives < sizes)
    return _mean(ties.total(ties.positives / ties.size * gains)[both] / largest[both])


class _Ties(NamedTuple):
    """The runs of equal scores of each group, in descending order."""

    group: NDArray[np.int64]  # of a run: 0, 1, ...
    start: NDArray[np.int64]  # examples of the group in higher runs
    size: NDArray[np.int64]  # examples of the run
    positives: NDArray[np.int64]  # of these
    negatives_above: NDArray[np.int64]  # in higher runs of the group

    def total(self, values: NDArray[np.generic]) -> NDArray[np.float64]:
        """Sum of a value of the runs, by group."""
        return np.bincount(self.group, values).astype(np.float64)


def _ties(scores: ScoreArray, y: TruthArray, groups: GroupArray) -> _Ties:
    groups = np.zeros(len(y), np.int64) if groups is None else groups
    order = np.lexsort((-scores, groups))
    f, query = scores[order], groups[order]
    starts_group = np.concatenate([[True], query[1:] != query[:-1]])
    first = np.flatnonzero(starts_group | np.concatenate([[True], f[1:] != f[:-1]]))
    group = np.cumsum(starts_group)[first] - 1
    begins = np.flatnonzero(starts_group)[group]
    negatives = np.concatenate([[0], np.cumsum(y[order] == 0)])
    return _Ties(
        group,
        first - begins,
        np.diff(np.append(first, len(y))),
        np.add.reduceat((y[order] == 1).astype(np.int64), first),
        negatives[first] - negatives[begins],
    )


def _ranks(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The number of labels of an equal or higher score: float64 (n, K)."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(-scores, "max", axis=1), np.float64)


def _members(scores: ScoreArray, y: TruthArray) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """True and predicted members of each class or label: bool (n, classes) each."""
    predicted = classify(scores, y.ndim == 2)
    if y.ndim == 2:
        return y == 1, predicted == 1
    classes = np.arange(max(2, scores.shape[1]))
    return y[:, None] == classes, predicted[:, None] == classes


def _ratio(part: NDArray[np.integer], whole: NDArray[np.integer]) -> NDArray[np.float64]:
    """Quotients, NaN for 0 / 0."""
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)


def _mean(values: NDArray[np.float64]) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else float("nan")


@dataclass(frozen=True)
class Metric:
    """A quantity that tables and pictures compare, and its column in the rows of results."""

    name: str  # as in --metric
    about: str  # description of the column
    title: str  # of tables, with the unit
    axis_title: str = ""  # of pictures; empty if they do not show it
    better: int = -1  # -1 if lower is better, 1 if higher is better, 0 if neither is
    decimals: int = 2  # where all numbers have the same unit
    score: Callable[[ScoreArray, TruthArray, GroupArray], float] | None = None
    own: Callable[[Any, Any], float] | None = None  # of the user, see `declare_metric`
    of: str = ""  # what `own` reads beside the truth, one of `READ`
    named: str = ""  # the column, if it is not `name`
    stored: bool = False  # whether it is of the user, and known by its values in a folder

    @property
    def column(self) -> str:
        """Name of the column."""
        return self.named or self.name.replace("-", "_")


SMOOTHED = "smoothed-error"
"""Mean of the test errors over a window; computed from the rows, not stored."""
AREA = "loss-area"
"""Area under the curve of log10 loss, one number a run; computed from the rows, not stored."""
METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            "loss",
            "log10 of the exponential loss on the training examples",
            "log10 loss",
            "log10 of the exponential loss",
            named="log10_loss",
        ),
        Metric(
            AREA,
            "mean of log10 loss over the logarithm of stumps, looks, cost or seconds so far",
            "area under log10 loss (mean over the logarithm of the axis)",
            "area under log10 loss",
        ),
        Metric(
            "error",
            "error on the test examples in percent",
            "test error in percent",
            "test error in percent",
            named="test_error",
        ),
        Metric(
            "balanced-accuracy",
            "balanced accuracy on the test examples, 0 to 1",
            "balanced accuracy of the test examples",
            "balanced accuracy",
            better=1,
            decimals=4,
            score=balanced_accuracy,
        ),
        Metric(
            "f1",
            "macro F1 on the test examples, 0 to 1",
            "macro F1 of the test examples",
            "macro F1",
            better=1,
            decimals=4,
            score=f1,
        ),
        Metric(
            "log-loss",
            "log loss (natural logarithm) on the test examples",
            "log loss of the test examples",
            "log loss of the test examples",
            decimals=4,
            score=log_loss,
        ),
        Metric(
            "auc",
            "area under the ROC curve on the test examples; NaN except at marks",
            "area under the ROC curve of the test examples",
            better=1,
            decimals=4,
        ),
        Metric(
            "one-error",
            "one-error of the labels on the test examples, 0 to 1; NaN for classes",
            "one-error of the test examples",
            decimals=4,
            score=one_error,
        ),
        Metric(
            "coverage",
            "coverage of the labels on the test examples, 0 to K - 1; NaN for classes",
            "coverage of the test examples",
            decimals=4,
            score=coverage,
        ),
        Metric(
            "average-precision",
            "average precision of the labels on the test examples, 0 to 1; NaN for classes",
            "average precision of the test examples",
            better=1,
            decimals=4,
            score=average_precision,
        ),
        Metric(
            "pairwise-loss",
            "pairs of test examples of a group in the wrong order, 0 to 1; NaN but for two classes",
            "pairwise loss of the test examples",
            decimals=4,
            score=pairwise_loss,
        ),
        Metric(
            "ndcg",
            "NDCG of the groups of test examples, 0 to 1; NaN but for two classes",
            "NDCG of the test examples",
            better=1,
            decimals=4,
            score=ndcg,
        ),
        Metric(
            SMOOTHED,
            "mean of the test errors from 4/5 to 6/5 of the number of stumps, in percent",
            "smoothed test error in percent",
            "smoothed test error in percent",
        ),
        Metric(
            "regret",
            "1 - edge / best edge of all features under the same weights, 0 to 1, mean over the "
            "rounds measured since the row before; NaN without `--regret`",
            "regret, 1 - edge / best edge of all features (not charged)",
            "regret",
            decimals=4,
        ),
        Metric(
            "looks",
            "looks so far for search and modelling, without the finish",
            "looks so far, the finish apart",
            better=0,
        ),
        Metric(
            "values_computed",
            "feature values computed so far, by a lazy bank",
            "feature values computed so far",
            better=0,
        ),
        Metric(
            "cost",
            "nominal seconds of training so far, the same on all machines",
            "nominal seconds of training so far",
        ),
        Metric(
            "seconds",
            "seconds of training so far, without evaluation",
            "seconds of training so far, evaluation apart",
        ),
        Metric(
            "features",
            "features searched (Q), mean over all searches so far",
            "features searched, mean over all searches so far",
            better=0,
            decimals=0,
        ),
        Metric(
            "examples",
            "examples drawn (T), mean over all searches so far",
            "examples drawn, mean over all searches so far",
            better=0,
            decimals=0,
        ),
    )
}
"""All metrics by name, in the order in which messages list them."""
MAIN_METRICS = ("loss", "error")
"""The metrics that are shown unless others are chosen."""
SCORED_METRICS = {metric.column: metric.score for metric in METRICS.values() if metric.score}
"""Functions of scores, classes and groups, by the names of their arrays in a cell and columns."""

GROUP = "boostsample.metrics"
"""Entry points of the metrics of other distributions."""
READ = ("probabilities", "scores", "classes")
"""What a metric of the user may read of a model; see `declare_metric`."""


def drawn_metrics() -> tuple[str, ...]:
    """Metrics of pictures of curves."""
    return tuple(name for name, metric in METRICS.items() if metric.axis_title and name != AREA)


def ranked_metrics() -> tuple[str, ...]:
    """Metrics by which strategies are ranked over data sets."""
    return (*(name for name in drawn_metrics() if name != SMOOTHED), AREA)


def declare_metric(
    title: str, *, better: int = -1, decimals: int = 4, of: str = "probabilities"
) -> Callable[[Callable[..., float]], Callable[..., float]]:
    """Decorate a metric: a function of the truth and of what a model says, which gives a float.

    The truth are class codes, int (n,), or 0 and 1, (n, K), of multi-label data.

    Parameters
    ----------
    title : str
        Title of tables and pictures, with the unit.
    better : {-1, 0, 1}
        -1 if lower is better, 1 if higher is better, 0 if neither is.
    decimals : int
        Digits after the point in tables.
    of : {"probabilities", "scores", "classes"}
        What the second argument has. Probabilities are those of the log loss: float64
        (n, n_classes), of multi-label data (n, K). Scores f_l(x) are float64 (n, K), K = 1 for two
        classes. Classes are like the truth.

    SettingError if a value is unknown.
    """
    check_known("argument of a metric", of, READ)
    if better not in (-1, 0, 1):
        raise SettingError(f"better must be -1, 0 or 1, got {better!r}")

    def declared(function: Callable[..., float]) -> Callable[..., float]:
        facts = {"title": title, "better": better, "decimals": decimals, "of": of}
        vars(function)["metric"] = facts
        return function

    return declared


def metric_named(name: str) -> Metric:
    """A metric by name, of an entry point, or of a file as in ``my_file.py:my_metric``.

    The latter two are added to `METRICS`. SettingError for an unknown name, or if it is taken.
    """
    if name in METRICS:
        return METRICS[name]
    if is_in_file(name):
        function = object_in_file("metric", name)
        if not inspect.isfunction(function):
            raise SettingError(f"metric {name!r} must be a function, got {function!r:.80}")
    else:
        function = registered_function("metric", GROUP, name)
        if function is None:
            registered = (entry.name for entry in entries_of_group(GROUP))
            raise unknown("metric", name, [*METRICS, *registered])
    return add_metric(name.rpartition(":")[2], function)


def add_metric(name: str, function: Callable[..., float]) -> Metric:
    """Add a metric of the user to `METRICS`; SettingError if its name or column is taken."""
    facts = {"title": name, "better": -1, "decimals": 4, "of": READ[0]}
    metric = _of_user(name, **{**facts, **vars(function).get("metric", {})}, own=function)
    if _is_taken(metric):
        raise SettingError(f"the name of the metric {name!r} is taken; rename the function")
    METRICS[name] = metric
    return metric


def _of_user(name: str, title: str, better: int, decimals: int, **others: Any) -> Metric:
    about = f"{title} of the test examples, of another source"
    return Metric(name, about, title, title, better=better, decimals=decimals, **others)


def _is_taken(metric: Metric) -> bool:
    ours = [known for known in METRICS.values() if known.own is None and not known.stored]
    names = {name for known in ours for name in (known.name, known.column)}
    return not names.union(_COLUMNS_OF_RUNS).isdisjoint((metric.name, metric.column))


def stored_facts(metric: Metric) -> dict[str, Any]:
    """What a results folder keeps of a metric of the user, for `add_stored`."""
    return {name: getattr(metric, name) for name in ("name", "title", "better", "decimals")}


def add_stored(facts: Mapping[str, Any]) -> Metric | None:
    """Add a metric of a results folder to `METRICS`; None if one of ours has its name."""
    metric = _of_user(**facts, stored=True)
    if _is_taken(metric):
        return None
    return METRICS.setdefault(metric.name, metric)


_COLUMNS_OF_RUNS = (
    *("data", "strategy", "settings", "learner", "budget", "weight_init", "bank"),
    *("repetition", "stumps", "label"),
)
"""Columns of tables that are no metric."""


def own_score(metric: Metric, y: NDArray[np.integer], scores: NDArray[np.float64]) -> float:
    """The value of a metric of the user; SettingError if its function fails.

    `y` are class codes (n,) or 0 and 1 (n, K), `scores` float64 (n, K). The function gets copies:
    other metrics read the same arrays.
    """
    assert metric.own is not None
    if metric.of == "classes":
        read: NDArray[Any] = classify(scores, y.ndim == 2)
    else:
        read = scores if metric.of == "scores" else probabilities(scores, y.ndim == 2)
    try:
        value: Any = metric.own(y.copy(), read.copy())
    except Exception as error:  # a function of the user may raise anything
        raise failed(f"metric {metric.name!r}", error) from error
    number = np.asarray(value)
    if number.ndim or number.dtype.kind not in "iuf":
        raise SettingError(
            f"the metric {metric.name!r} must return a number, got {value!r:.80}; return a float"
        )
    return float(number)


def probabilities(scores: NDArray[np.float64], multilabel: bool = False) -> NDArray[np.float64]:
    """The probabilities of `log_loss`: float64 (n, n_classes), of multi-label data (n, K).

    >>> probabilities(np.array([[0.0]]))
    array([[0.5, 0.5]])
    """
    p = np.exp(-np.logaddexp(0.0, -2.0 * scores))
    if multilabel:
        return p
    if scores.shape[1] == 1:
        return np.hstack([1.0 - p, p])
    return np.asarray(p / p.sum(axis=1, keepdims=True))

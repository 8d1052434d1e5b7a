"""The rows of a fit: those to train on, and those held out for validation."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length

from boostsample.banks.bank import Bank, FeatureBank
from boostsample.checks import check_example_weight, check_flag, check_known
from boostsample.column_table import ColumnTable, JoinedTable
from boostsample.errors import DataError, SettingError
from boostsample.kernels.scores import add_bin_scores
from boostsample.labels import class_codes, class_values, encode
from boostsample.models.model import TermArrays
from boostsample.output_codes import OutputCode
from boostsample.records import Round, Term
from boostsample.registry import make_objective
from boostsample.rows.derived_weights import query_numbers
from boostsample.threads import Threads

CALIBRATIONS = (None, "auto", "rule", "temperature")


class FitRows(NamedTuple):
    """Examples, labels and weights of a fit, and which of them are held out.

    `examples` are numbers (n, ...), a sparse matrix in CSC format, or an array of objects; `train`
    and `watched` positions of rows. `held` has those that each member of a committee leaves out, or
    one part that nobody trains on. `scores` float64 (n, K) are those of the model that the fit
    continues, at most `largest`. `queries` (n,) are numbers 0, 1, ...; of rows that were joined -1.
    """

    examples: Any
    labels: NDArray[np.int8]
    weight: NDArray[np.float64]
    train: NDArray[np.int64]
    held: tuple[NDArray[np.int64], ...] = ()
    watched: tuple[NDArray[np.int64], ...] = ()
    scores: NDArray[np.float64] | None = None
    largest: float = 0.0
    queries: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, examples: Any, labels: NDArray[np.int8], weight: NDArray[np.float64]) -> Self:
        """Rows of which none is held out."""
        every = np.arange(labels.shape[0], dtype=np.int64)
        return cls(examples, labels, weight, every)

    def split(self, fraction: Any, rng: np.random.Generator, multi_label: bool) -> Self:
        """With a part of the rows held out, see `held_out`."""
        if self.queries is None:
            train, held = held_out(self.labels, fraction, rng, multi_label)
        else:
            n_queries = int(self.queries.max()) + 1
            n_held = min(max(round(float(fraction) * n_queries), 1), n_queries - 1)
            is_held = (rng.permutation(n_queries) < n_held)[self.queries]
            train, held = np.flatnonzero(~is_held), np.flatnonzero(is_held)
            if not held.size:
                raise DataError(
                    "one query cannot be divided into rows to train on and rows held out; give "
                    "X_val and y_val, or set n_rounds without early_stopping and calibration"
                )
        return self._replace(train=train, held=(held,))

    def left_out(self, n_members: int, rng: np.random.Generator, multi_label: bool) -> Self:
        """With a part of the rows for each member to leave out, if they suffice; see `folds`."""
        if self.queries is None:
            held = folds(self.labels, n_members, rng, multi_label)
        else:
            fold_of = query_folds(self.queries, n_members, rng)
            held = [np.flatnonzero(fold_of == at) for at in range(n_members)]
        return self._replace(held=tuple(held) if all(part.size for part in held) else ())

    def joined(
        self, examples: Any, labels: NDArray[np.int8], weight: Any, *, watched: bool = False
    ) -> Self:
        """With further rows, held out or only `watched`; those of weight 0 are dropped."""
        check_consistent_length(examples, labels)
        weights = check_example_weight(weight, labels.shape[0])
        weighted = np.flatnonzero(weights > 0)
        n = self.labels.shape[0]
        added = np.arange(n, n + weighted.size, dtype=np.int64)
        return self._replace(
            examples=_joined_examples(self.examples, examples[weighted]),
            labels=np.concatenate([self.labels, labels[weighted]]),
            weight=np.concatenate([self.weight, weights[weighted]]),
            held=self.held if watched else (added,),
            watched=(*self.watched, added) if watched else self.watched,
            queries=None
            if self.queries is None
            else np.append(self.queries, np.full(weighted.size, -1)),
        )


def queries_of(
    groups: Any, weighted: NDArray[np.bool_], objective: Any
) -> NDArray[np.int64] | None:
    """Numbers 0, 1, ... of the queries of rows with weight; errors if `groups` do not fit."""
    if groups is None:
        return None
    if not make_objective(objective).ranks:
        raise SettingError(
            f"groups are queries of rows to rank, but the objective is {objective!r}; use "
            "objective='rank', or groups=None"
        )
    values = np.asarray(groups)
    if values.shape != weighted.shape:
        raise DataError(
            f"groups must be one query for each of the {weighted.size} rows of X, got shape "
            f"{values.shape}"
        )
    return query_numbers(values[weighted])


def validation_is_used(early_stopping: Any, calibration: str | None, fraction: Any) -> bool:
    """Whether a fit with these settings needs held-out rows; SettingError if one is wrong."""
    check_known("calibration", calibration, CALIBRATIONS)
    try:
        number = float(fraction)
    except (TypeError, ValueError):
        number = 0.0
    if not 0.0 < number < 1.0:
        raise SettingError(f"validation_fraction must be above 0 and below 1, got {fraction!r}")
    return check_flag("early_stopping", early_stopping) or calibration == "temperature"


def check_held(X: Any, y: Any, weight: Any, validates: bool) -> bool:
    """Whether the user gave rows to hold out; SettingError if only a part, or without use."""
    if X is None and y is None and weight is None:
        return False
    if X is None or y is None or not validates:
        raise SettingError(
            "X_val and y_val must be given together, sample_weight_val only with them, and all "
            "with n_rounds='auto', early_stopping=True or calibration='temperature', which alone "
            "use them"
        )
    return True


def eval_sets(eval_set: Any) -> list[tuple[Any, Any, Any]]:
    """X, y and weights of the sets of `eval_set`; SettingError if one is no such tuple."""
    sets = [] if eval_set is None else list(eval_set)
    for part in sets:
        if not isinstance(part, tuple) or len(part) not in (2, 3):
            raise SettingError(
                "eval_set must be a sequence of (X, y) or (X, y, sample_weight), got "
                f"{type(part).__name__}; pass [(X, y)]"
            )
    return [(part[0], part[1], part[2] if len(part) == 3 else None) for part in sets]


def held_out(
    labels: NDArray[np.int8], fraction: Any, rng: np.random.Generator, multi_label: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of the rows to train on and of those held out, a part `fraction`, both ascending.

    The rows are sorted by their labels, in random order among equal ones, and every 1/fraction-th
    is held out, so that each class has its share. One row of each class, drawn at random, is never
    held out.
    """
    number = float(fraction)
    order = _by_label(labels, rng, multi_label)
    n_held = round(number * labels.shape[0])
    if not 0 < n_held <= order.size or n_held == labels.shape[0]:
        raise DataError(
            f"validation_fraction={number:g} of {labels.shape[0]} rows must leave rows of each "
            f"class to train on and hold out at least one, got {n_held} to hold out of the "
            f"{order.size} that can be; give more rows, another fraction, or X_val and y_val"
        )
    held = np.sort(order[(np.arange(n_held) * order.size + order.size // 2) // n_held])
    return np.delete(np.arange(labels.shape[0], dtype=np.int64), held), held


def folds(
    labels: NDArray[np.int8], n_folds: int, rng: np.random.Generator, multi_label: bool
) -> list[NDArray[np.int64]]:
    """Positions of the rows of each fold, ascending; of every class in each as of `held_out`."""
    order = _by_label(labels, rng, multi_label)
    return [np.sort(order[at::n_folds]) for at in range(n_folds)]


def query_folds(
    queries: NDArray[np.int64], n_folds: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The fold of each row (n,), whole queries in each; they are numbered 0, 1, ..."""
    return np.asarray(rng.permutation(int(queries.max()) + 1)[queries] % n_folds, np.int64)


def _by_label(
    labels: NDArray[np.int8], rng: np.random.Generator, multi_label: bool
) -> NDArray[np.int64]:
    """Positions of the rows that can be held out, by label, in random order among equal ones."""
    _, code = np.unique(labels, axis=0, return_inverse=True)
    order = rng.permutation(labels.shape[0])
    order = order[np.argsort(code.reshape(-1)[order], kind="stable")]
    if not multi_label:
        sorted_code = code.reshape(-1)[order]
        order = order[1:][sorted_code[1:] == sorted_code[:-1]]  # without the first of each class
    return order


def held_labels(
    y: Any, classes: NDArray[Any], multi_label: bool, name: str = "y_val"
) -> NDArray[np.int8]:
    """Labels int8 (n, K), +1 or -1, of the y of this name; DataError for classes not trained on."""
    values = class_values(y, name)
    if multi_label:
        if values.ndim != 2 or values.shape[1] != classes.size:
            raise DataError(
                f"{name} must have {classes.size} columns of 0 and 1 like y, got {values.shape}"
            )
        return encode(values)
    if values.ndim != 1:
        raise DataError(f"{name} must have shape (n,) like y, got {values.shape}")
    codes = class_codes(values, classes, name)
    other = values[codes < 0].tolist()
    if other:
        raise DataError(
            f"{name} must hold the classes of y only, got {other[0]!r}; leave out rows of others"
        )
    return encode(codes, classes.size)


def _joined_examples(first: Any, second: Any) -> Any:
    """The rows of two sets of examples of the same kind, the first ones first."""
    if isinstance(first, ColumnTable) or isinstance(second, ColumnTable):
        return JoinedTable(first, second)
    if hasattr(first, "tocsc"):
        from scipy.sparse import vstack

        return vstack([first, second], format="csc")
    if hasattr(second, "tocsc"):
        second = second.toarray()
    if first.shape[1:] != second.shape[1:]:
        raise DataError(
            f"X_val must have examples of shape {first.shape[1:]} like X, got {second.shape[1:]}"
        )
    return np.concatenate([first, second])


class HeldScores:
    """Rows of a fit that are not trained on, and their scores, round by round.

    Rows of several parts have the scores of the member that leaves them out; rows of one part the
    mean of all members. `largest`, the sum of alpha, and `edges` are means over the members.
    `scores` are those of classes or labels, float64 (n, K), decoded if there is a `code`.
    """

    def __init__(
        self,
        bank: Bank,
        rows: FitRows,
        *parts: NDArray[np.int64],
        threads: Threads | None = None,
        code: OutputCode | None = None,
    ) -> None:
        held = np.concatenate(parts)
        ends = np.cumsum([0, *(part.size for part in parts)]).tolist()
        self._parts = [
            (bank.reader(part), part, slice(*place))
            for part, place in zip(parts, itertools.pairwise(ends), strict=True)
        ]
        self.labels, self.weight = rows.labels[held], rows.weight[held]
        self.code = code
        n_scores = self.labels.shape[1] if code is None else code.n_bits
        self._scores: NDArray[np.float64] = np.zeros((self.labels.shape[0], n_scores))
        self._decoded: NDArray[np.float64] | None = None
        self.threads = Threads(1) if threads is None else threads
        self.largest = rows.largest
        self.edges: list[float] = []
        if rows.scores is not None:
            self._scores += rows.scores[held]

    @property
    def scores(self) -> NDArray[np.float64]:
        """The scores so far."""
        if self.code is None:
            return self._scores
        if self._decoded is None:
            self._decoded = self.code.decode(self._scores)
        return self._decoded

    def add(self, *rounds: Round) -> None:
        """Add what a round of each member adds: O(n K) for each."""
        one_part = len(self._parts) == 1
        parts = self._parts * len(rounds) if one_part else self._parts
        mean_of, largest = len(rounds) if one_part else 1, list[float]()
        for (bank, part, place), done in zip(parts, rounds, strict=True):
            largest.append(_add_scores(done.terms, mean_of, bank, part, self._scores[place]))
        self._decoded = None
        self.largest += sum(largest) / len(rounds)
        self.edges.append(sum(done.edge for done in rounds) / len(rounds))


def _add_scores(
    terms: Sequence[Term],
    mean_of: int,
    bank: Bank,
    rows: NDArray[np.int64],
    scores: NDArray[np.float64],
) -> float:
    """Add the scores of a round, divided by a number, to those of some rows of a bank: (n, K).

    Returns the most that the round adds to a score, before the division.
    """
    n, n_labels = len(terms), scores.shape[1]
    thresholds = np.array([term.threshold for term in terms])
    product = any(term.side == 0 for term in terms[1:])
    if product or not isinstance(bank, FeatureBank):
        arrays = TermArrays(terms, n_labels)
        arrays.coefficient = arrays.alpha / mean_of
        arrays.add_scores(bank.sides(arrays.feature, thresholds, rows), slice(0, n), scores)
        return float(arrays.largest[0])
    children = np.full((n, 2), -1)
    for at, term in enumerate(terms[1:], 1):
        children[term.parent, (term.side + 1) // 2] = at
    votes = [v for t in terms for v in (-t.votes if t.below is None else t.below, t.votes)]
    outputs = np.concatenate(votes).reshape(n, 2, n_labels)
    voted = outputs * (terms[0].alpha / mean_of)
    bins, columns, *_ = bank.view(np.array([term.feature for term in terms]))
    add_bin_scores(bins, columns, thresholds, children, voted, rows, scores)
    return abs(terms[0].alpha) * float(np.abs(outputs).max())

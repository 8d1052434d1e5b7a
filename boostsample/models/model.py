"""The boosted classifier: arrays of terms, and the families that compute their features."""

from __future__ import annotations

import copy
import html
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import DataError, SettingError, one_line
from boostsample.family import Family, check_computed, read_only
from boostsample.files.archive import floats_entry, integers_entry, narrowest
from boostsample.kernels.scores import (
    ROWS,
    add_scores,
    add_stump_scores,
    add_table_scores,
    add_tree_scores,
)
from boostsample.records import Term
from boostsample.records.term_arrays import (
    TermColumns,
    columns_of_terms,
    places_of_arrays,
    term_arrays,
)
from boostsample.registry import registered_class, registered_name


class TermArrays:
    """Terms of whole rounds as arrays: those of `TermColumns`, and four more.

    - `first` int64 (R,): position of the first term of each round;
    - `coefficient` float64 (M,): alpha as scores add it;
    - `scored`: `below` and `votes` as scores add them, times `coefficient`;
    - `are_stumps`: whether every round is one stump with opposite votes.
    """

    def __init__(self, terms: Sequence[Term], n_labels: int) -> None:
        columns = columns_of_terms(terms, n_labels)
        opposite = all(term.below is None for term in terms)
        self._set(columns, opposite and bool(np.all(columns.parent < 0)))

    def _set(self, columns: TermColumns, are_stumps: bool) -> None:
        self.feature, self.votes, self.below, self.parent, self.side, self.alpha = columns
        self.first = np.flatnonzero(self.parent < 0)
        self.are_stumps = are_stumps
        self.coefficient = self.alpha
        self.scored = self.below, self.votes

    @property
    def columns(self) -> TermColumns:
        """The arrays of the terms."""
        return TermColumns(self.feature, self.votes, self.below, self.parent, self.side, self.alpha)

    def __len__(self) -> int:
        """Number of rounds."""
        return int(self.first.size)

    @property
    def largest(self) -> NDArray[np.float64]:
        """The most that each round adds to a score: float64 (R,)."""
        alphas = np.abs(self.alpha[self.first])
        if self.votes.dtype.kind != "f" or not self.first.size:
            return alphas
        of_terms = np.maximum(np.abs(self.votes), np.abs(self.below)).max(axis=1)
        return np.asarray(alphas * np.maximum.reduceat(of_terms, self.first))

    def terms(self, first: int, end: int) -> slice:
        """The terms of rounds first, ..., end - 1."""
        n_rounds, n_terms = self.first.size, self.feature.size
        starts = (int(self.first[at]) if at < n_rounds else n_terms for at in (first, end))
        return slice(*starts)

    def outputs(self, sides: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Outputs o_l(x) of one round's terms: float64 (n, K) of -1 and +1; `sides` as below."""
        outputs = np.zeros((sides.shape[1], self.votes.shape[1]))
        alone = copy.copy(self)
        alone.coefficient, alone.scored = np.ones_like(self.alpha), (self.below, self.votes)
        alone.add_scores(sides, slice(0, self.feature.size), outputs)
        return outputs

    def add_scores(
        self, sides: NDArray[np.bool_], part: slice, scores: NDArray[np.float64]
    ) -> None:
        """Add the scores of the terms `part`, of whole rounds, to scores float64 (n, K).

        `sides` is bool (terms of the part, n): whether phi = +1. Sums round by round.
        """
        bits = np.ascontiguousarray(sides).view(np.uint8)
        if self.are_stumps:
            voted = self.scored[1][part] * self.coefficient[part, None]
            add_stump_scores(bits, voted, np.empty((scores.shape[1] + 1, ROWS)), scores)
            return
        ends, parents, children, votes, alphas = self._tree(part)
        reached, output = np.zeros(bits.shape[0], np.uint8), np.empty(scores.shape[1])
        add_scores(bits, ends, parents, children, votes, alphas, reached, output, scores)

    def add_value_scores(
        self,
        values: NDArray[np.float32],
        columns: NDArray[np.int64],
        threshold: NDArray[np.float32],
        part: slice,
        scores: NDArray[np.float64],
    ) -> None:
        """Add the scores of the terms `part` for feature values float32 (n, q) to scores (n, K).

        `columns` and `threshold` are those of the terms. As `add_scores`, but a term of a tree is
        looked at only where it is reached.
        """
        if np.any((self.side[part] == 0) & (self.parent[part] >= 0)):  # products read all terms
            self.add_scores((values[:, columns] >= threshold).T, part, scores)
            return
        rows = np.ascontiguousarray(values)
        ends, _, children, votes, alphas = self._tree(part)
        roots = np.append(0, ends)[:-1]
        voted = votes * np.repeat(alphas, ends - roots)[:, None, None]
        add_tree_scores(rows, columns, threshold, roots, children, voted, scores)

    def _tree(self, part: slice) -> tuple[Any, ...]:
        """Ends, parents, children, votes and alphas of rounds, as kernels read them."""
        at = part.start
        firsts = self.first[(self.first >= at) & (self.first < part.stop)]
        ends = np.append(firsts[1:], part.stop) - at
        root = np.repeat(firsts, np.diff(np.append(firsts, part.stop))) - at
        parents = np.where(self.parent[part] < 0, 0, self.parent[part]) + root
        children = np.full((parents.size, 3), -1)
        side = self.side[part]
        children[:, 0] = np.where(side == 0, 2, (side + 1) // 2)
        inner = np.flatnonzero(side)
        children[parents[inner], 1 + (side[inner] + 1) // 2] = inner
        votes = np.stack([of_side[part] for of_side in self.scored], axis=1).astype(np.float64)
        return ends, parents, children, votes, self.coefficient[part][firsts - at]


_CHUNK = 256
"""Rounds, or features, at a time, ..."""
_CHUNK_VALUES = 2**24
"""... or as many features as make this many values, ..."""
_MOST_VALUES = 2**26
"""... and fewer if they make more values than these."""
_TABLE_VOTES = 2**25
"""Most votes of a model that gets tables; they take 8 bytes for each."""
_SHOWN_TERMS = 10
_SHOWN_LABELS = 20


def exact_coefficients(alpha: NDArray[np.float64], first: NDArray[np.int64]) -> NDArray[np.float64]:
    """Round alpha (M,) to multiples of 2^-q, 2^q at most 2^52 / sum over rounds of abs(alpha).

    All sums and differences of these numbers, each round used once, are multiples of 2^-q below
    2^53 2^-q, and so exact in float64 in any order: scores are the same bits for any batch, any
    number of threads, any library. The rounding changes a score by at most R 2^-q / 2 for R rounds,
    as much as summing with rounding would.
    """
    _, exponent = math.frexp(math.fsum(np.abs(alpha[first]).tolist()))
    return np.ldexp(np.rint(np.ldexp(alpha, 52 - exponent)), exponent - 52)


def exact_values(terms: TermArrays) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """`below` and `votes` times alpha, float64 (M, K), rounded as of `exact_coefficients`.

    Those of factors stay as they are: what they multiply has alpha.
    """
    _, exponent = math.frexp(math.fsum(terms.largest.tolist()))
    alpha = np.where(_are_in_factors(terms), 1.0, terms.alpha)[:, None]
    below, votes = (
        np.ldexp(np.rint(np.ldexp(alpha * sides, 52 - exponent)), exponent - 52)
        for sides in (terms.below, terms.votes)
    )
    return below, votes


def _are_in_factors(terms: TermArrays) -> NDArray[np.bool_]:
    """Whether each term is a factor or a child of one, at any depth: bool (M,)."""
    is_root = terms.parent < 0
    start = terms.first[np.cumsum(is_root) - 1]
    parent = start + np.maximum(terms.parent, 0)
    inside = ~is_root & (terms.side == 0)
    while np.any(inside[parent] & ~inside):
        inside |= inside[parent]
    return np.asarray(inside)


class StumpTables(NamedTuple):
    """Scores of many stumps: for each feature in use, a table of scores by its value.

    The stumps of a feature are a step function of its value: sorted by threshold, their scores are
    cumulated once, and an example then costs one binary search and K additions for each feature
    instead of K additions for each stump.
    """

    features: NDArray[np.int64]  # (q,), features in use, ascending
    ends: NDArray[np.int64]  # (q,), end of the cuts of each feature
    cuts: NDArray[np.float32]  # (m,), different thresholds, ascending for each feature
    scores: NDArray[np.float64]  # (m + q, K): below all cuts or missing, then from each cut on

    def parts(self, n_features: int) -> Iterator[StumpTables]:
        """The tables of at most `n_features` features at a time."""
        for first in range(0, self.features.size, n_features):
            end = min(first + n_features, self.features.size)
            low, high = int(self.ends[first - 1]) if first else 0, int(self.ends[end - 1])
            yield StumpTables(
                self.features[first:end],
                self.ends[first:end] - low,
                self.cuts[low:high],
                self.scores[low + first : high + end],
            )

    def add_scores(self, values: NDArray[np.float32], scores: NDArray[np.float64]) -> None:
        """Add the scores for feature values float32 (n, q) to float64 (n, K)."""
        add_table_scores(np.ascontiguousarray(values.T), self.ends, self.cuts, self.scores, scores)


def make_tables(
    feature: NDArray[np.int64], threshold: NDArray[np.float32], voted: NDArray[np.float64]
) -> StumpTables:
    """The tables of M stumps; `voted` is alpha times the votes, float64 (M, K).

    Sums of `voted` must be exact, see `exact_coefficients`.
    """
    order = np.lexsort((threshold, feature))
    feature, threshold, voted = feature[order], threshold[order], voted[order]
    features, firsts = np.unique(feature, return_index=True)
    new = np.ones(feature.size, np.bool_)
    new[1:] = (feature[1:] != feature[:-1]) | (threshold[1:] != threshold[:-1])
    cuts = threshold[new]
    ends = np.searchsorted(np.flatnonzero(new), np.append(firsts[1:], feature.size))[: firsts.size]
    owner = np.repeat(np.arange(features.size), np.diff(np.append(firsts, feature.size)))
    starts = np.append(0, ends)[: features.size] + np.arange(features.size)
    # Differences of successive rows; the first of a feature takes the last one before it out again.
    steps = np.zeros((cuts.size + features.size, voted.shape[1]))
    np.add.at(steps, np.cumsum(new) + owner, 2.0 * voted)
    np.add.at(steps, starts[owner], -voted)
    early = owner + 1 < features.size
    np.add.at(steps, starts[owner[early] + 1], -voted[early])
    return StumpTables(features, ends.astype(np.int64), cuts, np.cumsum(steps, axis=0))


class Model(TermArrays):
    """f_l(x) = sum over rounds of alpha_r o_rl(x), from raw features.

    A round's base classifier o is a stump, or is made of several, the terms of the round, as
    `boostsample.records.Term` defines.

    Parameters
    ----------
    families : sequence of Family
        Families of the training bank, in order.
    terms : iterable of Term
        Terms in the order of the rounds.
    n_labels : int
        K.

    Attributes
    ----------
    feature : ndarray of int64, shape (M,)
    threshold : ndarray of float64, shape (M,)
        Raw thresholds; phi(x) = +1 if x >= threshold else -1 (missing: -1).
    votes, below : ndarray of int8 or float64, shape (M, K)
        Votes for phi = +1 and for phi = -1; for stumps and products the opposite ones. Values of an
        objective with real values.
    parent, side : ndarray of int64, shape (M,)
    alpha : ndarray of float64, shape (M,)
    coefficient : ndarray of float64, shape (M,)
        alpha, rounded so that sums are exact.
    first : ndarray of int64, shape (R,)
        Position of the first term of each round.
    """

    def __init__(self, families: Sequence[Family], terms: Iterable[Term], n_labels: int) -> None:
        listed = list(terms)
        super().__init__(listed, n_labels)
        self._complete(families, np.array([term.value for term in listed], np.float64))

    @classmethod
    def of_arrays(
        cls,
        families: Sequence[Family],
        columns: TermColumns,
        threshold: NDArray[np.float64],
        *,
        are_stumps: bool,
    ) -> Model:
        """A model from its arrays."""
        model = cls.__new__(cls)
        model._set(columns, are_stumps)
        model._complete(families, threshold)
        return model

    def _complete(self, families: Sequence[Family], threshold: NDArray[np.float64]) -> None:
        self.families = tuple(families)
        self.n_labels = int(self.votes.shape[1])
        self.threshold = threshold
        self.coefficient = exact_coefficients(self.alpha, self.first)
        if self.votes.dtype.kind == "f":
            self.scored = exact_values(self)
            self.coefficient = np.ones_like(self.alpha)
        self._tables: StumpTables | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_tables": None}

    def extended(self, families: Sequence[Family], terms: Iterable[Term]) -> Model:
        """The model with further rounds; `families` begin with those of this model."""
        listed = list(terms)
        more = TermArrays(listed, self.n_labels)
        both: Any = zip(self.columns, more.columns, strict=True)
        columns = TermColumns(*map(np.concatenate, both))
        threshold = np.append(self.threshold, [term.value for term in listed])
        are_stumps = self.are_stumps and more.are_stumps
        return Model.of_arrays(families, columns, threshold, are_stumps=are_stumps)

    def rounds_with(self, chosen: NDArray[np.bool_]) -> Model:
        """The model of the rounds that have at least one of the chosen terms, bool (M,)."""
        number = np.cumsum(self.parent < 0) - 1
        part = np.isin(number, number[chosen])
        columns: Any = (column[part] for column in self.columns)
        return Model.of_arrays(
            self.families, TermColumns(*columns), self.threshold[part], are_stumps=self.are_stumps
        )

    def with_features(self, families: Sequence[Family], feature: NDArray[np.int64]) -> Model:
        """The model whose terms read other features (M,), those of `families`."""
        columns = self.columns._replace(feature=feature)
        return Model.of_arrays(families, columns, self.threshold, are_stumps=self.are_stumps)

    def _repr_html_(self) -> str:
        """The first terms as notebooks show them."""
        return _model_html(self)

    def feature_name(self, feature: int) -> str:
        """Name of a global feature in its family."""
        (owner,), (local,) = self.owners(np.array([feature]))
        name: str = self.families[owner].feature_name(int(local))
        return name

    def owners(self, features: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Position of the family of each global feature, and its index in the family."""
        first = np.cumsum([0, *(family.n_features for family in self.families)])
        owner = np.searchsorted(first, features, side="right") - 1
        return owner, features - first[owner]

    def features(self, X: NDArray[np.generic], features: NDArray[np.int64]) -> NDArray[np.float32]:
        """Columns of the given global features for the rows of X: float32 (n, q)."""
        columns = np.empty((X.shape[0], features.size), np.float32, order="F")
        owner, local = self.owners(features)
        for k in np.unique(owner):
            at = np.flatnonzero(owner == k)
            family = self.families[k]
            values = family.compute(read_only(X), local[at])
            columns[:, at] = check_computed(family.name, values, (X.shape[0], at.size))
        return columns

    def decision_function(
        self, X: NDArray[np.generic], n_rounds: int | None = None
    ) -> NDArray[np.float64]:
        """Scores f_l(x): float64 (n, K); only the features in use are computed.

        Sums are exact, of coefficients that are alpha to about 16 digits of the sum of all: see
        `exact_coefficients`. The scores of an example depend on no other example.

        Parameters
        ----------
        X : array, shape (n, ...)
            Raw examples as the families take them.
        n_rounds : int, optional
            Use the first `n_rounds` rounds only.
        """
        used = len(self) if n_rounds is None else n_rounds
        if not 0 <= used <= len(self):
            raise DataError(f"n_rounds must be between 0 and {len(self)}, got {n_rounds}")
        scores = np.zeros((X.shape[0], self.n_labels))
        if self.are_stumps and self.votes.size <= _TABLE_VOTES:
            tables = self._stump_tables(used)
            n = max(X.shape[0], 1)
            for part in tables.parts(
                max(1, min(max(_CHUNK, _CHUNK_VALUES // n), _MOST_VALUES // n))
            ):
                part.add_scores(self.features(X, part.features), scores)
            return scores
        for start, end in self.chunks(used, X.shape[0]):
            terms = self.terms(start, end)
            different, at = np.unique(self.feature[terms], return_inverse=True)
            values = self.features(X, different)
            threshold = self.threshold[terms].astype(np.float32)
            if self.are_stumps:
                self.add_scores((values[:, at] >= threshold).T, terms, scores)
            else:
                self.add_value_scores(values, at, threshold, terms, scores)
        return scores

    def chunks(self, n_rounds: int, n_rows: int) -> Iterator[tuple[int, int]]:
        """Rounds start, ..., end - 1 whose features for some rows are to be in memory together."""
        start = 0
        while start < n_rounds:
            end = min(start + _CHUNK, n_rounds)
            while end > start + 1:
                different = np.unique(self.feature[self.terms(start, end)])
                if different.size * n_rows <= _MOST_VALUES:
                    break
                end = (start + end) // 2
            yield start, end
            start = end

    def _stump_tables(self, n_rounds: int) -> StumpTables:
        """The tables of the first stumps; those of all stumps are kept."""
        if n_rounds == len(self) and self._tables is not None:
            return self._tables
        part = slice(n_rounds)
        voted = self.coefficient[part, None] * self.scored[1][part]
        tables = make_tables(self.feature[part], self.threshold[part].astype(np.float32), voted)
        if n_rounds == len(self):
            self._tables = tables
        return tables


def _model_html(model: Model) -> str:
    """A ``<table>`` of the first ten terms.

    Of a term that is no stump, the votes are those for values of at least the threshold.
    """
    n_terms, n_labels = model.votes.shape
    stumps = model.are_stumps
    owner, _ = model.owners(model.feature)
    rows = []
    for at in range(min(_SHOWN_TERMS, n_terms)):
        family, name = model.families[owner[at]], model.feature_name(int(model.feature[at]))
        signs = "".join(
            "+" if vote > 0 else "-" for vote in model.votes[at, :_SHOWN_LABELS].tolist()
        )
        shown = signs + ("..." if n_labels > _SHOWN_LABELS else "")
        number = int(np.searchsorted(model.first, at, side="right"))
        threshold, alpha = f"{model.threshold[at]:.4g}", f"{model.alpha[at]:.4f}"
        rows.append((str(number), family.name, name, threshold, alpha, shown))
    columns = ("stump" if stumps else "round", "family", "feature", "threshold", "alpha", "votes")
    head = "".join(f'<th scope="col">{name}</th>' for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(entry)}</td>" for entry in row) + "</tr>"
        for row in rows
    )
    more = f"; the first {_SHOWN_TERMS} are shown" if n_terms > _SHOWN_TERMS else ""
    size = f"{n_terms:,} stumps" if stumps else f"{len(model):,} rounds, {n_terms:,} terms"
    caption = f"{size}, {n_labels:,} votes each{more}"
    return (
        f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )


# ------------------------------------------------------------------------------------- model files


def model_arrays(model: Model) -> dict[str, NDArray[Any]]:
    """The arrays of the model's terms in a file; thresholds are float32 where that is exact."""
    with np.errstate(over="ignore"):
        threshold = model.threshold.astype(np.float32)
    exact = np.array_equal(threshold, model.threshold)
    split = None if model.are_stumps else np.any(model.below != -model.votes, axis=1)
    return {
        "feature": narrowest(model.feature),
        "threshold": threshold if exact else model.threshold,
        "alpha": model.alpha[model.first],
        **term_arrays(model.columns, split),
    }


def model_of_arrays(
    arrays: Mapping[str, NDArray[Any]], families: Sequence[Family], n_labels: Any
) -> Model:
    """The model of `model_arrays`; DataError if the arrays are not those of a model."""
    if type(n_labels) is not int or n_labels < 1:
        raise DataError(f"its number of labels must be at least 1, got {n_labels!r:.40}")
    feature = integers_entry(arrays, "feature")
    n = feature.size
    most = sum(family.n_features for family in families) - 1
    if n and not 0 <= feature.min() <= feature.max() <= most:
        raise DataError(f"its features must be between 0 and {most}")
    threshold = floats_entry(arrays, "threshold")
    if threshold.shape != (n,) or np.isnan(threshold).any():
        raise DataError("its thresholds must be one number for each term")
    if (np.abs(threshold[np.isfinite(threshold)]) > np.finfo(np.float32).max).any():
        raise DataError("its thresholds must lie within +-3.4e38 (float32), or be infinite")
    alpha = floats_entry(arrays, "alpha")
    if not np.isfinite(alpha).all():
        raise DataError("its alphas must be finite")
    n_terms, votes, below, parent, side, _ = places_of_arrays(arrays, n, n_labels)
    if alpha.shape != n_terms.shape:
        raise DataError(f"its {n_terms.size} rounds must have an alpha each, got {alpha.size}")
    columns = TermColumns(feature, votes, below, parent, side, np.repeat(alpha, n_terms))
    return Model.of_arrays(families, columns, threshold, are_stumps="n_terms" not in arrays)


def family_specs(families: Sequence[Family]) -> list[dict[str, Any]]:
    """The specification of each family: registered name, settings and number of features.

    SettingError if a family is not registered, or if its settings do not make an equal family.
    """
    return [_spec(family) for family in families]


def families_of_specs(specs: Any) -> list[Family]:
    """The families of `family_specs`.

    A family of another distribution is imported from there, by its entry point. DataError if a
    family is unknown here, refuses its settings or has another number of features.
    """
    if not isinstance(specs, list) or not all(isinstance(spec, Mapping) for spec in specs):
        raise DataError("its families must be a list of specifications")
    return [_family(spec) for spec in specs]


def _spec(family: Family) -> dict[str, Any]:
    kind = type(family)
    name = registered_name("family", kind)
    who = f"the family {family.name!r} ({kind.__module__}.{kind.__qualname__})"
    if name is None:
        raise SettingError(
            f"a saved model needs registered families, but {who} is not; register its class by "
            "an entry point of the group boostsample.families, or keep the model with skops"
        )
    settings = family.settings()
    try:
        made = kind(**settings)
    except Exception as error:  # a family of the user may raise anything
        raise SettingError(
            f"a saved model needs families that settings() makes again, but {who} refuses its "
            f"own: {one_line(error)}; correct its settings()"
        ) from error
    if made != family or (made.name, made.n_features) != (family.name, family.n_features):
        raise SettingError(
            f"a saved model needs families that settings() makes again, but {who} becomes another "
            "one; correct its settings()"
        )
    return {"name": name, "settings": settings, "n_features": family.n_features}


def _family(spec: Mapping[str, Any]) -> Family:
    name, settings, n_features = (spec.get(key) for key in ("name", "settings", "n_features"))
    if not isinstance(name, str) or not isinstance(settings, dict):
        raise DataError(f"a family must have a name and settings, got {spec!r:.100}")
    try:
        kind = registered_class("family", name)
    except SettingError as error:
        raise DataError(
            f"it needs the family {name!r}, which cannot be loaded here ({one_line(error)}); "
            "install the distribution that registers it"
        ) from error
    try:
        family: Family = kind(**settings)
    except Exception as error:  # a family of another distribution may raise anything
        raise DataError(f"its family {name!r} refuses its settings: {one_line(error)}") from error
    if family.n_features != n_features:
        raise DataError(
            f"its family {name!r} must have {n_features} features, but has {family.n_features} "
            "here; use the version of the family that the model was trained with"
        )
    return family

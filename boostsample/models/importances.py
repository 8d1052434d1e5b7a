"""What a model uses: importances, in words too, and what features add to the scores of each row.

**Importances.** That of a term is the fall of the log loss of the training rows that its round has
brought, -log sqrt(1 - G^2) = log cosh(alpha) by a full step with the edge G, shared equally by the
terms of the round. Without the rounds, the falls of objectives that measure the loss are estimates:
see `model_importances`. Noise contributes, too: on held-out rows see
`boostsample.classifier.prediction.held_importances`. A term without a threshold (-inf) votes the
same for all values, unless some are missing: otherwise it has no importance, and the other terms of
its round share it. A constant, a term alone with the same votes on both sides, has none.

**Contributions** are Shapley values of the features of a round, with sums that are exact. The value
of a set S of features is the output of the round if only S is known. A term of a known feature
follows the value of the row. An unknown one goes to each of its sides with the probability of this
side, whatever the others do: a tree has the mean of its two sides, a factor of a product the mean
of its two votes.

- Without a background, both sides have probability 1/2. A term without a threshold separates
  missing values only, and is then expected on the side of the others.
- With one, the probability is the share of the background rows that reach the term and take this
  side, or again 1/2 if none does: that of ``shap.TreeExplainer`` with the path-dependent rule and
  these numbers of rows.

So a stump contributes alpha v (phi(x) - m), with m the mean of phi: 0 without a background. The
base is the score with no feature known, and base + sum of contributions is the score.

Each round is a sum of products with one factor for each feature, a_j if it is known and b_j if not.
The Shapley value of feature j is the integral over t from 0 to 1 of (a_j - b_j) times the product
over the other features of t a_i + (1 - t) b_i, a polynomial of degree d - 1 for d features, which
Gauss-Legendre quadrature with d / 2 points integrates exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank
from boostsample.checks import check_integer
from boostsample.errors import SettingError, printable
from boostsample.models.model import Model, TermArrays
from boostsample.objective import Objective
from boostsample.records import Round, Term
from boostsample.rows.weights import FULL_STEP, StepSize

_CHUNK = 64
"""Rounds at a time."""
_VALUES = 2**20
"""Factors and rows at a time."""
Product: TypeAlias = tuple[tuple[tuple[int, int], ...], NDArray[np.int8]]
"""Terms, each with its side (+1 or -1: whether the row takes it; 0: phi itself), and votes (K,)."""


class Contributions(NamedTuple):
    """What columns, families or features add to the scores of rows.

    ``base + values.sum(axis=1)`` is the score, up to rounding.
    """

    base: NDArray[np.float64]  # (K,), or () for two classes: the score if nothing is known
    values: NDArray[np.float64]  # (n, m, K), or (n, m) for two classes
    names: tuple[str, ...]  # of the m columns, families or features


def side_shares(model: Model, background: Any = None) -> NDArray[np.float64]:
    """Probability of phi = +1 of each term if its feature is not known: float64 (M,)."""
    expected = np.where(model.threshold > -np.inf, 0.5, 1.0)
    if background is None:
        return expected
    for number in range(len(model)):
        part = model.terms(number, number + 1)
        sides = _sides(model, background, part)
        reached = np.ones(sides.shape, np.bool_)
        for term in range(part.start + 1, part.stop):
            at, side, parent = term - part.start, model.side[term], model.parent[term]
            reached[at] = reached[parent] & ((side == 0) | (sides[parent] == (side > 0)))
        counts = reached.sum(axis=1)
        above = (reached & sides).sum(axis=1)
        expected[part] = np.where(counts > 0, above / np.maximum(counts, 1), 0.5)
    return expected


def model_contributions(
    model: Model,
    X: Any,
    group: NDArray[np.intp],
    n_groups: int,
    shares: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Base float64 (K,) and contributions float64 (n, n_groups, K), summed over groups.

    `group` (F,) is the group of each global feature; `shares` (M,) are those of `side_shares`.
    """
    base = np.zeros(model.n_labels)
    values = np.zeros((X.shape[0], n_groups, model.n_labels))
    for start in range(0, len(model), _CHUNK):
        end = min(start + _CHUNK, len(model))
        terms = model.terms(start, end)
        sides = _sides(model, X, terms)
        factors = _factors(model, start, end)
        unknown = factors.products(shares[factors.term])
        votes = factors.votes
        base += np.multiply.reduceat(unknown, factors.first) @ votes
        owner = group[factors.feature]
        size = max(1, _VALUES // max(factors.term.size, 1))
        for row in range(0, X.shape[0], size):
            rows = slice(row, row + size)
            known = factors.products(sides[factors.term - terms.start, rows])
            weights = _shapley(known, unknown[:, None], factors.first)
            for number in np.unique(owner):
                at = np.flatnonzero(owner == number)
                values[rows, number] += weights[at].T @ votes[factors.game[at]]
    return base, values


class _GameFactors(NamedTuple):
    """Products of some rounds. A factor has the conditions of one feature in one product."""

    term: NDArray[np.int64]  # (c,), of each condition
    side: NDArray[np.int64]
    start: NDArray[np.int64]  # (f,), first condition of each factor
    feature: NDArray[np.int64]  # (f,), of each factor
    game: NDArray[np.int64]  # (f,), product of each factor
    first: NDArray[np.int64]  # (p,), first factor of each product
    votes: NDArray[np.float64]  # (p, K), coefficients times votes of each product

    def products(self, above: NDArray[Any]) -> NDArray[np.float64]:
        """Values of the factors for the shares of phi = +1 of the conditions (c, ...)."""
        scale = np.where(self.side == 0, 2.0, self.side)
        shift = np.where(self.side == 0, -1.0, self.side < 0)
        shape = (-1, *[1] * (above.ndim - 1))
        of_conditions = above * scale.reshape(shape) + shift.reshape(shape)
        return np.asarray(np.multiply.reduceat(of_conditions, self.start, axis=0))


def _sides(model: Model, X: Any, part: slice) -> NDArray[np.bool_]:
    """Whether phi = +1: bool (terms, n)."""
    different, at = np.unique(model.feature[part], return_inverse=True)
    values = model.features(X, different)
    return np.asarray((values[:, at] >= model.threshold[part].astype(np.float32)).T)


def _factors(model: Model, start: int, end: int) -> _GameFactors:
    """The products of rounds start, ..., end - 1."""
    products = [part for number in range(start, end) for part in products_of_round(model, number)]
    listed: list[tuple[int, int]] = []
    factors: list[tuple[int, int, int]] = []
    first: list[int] = []
    for game, (conditions, _) in enumerate(products):
        of_feature: dict[int, list[tuple[int, int]]] = {}
        for condition in conditions:
            of_feature.setdefault(int(model.feature[condition[0]]), []).append(condition)
        first.append(len(factors))
        for feature, several in of_feature.items():
            factors.append((len(listed), feature, game))
            listed += several
    term, side = np.array(listed, np.int64).T
    begin, of_factor, game_of = np.array(factors, np.int64).T
    votes = np.stack([of_product for _, of_product in products]).astype(np.float64)
    votes *= model.coefficient[term[begin[first]], None]
    return _GameFactors(term, side, begin, of_factor, game_of, np.array(first, np.int64), votes)


def products_of_round(model: Model, number: int) -> list[Product]:
    """A round, counted from 0, as a sum of products of conditions and votes.

    A stump is one product with itself as factor, its side 0; a product one with all of its factors;
    a tree has one for each leaf, with the path to it.
    """
    part = model.terms(number, number + 1)
    children: dict[tuple[int, int], list[int]] = {}
    for term in range(part.start + 1, part.stop):
        place = part.start + int(model.parent[term]), int(model.side[term])
        children.setdefault(place, []).append(term)

    def expanded(term: int) -> list[Product]:
        below, above = (of_side[term] for of_side in model.scored)
        alone = (term, 1) not in children and (term, -1) not in children
        made: list[Product] = []
        if alone and np.array_equal(above, -below):
            made.append((((term, 0),), above))
        else:
            for side, votes in ((1, above), (-1, below)):
                inner = [
                    leaf for child in children.get((term, side), ()) for leaf in expanded(child)
                ]
                made += [
                    (((term, side), *conditions), of_leaf)
                    for conditions, of_leaf in inner or [((), votes)]
                ]
        for factor in children.get((term, 0), ()):
            more = expanded(factor)
            made = [(left + right, u * v) for left, u in made for right, v in more]
        return made

    return expanded(part.start)


def _shapley(
    known: NDArray[np.float64], unknown: NDArray[np.float64], first: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Shapley values of the factors of products with votes 1: float64 (f, n).

    `known` is float64 (f, n), `unknown` (f, 1), `first` the first factor of each product.
    """
    weights = np.empty_like(known)
    sizes = np.diff(np.append(first, known.shape[0]))
    for size in np.unique(sizes).tolist():
        at = first[sizes == size][:, None] + np.arange(size)  # (products, factors)
        a, b = known[at], unknown[at]
        total = np.zeros_like(a)
        points, masses = np.polynomial.legendre.leggauss(-(-size // 2))
        for t, mass in zip((points + 1) / 2, masses / 2, strict=True):
            mixed = b + t * (a - b)
            others = np.ones_like(a)
            others[:, 1:] = np.cumprod(mixed, axis=1)[:, :-1]
            others[:, :-1] *= np.cumprod(mixed[:, ::-1], axis=1)[:, -2::-1]
            total += mass * others
        weights[at] = (a - b) * total
    return weights


_NAMES = 6
"""Most classes that a line names."""
_LOG_2 = float(np.log(2.0))


def log_loss_falls(
    alpha: NDArray[np.float64], step_size: StepSize = FULL_STEP
) -> NDArray[np.float64]:
    """Falls of the log loss by rounds with these coefficients: -log sqrt(1 - G^2) by full steps.

    >>> bool(np.isclose(log_loss_falls(np.arctanh([0.6]))[0], -np.log(0.8)))
    True
    """
    if type(step_size) is StepSize and step_size.is_full:
        return np.asarray(np.logaddexp(alpha, -alpha) - _LOG_2)
    return np.array([step_size.fall(each) for each in alpha.tolist()], np.float64)


def round_falls(
    rounds: Sequence[Round],
    objective: Objective,
    step_size: StepSize,
    *,
    n_members: int = 1,
    start: float = 0.0,
) -> NDArray[np.float64]:
    """Falls of the log loss by the rounds of members in turn: float64 (R,), at least 0.

    `start` is the log loss before the first round of a member.
    """
    if not objective.measures_loss:
        return log_loss_falls(np.array([done.terms[0].alpha for done in rounds]), step_size)
    losses = [start] * n_members + [done.log_loss for done in rounds]
    before, after = np.array(losses[: len(rounds)]), np.array(losses[n_members:])
    return np.asarray(np.maximum(before - after, 0.0))


def _falls_of_values(terms: TermArrays) -> NDArray[np.float64]:
    """Mean over the values c of each round of log cosh(c), which alpha has for votes: (R,)."""
    if not terms.first.size:
        return np.empty(0)
    values = np.hstack([terms.below, terms.votes]) * terms.alpha[:, None]
    of_values = np.logaddexp(values, -values) - _LOG_2
    sums, counts = (
        np.add.reduceat(each.sum(axis=1), terms.first) for each in (of_values, values != 0.0)
    )
    return np.asarray(sums / np.maximum(counts, 1))


def term_importances(
    rounds: Sequence[Round],
    falls: NDArray[np.float64],
    bank: Bank,
    rows: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Importances of the terms of all rounds: float64 (M,), at least 0.

    `falls` (R,) are those of `round_falls`; `bank` and `rows` are those of the training, to see
    whether a feature has missing values.
    """
    reader = bank.reader(rows)
    missing: dict[int, bool] = {}

    def reads(term: Term) -> bool:
        if term.value > -np.inf:
            return True
        if term.feature not in missing:
            taken = reader.take(np.array([term.feature], np.int64), rows)
            missing[term.feature] = bool(np.any(taken == 0))
        return missing[term.feature]

    shared: list[float] = []
    for fall, done in zip(falls.tolist(), rounds, strict=True):
        terms = done.terms
        votes = terms[0].votes, terms[0].below
        constant = len(terms) == 1 and np.array_equal(*votes)  # type: ignore[arg-type]  # not None
        readers = [not constant and reads(term) for term in terms]
        shared += [fall / sum(readers) if reads_it else 0.0 for reads_it in readers]
    return np.array(shared, np.float64)


def model_importances(
    model: Model,
    reads: NDArray[np.bool_] | None = None,
    falls: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Importances of the terms of a model without its training rows: float64 (M,).

    `reads` (M,) says which terms read their feature. If it is not known, they are those with a
    threshold, as if no value were missing. `falls` (R,) are those of `round_falls`. If they are not
    known, they are log cosh(alpha), or the mean over the values c of a round of log cosh(c): exact
    for full steps of objectives that do not measure the loss, else estimates.
    """
    number = np.cumsum(model.parent < 0) - 1  # round of each term
    if reads is None:
        varies = np.any(model.votes != model.below, axis=1) | (np.bincount(number)[number] > 1)
        reads = np.asarray((model.threshold > -np.inf) & varies)
    readers = np.bincount(number[reads], minlength=len(model))[number]
    if falls is None:
        of_values = model.votes.dtype.kind == "f"
        falls = _falls_of_values(model) if of_values else log_loss_falls(model.alpha[model.first])
    return np.asarray(np.where(reads, falls[number] / np.maximum(readers, 1), 0.0))


def family_importances(model: Model, importances: NDArray[np.float64]) -> dict[str, float]:
    """Share of each family in the importances, by name; they sum to 1, or are all 0."""
    owner, _ = model.owners(model.feature)
    sums = np.bincount(owner, importances, len(model.families))
    names = [family.name for family in model.families]
    return dict(zip(names, _shares(sums).tolist(), strict=True))


def column_importances(
    model: Model, importances: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Share of each column of a table in the importances: float64, up to the last column in use.

    None if the features of a family are not columns, see `feature_columns`.
    """
    column = feature_columns(model)
    return None if column is None else _shares(np.bincount(column[model.feature], importances))


def feature_columns(model: Model) -> NDArray[np.int64] | None:
    """The column of each feature of families that have the attribute `columns`; else None."""
    columns = [getattr(family, "columns", None) for family in model.families]
    if any(
        columns_of is None or len(columns_of) != family.n_features
        for columns_of, family in zip(columns, model.families, strict=True)
    ):
        return None
    return np.concatenate([np.asarray(columns_of, np.int64) for columns_of in columns])


def _shares(sums: NDArray[Any]) -> NDArray[np.float64]:
    total = sums.sum()
    return np.asarray(sums / total if total > 0 else sums)


@dataclass(frozen=True)
class FamilyUse:
    """A family of a model: its share, features in use, all features, and terms."""

    name: str
    share: float
    n_used: int
    n_features: int
    n_terms: int


@dataclass(frozen=True)
class Cut:
    """A threshold of a feature: the number of its terms, and of stumps the score from it on.

    `score` is float64 (K,), the sum of alpha v_l over the stumps with this threshold: what values
    of at least the threshold add, and lower or missing ones subtract. None if some of the terms are
    parts of products or trees, whose votes depend on other features.
    """

    threshold: float
    n_terms: int
    share: float
    score: NDArray[np.float64] | None


@dataclass(frozen=True)
class FeatureUse:
    """A feature of a model: global index, name, family, share, and thresholds by share."""

    feature: int
    name: str
    family: str
    share: float
    n_terms: int
    cuts: tuple[Cut, ...]


@dataclass(frozen=True)
class Explanation:
    """What a model uses; families and features by decreasing share. `str` gives it in words."""

    n_rounds: int
    n_terms: int
    n_labels: int
    families: tuple[FamilyUse, ...]  # all of them
    features: tuple[FeatureUse, ...]  # the first ones
    n_used: int  # different features in use
    classes: tuple[str, ...]  # names of the labels; of two classes that of the positive one

    def __str__(self) -> str:
        kind = "stumps" if self.n_rounds == self.n_terms else f"rounds with {self.n_terms:,} terms"
        lines = [f"A model of {self.n_rounds:,} {kind} that reads {self.n_used:,} features."]
        lines += ["", "Families, by their share in the fall of the log loss in training:"]
        lines += [
            f"  {100 * family.share:5.1f} %  {family.name}: {family.n_used:,} of "
            f"{family.n_features:,} features in {_counted(family.n_terms)}"
            for family in self.families
        ]
        lines += ["", f"The first {len(self.features):,} features:"]
        for feature in self.features:
            where = f"{feature.name} ({feature.family})"
            lines.append(f"  {100 * feature.share:5.1f} %  {where}, {_counted(feature.n_terms)}")
            lines += [f"           {self._cut(cut)}" for cut in feature.cuts[:3]]
            if len(feature.cuts) > 3:
                lines.append(f"           and {len(feature.cuts) - 3:,} other thresholds")
        return "\n".join(map(printable, lines))

    def _cut(self, cut: Cut) -> str:
        at = f"at least {cut.threshold:.6g}" if cut.threshold > -math.inf else "not missing"
        if cut.score is None:
            return f"{at}: {_counted(cut.n_terms)} of products or trees"
        order = np.argsort(-np.abs(cut.score), kind="stable").tolist()
        parts = []
        for sign, word in ((1, "for"), (-1, "against")):
            names = [self.classes[label] for label in order if sign * cut.score[label] > 0]
            if names:
                more = f" and {len(names) - _NAMES} others" if len(names) > _NAMES else ""
                parts.append(f"{word} {', '.join(names[:_NAMES])}{more}")
        return f"{at}: {'; '.join(parts) or 'no vote'}"


def explain(
    model: Model,
    classes: Sequence[Any] | None = None,
    *,
    n_features: int = 10,
    importances: NDArray[np.float64] | None = None,
) -> Explanation:
    """The families of a model, and the first `n_features` of its features.

    `classes` are the names of the labels, both for two classes; by default their numbers.
    `importances` (M,) of the terms are by default those of `model_importances`. SettingError if
    there are not as many classes as labels, or importances as terms.
    """
    check_integer("n_features", n_features, 0)
    names = _class_names(model.n_labels, classes)
    shares = model_importances(model) if importances is None else np.asarray(importances)
    if shares.shape != model.feature.shape:
        raise SettingError(
            f"importances must be one for each of {model.feature.size} terms, got {shares.shape}"
        )
    shares = _shares(shares)
    owner, _ = model.owners(model.feature)
    families = [
        FamilyUse(
            family.name,
            float(shares[owner == k].sum()),
            np.unique(model.feature[owner == k]).size,
            family.n_features,
            int((owner == k).sum()),
        )
        for k, family in enumerate(model.families)
    ]
    used, at = np.unique(model.feature, return_inverse=True)
    sums = np.bincount(at, shares, used.size)
    first = np.argsort(-sums, kind="stable")[:n_features]
    features = [_feature(model, int(used[k]), shares) for k in first.tolist()]
    return Explanation(
        len(model),
        model.feature.size,
        model.n_labels,
        tuple(sorted(families, key=lambda family: -family.share)),
        tuple(features),
        used.size,
        names,
    )


def _feature(model: Model, feature: int, shares: NDArray[np.float64]) -> FeatureUse:
    family = model.families[int(model.owners(np.array([feature]))[0][0])]
    terms = np.flatnonzero(model.feature == feature)
    counts = np.diff(np.append(model.first, model.feature.size))
    round_of = np.searchsorted(model.first, terms, side="right") - 1
    alone = (counts[round_of] == 1) & np.all(model.below[terms] == -model.votes[terms], axis=1)
    cuts = []
    for threshold in np.unique(model.threshold[terms]).tolist():
        at_cut = model.threshold[terms] == threshold
        score = None
        if alone[at_cut].all():
            score = model.alpha[terms[at_cut]] @ model.votes[terms[at_cut]]
        cuts.append(Cut(threshold, int(at_cut.sum()), float(shares[terms[at_cut]].sum()), score))
    ordered = tuple(sorted(cuts, key=lambda cut: -cut.share))
    share = float(shares[terms].sum())
    return FeatureUse(feature, model.feature_name(feature), family.name, share, terms.size, ordered)


def _class_names(n_labels: int, classes: Sequence[Any] | None) -> tuple[str, ...]:
    if classes is None:
        return tuple(f"label {label}" for label in range(n_labels))
    names = [str(name) for name in classes]
    if n_labels == 1 and len(names) == 2:
        names = names[1:]
    if len(names) != n_labels:
        raise SettingError(
            f"classes must name the {n_labels} labels of the model, got {len(names)} names"
        )
    return tuple(names)


def _counted(n_terms: int) -> str:
    return f"{n_terms:,} term{'' if n_terms == 1 else 's'}"

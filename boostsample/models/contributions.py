"""Contributions: how much each feature adds to the scores of each row, with sums that are exact.

Contributions are Shapley values of the features of a round. The value of a set S of features is the
output of the round if only S is known. A term of a known feature follows the value of the row. An
unknown one goes to each of its sides with the probability of this side, whatever the others do: a
tree has the mean of its two sides, a factor of a product the mean of its two votes.

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

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from boostsample.models.model import Model

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

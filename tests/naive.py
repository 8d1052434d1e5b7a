"""AdaBoost.MH and its parts written from their definitions, to compare the engine with.

Nothing here uses the engine. Plain loops and float64 throughout; `FastNaive` alone adds up sparse
matrix products instead, because the large data sets need it, and is held to the plain loops by a
test of its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

#: Edges this close are one edge: float64 sums of a hundred thousand weights round by less.
TIE = 1e-13


@dataclass
class NaiveRound:
    """One round: stump, votes, edge, and how far ahead of every other candidate it is."""

    feature: int
    threshold: float
    votes: list[int]
    edge: float
    alpha: float
    log_loss: float
    lead: float = field(default=math.inf)


def phi(value: float, threshold: float) -> int:
    """+1 if x >= b else -1; missing: -1."""
    if math.isnan(value):
        return -1
    return 1 if value >= threshold else -1


def thresholds_of(values: Sequence[float]) -> list[float]:
    """-inf, then the midpoints of neighbouring values, ascending."""
    different = sorted({v for v in values if not math.isnan(v)})
    thresholds = [-math.inf]
    for low, high in itertools.pairwise(different):
        thresholds.append((low + high) / 2)
    return thresholds


def candidates_of(X: NDArray[Any]) -> list[tuple[int, float]]:
    """Features and their thresholds in the order of ties."""
    return [(j, b) for j in range(X.shape[1]) for b in thresholds_of(X[:, j].tolist())]


def initial_weights(Y: NDArray[Any], init: str, s: Sequence[float] | None = None) -> Any:
    """w_il proportional to s_i u_il, summing to 1: float64 (N, K)."""
    n, n_labels = Y.shape
    w = np.zeros((n, n_labels))
    for i in range(n):
        positive = [label for label in range(n_labels) if Y[i, label] > 0]
        negative = [label for label in range(n_labels) if Y[i, label] < 0]
        for label in range(n_labels):
            if n_labels == 1:
                u = 1.0
            elif init == "uniform" or not positive or not negative:
                u = 1.0 / n_labels
            else:
                u = 0.5 / len(positive if Y[i, label] > 0 else negative)
            w[i, label] = u * (1.0 if s is None else s[i])
    return w / w.sum()


def first_of_tie(X: NDArray[Any], tied: Sequence[int], candidates: Sequence[Any]) -> Any:
    """The first tied candidate (feature, threshold) with rows on both sides, or else the first."""
    return min(
        (candidates[at] for at in tied),
        key=lambda pair: len({phi(x, pair[1]) for x in X[:, pair[0]].tolist()}) < 2,
    )


def label_sums(
    column: Sequence[float], threshold: float, w: NDArray[Any], Y: NDArray[Any]
) -> list[float]:
    """sum_i w_il y_il phi(x_i) for each label."""
    sums = []
    for label in range(Y.shape[1]):
        so_far = 0.0
        for i in range(Y.shape[0]):
            so_far += w[i, label] * Y[i, label] * phi(column[i], threshold)
        sums.append(so_far)
    return sums


def edge_of(sums: Sequence[float]) -> float:
    """gamma of the best votes."""
    return sum(abs(s) for s in sums)


def alpha_of(edge: float) -> float:
    """1/2 log((1 + gamma) / (1 - gamma)), capped."""
    capped = min(edge, 1 - 1e-12)
    return 0.5 * math.log((1 + capped) / (1 - capped))


def update(
    w: NDArray[Any],
    Y: NDArray[Any],
    column: Sequence[float],
    threshold: float,
    votes: Sequence[int],
    alpha: float,
) -> NDArray[Any]:
    """w_il exp(-alpha v_l phi(x_i) y_il), normalised."""
    new = np.zeros_like(w)
    for i in range(w.shape[0]):
        for label in range(w.shape[1]):
            agrees = votes[label] * phi(column[i], threshold) * Y[i, label]
            new[i, label] = w[i, label] * math.exp(-alpha * agrees)
    return np.asarray(new / new.sum())


class Naive:
    """AdaBoost.MH with exhaustive search, written from the definitions.

    X (n, F) raw features, NaN missing; Y (n, K) of +1 and -1; s (n,) example weights or None.
    Candidates of a feature are -inf and the midpoints of its values in the rows with weight. Ties
    go to a cut with rows on both sides, then to the first feature, then to the lowest threshold; a
    label sum of 0 votes +1.
    """

    def __init__(
        self, X: NDArray[Any], Y: NDArray[Any], init: str, s: NDArray[Any] | None = None
    ) -> None:
        rows = np.arange(len(X)) if s is None else np.flatnonzero(s)
        self.X = X[rows].astype(np.float64)
        self.Y = Y[rows].astype(np.int64)
        self.w = initial_weights(self.Y, init, None if s is None else s[rows].tolist())
        self.log_loss = 0.0
        self.prepare()

    def prepare(self) -> None:
        """Candidates (feature, threshold) in the order of ties."""
        self.candidates = candidates_of(self.X)

    def edges(self) -> NDArray[np.float64]:
        """The edge of every candidate under the current weights."""
        return np.array([self.edge(*candidate) for candidate in self.candidates])

    def edge(self, feature: int, threshold: float) -> float:
        """The edge of one stump under the current weights."""
        return edge_of(self.sums(feature, threshold))

    def sums(self, feature: int, threshold: float) -> list[float]:
        """The label sums of one stump under the current weights."""
        return label_sums(self.X[:, feature].tolist(), threshold, self.w, self.Y)

    def next_round(self) -> NaiveRound:
        """Search, finish, update the weights."""
        edges = self.edges()
        tied = np.flatnonzero(edges >= edges.max() - TIE).tolist()
        others = edges[edges < edges.max() - TIE]
        feature, threshold = first_of_tie(self.X, tied, self.candidates)
        done = self.finish(feature, threshold)
        done.lead = float(edges.max() - others.max()) if others.size else math.inf
        return done

    def finish(self, feature: int, threshold: float) -> NaiveRound:
        """Votes, edge, alpha, loss and new weights for a given stump."""
        sums = self.sums(feature, threshold)
        votes = [1 if s >= 0 else -1 for s in sums]
        edge = edge_of(sums)
        alpha = alpha_of(edge)
        self.update(feature, threshold, votes, alpha)
        self.log_loss += 0.5 * math.log((1 + min(edge, 1 - 1e-12)) * (1 - min(edge, 1 - 1e-12)))
        return NaiveRound(feature, threshold, votes, edge, alpha, self.log_loss)

    def update(self, feature: int, threshold: float, votes: list[int], alpha: float) -> None:
        """New weights after a stump."""
        column = self.X[:, feature].tolist()
        self.w = update(self.w, self.Y, column, threshold, votes, alpha)


class FastNaive(Naive):
    """The same by sparse matrix products: the sums over the rows of each value of each feature."""

    def prepare(self) -> None:
        """An indicator matrix (values of all features, n), and where each feature's values lie."""
        n, n_features = self.X.shape
        self.candidates = []
        self._spans = []
        rows, first = [], 0
        for j in range(n_features):
            column = self.X[:, j]
            thresholds = thresholds_of(column.tolist())
            code = np.searchsorted(np.array(thresholds), column, side="right")  # 1 ..., NaN last
            code[np.isnan(column)] = 0
            rows.append(first + code)
            self._spans.append((first, first + len(thresholds) + 1))
            first += len(thresholds) + 1
            self.candidates.extend((j, b) for b in thresholds)
        indices = np.concatenate(rows)
        columns = np.tile(np.arange(n), n_features)
        self._indicator = scipy.sparse.csr_matrix(
            (np.ones(indices.size), (indices, columns)), shape=(first, n)
        )

    def edges(self) -> NDArray[np.float64]:
        """The edge of every candidate: total minus twice what lies below the threshold."""
        signed = self.w * self.Y
        total = signed.sum(axis=0)
        by_value = self._indicator @ signed
        found = []
        for start, stop in self._spans:
            below = np.cumsum(by_value[start:stop], axis=0)[:-1]
            found.append(np.abs(total - 2 * below).sum(axis=1))
        return np.concatenate(found)

    def _side(self, feature: int, threshold: float) -> NDArray[np.float64]:
        return np.where(self.X[:, feature] >= threshold, 1.0, -1.0)  # a comparison with NaN fails

    def sums(self, feature: int, threshold: float) -> list[float]:
        """The label sums of one stump under the current weights."""
        sums: list[float] = ((self.w * self.Y).T @ self._side(feature, threshold)).tolist()
        return sums

    def update(self, feature: int, threshold: float, votes: list[int], alpha: float) -> None:
        """New weights after a stump."""
        agrees = self.Y * votes * self._side(feature, threshold)[:, None]
        self.w = self.w * np.exp(-alpha * agrees)
        self.w /= self.w.sum()


class ExactNaive:
    """AdaBoost.MH in rational arithmetic: ties are ties. For a few rounds on small data only.

    X (n, F); Y (n, K) of +1 and -1; s (n,) whole numbers.
    """

    def __init__(
        self, X: NDArray[Any], Y: NDArray[Any], init: str, s: NDArray[Any] | None = None
    ) -> None:
        rows = np.arange(len(X)) if s is None else np.flatnonzero(s)
        self.X, self.Y = X[rows].astype(np.float64), Y[rows].astype(np.int64)
        n_labels = Y.shape[1]
        self.signed: list[list[Fraction]] = []
        for i, row in enumerate(self.Y.tolist()):
            one_sided = len(set(row)) == 1
            of_example = Fraction(1 if s is None else int(s[rows[i]]))
            u = [
                Fraction(1, n_labels)
                if init == "uniform" or one_sided
                else Fraction(1, 2 * row.count(y))
                for y in row
            ]
            self.signed.append([of_example * u[k] * row[k] for k in range(n_labels)])
        total = sum(abs(w) for row_ in self.signed for w in row_)
        self.signed = [[w / total for w in row_] for row_ in self.signed]
        self.candidates = candidates_of(self.X)

    def sums(self, feature: int, threshold: float) -> list[Fraction]:
        """sum_i w_il y_il phi(x_i) for each label."""
        column = self.X[:, feature].tolist()
        return [
            sum((phi(x, threshold) * row[k] for x, row in zip(column, self.signed, strict=True)),
                Fraction(0))
            for k in range(self.Y.shape[1])
        ]  # fmt: skip

    def edges(self) -> list[Fraction | int]:
        """The edge of every candidate."""
        return [sum(map(abs, self.sums(*candidate))) for candidate in self.candidates]

    def best(self) -> tuple[int, float, list[int], Fraction]:
        """Feature, threshold, votes and edge of the largest edge; ties as in `Naive`."""
        edges = self.edges()
        tied = [at for at, edge in enumerate(edges) if edge == max(edges)]
        feature, threshold = first_of_tie(self.X, tied, self.candidates)
        votes = [1 if s >= 0 else -1 for s in self.sums(feature, threshold)]
        return feature, threshold, votes, Fraction(max(edges))

    def is_tied(self) -> bool:
        """Whether several candidates have the largest edge."""
        edges = self.edges()
        return edges.count(max(edges)) > 1

    def update(self, feature: int, threshold: float, votes: Sequence[int], edge: Fraction) -> None:
        """Divide the weights on which the stump is right by 1 + gamma, the others by 1 - gamma."""
        for x, row in zip(self.X[:, feature].tolist(), self.signed, strict=True):
            for k, w in enumerate(row):
                right = votes[k] * phi(x, threshold) * w > 0
                row[k] = w / (1 + edge if right else 1 - edge)


def search(
    column: Sequence[int], rows: NDArray[Any], n_bins: int, two_sided: bool = False
) -> tuple[int, list[int], float, list[float]]:
    """Best threshold, its votes and edge, and the edge of every threshold 1, 2, ...

    Bins above the last one in use are no candidates, but 1 always is. Of equal edges the lowest
    threshold with rows on both sides is the best, or else the lowest. Votes are those of +1; those
    of -1 are the opposite ones, or follow if `two_sided`.
    """
    used = max([b for b in column if b > 0], default=1)
    edges, votes, bins = list[float](), list[list[int]](), set(column)
    for b in range(1, min(used, n_bins - 1) + 1):
        if b > 1 and b - 1 not in bins:  # b cuts as the threshold before
            edges.append(edges[-1])
            votes.append(votes[-1])
            continue
        if two_sided:
            sums = side_sums(column, b, rows, True) + side_sums(column, b, rows, False)
        else:
            sums = bin_sums(column, b, rows)
        edges.append(edge_of(sums))
        votes.append([1 if s >= 0 else -1 for s in sums])
    largest = max(edges)
    equal = [b for b, edge in enumerate(edges, 1) if edge == largest]
    best = min(equal, key=lambda b: (not divides(column, b), b))
    return best, votes[best - 1], edges[best - 1], edges


def side_sums(column: Sequence[int], b: int, rows: NDArray[Any], above: bool) -> list[float]:
    """Sum over the rows whose bin is at least b, or below it, of the signed weights."""
    inside = [(bin_ >= b) == above for bin_ in column]
    sums: list[float] = rows[np.array(inside, bool)].sum(axis=0, dtype=np.float64).tolist()
    return sums


def divides(column: Sequence[int], b: int) -> bool:
    """Whether some bins are below b and some are not."""
    return min(column) < b <= max(column)


def bin_sums(column: Sequence[int], b: int, rows: NDArray[Any]) -> list[float]:
    """Sum over the rows of the signed weights, + where the bin is at least b, else -."""
    high, low = (side_sums(column, b, rows, above) for above in (True, False))
    return [above - below for above, below in zip(high, low, strict=True)]


def pick(weight: Sequence[float], targets: Sequence[float]) -> list[int]:
    """The example at each target: the first whose cumulated weight lies beyond it."""
    found = []
    for target in targets:
        so_far, chosen = 0.0, len(weight) - 1
        for i, w in enumerate(weight):
            so_far += w
            if so_far > target:
                chosen = i
                break
        found.append(chosen)
    return found


def inclusion_probabilities(weight: Sequence[float], size: int) -> list[float]:
    """pi_i = min(1, w_i / c), c such that they sum to `size`: by bisection."""
    low, high = 0.0, sum(weight)
    for _ in range(200):
        c = (low + high) / 2
        if sum(min(1.0, w / c) for w in weight) > size:
            low = c
        else:
            high = c
    return [min(1.0, w / high) for w in weight]


def hashed_uniforms(seed: int, n: int) -> list[float]:
    """Numbers in [0, 1) of SplitMix64 (Steele, Lea and Flood 2014), 53 bits each."""
    mask, uniforms = 2**64 - 1, []
    for i in range(1, n + 1):
        word = (seed + i * 0x9E3779B97F4A7C15) & mask
        word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & mask
        word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & mask
        uniforms.append(((word ^ (word >> 31)) >> 11) * 2.0**-53)
    return uniforms


def pivotal(
    weight: Sequence[float], size: int, uniforms: Sequence[float]
) -> tuple[list[int], list[float]]:
    """Ordered pivotal sampling (Deville and Tille 1998): duels of neighbours.

    The duel of example i, when there is one, is decided by uniforms[i].
    """
    pi = inclusion_probabilities(weight, size)
    left = list(pi)
    fighter = -1
    for i in range(len(weight)):
        if left[i] > 1 - 1e-12 or weight[i] == 0:
            continue
        if fighter < 0:
            fighter = i
            continue
        a, b = left[fighter], left[i]
        if a + b < 1:  # one of them is out, the other one gets both chances
            if uniforms[i] < a / (a + b):
                left[fighter], left[i] = a + b, 0.0
            else:
                left[fighter], left[i] = 0.0, a + b
                fighter = i
        elif uniforms[i] < (1 - b) / (2 - a - b):  # one of them is in, the other keeps the rest
            left[fighter], left[i] = 1.0, a + b - 1
            fighter = i
        else:
            left[fighter], left[i] = a + b - 1, 1.0
    chosen = [i for i in range(len(weight)) if left[i] > 0.5]
    return chosen, [pi[i] for i in chosen]


def norms(rows: Sequence[Sequence[float]]) -> list[float]:
    """sqrt(sum over l of w_il^2) in units of the mean weight of a row."""
    mean = sum(abs(w) for row in rows for w in row) / len(rows)
    return [math.sqrt(sum((w / mean) ** 2 for w in row)) for row in rows]


def mvs_probabilities(norm: Sequence[float], size: int) -> list[float]:
    """p_i = min(1, r_i / mu), of sum `size`; lambda is the squared mean norm."""
    mean = sum(norm) / len(norm)
    return inclusion_probabilities([math.sqrt(n**2 + mean**2) for n in norm], size)


def heaviest(weight: Sequence[float], size: int) -> list[int]:
    """The rows of largest weights, the first ones of a tie."""
    order = sorted(range(len(weight)), key=lambda i: (-weight[i], i))
    return sorted(order[:size])


def n_heaviest(weight: Sequence[float], mass: float) -> int:
    """How many of the heaviest rows have at least this share of the weight."""
    so_far, total = 0.0, sum(weight)
    for number, w in enumerate(sorted(weight, reverse=True), start=1):
        so_far += w
        if so_far >= mass * total:
            return number
    return len(weight)


def mabsplit(edges: Sequence[float], n: int, n_all: int, z: float) -> list[int]:
    """Rows whose upper bound reaches the largest lower bound."""
    c = [z * math.sqrt((1 - h**2) / n * (n_all - n) / (n_all - 1)) for h in edges]
    most = max(h - b for h, b in zip(edges, c, strict=True))
    return [k for k, (h, b) in enumerate(zip(edges, c, strict=True)) if h + b >= most]


def sparrow(agreements: Sequence[int], target: float, delta: float) -> bool:
    """The stopping rule on the agreements, +1 or -1, of one stump."""
    c = [a - target for a in agreements]
    m, v = sum(c), sum(value**2 for value in c)
    if m <= 0:
        return False
    inner = 3 * v / (2 * abs(m))
    slow = math.log(math.log(inner)) if inner > math.e else 0.0
    return m > math.sqrt(3 * v * (2 * slow + math.log(2 / delta)))


def mp_boost(q: list[float], drawn: Sequence[int], chosen: int, mu: float) -> list[float]:
    """q_j = (1 - mu) q_j + mu r I_j(h) for the drawn features."""
    r = sum(q[j] for j in drawn)
    return [(1 - mu) * q[j] + mu * r * (j == chosen) if j in drawn else q[j] for j in range(len(q))]


def median_elimination(n: int, budget: int, delta: float) -> list[tuple[int, float]]:
    """Features and examples of each stage, in proportion to 4 / e_l^2 log(3 / d_l)."""
    epsilon, stages = 1.0 / 4, []
    delta /= 2
    while True:
        stages.append((n, 4 / epsilon**2 * math.log(3 / delta)))
        if n <= 2:
            break
        n, epsilon, delta = math.ceil(n / 2), 0.75 * epsilon, delta / 2
    unit = budget / sum(q * t for q, t in stages)
    return [(q, unit * t) for q, t in stages]


def acceptance(
    scores: Sequence[Sequence[float]], Y: NDArray[Any], u: NDArray[Any]
) -> tuple[list[float], list[list[float]]]:
    """FilterBoost's q_i, and the shares of the labels in them, from scores f.

    q_i is the mean of 1 / (1 + exp(y_il f_l)) by the weights u_il, times the sum of these.
    """
    accepted, shares = [], []
    for i in range(Y.shape[0]):
        parts = []
        for label in range(Y.shape[1]):
            parts.append(u[i, label] / (1.0 + math.exp(Y[i, label] * scores[i][label])))
        accepted.append(sum(parts))
        shares.append([part / accepted[-1] for part in parts])
    return accepted, shares


def n_significant(edges: Sequence[float], shuffled: Sequence[float], false_share: float) -> int:
    """Edges, descending, that keep the share of false ones; as `strategies.screening` has it."""
    ordered = sorted(shuffled)
    n_tail = max(len(ordered) // 10, 10)
    tail = ordered[-n_tail:]
    scale = math.fsum(x**2 - tail[0] ** 2 for x in tail) / n_tail
    kept = 0
    for k, measured in enumerate(edges, start=1):
        edge = measured * (1 - 1e-6)
        chance = (sum(x >= edge for x in ordered) + 0.5) / (len(ordered) + 1)
        if edge > tail[0]:
            chance = n_tail / len(ordered) * math.exp(-(edge**2 - tail[0] ** 2) / scale)
        if len(edges) * chance <= false_share * k:
            kept = k
    return kept

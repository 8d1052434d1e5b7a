"""Boosting with other objectives, written from the papers, on cuts that someone else chooses.

Nothing here uses the engine. A booster has binned features, weights of total 1 and scores f_l(x_i);
it evaluates any cut by brute force and adds the base classifier of a given cut or tree. Since the
caller chooses the cuts, ties need no rule. Letters are those of [SS99] (Schapire and Singer 1999,
"Improved boosting algorithms using confidence-rated predictions"): the cells X_j of a base
classifier, W+ and W- of a cell and label, Z, and y_il as Y_i[l].
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from tests.naive import initial_weights

Array = NDArray[Any]

#: Edges and accuracies are at most 1 - GAP where a logarithm would be infinite.
GAP = 1e-12


class Added(NamedTuple):
    """What a round added: edge, values added to the scores (cells, K), factor of the loss."""

    edge: float
    values: Array
    loss_factor: float


def signs(sums: Array) -> Array:
    """+1 or -1; a sum of 0 votes +1."""
    return np.where(sums >= 0, 1.0, -1.0)


def half_log_odds(right: Any, wrong: Any) -> Any:
    """1/2 log(right / wrong)."""
    return 0.5 * np.log(right / wrong)


def edge_from(z: float) -> float:
    """sqrt(1 - Z^2)."""
    return math.sqrt(max(0.0, 1.0 - z * z))


class NaiveBooster:
    """AdaBoost for cells: criterion of cuts, values of cells, update ([SS99] Figure 1).

    bins (N, F): phi(x) = +1 where the bin is at least the threshold; thresholds are 1, 2, ... Y (N,
    K): +1, -1, or 0 where an example says nothing of a label. Cells of a stump: 0 where phi = -1, 1
    where phi = +1. `groups` (N,) are queries and used by `Rank` alone.
    """

    def __init__(
        self,
        bins: NDArray[np.uint8],
        Y: NDArray[Any],
        weight_init: str = "balanced",
        example_weight: NDArray[Any] | None = None,
        learning_rate: float = 1.0,
        groups: NDArray[Any] | None = None,
    ) -> None:
        self.bins = np.asarray(bins)
        self.Y = np.asarray(Y, np.float64)
        self.n_examples, self.n_labels = self.Y.shape
        self.learning_rate = learning_rate
        given = np.ones(self.n_examples) if example_weight is None else example_weight
        self.user_weight = np.asarray(given, np.float64)
        self.n_weighted = np.count_nonzero(self.user_weight)  # N: others are no examples
        self.groups = np.zeros(self.n_examples, int) if groups is None else np.asarray(groups)
        self.scores = np.zeros(self.Y.shape)
        self.log_loss = 0.0
        self.stopped = False
        self.weights = self.first_weights(weight_init)

    def first_weights(self, weight_init: str) -> Array:
        """D_1(i, l): (N, K), total 1; 0 where y_il = 0."""
        return label_weights(self.Y, weight_init, self.user_weight)

    # ------------------------------------------------------------------------- search

    def search_rows(self) -> Array:
        """The rows that a search adds up by cell: D(i, l) y_il."""
        return self.weights * self.Y

    def cut_criterion(self, below: Array, above: Array) -> Array:
        """Criterion of cuts from the sums of both sides, last axis labels: sum_jl |S_jl|."""
        return np.asarray((np.abs(below) + np.abs(above)).sum(axis=-1))

    def split_criterion(self, below: Array, above: Array) -> Array:
        """The same for a node of a tree, whose two sides have values of their own."""
        return self.cut_criterion(below, above)

    def criterion(
        self,
        feature: int,
        threshold: int,
        inside: NDArray[np.bool_] | None = None,
    ) -> float:
        """Criterion of a stump, or of the split of the node with these examples."""
        of_node = np.ones(self.n_examples, bool) if inside is None else inside
        above = self.bins[:, feature] >= threshold
        rows = self.search_rows()
        sides = rows[of_node & ~above].sum(axis=0), rows[of_node & above].sum(axis=0)
        criterion = self.cut_criterion if inside is None else self.split_criterion
        return float(criterion(*sides))

    @functools.cached_property
    def in_bin(self) -> scipy.sparse.csr_array:
        """1 where an example is in a bin of a feature, else 0: (F n_bins, N)."""
        n_features, n_bins = self.bins.shape[1], int(self.bins.max()) + 1
        places = np.arange(n_features) * n_bins + self.bins, np.arange(self.n_examples)[:, None]
        at = [place.ravel() for place in np.broadcast_arrays(*places)]
        shape = n_features * n_bins, self.n_examples
        return scipy.sparse.csr_array((np.ones(self.bins.size), at), shape)

    def best_criterion(self, inside: NDArray[np.bool_] | None = None) -> float:
        """Largest criterion of all features and thresholds; -inf without a threshold.

        Thresholds of a feature are 1, 2, ... up to its largest bin in use.
        """
        rows, used = self.search_rows(), self.bins
        if inside is not None:
            rows, used = rows * inside[:, None], used[inside]
        if not used.size:
            return -math.inf
        by_bin = self.in_bin @ rows
        by_bin = by_bin.reshape(self.bins.shape[1], -1, rows.shape[1])
        below = np.cumsum(by_bin, axis=1)[:, :-1]
        criterion = self.cut_criterion if inside is None else self.split_criterion
        criteria = criterion(below, by_bin.sum(axis=1, keepdims=True) - below)
        thresholds = np.arange(1, below.shape[1] + 1)
        return float(criteria[thresholds <= used.max(axis=0)[:, None]].max(initial=-math.inf))

    # ------------------------------------------------------------------------- rounds

    def add_stump(self, feature: int, threshold: int) -> Added:
        """Add the base classifier of a cut; values (2, K) of the sides phi = -1, +1."""
        cells = (self.bins[:, feature] >= threshold).astype(int)
        return self.add(cells, self.stump_values(*self.cell_sums(cells, 2)))

    def add_tree(self, cells: NDArray[Any]) -> Added:
        """Add the base classifier whose leaves are these; values (J, K)."""
        cells = np.asarray(cells)
        return self.add(cells, self.values(*self.cell_sums(cells, int(cells.max()) + 1)))

    def cell_sums(self, cells: NDArray[Any], n_cells: int) -> tuple[Array, Array]:
        """W+_jl and W-_jl of each cell and label ([SS99] 4.1): the rows above 0, and below it."""
        rows = self.search_rows()
        plus = [np.maximum(rows[cells == j], 0).sum(axis=0) for j in range(n_cells)]
        minus = [np.maximum(-rows[cells == j], 0).sum(axis=0) for j in range(n_cells)]
        return np.array(plus), np.array(minus)

    def values(self, plus: Array, minus: Array) -> Array:
        """c_jl of the cells, from W+ and W-."""
        raise NotImplementedError

    def stump_values(self, plus: Array, minus: Array) -> Array:
        """c_jl of the two sides of a stump."""
        return self.values(plus, minus)

    def add(self, cells: NDArray[Any], c: Array) -> Added:
        """f += nu c; D_{t+1}(i, l) = D_t(i, l) exp(-y_il nu c_jl) / Z ([SS99] Figure 1)."""
        z_of_full_step = float((self.weights * np.exp(-self.Y * c[cells])).sum())
        step = self.learning_rate * c
        self.weights = self.weights * np.exp(-self.Y * step[cells])
        z = float(self.weights.sum())
        self.weights /= z
        return self.done(cells, edge_from(z_of_full_step), step, z)

    def done(self, cells: NDArray[Any], edge: float, step: Array, loss_factor: float) -> Added:
        """Add the values to the scores and the factor to the loss."""
        self.scores += step[cells]
        self.log_loss += math.log(loss_factor)
        return Added(edge, step, loss_factor)

    def predict(self) -> NDArray[np.int64]:
        """The class of largest score; of two classes 1 where f(x) >= 0."""
        if self.n_labels == 1:
            return (self.scores[:, 0] >= 0).astype(np.int64)
        return np.asarray(self.scores.argmax(axis=1))


def label_weights(Y: Array, weight_init: str, user_weight: Array) -> Array:
    """D_1(i, l) in proportion to s_i u_il, total 1; labels of 0 have no weight and do not count."""
    if np.all(Y != 0):
        return np.asarray(initial_weights(Y, weight_init, user_weight.tolist()))
    u = np.zeros(Y.shape)
    for i, row in enumerate(Y):
        for l, y in enumerate(row):
            both = (row > 0).any() and (row < 0).any()
            if y != 0 and (weight_init == "uniform" or not both):
                u[i, l] = 1 / np.count_nonzero(row)
            elif y != 0:
                u[i, l] = 0.5 / np.count_nonzero(row == y)
    u *= user_weight[:, None]
    return np.asarray(u / u.sum())


class MH(NaiveBooster):
    """Discrete AdaBoost.MH ([SS99] 6.2; [BK10] Figure 1): alpha times votes.

    A stump votes v_l on one side and -v_l on the other; a tree has the votes of each leaf.
    """

    def cut_criterion(self, below: Array, above: Array) -> Array:
        """sum_l |S_1l - S_0l|, the edge of opposite votes."""
        return np.asarray(np.abs(above - below).sum(axis=-1))

    def split_criterion(self, below: Array, above: Array) -> Array:
        """sum_jl |S_jl|."""
        return super().cut_criterion(below, above)

    def stump_values(self, plus: Array, minus: Array) -> Array:
        """alpha v_l phi, v_l = sign(S_1l - S_0l)."""
        S = plus - minus
        votes = signs(S[1] - S[0])
        return self.alpha(float(np.abs(S[1] - S[0]).sum())) * np.stack([-votes, votes])

    def values(self, plus: Array, minus: Array) -> Array:
        """alpha sign(S_jl)."""
        S = plus - minus
        return self.alpha(float(np.abs(S).sum())) * signs(S)

    def alpha(self, r: float) -> float:
        """1/2 log((1 + r) / (1 - r)), r = sum_il D(i, l) y_il h_l(x_i) ([SS99] Corollary 1)."""
        r = min(r, 1 - GAP)
        return float(half_log_odds(1 + r, 1 - r))


class RealMH(NaiveBooster):
    """Real AdaBoost.MH: domain partitioning ([SS99] 4.1) with smoothing ([SS99] 4.2)."""

    @property
    def smoothing(self) -> float:
        """Epsilon of [SS99] eq. 11: 1 / (N K)."""
        return float(1 / (self.n_weighted * self.n_labels))

    def values(self, plus: Array, minus: Array) -> Array:
        """c_jl = 1/2 log((W+ + e) / (W- + e)) ([SS99] eq. 11)."""
        return np.asarray(half_log_odds(plus + self.smoothing, minus + self.smoothing))


class Unsmoothed(RealMH):
    """Real AdaBoost.MH without smoothing ([SS99] eq. 9); no cell may be pure."""

    @property
    def smoothing(self) -> float:
        """None."""
        return 0.0


class Abstain(RealMH):
    """Real AdaBoost.MH with stumps that abstain on one side ([SS99] 4.3 and 3.1: h = 0 there)."""

    def stump_values(self, plus: Array, minus: Array) -> Array:
        """The values of the side of smaller Z, side phi = +1 if equal; 0 on the other side."""
        c = self.values(plus, minus)
        mass = (plus + minus).sum(axis=1)  # W_0 of [SS99] eq. 6, if that side abstains
        z = (plus * np.exp(-c) + minus * np.exp(c)).sum(axis=1) + mass[::-1]
        c[1 if z[1] > z[0] else 0] = 0.0
        return c

    def add_tree(self, cells: NDArray[Any]) -> Added:
        """ValueError: a tree has no side to abstain on."""
        raise ValueError("stumps abstain, trees do not; use add_stump()")


class Info(NaiveBooster):
    """InfoBoost (Aslam 2000): a coefficient alpha[j] for each output of the base classifier.

    With several labels the votes of a cell are the signs of its S_jl and share one alpha[j], whose
    accuracy and error are those of the cell: 1/2 log of their odds, as in AdaBoost.
    """

    def values(self, plus: Array, minus: Array) -> Array:
        """alpha[j] sign(S_jl)."""
        c = np.zeros(plus.shape)
        for j in range(len(plus)):
            right = np.maximum(plus[j], minus[j]).sum() + 1 / self.n_weighted
            wrong = np.minimum(plus[j], minus[j]).sum() + 1 / self.n_weighted
            c[j] = half_log_odds(right, wrong) * signs(plus[j] - minus[j])
        return c


class Gentle(NaiveBooster):
    """GentleBoost (Friedman, Hastie, Tibshirani 2000, Algorithm 4): a Newton step.

    f_m is the weighted least-squares regression of y on x: in each cell the mean of y.
    """

    def values(self, plus: Array, minus: Array) -> Array:
        """E_w(y | cell) = P_w(y = 1 | cell) - P_w(y = -1 | cell)."""
        mass = plus + minus
        return np.asarray(np.divide(plus - minus, mass, out=np.zeros(mass.shape), where=mass > 0))


class Bagging(NaiveBooster):
    """Bagging (Breiman 1996): the votes of cells of equal weight, each on a bootstrap sample.

    Before each round call `draw` with how often each example was drawn. The loss stays at 1, the
    edge is that on the sample, sum_jl |S_jl|.
    """

    def first_weights(self, weight_init: str) -> Array:
        """Those of the boosters; kept for the draws."""
        self.undrawn = super().first_weights(weight_init)
        return self.undrawn

    def draw(self, counts: NDArray[Any]) -> None:
        """Weights in proportion to u_il times the counts (N,) of a bootstrap sample."""
        drawn = self.undrawn * np.asarray(counts, np.float64)[:, None]
        self.weights = drawn / drawn.sum()

    def values(self, plus: Array, minus: Array) -> Array:
        """sign(S_jl)."""
        return signs(plus - minus)

    def add(self, cells: NDArray[Any], c: Array) -> Added:
        """f += c; no step size, no update."""
        agreement = float((self.weights * self.Y * c[cells]).sum())
        return self.done(cells, agreement, c, 1.0)


class M1(NaiveBooster):
    """AdaBoost.M1 (Freund and Schapire 1996, Figure 1): base classifiers predict one class.

    `weights` are the distribution p (N,) of examples, uniform at first whatever `weight_init`.
    Scores are votes, +1 for the class predicted and -1 for others, times alpha / 2; their argmax is
    that of sum alpha [h(x) = c], alpha = log(1 / beta). One label is two classes, its score that
    of class 1.
    """

    def first_weights(self, weight_init: str) -> Array:
        """D(i): (N,)."""
        labels = self.Y.argmax(axis=1) if self.n_labels > 1 else (self.Y[:, 0] > 0).astype(int)
        self.n_classes = max(2, self.n_labels)
        self.classes: NDArray[Any] = labels
        return np.asarray(self.user_weight / self.user_weight.sum())

    def search_rows(self) -> Array:
        """The weight of an example in the column of its class: (N, classes)."""
        return np.asarray(
            self.weights[:, None] * (self.classes[:, None] == np.arange(self.n_classes))
        )

    def cut_criterion(self, below: Array, above: Array) -> Array:
        """The accuracy, sum_j max_c A_jc; with two classes 2 a - 1 = sum_j |S_j|."""
        accuracy = np.asarray(below.max(axis=-1) + above.max(axis=-1))
        if self.n_classes > 2:
            return accuracy
        return np.asarray(2 * accuracy - (below + above).sum(axis=-1))

    def add_stump(self, feature: int, threshold: int) -> Added:
        """The tree of two leaves."""
        return self._add_cells((self.bins[:, feature] >= threshold).astype(int), 2)

    def add_tree(self, cells: NDArray[Any]) -> Added:
        """Each leaf predicts its heaviest class."""
        return self._add_cells(np.asarray(cells), int(np.max(cells)) + 1)

    def _add_cells(self, cells: NDArray[Any], n_cells: int) -> Added:
        rows = self.search_rows()
        predicted = np.zeros(n_cells, int)
        for j in range(n_cells):
            masses = rows[cells == j].sum(axis=0)
            predicted[j] = masses.argmax()
            if self.n_labels == 1:  # a sum of 0 votes +1
                predicted[j] = int(masses[1] >= masses[0])
        right = predicted[cells] == self.classes
        accuracy = float(self.weights[right].sum())
        if accuracy <= self.chance():
            self.stopped = True
            return Added(0.0, np.zeros((n_cells, self.n_labels)), 1.0)
        accuracy = min(accuracy, 1 - GAP)
        alpha = self.alpha(accuracy)
        nu_alpha = self.learning_rate * alpha
        self.weights = np.where(right, self.weights * math.exp(-nu_alpha), self.weights)
        self.weights = self.weights / self.weights.sum()
        labels = np.arange(self.n_labels) if self.n_labels > 1 else np.array([1])
        votes = np.where(predicted[:, None] == labels, 1.0, -1.0)
        edge = edge_from(self.z(accuracy, alpha))
        return self.done(cells, edge, nu_alpha / 2 * votes, self.z(accuracy, nu_alpha))

    def chance(self) -> float:
        """Training ends at this accuracy: the error is 1/2 or more."""
        return 0.5

    def alpha(self, accuracy: float) -> float:
        """log(1 / beta), beta = error / (1 - error)."""
        return math.log(accuracy / (1 - accuracy))

    def z(self, accuracy: float, alpha: float) -> float:
        """Factor of the bound on the training error, 2 sqrt(error (1 - error)) of a full step."""
        return accuracy * math.exp(-alpha / 2) + (1 - accuracy) * math.exp(alpha / 2)


class SAMME(M1):
    """SAMME (Zhu, Zou, Rosset, Hastie 2009, Algorithm 2): M1 that needs only 1/K accuracy."""

    def chance(self) -> float:
        """1/K: alpha is 0."""
        return float(1 / self.n_classes)

    def alpha(self, accuracy: float) -> float:
        """log((1 - err) / err) + log(K - 1)."""
        return super().alpha(accuracy) + math.log(self.n_classes - 1)

    def z(self, accuracy: float, alpha: float) -> float:
        """Factor of the multi-class exponential loss, mean of exp(-1/K y^T f).

        Here y has 1 for the class and -1/(K-1) for others, and f adds beta times such a vector,
        beta = (K-1)^2 / K alpha (their eq. 11 and Lemma 1).
        """
        K = self.n_classes
        right, wrong = math.exp(-(K - 1) / K * alpha), math.exp(alpha / K)
        return accuracy * right + (1 - accuracy) * wrong


class Rank(MH):
    """RankBoost.B (Freund, Iyer, Schapire, Singer 2003, Figure 2): bipartite, within each query.

    `weights` are v (N,); D(x_0, x_1) is in proportion to v(x_0) v(x_1) over the pairs of a query
    with y = -1 and +1. Potentials pi(x) are the sums over pairs, y_i v_i V_q(-y_i); total |pi| is
    1, and with it r = sum pi(x) h(x) for h(x) of +1 and -1.
    """

    def first_weights(self, weight_init: str) -> Array:
        """The user weights, unnormalised: only the pairs have a total."""
        self.pair_mass = self._pairs(self.user_weight)
        return self.user_weight.copy()

    def _pairs(self, v: Array) -> float:
        """Sum over pairs of v(x_0) v(x_1)."""
        y, total = self.Y[:, 0], 0.0
        for query in np.unique(self.groups):
            of_query = self.groups == query
            total += float(v[of_query & (y > 0)].sum() * v[of_query & (y < 0)].sum())
        return total

    def search_rows(self) -> Array:
        """pi(x_i): (N, 1)."""
        y, v = self.Y[:, 0], self.weights
        potential = np.zeros(self.n_examples)
        for i in range(self.n_examples):
            opponents = (self.groups == self.groups[i]) & (y == -y[i])
            potential[i] = y[i] * v[i] * v[opponents].sum()
        return np.asarray(potential / np.abs(potential).sum())[:, None]

    def alpha(self, r: float) -> float:
        """1/4 log((1 + r) / (1 - r)): half of eq. 4, for h in {-1, +1} instead of {0, 1}."""
        return 0.5 * super().alpha(r)

    def add(self, cells: NDArray[Any], c: Array) -> Added:
        """v_i exp(-y_i nu c); the loss is the mean over pairs of exp(f(x_0) - f(x_1))."""
        r = float(np.abs((self.search_rows() * signs(c)[cells]).sum()))
        step, before = self.learning_rate * c, self._pairs(self.weights)
        self.weights = self.weights * np.exp(-self.Y * step[cells])[:, 0]
        return self.done(cells, r, step, self._pairs(self.weights) / before)


class OC(MH):
    """AdaBoost.OC (Schapire 1997): pseudo-loss of a coloring in each round.

    `weights` are D~(i, c), 0 for the class y_i. Before each round call `color` with mu (K,). Scores
    are sum alpha ([h(x) = mu(c)] - 1/2).
    """

    def first_weights(self, weight_init: str) -> Array:
        """D~_1(i, c) = [c != y_i] / (N (K - 1)), by user weight."""
        self.classes: NDArray[Any] = self.Y.argmax(axis=1)
        wrong = np.zeros(self.Y.shape)
        for i, y in enumerate(self.classes):
            for c in range(self.n_labels):
                wrong[i, c] = 0.0 if c == y else self.user_weight[i]
        return np.asarray(wrong / wrong.sum())

    def color(self, mu: NDArray[Any]) -> None:
        """U_t = sum D~ [mu(y_i) != mu(c)] and D_t(i) = sum_c D~ [mu(y_i) != mu(c)] / U_t."""
        self.mu = np.asarray(mu, np.float64)
        self.own = self.mu[self.classes]
        differs = self.own[:, None] != self.mu
        self.share = float((self.weights * differs).sum())
        self.of_examples = (self.weights * differs).sum(axis=1) / self.share

    def search_rows(self) -> Array:
        """D_t(i) mu(y_i): (N, 1)."""
        return np.asarray((self.of_examples * self.own)[:, None])

    def add(self, cells: NDArray[Any], c: Array) -> Added:
        """Pseudo-loss e, alpha = 1/2 log((1 - e) / e); D~ times exp(alpha ([y out] + [c in])).

        The edge is that of h on D_t, the loss the mean over wrong classes of exp(f_c - f_y).
        """
        h = signs(c)[cells][:, 0]
        inside = h[:, None] == self.mu
        out = ~inside[np.arange(self.n_examples), self.classes]
        penalty = out[:, None].astype(float) + inside
        pseudo_loss = 0.5 * float((self.weights * penalty).sum())
        alpha = self.learning_rate * 0.5 * math.log((1 - pseudo_loss) / pseudo_loss)
        self.weights = self.weights * np.exp(alpha * (penalty - 1.0))
        z = float(self.weights.sum())
        self.weights /= z
        self.log_loss += math.log(z)
        self.scores += alpha * (inside - 0.5)
        edge = float(np.abs((self.search_rows()[:, 0] * h).sum()))
        return Added(edge, 0.5 * alpha * signs(c) * self.mu, z)


NAIVE_BOOSTERS: dict[str, type[NaiveBooster]] = {
    "mh": MH,
    "real-mh": RealMH,
    "abstain": Abstain,
    "info": Info,
    "gentle": Gentle,
    "m1": M1,
    "samme": SAMME,
    "bagging": Bagging,
    "rank": Rank,
    "oc": OC,
}


def naive_booster(
    bins: NDArray[np.uint8], Y: NDArray[Any], objective: str, **settings: Any
) -> NaiveBooster:
    """The booster of an objective by name; see `NaiveBooster` for its settings."""
    return NAIVE_BOOSTERS[objective](bins, Y, **settings)


def loss_based_decoding(scores: Array, code: NDArray[Any]) -> NDArray[np.int64]:
    """The row of the code (classes, B) of least sum_b exp(-M_cb f_b); 0 costs exp(0).

    Allwein, Schapire and Singer 2000, eq. 5.
    """
    loss = np.zeros((len(scores), len(code)))
    for i, f in enumerate(scores):
        for c, word in enumerate(code):
            loss[i, c] = sum(math.exp(-m * f_b) for m, f_b in zip(word, f, strict=True))
    return np.asarray(loss.argmin(axis=1))


def hamming_decoding(scores: Array, code: NDArray[Any]) -> NDArray[np.int64]:
    """The row of the code of least sum_b (1 - sign(M_cb f_b)) / 2 (their eq. 4, sign(0) = 0)."""
    distance = np.zeros((len(scores), len(code)))
    for i, f in enumerate(scores):
        for c, word in enumerate(code):
            distance[i, c] = ((1 - np.sign(word * f)) / 2).sum()
    return np.asarray(distance.argmin(axis=1))


class AccuracyStump(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # without annotations
    """The cut and classes of largest weighted accuracy, by brute force."""

    def fit(self, X: Any, y: Any, sample_weight: Any) -> AccuracyStump:
        self.classes_ = np.unique(y)
        self.weights_ = sample_weight / sample_weight.sum()
        best = -1.0
        for feature in range(X.shape[1]):
            for threshold in np.unique(X[:, feature]):
                above = X[:, feature] >= threshold
                sides = [
                    [self.weights_[side & (y == c)].sum() for c in self.classes_]
                    for side in (~above, above)
                ]
                accuracy = sum(map(max, sides))
                if accuracy > best + 1e-12:
                    best, self.cut_ = accuracy, (feature, int(threshold))
                    self.votes_ = [self.classes_[int(np.argmax(side))] for side in sides]
        return self

    def predict(self, X: Any) -> Any:
        feature, threshold = self.cut_
        return np.array(self.votes_)[(X[:, feature] >= threshold).astype(int)]

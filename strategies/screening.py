"""Screening: one pass over all columns ranks them, and searches then draw from the best ones.

For tables of many more columns than rows, of which few are useful, or many and none of them alone.
Our own strategy, after iterated sure independence screening (Fan and Lv 2008, J. R. Stat. Soc. B
70, 849-911) and the draws of columns by their gain of MP-Boost and EMA-FS (arXiv 2606.26337).

Pass: the exact edges of all F columns under the current weights, and those of up to 2,000 columns
on shuffled examples, which are as large as chance makes them. Above its upper tenth, the chance of
an edge is taken as P(e > x) = 0.1 exp(-b (x^2 - u^2)), u the quantile: edges are sums of many
weights, and b is one over the mean of x^2 - u^2 beyond u. Where classes are unbalanced, many edges
are that of the constant stump, and equal but for rounding. The pool has the columns that keep the
share of false ones below `false_share` (Benjamini and Hochberg 1995); if these are fewer than 20,
the first 100. A pass follows in the first search of all examples, and when their number has tripled
since the last one; its columns, if any keep the share, join the pool. If the budget does not
suffice for all columns at once, the pass takes as many searches as need be, in random order.

Between passes: a search of Q = `n_features` columns of the pool, drawn anew each time so that
useful columns take turns. Nodes of trees are searched in the same way.

- Above 5,000 examples, on all of them: samples would lose sparse columns, which few examples tell
  from 0. All columns have the same chance.
- Else on half of the examples, drawn by weight; those of a node are all different. Of a pool above
  10 Q, which so few examples cannot tell apart, Q draws are made with replacement, column j with a
  probability in proportion to (e_j^2 - m^2)^3, m the median of the shuffled edges.

Cost per iteration: F + min(F, 2000) exact searches in a pass, which is the default budget, and Q N
or Q N / 2 looks in others; O(F log F) in a pass. 4 F bytes of state, and 16 for each of the pool.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.checks import check_integer, check_number
from boostsample.step import Step
from boostsample.strategies.uniform_naive import sampled_stump
from boostsample.strategy import NodeFeatures, OneSample, Pool, Strategy, Stump, Stumps

_SHUFFLED = 2000
"""Columns that are searched on shuffled examples."""
_FEWEST, _PADDED = 20, 100
"""A pool of fewer columns is padded to so many."""
_FEWEST_DRAWN, _MOST_DRAWN = 50, 200
_MANY = 5000
"""Of more examples, all are searched, on the fewest columns."""
_LARGE_POOL, _POWER = 10, 3
"""Of a pool of more than so many searches, columns are drawn by this power of their excess."""
_TAIL, _LEAST_TAIL = 0.1, 20
"""Part of the shuffled edges that the tail is fitted to, and the fewest edges of a fit."""
_ROUNDING = 1e-6
"""Edges are equal up to this share."""
_GROWTH = 3
"""Searches of all examples until the next pass, as a multiple of those until the last one."""


@dataclass(eq=False, repr=False)
class Screening(Strategy):
    """Rank all columns in an exact pass, then search draws of the best.

    Parameters
    ----------
    n_features : int or None
        Columns Q of a search between passes; None is N / 10, 50 to 200, and 50 for more than 5,000
        examples.
    false_share : float
        Expected share of the pool that only chance has brought there, above 0 and below 1.
    """

    leaves_budget = "searches between passes cost less than a pass"

    n_features: int | None = None
    false_share: float = 0.2

    def default_budget(self, pool: Pool) -> int:
        """A pass at once."""
        return (pool.n_features + min(pool.n_features, _SHUFFLED)) * pool.n_examples

    def settings_in_use(self, pool: Pool, budget: int, n_rounds: int) -> Mapping[str, Any]:
        """With the number of columns."""
        return {"n_features": self._n_drawn(pool), "false_share": self.false_share}

    def _n_drawn(self, pool: Pool) -> int:
        if self.n_features is not None:
            return self.n_features
        if pool.n_examples > _MANY:
            return _FEWEST_DRAWN
        return min(max(pool.n_examples // 10, _FEWEST_DRAWN), _MOST_DRAWN)

    def one_sample(self, pool: Pool, budget: int) -> OneSample | None:
        """Q of a node and the scheme of its draws, unless all examples are searched."""
        if type(self).choose is not Screening.choose or pool.n_examples > _MANY:
            return None
        return OneSample(min(self._n_drawn(pool), pool.n_features), "distinct", 0.5, of_nodes=True)

    def features_of_nodes(self) -> NodeFeatures:
        """Columns of the pool; of all, while there is no pool."""
        ends = self.chances_ if self._draws_by_chance(self.n_drawn_) else np.empty(0)
        return NodeFeatures(self.n_drawn_, pool=self.pool_, ends=ends)

    def start(self, pool: Pool, budget: int, n_rounds: int, rng: np.random.Generator) -> None:
        """Check the settings; nothing is known of any column."""
        if self.n_features is not None:
            check_integer("n_features", self.n_features, 1)
        check_number("false_share", self.false_share, 0.0, 1.0, above=True)
        self.n_drawn_ = min(self._n_drawn(pool), pool.n_features)
        self.searches_, self.next_pass_ = 0, 1
        self.edges_ = np.zeros(pool.n_features, np.float32)
        self.pool_, self.left_ = np.empty((2, 0), np.int64)
        self.shuffled_, self.chances_ = np.empty(0), np.empty(0)
        self.many_ = pool.n_examples > _MANY

    def choose(self, step: Step) -> Stump:
        """Search the next columns of a pass if one is due, else columns of the pool."""
        if step.whole:
            self.searches_ += not self.left_.size
            if self.searches_ == self.next_pass_ and not self.left_.size:
                self.left_ = step.rng.permutation(step.n_features)
                self.shuffled_ = np.empty(0)
                self.next_pass_ *= _GROWTH
            if self.left_.size:
                return self._continue_pass(step).best()
        elif not self.many_:
            return sampled_stump(step, self.features_of_nodes(), 0.5)
        if step.whole:
            step.note(pool=self.pool_.size)
        features = self._drawn(step)
        most = step.n_examples if self.many_ else step.n_examples // 2
        size = max(1, min(most, step.remaining // features.size))
        return step.search(features, step.draw(size)).best()

    def _continue_pass(self, step: Step) -> Stumps:
        """Search columns that are left on all examples, and some on shuffled ones."""
        most = max(step.budget // step.n_examples, 1)
        # One search in eleven is of shuffled examples, and what all columns leave.
        n_shuffled = max(-(-most // 11), most - self.left_.size) if most > 1 else 0
        n_shuffled = min(n_shuffled, _SHUFFLED - self.shuffled_.size)
        part, self.left_ = np.split(self.left_, [most - n_shuffled])
        part.sort()
        stumps = step.search(part, step.draw(step.budget // part.size))
        self.edges_[part] = stumps.edge
        n_shuffled = min(n_shuffled, part.size, step.remaining // step.n_examples)
        if n_shuffled:
            some = np.sort(step.rng.choice(part, n_shuffled, replace=False, shuffle=False))
            of_chance = step.search(some, step.draw_shuffled(), purpose="modelling")
            self.shuffled_ = np.append(self.shuffled_, of_chance.edge)
        if not self.left_.size:
            self._end_pass()
        step.note(pool=self.pool_.size)
        return stumps

    def _end_pass(self) -> None:
        """Set the pool, or add to it what has become useful."""
        order = np.argsort(-self.edges_, kind="stable")
        n_useful = n_significant(self.edges_[order], self.shuffled_, self.false_share)
        pool = order[: n_useful if n_useful >= _FEWEST or self.pool_.size else _PADDED]
        self.pool_ = np.union1d(self.pool_, pool)
        least = np.median(self.shuffled_) if self.shuffled_.size else 0.0
        excess = self.edges_[self.pool_].astype(float) ** 2 - least**2
        self.chances_ = np.cumsum(np.maximum(excess, 1e-6) ** _POWER)

    def _draws_by_chance(self, n: int) -> bool:
        return not self.many_ and self.pool_.size > _LARGE_POOL * n

    def _drawn(self, step: Step) -> NDArray[np.int64]:
        """Columns of the pool; of all, while there is no pool."""
        q = min(self.n_drawn_, step.remaining)
        if not self.pool_.size:
            return step.sample_features(q)
        if self.pool_.size <= q:
            return self.pool_
        if not self._draws_by_chance(q):
            return np.sort(step.rng.choice(self.pool_, q, replace=False, shuffle=False))
        drawn = np.searchsorted(self.chances_, step.rng.random(q) * self.chances_[-1])
        return np.asarray(self.pool_[np.unique(drawn)], np.int64)


def n_significant(
    edges: NDArray[np.floating], shuffled: NDArray[np.floating], false_share: float
) -> int:
    """How many of the edges, descending, keep the expected share of those of chance below a number.

    `shuffled` are edges of chance. The largest k with F p_k <= false_share k, p_k the chance of an
    edge as large as the k-th (Benjamini and Hochberg 1995); 0 with fewer than 20 shuffled edges. An
    edge must be larger than one of chance by more than rounding.

    >>> n_significant(np.array([0.9, 0.3, 0.2]), np.linspace(0, 0.4, 200), 0.2)
    1
    """
    if shuffled.size < _LEAST_TAIL:
        return 0
    ordered = np.sort(shuffled)
    n_tail = max(int(_TAIL * ordered.size), _LEAST_TAIL // 2)
    squares = ordered[-n_tail:] ** 2
    least = edges.astype(float) * (1.0 - _ROUNDING)
    # By rank below the tail, and by the fit beyond it, where no shuffled edge may lie.
    at = (ordered.size - np.searchsorted(ordered, least) + 0.5) / (ordered.size + 1)
    excess = least**2 - squares[0]
    scale = max(float(np.mean(squares - squares[0])), 1e-12)
    beyond = excess > 0.0
    at[beyond] = n_tail / ordered.size * np.exp(-excess[beyond] / scale)
    few = edges.size * at <= false_share * np.arange(1, edges.size + 1)
    return int(few.nonzero()[0].max(initial=-1)) + 1

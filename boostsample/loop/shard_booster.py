"""The boosting loop over shards: `Booster` with rows that other processes own."""

from __future__ import annotations

import copy
from typing import Any

from boostsample.checks import MOST_ROUNDS, check_count, check_known
from boostsample.errors import SettingError, ShardError
from boostsample.family import Family
from boostsample.learner import Learner
from boostsample.loop.booster import Booster
from boostsample.objective import Objective
from boostsample.records import Round
from boostsample.registry import make_learner, make_objective
from boostsample.rows.weights import WEIGHT_INITS
from boostsample.shards.exchange import Exchange, Transport
from boostsample.shards.shard_rows import ShardRows
from boostsample.strategy import Strategy
from boostsample.threads import Threads, n_threads


class ShardBooster(Booster):
    """AdaBoost.MH on rows that are spread over shards, one round at a time.

    As `Booster`; history rows also have the columns `bytes` and `messages`. Results depend on the
    sizes of the shards, not on where they are nor on time: see docs/shards.md.

    Parameters
    ----------
    shards : Transport
        `boostsample.dask.DaskShards`, or `LocalShards` for shards in this process. Loads the rows.
    strategy, learner, n_rounds, budget, weight_init, rng : object
    max_model_features, learning_rate, smoothing : object
        As of `Booster`. User weights belong to the sources.
    objective : str, Objective or None
        As of `Booster`: one whose weights follow from the scores, as `mh`, `real-mh`, `info` and
        `gentle`.
    n_jobs : int
        Threads of this process that share a search on sampled rows; those of the shards are a
        setting of the transport.

    Attributes
    ----------
    families, n_examples, n_labels : tuple of Family, int, int
        Families of the features, N examples with weight in all shards, and K.
    exchange : Exchange
        Counters: `n_bytes`, `n_messages`, and `n_lost` shards loaded again.

    Raises
    ------
    DataError
        If the shards do not fit each other, or hold no example with weight.
    ShardError
        If shards are lost and cannot be loaded again. The booster stays at the end of its last
        round; `small_state` needs no shard.
    SettingError
        If a setting is out of range.

    Notes
    -----
    A round of a stump takes two exchanges if the strategy searches once, the search and the finish,
    and one more for each further search on a sample. Every search of a product takes these, every
    split of a tree takes one more, and so does a draw of the scheme `filter`. With an objective of
    real values, the loss of a round takes one more.
    """

    def __init__(
        self,
        shards: Transport,
        strategy: str | Strategy,
        learner: str | Learner | None = None,
        n_rounds: int = 100,
        budget: int | str | None = None,
        weight_init: str = "balanced",
        rng: Any = None,
        *,
        n_jobs: int = 1,
        max_model_features: int | None = None,
        learning_rate: float = 1.0,
        smoothing: float = 0.0,
        objective: str | Objective | None = None,
    ) -> None:
        check_known("weight_init", weight_init, WEIGHT_INITS)
        self.n_rounds = check_count("n_rounds", n_rounds, MOST_ROUNDS)
        builder: Learner = copy.deepcopy(make_learner(learner))
        boosted: Objective = copy.deepcopy(make_objective(objective))
        _check_objective(boosted)
        self.exchange = Exchange(shards, weight_init, builder.one_search, boosted.two_sided)
        rows = ShardRows(self.exchange, Threads(n_threads(n_jobs)))
        self.families: tuple[Family, ...] = rows.families
        self.n_examples, self.n_labels = rows.n_examples, rows.n_labels
        boosted.check(rows.n_labels, one_search=builder.one_search)
        settings = budget, weight_init, rng, max_model_features, learning_rate, smoothing
        self._begin(rows, strategy, builder, *settings, boosted)

    def next_round(self) -> Round:
        """As of `Booster.next_round`; ShardError if shards are lost for good."""
        before = self.exchange.n_bytes, self.exchange.n_messages
        start = self._small_state()
        try:
            done = super().next_round()
        except ShardError:
            self._restore_small(start)  # the strategy may have drawn and learned
            raise
        now = self.exchange.n_bytes, self.exchange.n_messages
        for row in done.rows:
            row["bytes"], row["messages"] = (b - a for a, b in zip(before, now, strict=True))
        return done


def _check_objective(objective: Objective) -> None:
    """SettingError unless each shard can weight and update its rows alone."""
    changes_weights = type(objective).label_weights is not Objective.label_weights
    if changes_weights or not objective.exponential or objective.resamples:
        raise SettingError(
            f"over shards, weights must follow from scores, but those of {objective.name!r} do "
            "not; use an objective such as 'mh', 'real-mh', 'info' or 'gentle', or train in one "
            "process"
        )

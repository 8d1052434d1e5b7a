"""The boosting loop over shards: `Booster` with rows that other processes own."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from boostsample.checks import MOST_ROUNDS, check_count
from boostsample.errors import DataError, ShardError, unknown
from boostsample.family import Family
from boostsample.hashing import sha256_of_json
from boostsample.learner import Learner
from boostsample.learners.terms import leaves_of
from boostsample.loop.booster import Booster
from boostsample.loop.run_facts import run_facts, shard_facts
from boostsample.records import Pool, Round, Term, family_infos
from boostsample.registry import make_learner
from boostsample.rows.weights import WEIGHT_INITS
from boostsample.shards import messages
from boostsample.shards.exchange import Exchange
from boostsample.shards.shard_searcher import ShardSearcher
from boostsample.shards.shard_weights import ShardTargets, ShardWeights
from boostsample.shards.transport import Transport
from boostsample.strategy import Strategy
from boostsample.threads.threads import Threads, n_threads


class ShardBooster(Booster):
    """AdaBoost.MH on rows that are spread over shards, one round at a time.

    Strategies and learners are those of `Booster`, unchanged, and so are Step, ledger, records and
    history, which has the columns `bytes` and `messages` more. The examples of the run are those of
    the shards in their order. Results depend on the sizes of the shards, not on where they are nor
    on time: see docs/shards.md.

    Parameters
    ----------
    shards : Transport
        `boostsample.dask.DaskShards`, or `LocalShards` for shards in this process. Loads the rows.
    strategy, learner, n_rounds, budget, weight_init, rng : object
    max_model_features, learning_rate, smoothing : object
        As of `Booster`. User weights belong to the sources.
    n_jobs : int
        Threads of this process that share a search on sampled rows; those of the shards are a
        setting of the transport.

    Attributes
    ----------
    families : tuple of Family
        Families of the features.
    n_examples, n_labels : int
        N, examples with weight in all shards, and K.
    exchange : Exchange
        Counters: `n_bytes`, `n_messages`, `most_bytes` of one shard, `n_lost` shards loaded again.

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
    split of a tree takes one more, and so does a draw of the scheme `filter`.
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
    ) -> None:
        if weight_init not in WEIGHT_INITS:
            raise unknown("weight_init", weight_init, WEIGHT_INITS)
        self.n_rounds = check_count("n_rounds", n_rounds, MOST_ROUNDS)
        self._given = weight_init, None
        self._log_loss, self._continued = 0.0, ""
        self._learner = copy.deepcopy(make_learner(learner))
        self.exchange = Exchange(shards, weight_init, self._learner.one_search)
        self.families: tuple[Family, ...] = self.exchange.loaded[0].families
        weights: Any = ShardWeights(self.exchange)
        searcher: Any = ShardSearcher(weights, Threads(n_threads(n_jobs)))
        rows: Any = ShardTargets(weights)
        searcher.compile()
        self._weights, self._searcher, self._rows = weights, searcher, rows
        self.n_examples, self.n_labels = int(weights.n_examples), int(weights.n_labels)
        pool = Pool(family_infos(self.families), searcher.n_features, self.n_examples)
        self._begin(pool, strategy, budget, rng, max_model_features, learning_rate, smoothing)

    def facts(self) -> dict[str, Any]:
        """As of `Booster.facts`; the examples are those of each shard. One exchange."""
        digests = self.exchange.ask(messages.Digest())
        loaded = self.exchange.loaded
        examples = shard_facts(self.n_labels, [one.n_examples for one in loaded], digests)
        bank: Any = SimpleNamespace(
            families=self.families,
            n_examples=sum(one.n_rows for one in loaded),
            digest=lambda: _joined(digests),
        )
        of_run = self.strategy, self._learner, bank, examples, self._stream, self._settings()
        return run_facts(*of_run)

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

    def state(self) -> dict[str, Any]:
        """As of `Booster.state`, with the weights of all shards. One exchange."""
        return {**self._small_state(), "weights": self._weights.state()}

    def small_state(self) -> dict[str, Any]:
        """As of `Booster.small_state`; no exchange, so that it can be had when shards are lost."""
        weights: Any = self._weights
        small = weights.small_state()
        return {**self._small_state(), "weights": small.pop("digest"), **small}

    def replay(
        self, rounds: Sequence[Sequence[Term]], edges: Sequence[float], state: dict[str, Any]
    ) -> None:
        """As of `Booster.replay`; an exchange for each stump and split."""
        weights: Any = self._weights
        for terms, edge in zip(rounds, edges, strict=True):
            self._rows.begin()
            self._update_weights(terms, leaves_of(terms, self._targets()), edge)
        if weights.digest != state["weights"]:
            weights.restart()
            raise DataError(
                f"the weights after {state['round']} rounds must be those of the saved state, but "
                "differ; train the run from its first round on the same shards"
            )
        weights.restore_small({"digest": state["weights"], "predicted": state["predicted"]})
        self._restore_small(state)


def _joined(digests: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """One checksum for each part of the banks of all shards."""
    names = [name for name in digests[0] if name not in ("labels", "rows", "weights")]
    return {name: sha256_of_json([one[name] for one in digests]) for name in names}

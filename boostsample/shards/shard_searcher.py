"""Draws and searches over shards.

A search asks each shard for what its features need: the bins of the sampled rows, whose weights are
sent once, or the histogram of the feature if that is smaller. A nested sample begins with the rows
of the sample before: of features that were searched on that one, only the bins of the other rows
are sent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.errors import SettingError
from boostsample.records import Stumps
from boostsample.rows.sampling_schemes import LOGISTIC_SCHEMES, UNPROMISED, nested_scheme
from boostsample.shards import messages as m
from boostsample.shards.allocation import allocate, samples_are_joined
from boostsample.shards.exchange import Exchange
from boostsample.shards.merge import MergedSearch
from boostsample.shards.server import histogram_bins
from boostsample.shards.shard_weights import ShardView, ShardWeights

#: Bytes of histograms in one answer, about.
_MOST_BYTES = 2**26


class _Drawn:
    """A draw of nested samples, and what the driver knows of their rows.

    Attributes
    ----------
    draws : list of Draw
        One for each shard.
    scale : float or None
        Edges are sums over rows times `scale` / T, or times `scale` if samples are not joined; None
        is the inverse of the mass of the target.
    features, bins_of : ndarray of int64, int
        Features whose bins are known, on the rows of this sample; -1 is none.
    bins : list of ndarray of uint8, shape (features, rows)
        One for each shard.
    weights_of, weights : int, list of ndarray of float32, shape (rows, K)
        Likewise; of the rows of one sample or more.
    """

    def __init__(self, draws: list[m.Draw], view: ShardView, scale: float | None) -> None:
        self.draws, self.view, self.scale = draws, view, scale
        self.joined = samples_are_joined(draws[0].scheme)
        self.features, self.bins_of, self.bins = np.empty(0, np.int64), -1, list[Any]()
        nothing = np.empty((0, view.n_labels), np.float32)
        self.weights_of, self.weights = -1, [nothing for _ in draws]

    def n_rows(self, at: int) -> int:
        """Draws of sample number `at`; more than its different rows."""
        return sum(draw.sizes[at] for draw in self.draws) if at >= 0 else 0


class ShardSample(NamedTuple):
    """A sample of a draw, or all examples of a view if `drawn` is None; in place of `Rows`."""

    view: ShardView
    size: int
    drawn: _Drawn | None = None
    number: int = 0

    def part(self, shard: int) -> m.Part:
        """The sample in a message to a shard."""
        if self.drawn is None:
            return m.Part(self.view.target)
        return m.Part(self.view.target, self.drawn.draws[shard], self.number)

    def scale(self) -> float:
        """Factor of the sums over its rows; known after an answer."""
        if self.drawn is None:
            return 1.0 / self.view.mass
        own = self.drawn.scale
        whole = 1.0 / self.view.mass if own is None else own
        return whole / self.size if self.drawn.joined else whole


class _ShardBank:
    """What the loop asks a bank after a finish."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    @property
    def values_computed(self) -> int:
        """Feature values that lazy banks had computed at the last finish."""
        return self._exchange.values_computed

    def threshold(self, feature: int, b: int) -> float:
        """Raw threshold of the stump finished last."""
        return self._exchange.value


class ShardSearcher:
    """Draws and searches of one run over shards: in place of `Searcher`."""

    def __init__(self, weights: ShardWeights, threads: Any) -> None:
        self.weights: ShardView = weights
        self._whole, self._exchange = weights, weights.exchange
        self.bank = _ShardBank(weights.exchange)
        self.n_examples, self.n_labels = weights.n_examples, weights.n_labels
        self._n_bins = histogram_bins(weights.exchange.loaded[0].n_bins)
        self.n_features = int(self._n_bins.size)
        self._members: NDArray[np.int64] | None = None
        self._merged = MergedSearch(weights, threads, self._n_bins)
        self.two_sided = False
        self._draws = [0]  # number of draws so far, shared by the searchers of a run

    def compile(self) -> None:
        """Compile all kernels of searches on the driver."""
        self._merged.compile()

    def over(self, rows: ShardView, two_sided: bool = False) -> ShardSearcher:
        """The same searches on other rows of the run, with one or two sides."""
        return self._but(weights=rows, n_examples=rows.n_examples, two_sided=two_sided)

    def among(self, members: NDArray[np.int64]) -> ShardSearcher:
        """The same searches of some features, which are then 0, 1, ..., for all."""
        return self._but(n_features=members.size, _members=members)

    def _but(self, **changes: Any) -> ShardSearcher:
        other = object.__new__(ShardSearcher)
        other.__dict__ = {**self.__dict__, **changes}
        return other

    def column(self, feature: int) -> int:
        """The number of a feature stands for its bins, which are in the shards."""
        return feature

    def draw(self, size: int, scheme: str, rng: np.random.Generator) -> ShardSample:
        """A draw of `size` examples; all with exact weights if `size` is N."""
        return self.draw_nested([size], scheme, rng)[0]

    def draw_nested(
        self, sizes: Sequence[int], scheme: str, rng: np.random.Generator
    ) -> list[ShardSample]:
        """Samples of ascending sizes. No exchange, but one for logistic weights."""
        nested_scheme(scheme)
        if scheme in UNPROMISED and scheme not in LOGISTIC_SCHEMES:
            raise SettingError(
                "over shards, scheme must be filter or one that promises unbiased edges, got "
                f"{scheme!r}, which {UNPROMISED[scheme].why}; use iid, stratified or distinct"
            )
        view = self.weights
        small = [size for size in sizes if size < self.n_examples]
        exact = [ShardSample(view, size) for size in sizes[len(small) :]]
        if not small:
            return exact
        shares, odds, scale = view.shares, 0.0, None
        if scheme in LOGISTIC_SCHEMES:
            odds = math.exp(self._whole.log_loss) / self._whole.total
            answers = self._exchange.ask(m.Logistic(view.target, odds))
            masses = np.array([one.totals[0] for one in answers])
            shares, scale = masses / masses.sum(), 1.0 / math.fsum(masses)
        sent = allocate(small, shares, view.counts, scheme, rng)  # type: ignore[arg-type]  # an array of counts
        seed = int(rng.integers(1 << 63))
        self._draws[0] += 1
        draws = [
            m.Draw(
                self._draws[0],
                view.target,
                scheme,
                seed,
                tuple(sent.sizes[:, k].tolist()),
                tuple(sent.units[:, k].tolist()),
                odds,
            )
            for k in range(self._exchange.n_shards)
        ]
        drawn = _Drawn(draws, view, scale)
        return [ShardSample(view, size, drawn, k) for k, size in enumerate(small)] + exact

    def n_heaviest(self, mass: float) -> int:
        """SettingError: no shard knows the weights of the others."""
        raise SettingError(
            f"over shards, the number of examples with a mass must not be asked for, got {mass}; "
            "use a strategy without Step.n_heaviest, or train in one process"
        )

    # ----------------------------------------------------------------------------------- searches

    def search(self, features: NDArray[np.int64], rows: ShardSample, exact: bool) -> Stumps:
        """The best stump of each feature on a sample. One exchange."""
        wanted = features if self._members is None else self._members[features]
        if rows.drawn is None:
            found = self._search_exact(wanted, rows)
        else:
            found = self._search_sample(wanted, rows, rows.drawn)
        return replace(found, feature=features)

    def _search_exact(self, features: NDArray[np.int64], rows: ShardSample) -> Stumps:
        """Histograms of all examples in float64, in several exchanges if they are large."""
        sizes = np.cumsum(self._n_bins[features]) * (8 * self.n_labels)
        parts = np.split(features, np.flatnonzero(np.diff(sizes // _MOST_BYTES)) + 1)
        found = []
        for part in parts:
            answers = self._ask_histograms(part, rows)
            found.append(self._on_histograms(part, answers, rows))
        all_found = _joined(found)
        edges = all_found.edge
        best = edges.max()
        edges[edges >= best - self._merged.tie(self.n_examples)] = best
        return all_found

    def _ask_histograms(self, features: NDArray[np.int64], rows: ShardSample) -> list[m.Found]:
        nothing = np.empty(0, np.int64)
        return self._exchange.ask(lambda k: m.Search(rows.part(k), nothing, features, -1, -1, True))

    def _on_histograms(
        self, features: NDArray[np.int64], answers: Sequence[m.Found], rows: ShardSample
    ) -> Stumps:
        """Best stumps on the histograms of the shards, added in their order."""
        sums = reduce(np.add, [one.sums.astype(np.float64) for one in answers])  # keeps -0.0
        last = np.maximum.reduce([one.last for one in answers])
        how = rows.scale(), rows.size, self.two_sided
        return self._merged.on_histograms(features, sums, last, *how)

    def _search_sample(
        self, features: NDArray[np.int64], rows: ShardSample, drawn: _Drawn
    ) -> Stumps:
        """Rows or histograms of a sample, whatever is smaller."""
        known = self._known(features, rows, drawn)
        compact = self._as_rows(features, rows, drawn, known)
        if known is not None and not compact.all():
            known = known[compact]
        by_rows, by_sums = features[compact], features[~compact]
        after = (
            (drawn.bins_of if known is not None else -1),
            (drawn.weights_of if drawn.joined else -1),
        )
        answers: list[m.Found] = self._exchange.ask(
            lambda k: m.Search(rows.part(k), by_rows, by_sums, *after, False)
        )
        found = []
        if by_rows.size:
            found.append(self._on_rows(by_rows, rows, drawn, known, answers))
        if by_sums.size:
            found.append(self._on_histograms(by_sums, answers, rows))
        if len(found) == 1:
            return found[0]
        order = np.argsort(np.argsort(~compact, kind="stable"))
        return _joined(found)[order]

    def _known(
        self, features: NDArray[np.int64], rows: ShardSample, drawn: _Drawn
    ) -> NDArray[np.int64] | None:
        """Where the bins of these features are known on a smaller sample; None if not of all."""
        if not drawn.joined or not 0 <= drawn.bins_of <= rows.number:
            return None
        order = np.argsort(drawn.features, kind="stable")
        places = np.searchsorted(drawn.features, features, sorter=order)
        at = order[np.minimum(places, order.size - 1)]
        return at if np.array_equal(drawn.features[at], features) else None

    def _as_rows(
        self,
        features: NDArray[np.int64],
        rows: ShardSample,
        drawn: _Drawn,
        known: NDArray[np.int64] | None,
    ) -> NDArray[np.bool_]:
        """The features whose rows take fewer bytes than their histograms, in all shards."""
        n = drawn.n_rows(rows.number)
        n_new = n - (drawn.n_rows(drawn.bins_of) if known is not None else 0)
        n_weights = n - (drawn.n_rows(drawn.weights_of) if drawn.joined else 0)
        of_sums = self._n_bins[features] * (4 * self.n_labels * self._exchange.n_shards)
        compact = n_new < of_sums
        saved = int(np.maximum(of_sums - n_new, 0).sum())
        if saved <= max(n_weights, 0) * 4 * self.n_labels:
            compact[:] = False
        return compact

    def _on_rows(
        self,
        features: NDArray[np.int64],
        rows: ShardSample,
        drawn: _Drawn,
        known: NDArray[np.int64] | None,
        answers: Sequence[m.Found],
    ) -> Stumps:
        """Best stumps on the rows of the shards, one shard after another."""
        bins, weights = [], []
        for k, one in enumerate(answers):
            mine, own = one.bins, one.weights
            if known is not None:
                mine = np.concatenate([drawn.bins[k][known], mine], axis=1)
            if drawn.joined:
                own = np.concatenate([drawn.weights[k], own])
            bins.append(mine)
            weights.append(own)
        if drawn.joined:
            drawn.features, drawn.bins_of, drawn.bins = features, rows.number, bins
            drawn.weights_of, drawn.weights = max(rows.number, drawn.weights_of), weights
        of_sample = [own[: mine.shape[1]] for own, mine in zip(weights, bins, strict=True)]
        given = np.concatenate(bins, axis=1), np.concatenate(of_sample)
        return self._merged.on_rows(features, *given, rows.scale(), self.two_sided)

    def bin_totals(self, features: NDArray[np.int64]) -> NDArray[np.float64]:
        """As of `Searcher.bin_totals`. One exchange."""
        wanted = features if self._members is None else self._members[features]
        request = m.BinTotals(self.weights.target, wanted)
        answers: list[m.Totals] = self._exchange.ask(request)
        return np.asarray(np.add.reduce([one.totals for one in answers]))

    def signed_edges(self, stumps: Stumps, rows: ShardSample) -> NDArray[np.float64]:
        """Signed edges of stumps on a sample: float64 (Q,). One exchange."""
        features = stumps.feature if self._members is None else self._members[stumps.feature]
        given = features, stumps.threshold, stumps.votes, stumps.below
        answers: list[m.Totals] = self._exchange.ask(lambda k: m.Edges(rows.part(k), *given))
        return np.asarray(np.add.reduce([one.totals for one in answers]) * rows.scale())


def _joined(parts: Sequence[Stumps]) -> Stumps:
    """The stumps of several searches of one kind."""
    columns = ([getattr(part, name) for part in parts] for name in Stumps.__slots__)
    joined: list[Any] = [None if one[0] is None else np.concatenate(one) for one in columns]
    return Stumps(*joined)

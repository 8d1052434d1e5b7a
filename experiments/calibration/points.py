"""The points (Q,T) of a calibration: candidates, measured searches and predicted edges."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank
from boostsample.errors import SettingError
from boostsample.planning.expected_edge import expected_edge
from boostsample.planning.mixture import Mixture
from boostsample.rows.sampling_schemes import known_scheme
from boostsample.rows.searcher import Searcher
from boostsample.rows.weights import SignedWeights, initial_weights
from boostsample.strategy import FamilyInfo, Stumps

POINT_COLUMNS: tuple[str, ...] = (
    "data",
    "strategy",
    "settings",
    "round",
    "kind",
    "n_features",
    "n_examples",
    "edge",
    "edge_error",
    "edge_estimated",
    "edge_predicted",
    "repeats",
)
"""`kind` is `grid` for a point and `strategy` for the strategy; `edge` is E[G*] with its standard
error `edge_error`; `edge_estimated` is the mean H of the winner."""
CHOICE_COLUMNS = (
    "round",
    "n_features",
    "n_examples",
    "families",
    "edge_predicted",
    "edge_estimated",
    "edge",
    "edge_expected",
    "edge_expected_error",
    "best_features",
    "best_examples",
    "best_edge",
    "best_edge_error",
    "share",
    "share_error",
    "noise_examples",
    "noise_bias",
    "noise_variance",
)
"""Q, T and families of the run's search, the predicted edge, H and G of its winner; E[G*] of such
a round (`edge_expected`); the best point and its E[G*]; the former as a share of the latter; on
`noise_examples` examples: mean H - G, and T times its variance (`PointMeasurer.noise`)."""

_MOST_SIZES = 16

Values = NDArray[np.float64]


def candidate_points(n_features: int, n_examples: int, budget: int) -> dict[int, tuple[int, ...]]:
    """For each T, descending, all Q with Q T <= budget, ascending.

    Q is doubled from the largest one that the budget allows on all examples up to F, and halved
    down to 1; by larger factors if these are more than 16 numbers. T is what the budget leaves for
    each Q, at most N.

    >>> candidate_points(25, 60, 300)
    {60: (1, 2, 5), 30: (1, 2, 5, 10), 15: (1, 2, 5, 10, 20)}
    """
    most = min(n_features, budget)
    exact = max(1, min(most, budget // n_examples))
    step = 2
    while len(sizes := _sizes(exact, most, step)) > _MOST_SIZES:
        step *= 2
    examples = sorted({min(n_examples, budget // q) for q in sizes}, reverse=True)
    return {t: tuple(q for q in sizes if q * t <= budget) for t in examples}


def _sizes(start: int, most: int, step: int) -> list[int]:
    factors = [step**k for k in range(max(start, most).bit_length() + 1)]
    smaller = {max(1, start // factor) for factor in factors}
    return sorted(smaller | {start * factor for factor in factors if start * factor <= most})


def point_model(row: Mapping[str, Any], sizes: Sequence[int]) -> Mixture | None:
    """The distribution of the edge of a uniformly drawn feature, as a strategy noted it in `row`.

    Reads the notes `proportion`, `mean` and `deviation`, one number a component, or `family_mean`
    and `family_deviation`, one number a family, weighted by their `sizes`. Returns None without
    such notes, or if they are not a mixture.
    """

    def noted(name: str) -> Values:
        found: list[float] = []
        while (value := _number(row.get(f"{name}_{len(found)}"))) is not None:
            found.append(value)
        return np.array(found, dtype=np.float64)

    proportions, means, deviations = noted("proportion"), noted("mean"), noted("deviation")
    if proportions.size == 0:
        means, deviations = noted("family_mean"), noted("family_deviation")
        proportions = np.array(sizes, dtype=np.float64) / sum(sizes)
    try:
        return Mixture(proportions, means, deviations**2)
    except SettingError:
        return None


def chosen_point(row: Mapping[str, Any], families: Sequence[FamilyInfo]) -> dict[str, Any]:
    """The choices of a run in one round, from its history row.

    Q and T are planned numbers if the strategy noted them, else those searched. Families are listed
    if the strategy models them.
    """
    q, t = _number(row.get("planned_features")), _number(row.get("planned_examples"))
    if q is None or t is None:
        q, t = row["n_features"], row["n_examples"]
    counts = {each.name: row.get(f"family_features_{k}") for k, each in enumerate(families)}
    searched = ", ".join(f"{name} {count}" for name, count in counts.items() if count)
    if not searched and "family_mean_0" in row:  # one family a round
        searched = row["family"]
    return {
        "round": row["round"],
        "n_features": int(q),
        "n_examples": int(t),
        "families": searched,
        "edge_predicted": _number(row.get("expected_edge")),
        "edge_estimated": row["edge_estimated"],
        "edge": row["edge"],
    }


def _number(noted: Any) -> float | None:
    """A note if it is a finite number."""
    return noted if isinstance(noted, int | float) and math.isfinite(noted) else None


def predict_point(model: Mixture, n_features: int, n_examples: int, n_all: int) -> float:
    """e(Q,T) as strategies compute it: without noise if T is all N examples."""
    return expected_edge(model, n_features, math.inf if n_examples >= n_all else n_examples)


class PointMeasurer:
    """Searches on a copy of a run's weights, and the true edges of their winners.

    `rows` are the N training examples in the bank, `labels` has shape (N, K), and `weights` names
    the initial label weights.
    """

    def __init__(
        self, bank: Bank, rows: NDArray[np.int64], labels: NDArray[np.int8], weights: str
    ) -> None:
        self._weights = SignedWeights(labels, initial_weights(labels, weights), rows)
        self._searcher = Searcher(bank.reader(rows), self._weights)
        self._n_features = bank.n_features
        self._edges: dict[tuple[int, int], float] = {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Set the weights to those of a `Booster.state()`."""
        self._weights.restore(state["weights"])
        self._edges.clear()

    def true_edge(self, feature: int, threshold: int) -> float:
        """G of a stump, with votes chosen on all N examples as in the loop; O(N), cached."""
        key = (feature, threshold)
        if key not in self._edges:
            sums = self._weights.label_sums(self._searcher.column(feature), threshold)
            self._edges[key] = min(float(np.abs(sums).sum()), 1.0)
        return self._edges[key]

    def measure(
        self, columns: Mapping[int, Sequence[int]], scheme: str, rng: np.random.Generator
    ) -> Values:
        """G and H of one search at each point: float64 (points, 2), in the order of `columns`.

        Draws one sample for each T and searches the largest Q; smaller Q use the first of these
        features, so that a column costs one search. All columns search the same features, so that
        points differ by T and not by chance.
        """
        most = max(map(max, columns.values()))
        features = rng.choice(self._n_features, size=most, replace=False)
        found = []
        for n_examples, sizes in columns.items():
            stumps = self._search(features[: max(sizes)], n_examples, scheme, rng)
            exact = n_examples >= self._weights.n_examples
            for size in sizes:
                best = stumps[:size].best()
                edge = self.true_edge(best.feature, best.threshold)
                found.append((edge, edge if exact else best.edge))  # as in the loop
        return np.array(found)

    def noise(
        self, n_features: int, n_examples: int, scheme: str, rng: np.random.Generator
    ) -> tuple[float, float]:
        """Mean of H - G over features on one sample, and T times its variance over them.

        The latter is the part of v in [DF11] eq. 7 that can change the winner of a search: it
        leaves out the noise common to all features. H is the edge at the best threshold on the
        sample, G the edge of the same stump on all examples.
        """
        features = rng.choice(self._n_features, size=n_features, replace=False)
        stumps = self._search(features, n_examples, scheme, rng)
        pairs = zip(stumps.feature.tolist(), stumps.threshold.tolist(), strict=True)
        off = stumps.edge - np.array([self.true_edge(*pair) for pair in pairs])
        return float(off.mean()), float(n_examples * off.var(ddof=1))

    def _search(
        self, features: NDArray[np.int64], n_examples: int, scheme: str, rng: np.random.Generator
    ) -> Stumps:
        exact = n_examples >= self._weights.n_examples
        if exact:
            rows = self._weights.exact()
        else:
            rows = self._weights.draw(n_examples, known_scheme(scheme), rng)
        stumps = self._searcher.search(features, rows, exact)
        self._weights.release()
        return stumps

"""Calibrate planning: measure the true edges that searches of Q features on T examples find.

docs/calibration.md has the method. Measurements use copies and separate random streams, so that the
run has the same bits without them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostsample.banks.bank import Bank
from boostsample.checks import MOST_REPEATS, check_count
from boostsample.errors import SettingError
from boostsample.experiments.cells.tasks import task_groups
from boostsample.experiments.cells.training import TrainingSplit, next_round
from boostsample.experiments.common.progress import Progress
from boostsample.experiments.data.dataset import Dataset
from boostsample.experiments.plan.plan import Plan
from boostsample.experiments.plan.prepared import Prepared, prepare
from boostsample.experiments.plan.variants import Variant
from boostsample.loop.budgets import EQUAL
from boostsample.planning.expected_edge import expected_edge
from boostsample.planning.mixture import Mixture
from boostsample.rows.sampling_schemes import known_scheme, unbiased_scheme
from boostsample.rows.searcher import Searcher
from boostsample.rows.weights import SignedWeights, initial_weights
from boostsample.strategy import FamilyInfo, Stumps

_GRID, _BEST, _REPLAY, _NOISE = range(4)  # random streams of a round
_MOST_SIZES = 16
_NOISE_FEATURES, _NOISE_SAMPLES = 64, 10

Values = NDArray[np.float64]


@dataclass
class EdgeStudy:
    """The measurements of one run.

    Each of `rows` is a pair (Q,T) of a round, by T and then Q, or the strategy (`kind`), the last
    of a round: `edge` is E[G*] with its standard error `edge_error`, `edge_estimated` the mean H of
    the winner, `edge_predicted` e(Q,T).

    Each of `choices` is a round: Q, T and families of the run's search, the predicted edge, H and G
    of its winner; E[G*] of such a round (`edge_expected`); the best pair and its E[G*], and the
    former as a share of the latter; on `noise_examples` examples mean H - G, and T times its
    variance (`EdgeMeasurer.noise`). `models` has for each round the strategy's model of the edge of
    a uniformly drawn feature, if it noted one.
    """

    prepared: Prepared
    repeats: int  # searches of each pair, and replays of each round
    scheme: str  # by which examples are drawn for the pairs
    rows: list[dict[str, Any]]
    choices: list[dict[str, Any]]
    models: dict[int, Mixture]
    notes: tuple[str, ...]

    @property
    def variant(self) -> Variant:
        """The strategy of the run."""
        return self.prepared.variants[0]

    @property
    def mean_share(self) -> tuple[float, float]:
        """Mean of `share` over the rounds, with its standard error."""
        n = len(self.choices)
        mean = sum(choice["share"] for choice in self.choices) / n
        return mean, math.hypot(*(choice["share_error"] for choice in self.choices)) / n

    @property
    def n_examples(self) -> int:
        """N, the number of training examples."""
        return self.prepared.pool(0).n_examples

    @property
    def budget(self) -> int:
        """Budget of a search of the run, in looks."""
        return self.prepared.budget(self.variant, 0)


def check_request(plan: Plan, repeats: int, scheme: str) -> None:
    """Raise SettingError unless `plan` is one run of one strategy and the rest is in range."""
    names = [trained.label for variant in plan.variants for trained in variant.trained]
    if len(names) != 1 or plan.repeats != 1:
        raise SettingError(
            "a calibration needs exactly one strategy and one repetition, got "
            f"{', '.join(names)} and repeats={plan.repeats}; calibrate each in a separate run"
        )
    if plan.budget_kind != EQUAL:
        raise SettingError(
            f"a calibration needs the same budget in each round, got {plan.budget}; leave out "
            f":{plan.budget_kind}"
        )
    check_count("repeats", repeats, MOST_REPEATS, 2)
    unbiased_scheme(scheme)


def calibrate(
    data: Dataset,
    plan: Plan,
    *,
    repeats: int = 200,
    scheme: str = "iid",
    progress: Progress | None = None,
) -> EdgeStudy:
    """Measure E[G*] at rounds of a run, with the predictions and choices of its strategy.

    The run has the same bits as the first repetition of the same plan in `compare`. Each of the
    plan's marks is a round to calibrate and costs `repeats` times one search at full budget for
    each doubling of Q up to F, and one replay. `scheme` is that by which examples are drawn for the
    pairs. SettingError and DataError as of `prepare`.

    Examples
    --------
    >>> from boostsample.experiments.data.datasets import load_dataset
    >>> plan = Plan(strategies=(Variant("mas-naive"),), marks=(2, 5), repeats=1)
    >>> study = calibrate(load_dataset("chess"), plan, repeats=5)
    >>> [choice["round"] for choice in study.choices]
    [2, 5]
    """
    check_request(plan, repeats, scheme)
    run = _StudiedRun(prepare(data, plan), repeats, scheme, progress or (lambda *_: None))
    study, booster = run.study, run.booster
    for mark in plan.marks:
        while booster.round < mark - 1 and not booster.finished:
            run.next_row()
            run.report("boosting", booster.round, booster.n_rounds)
        if not booster.finished:
            run.measure_round()
    missed = ", ".join(str(mark) for mark in plan.marks[len(study.choices) :])
    note = (
        f"{study.variant.label}: training ended in round {booster.round} ({booster.stopped}); "
        f"there is no round {missed} to calibrate"
    )
    if not study.choices:
        raise SettingError(f"{note}; name earlier rounds")
    study.notes = (note,) * bool(missed)
    return study


class _StudiedRun:
    def __init__(self, prepared: Prepared, repeats: int, scheme: str, report: Progress) -> None:
        plan = prepared.plan
        n_jobs = -1 if plan.n_jobs is None else plan.n_jobs
        split = TrainingSplit(prepared, 0, progress=partial(report, "features"), n_jobs=n_jobs)
        self.study = EdgeStudy(prepared, repeats, scheme, [], [], {}, ())
        self.pool, self.report = prepared.pool(0), report
        self.seeds = self.study.variant.stream(prepared.data.seeded_by, plan.seed, 0)
        report("compiling", 0, 1)
        ((self.task,),) = task_groups(prepared)
        self.booster = split.booster(self.task, self.seeds)
        report("compiling", 1, 1)
        labels = split.boosted_labels(self.task)
        self.measurer = EdgeMeasurer(split.bank, split.train_rows, labels, plan.weights, scheme)

    def next_row(self) -> dict[str, Any]:
        """Do one round and return the row of its first search."""
        return next_round(self.booster, self.task).rows[0]

    def measure_round(self) -> None:
        """Do the next round of the run, and add its measurements to the study."""
        booster, pool, study = self.booster, self.pool, self.study
        before = booster.state()
        row = self.next_row()
        after, mark = booster.state(), booster.round
        self.measurer.restore(before)
        columns = candidate_pairs(pool.n_features, pool.n_examples, booster.budget)
        pairs = [(q, t) for t, sizes in columns.items() for q in sizes]
        searches, replays = [], []
        rng = self._rng(mark, _GRID)
        for at, seed in enumerate(self._seeds(mark, _REPLAY).spawn(study.repeats)):
            self.report(f"measuring round {mark}", at, study.repeats)
            searches.append(self.measurer.measure(columns, rng))
            booster.restore({**before, "rng": np.random.default_rng(seed).bit_generator.state})
            replayed = self.next_row()
            replays.append((replayed["edge"], replayed["edge_estimated"]))
        booster.restore(after)
        edges = np.array(searches)
        # The largest of many means is too large, so that the best pair is measured again.
        q, t = pairs[int(np.argmax(edges[:, :, 0].mean(axis=0)))]
        rng = self._rng(mark, _BEST)
        again = [self.measurer.measure({t: (q,)}, rng)[0] for _ in range(study.repeats)]
        self.report(f"measuring round {mark}", study.repeats, study.repeats)

        model = edge_model(row, [family.size for family in pool.families])
        choice = chosen_pair(row, pool.families)
        for at, pair in enumerate(pairs):
            predicted = None if model is None else predict_edge(model, *pair, pool.n_examples)
            study.rows.append(self._row("grid", pair, edges[:, at], predicted))
        place = choice["n_features"], choice["n_examples"]
        strategy = self._row("strategy", place, np.array(replays), choice["edge_predicted"])
        best = self._row("best", (q, t), np.array(again), None)
        share = error = math.nan  # if no edge was found
        if strategy["edge"] > 0 and best["edge"] > 0:
            share = strategy["edge"] / best["edge"]
            error = share * math.hypot(*(s["edge_error"] / s["edge"] for s in (strategy, best)))
        study.rows.append(strategy)
        study.choices.append(
            {
                **choice,
                "edge_expected": strategy["edge"],
                "edge_expected_error": strategy["edge_error"],
                "best_features": q,
                "best_examples": t,
                "best_edge": best["edge"],
                "best_edge_error": best["edge_error"],
                "share": share,
                "share_error": error,
                **self._noise(mark, [choice["n_examples"], *columns]),
            }
        )
        if model is not None:
            study.models[mark] = model

    def _row(self, kind: str, pair: tuple[int, int], searches: Values, predicted: Any) -> Any:
        """A row of the study from G and H of repeated searches: float64 (repeats, 2)."""
        true, estimated = searches.T
        return {
            "data": self.study.prepared.data.name,
            "strategy": self.study.variant.name,
            "settings": self.study.variant.settings_text,
            "round": self.booster.round,
            "kind": kind,
            "n_features": pair[0],
            "n_examples": pair[1],
            "edge": float(true.mean()),
            "edge_error": float(true.std(ddof=1) / math.sqrt(true.size)),
            "edge_estimated": float(estimated.mean()),
            "edge_predicted": predicted,
            "repeats": true.size,
        }

    def _noise(self, mark: int, examples: Sequence[int]) -> dict[str, Any]:
        """Bias and variance of edges on the first of these T below N; None if all are N."""
        n_features = min(_NOISE_FEATURES, self.pool.n_features)
        size = next((t for t in examples if t < self.pool.n_examples), None)
        if size is None or n_features < 2:
            return dict.fromkeys(("noise_examples", "noise_bias", "noise_variance"))
        rng = self._rng(mark, _NOISE)
        noise = [self.measurer.noise(n_features, size, rng) for _ in range(_NOISE_SAMPLES)]
        bias, variance = np.mean(noise, axis=0).tolist()
        return {"noise_examples": size, "noise_bias": bias, "noise_variance": variance}

    def _seeds(self, mark: int, part: int) -> np.random.SeedSequence:
        """Random numbers of one part of one round, independent of the run and of all others."""
        return np.random.SeedSequence(self.seeds.entropy, spawn_key=(mark, part))

    def _rng(self, mark: int, part: int) -> np.random.Generator:
        return np.random.default_rng(self._seeds(mark, part))


def candidate_pairs(n_features: int, n_examples: int, budget: int) -> dict[int, tuple[int, ...]]:
    """For each T, descending, all Q with Q T <= budget, ascending.

    Q is doubled from the largest one that the budget allows on all examples up to F, and halved
    down to 1; by larger factors if these are more than 16 numbers. T is what the budget leaves for
    each Q, at most N.

    >>> candidate_pairs(25, 60, 300)
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


def edge_model(row: Mapping[str, Any], sizes: Sequence[int]) -> Mixture | None:
    """The distribution of the edge of a uniformly drawn feature, as a strategy noted it in `row`.

    Reads the notes `proportion`, `mean` and `deviation`, one number a component, or `family_mean`
    and `family_deviation`, one number a family, weighted by their `sizes`. Returns None without
    such notes, or if they are not a mixture.
    """

    def noted(name: str) -> Values:
        numbers: list[float] = []
        while (value := _number(row.get(f"{name}_{len(numbers)}"))) is not None:
            numbers.append(value)
        return np.array(numbers, dtype=np.float64)

    proportions, means, deviations = noted("proportion"), noted("mean"), noted("deviation")
    if proportions.size == 0:
        means, deviations = noted("family_mean"), noted("family_deviation")
        proportions = np.array(sizes, dtype=np.float64) / sum(sizes)
    try:
        return Mixture(proportions, means, deviations**2)
    except SettingError:
        return None


def chosen_pair(row: Mapping[str, Any], families: Sequence[FamilyInfo]) -> dict[str, Any]:
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
    return noted if isinstance(noted, int | float) and math.isfinite(noted) else None


def predict_edge(model: Mixture, n_features: int, n_examples: int, n_all: int) -> float:
    """e(Q,T) as strategies compute it: without noise if T is all N examples."""
    return expected_edge(model, n_features, math.inf if n_examples >= n_all else n_examples)


class EdgeMeasurer:
    """Searches on a copy of a run's weights, and the true edges of their winners.

    `rows` are the N training examples in the bank, `labels` has shape (N, K), `weights` names the
    initial label weights, and `scheme` that by which examples are drawn.
    """

    def __init__(
        self,
        bank: Bank,
        rows: NDArray[np.int64],
        labels: NDArray[np.int8],
        weights: str,
        scheme: str,
    ) -> None:
        self._scheme = known_scheme(scheme)
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
            sums = self._searcher.label_sums(feature, threshold)
            self._edges[key] = min(float(np.abs(sums).sum()), 1.0)
        return self._edges[key]

    def measure(self, columns: Mapping[int, Sequence[int]], rng: np.random.Generator) -> Values:
        """G and H of one search of each pair: float64 (pairs, 2), in the order of `columns`.

        Draws one sample for each T and searches the largest Q; smaller Q use the first of these
        features, so that a column costs one search. All columns search the same features, so that
        pairs differ by T and not by chance.
        """
        most = max(map(max, columns.values()))
        features = rng.choice(self._n_features, size=most, replace=False)
        edges = []
        for n_examples, sizes in columns.items():
            stumps = self._search(features[: max(sizes)], n_examples, rng)
            exact = n_examples >= self._weights.n_examples
            for size in sizes:
                best = stumps[:size].best()
                edge = self.true_edge(best.feature, best.threshold)
                edges.append((edge, edge if exact else best.edge))  # as in the loop
        return np.array(edges)

    def noise(
        self, n_features: int, n_examples: int, rng: np.random.Generator
    ) -> tuple[float, float]:
        """Mean of H - G over features on one sample, and T times its variance over them.

        The latter is the part of v in [DF11] eq. 7 that can change the winner of a search: it
        leaves out the noise common to all features. H is the edge at the best threshold on the
        sample, G the edge of the same stump on all examples.
        """
        features = rng.choice(self._n_features, size=n_features, replace=False)
        stumps = self._search(features, n_examples, rng)
        pairs = zip(stumps.feature.tolist(), stumps.threshold.tolist(), strict=True)
        off = stumps.edge - np.array([self.true_edge(*pair) for pair in pairs])
        return float(off.mean()), float(n_examples * off.var(ddof=1))

    def _search(
        self, features: NDArray[np.int64], n_examples: int, rng: np.random.Generator
    ) -> Stumps:
        exact = n_examples >= self._weights.n_examples
        drawn = (n_examples, self._scheme, rng)
        rows = self._weights.exact() if exact else self._weights.draw(*drawn)
        stumps = self._searcher.search(features, rows, exact)
        self._weights.release()
        return stumps

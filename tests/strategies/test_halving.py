"""Successive halving, its adaptive variant and laminating: stages, searches and choices."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.errors import SettingError
from boostsample.loop.booster import Booster
from boostsample.strategies import AdaptiveHalving, Laminating, SuccessiveHalving
from boostsample.strategies._learned_search import draw_near
from boostsample.strategies.laminating import laminating_stages
from boostsample.strategies.successive_halving import (
    bracket_that_spends,
    halving_stages,
    most_stages,
)
from boostsample.strategy import Outcome, Pool, Strategy
from tests.problems import bank_of, booster_of, noisy_labels, table
from tests.strategies.watch import Watched


@pytest.mark.parametrize("eta", [2, 4, 7])
def test_brackets(eta: int) -> None:
    """eta times fewer features and more examples, stage after stage, within the budget."""
    budgets, examples = (1, 2, 7, 300, 10_000, 600_000), (1, 2, 17, 1000, 60_000)
    for budget, n_examples, n_features in itertools.product(
        budgets, examples, (1, 2, 3, 40, 16_000)
    ):
        size = budget, n_examples, n_features, eta
        most = most_stages(*size, 10)
        for n_stages in range(1, most + 1):
            stages = halving_stages(n_stages, *size)
            assert len(stages) == n_stages, size
            assert sum(q * t for q, t in stages) <= budget, size
            assert all(1 <= q <= n_features and 1 <= t <= n_examples for q, t in stages), size
            for (q, t), (next_q, next_t) in itertools.pairwise(stages):
                assert next_q == q // eta or q in (n_features, budget // n_stages), size
                assert next_q <= q, size
                assert next_t >= t, size
            assert n_stages == 1 or stages[0][1] >= 10, size
        following = halving_stages(most + 1, *size) if budget > most else [(0, 0)]
        assert following[0][1] < 10 or halving_stages(most, *size)[0][0] == n_features, size


@pytest.mark.parametrize("eta", [2, 4, 7])
def test_brackets_spend_budgets_that_do_not_divide(eta: int) -> None:
    """Nine tenths; stages of which Q descends and T ascends, all as planned but for the last."""
    for n_examples, n_features, tenths in itertools.product(
        (30, 57, 130, 1000, 60_000), (3, 5, 20, 1000), (10, 13, 19, 24, 29, 35, 50, 68, 100, 250)
    ):
        size = tenths * n_examples // 10, n_examples, n_features, eta
        for n_stages in range(1, most_stages(*size, 10) + 1):
            stages = bracket_that_spends(n_stages, *size)
            spent, most = sum(q * t for q, t in stages), min(size[0], n_features * n_examples)
            assert 0.9 * most <= spent <= size[0], size
            assert stages[:-1] == halving_stages(n_stages, *size)[:-1]
            for (q, t), (next_q, next_t) in itertools.pairwise(stages):
                assert next_q <= q, size
                assert next_t >= t, size


@pytest.mark.parametrize("strategy", [SuccessiveHalving(), AdaptiveHalving()])
def test_a_budget_of_no_whole_number_of_features(strategy: Strategy) -> None:
    booster = Booster(bank_of(table(57, 40)), None, noisy_labels(57), strategy, budget=135, rng=0)
    assert [booster.next_round().rows[0]["looks_search"] for _ in range(3)] == [135] * 3


def test_each_stage_keeps_the_best(watched: Watched) -> None:
    bank = bank_of(table(200, 40, seed=3))
    strategy = SuccessiveHalving(32, eta=4, scheme="stratified")
    booster = Booster(bank, None, noisy_labels(200), strategy, n_rounds=5, budget=1920, rng=0)
    for _ in range(5):
        watched.clear()
        row = booster.next_round().rows[0]
        assert [len(search.features) for search in watched.searches] == [32, 8, 2]
        for search, following in itertools.pairwise(watched.searches):
            assert following.features == search.best_first()[: len(following.features)]
        assert row["feature"] == watched.searches[-1].best_first()[0]
        assert row["looks_search"] == 32 * 20 + 8 * 80 + 2 * 200


def test_brackets_share_the_budget(watched: Watched) -> None:
    bank = bank_of(table(200, 100, seed=3))
    strategy = SuccessiveHalving(32, eta=4, brackets=3)
    booster = Booster(bank, None, noisy_labels(200), strategy, n_rounds=3, budget=6000, rng=0)
    row = booster.next_round().rows[0]
    sizes = [len(search.features) for search in watched.searches]
    assert sizes == [32, 8, 2, 20, 5, 10]  # stages of 2000 / 3, 2000 / 2 and 2000 looks
    ends = [watched.searches[at].stumps.best() for at in (2, 4, 5)]
    best = max(ends, key=lambda stump: stump.edge)
    assert (row["feature"], row["threshold"]) == (
        best.feature,
        bank.threshold(best.feature, best.threshold),
    )
    assert row["looks_search"] <= 6000


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"eta": 1}, "eta must be"),
        ({"eta": 2.5}, "eta must be"),
        ({"brackets": 0}, "brackets must be"),
        ({"brackets": 801}, "brackets must be at most the budget of 800 looks"),
        ({"n_features": 0}, "n_features must be"),
        ({"n_features": 9}, "n_features must be at most the 8 features there are and the budget"),
        ({"scheme": "filter"}, "scheme must give unbiased edges"),
    ],
)
def test_bad_settings(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        booster_of(SuccessiveHalving(**settings))
    if settings.keys() <= {"eta", "scheme"}:
        with pytest.raises(SettingError, match=message):
            booster_of(AdaptiveHalving(**settings))


class _Rule:
    """The rule of adaptive halving, from all rewards so far."""

    def __init__(self, n_brackets: int) -> None:
        self.n_brackets = n_brackets
        self.rewards: list[tuple[tuple[int, int], float]] = []

    def relative(self) -> list[float]:
        """Rewards over their running mean."""
        relative, mean = [], 0.0
        for s, (_, reward) in enumerate(self.rewards, start=1):
            relative.append(reward / mean if s > 1 else 1.0)
            mean += (reward - mean) / math.sqrt(s)
        return relative

    def means_and_counts(self, choice: int = 0) -> NDArray[np.float64]:
        """Of each bracket (0), or of no memory and memory (1); a mean without rewards is nan."""
        t = len(self.rewards)
        sums, counts = np.zeros((2, 2 if choice else self.n_brackets))
        for s, ((arms, _), relative) in enumerate(
            zip(self.rewards, self.relative(), strict=True), start=1
        ):
            sums[arms[choice]] += (s / t) ** 2 * relative
            counts[arms[choice]] += (s / t) ** 2
        with np.errstate(invalid="ignore"):
            return np.stack([sums / counts, counts])

    def variance(self) -> float:
        """Of rewards about the means of their brackets before them."""
        v, past = 0.04, _Rule(self.n_brackets)
        for s, (reward, relative) in enumerate(
            zip(self.rewards, self.relative(), strict=True), start=1
        ):
            known = past.means_and_counts()[0][reward[0][0]]
            past.rewards.append(reward)
            if not math.isnan(known):
                v += ((relative - known) ** 2 - v) / (10 + math.sqrt(s))
        return v

    def near(self) -> range:
        """The brackets to draw from."""
        means, _ = self.means_and_counts()
        best = int(np.nanargmax(means))
        return range(max(best - 1, 0), min(best + 2, self.n_brackets))


def test_the_rule_of_adaptive_halving(watched: Watched) -> None:
    """Means, counts and variance of 60 rounds are those of the formulas, and so is each choice.

    Features that were chosen before take up to half of the first places, and runners-up of the
    round before up to half of those of a later stage.
    """
    bank = bank_of(table(3000, 60, seed=5))
    strategy = AdaptiveHalving()
    booster = Booster(bank, None, noisy_labels(3000), strategy, n_rounds=60, rng=2)
    learned: Any = booster.strategy
    rule = _Rule(learned.arms_.shape[1])
    assert rule.n_brackets >= 3
    chosen: list[int] = []
    before: list[int] = []
    remembered = returned = 0
    for number in range(60):
        near = rule.near() if number else range(rule.n_brackets - 1, rule.n_brackets)
        watched.clear()
        row = booster.next_round().rows[0]
        first, n = watched.searches[0].features, row["n_remembered"]
        assert set(first[:n]) <= set(chosen)
        assert len(set(first)) == len(first) >= 2 * n
        chosen.append(row["feature"])
        remembered += n
        order: list[int] = []
        if len(watched.searches) > 1:
            stage = max(1, len(watched.searches) - 2)
            order, features = (
                watched.searches[stage - 1].best_first(),
                watched.searches[stage].features,
            )
            again = [f for f in before if f not in order[: len(features)]][: len(features) // 2]
            assert features == order[: len(features) - len(again)] + again
            returned += len(again)
            order = watched.searches[-2].best_first()
        before = [f for f in order if f != row["feature"]]
        bracket, memory = row["n_stages"] - 1, int(row["n_remembered"] > 0)
        assert bracket in near
        rule.rewards.append(((bracket, memory), -0.5 * math.log(1 - row["edge"] ** 2)))
        for choice, arms in enumerate((learned.arms_, learned.memory_)):
            expected = rule.means_and_counts(choice)
            known = expected[1] > 0
            assert arms[:, known] == pytest.approx(expected[:, known])
            assert not arms[:, ~known].any()
        assert learned.variance_ == pytest.approx(rule.variance())
    assert len({bracket for (bracket, _), _ in rule.rewards}) > 1
    assert len({memory for (_, memory), _ in rule.rewards}) == 2
    assert remembered > 60
    assert returned > 10


def test_the_draws_are_normal() -> None:
    """Each arm near the best is drawn as often as Normal(x_S, v / n_S) says."""
    arms = np.array([[0.2, 0.5, 0.9, 1.0, 0.0, 0.0, 0.0], [9.0, 9.0, 5.0, 20.0, 0.0, 0.0, 0.0]])
    rng = np.random.default_rng(1)
    drawn = np.bincount([draw_near(arms, 0.03, rng) for _ in range(20_000)], minlength=7) / 20_000
    z = np.random.default_rng(2).standard_normal((200_000, 3))
    values = np.array([0.9, 1.0, 1.0]) + z * np.sqrt(0.03 / np.array([5.0, 20.0, 1.0]))
    expected = np.bincount(values.argmax(axis=1), minlength=3) / 200_000
    assert drawn[[0, 1, 5, 6]].sum() == 0
    assert drawn[2:5] == pytest.approx(expected, abs=0.015)


def test_memory_draws_searches_by_their_number() -> None:
    """Search s of t is drawn with the probability (2 s - 1) / t^2."""
    strategy = AdaptiveHalving()
    strategy.start(Pool([], 16_000, 60_000), 600_000, 10, np.random.default_rng(0))
    strategy.chosen_ = np.array([7, 5, 3, 1])
    rng = np.random.default_rng(1)
    drawn = [strategy.remembered(1, 2, rng, strategy.chosen_) for _ in range(20_000)]
    assert all(features.size == 1 for features in drawn)
    # the first of two draws
    shares = np.bincount([features[0] for features in drawn], minlength=8)[[7, 5, 3, 1]] / 20_000
    assert shares == pytest.approx([1 / 16, 3 / 16, 5 / 16, 7 / 16], abs=0.015)
    assert strategy.remembered(0, 2, rng, strategy.chosen_).size == 0
    assert sorted(strategy.remembered(1, 1000, rng, strategy.chosen_)) == [1, 3, 5, 7]


def test_features_of_nodes_are_remembered_apart() -> None:
    """Those of terms are not; but only a round's first search is a reward."""
    strategy = AdaptiveHalving()
    strategy.start(Pool([], 100, 1000), 10_000, 10, np.random.default_rng(0))
    strategy.arm_ = strategy.remember_ = 0
    for search, edge in ((1, 0.5), (0, 0.0), (0, 1.0)):
        strategy.learn(Outcome(1, search, 9, 0, edge, edge, 0.1, 10, 1000, 1.0, True))
    strategy.learn(Outcome(1, 2, 7, 0, 0.9, 0.9, 0.1, 10, 30, 0.1, False))
    assert strategy.n_rewards_ == 0
    strategy.learn(Outcome(1, 0, 8, 0, 0.5, 0.5, 0.1, 10, 1000, 1.0, True))
    assert strategy.n_rewards_ == 1
    assert strategy.chosen_.tolist() == [9, 9, 9, 8]
    assert strategy.node_chosen_.tolist() == [7]


@pytest.mark.parametrize("n_examples", [2, 3, 5, 17, 29, 100, 300, 1000, 7494, 60_000])
def test_default_stages(n_examples: int) -> None:
    """Half the features, twice the examples, and the budget is spent, or what there is to search.

    What is left of a budget of a few looks may pay for no other sample.
    """
    for n_features in (1, 2, 3, 7, 16, 31, 32, 100, 1000, 16_000, 10**6):
        for factor in (0.1, 1, 3, 10, 30, 100, 1000):
            budget = max(2, int(factor * n_examples))
            plan = laminating_stages(None, n_examples, n_features, budget)
            looks, most = sum(q * t for q, t in plan), min(budget, n_features * n_examples)
            where = n_features, budget, plan
            assert 0.9 * most <= looks <= budget or budget < 10, where
            assert all(1 <= q <= n_features and 1 <= t <= n_examples for q, t in plan), where
            for (q, t), (next_q, next_t) in itertools.pairwise(plan):
                assert next_q < q <= max(2 * next_q, n_features), where
                assert t <= next_t, where
            assert len(plan) == 1 or plan[0][1] >= 50, where


@pytest.mark.parametrize(
    ("n_examples", "n_features", "factor", "first", "n_stages"),
    [
        (60_000, 16_000, 10, [256, 292], 8),
        (60_000, 16_000, 1, [128, 66], 7),
        (60_000, 16_000, 100, [8192, 56], 13),
        (1500, 10_000, 10, [32, 93], 5),
        (7494, 16, 10, [16, 1170], 4),
        (16_000, 16, 10, [16, 2500], 4),
    ],
)
def test_the_default_at_the_sizes_of_the_published_tables(
    n_examples: int, n_features: int, factor: int, first: list[int], n_stages: int
) -> None:
    plan = laminating_stages(None, n_examples, n_features, factor * n_examples)
    assert plan[0] == tuple(first)
    assert len(plan) == n_stages


def test_given_stages() -> None:
    assert laminating_stages(8, 1000, 100, 2400) == [(8, 100), (4, 200), (2, 400)]
    assert laminating_stages(8, 150, 100, 2400) == [(8, 100), (4, 150), (2, 150)]
    assert laminating_stages(2, 150, 100, 20) == [(2, 10)]
    assert laminating_stages(None, 1, 2, 1) == [(1, 1)]


@pytest.mark.parametrize("value", [0, 3, 2.5, "8"])
def test_bad_numbers_of_features(value: Any) -> None:
    with pytest.raises(SettingError, match="n_features must be"):
        booster_of(Laminating(n_features=value))


def test_settings_that_do_not_fit_are_refused_at_the_start() -> None:
    with pytest.raises(SettingError, match="costs at least 24 looks, but the budget is 23"):
        booster_of(Laminating(n_features=8), budget=23)
    with pytest.raises(SettingError, match="unknown scheme 'iidd'"):
        booster_of(Laminating(scheme="iidd"))
    with pytest.raises(SettingError, match="16"):  # there are 8: nothing is silently clamped
        booster_of(Laminating(n_features=16))


@pytest.mark.parametrize("scheme", ["iid", "stratified", "distinct"])
def test_each_stage_keeps_the_better_half(scheme: str, watched: Watched) -> None:
    """Nested samples, survivors searched anew, the best one returned."""
    bank = bank_of(table(100, 40, seed=3))
    strategy = Laminating(16, scheme)
    booster = Booster(bank, None, noisy_labels(100), strategy, n_rounds=5, budget=1600, rng=0)
    for _ in range(5):
        watched.clear()
        row = booster.next_round().rows[0]
        assert watched.nested == [([25, 50, 100, 100], scheme)]
        assert [len(search.features) for search in watched.searches] == [16, 8, 4, 2]
        assert len(set(watched.searches[0].features)) == 16
        for search, following in itertools.pairwise(watched.searches):
            assert following.features == search.best_first()[: len(following.features)]
        assert row["feature"] == watched.searches[-1].best_first()[0]
        assert row["looks_search"] == 16 * 25 + 8 * 50 + 4 * 100 + 2 * 100


def test_laminating_from_all_features(watched: Watched) -> None:
    """The rule of lbcpp in plain loops: the better half of all, on twice as many new examples."""
    n, f = 300, 40
    bank, Y = bank_of(table(n, f)), noisy_labels(n)
    strategy = Laminating("all", "uniform", new_samples=True)
    booster = Booster(bank, None, Y, strategy, n_rounds=5, budget=3000, rng=0)
    for _ in range(5):
        watched.clear()
        booster.next_round()
        size, left = 3000 // (f * 5), list(range(f))
        draws = []
        for search in watched.searches:
            assert search.scheme == "uniform"
            assert (search.features, search.size) == (left, min(n, size))
            draws.append((size, "uniform"))
            ranked = sorted((-edge, k) for k, edge in enumerate(search.edges))
            left = [left[k] for _, k in ranked][: f >> len(draws)]
            size *= 2
        assert watched.draws == draws
        assert [len(search.features) for search in watched.searches] == [40, 20, 10, 5, 2]


def test_stages_from_all_features() -> None:
    assert laminating_stages("all", 60_000, 1000, 600_000)[:2] == [(1000, 66), (500, 132)]
    (q, t), *_ = laminating_stages("all", 60_000, 100_000, 600_000)
    assert (q, t) == (600_000 // (5 * 13), 5)  # 2^13 <= q < 2^14
    assert laminating_stages("all", 29, 7, 290) == [(7, 29)]
    with pytest.raises(SettingError, match="new_samples must be True or False, got 2"):
        booster_of(Laminating(new_samples=2))  # type: ignore[arg-type]  # the error under test

"""Races: in one call or search by search, the same draws, stumps and looks, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from boostsample.banks.bank import FeatureBank
from boostsample.banks.tile_layout import TileCopy
from boostsample.errors import BudgetExceeded, SettingError
from boostsample.planning.costs import Ledger, draw_cost, search_cost
from boostsample.records.feature_tiles import feature_tiles
from boostsample.rows.searcher import Searcher
from boostsample.rows.weights import SignedWeights
from boostsample.step import Step
from boostsample.strategy import Stumps
from tests.compiled import COMPILED
from tests.problems import bank_of

N, F = 220, 4100
RACES = (
    [(16, 60)],
    [(64, 20), (16, 60), (3, 219)],
    [(150, 10), (150, 10), (20, 100)],
    [(5, 1)],
    [(1, 2), (1, 7)],
)


def banks() -> tuple[FeatureBank, FeatureBank]:
    """The same bins with tiles and without; some columns are constant or have few bins."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, rng.integers(1, 40, F), (N, F)).astype(np.float32)
    with_tiles, without = bank_of(X), bank_of(X)
    tiles = feature_tiles((F,))
    assert tiles is not None
    with_tiles._tiles = TileCopy.make(with_tiles.bins, tiles, 1)
    return with_tiles, without


@pytest.fixture(scope="module")
def both() -> tuple[FeatureBank, FeatureBank]:
    return banks()


def weights(K: int, columns: np.ndarray[Any, Any]) -> SignedWeights:
    rng = np.random.default_rng(K)
    Y = np.where(rng.random((columns.size, K)) < 0.4, 1, -1).astype(np.int8)
    return SignedWeights(Y, 10.0 ** rng.uniform(-3, 0, Y.shape), columns)


def step_of(bank: FeatureBank, w: SignedWeights, budget: int = 10**9) -> tuple[Step, Ledger]:
    ledger = Ledger("test", budget)
    searcher = Searcher(bank.reader(), w)
    rng = np.random.default_rng(7)
    return Step(searcher, ledger, rng, bank.family_infos(), (1, 1)), ledger


def arrays(stumps: Stumps) -> list[Any]:
    return [stumps.feature, stumps.threshold, stumps.votes, stumps.edge, stumps.divides]


@pytest.mark.parametrize("K", [1, 3, 10, 17] if COMPILED else [3])
@pytest.mark.parametrize("stages", RACES)
@pytest.mark.parametrize("every_other", [False, True])
def test_one_call_equals_searches_of_nested_samples(
    both: tuple[FeatureBank, FeatureBank], K: int, stages: list[tuple[int, int]], every_other: bool
) -> None:
    rows = np.arange(0, N, 2)[::-1].copy() if every_other else np.arange(N)
    plan = [(q, min(T, rows.size - 1)) for q, T in stages]
    features = np.random.default_rng(1).choice(F, plan[0][0], replace=False)
    results = []
    for bank in both:
        step, ledger = step_of(bank, weights(K, rows))
        last = step.race(features, plan)
        assert ledger.spent == sum(q * T for q, T in plan)
        assert step._found(int(last.feature[-1]), int(last.threshold[-1]))[1] == plan[-1][1]
        step, _ = step_of(bank, weights(K, rows))
        again = step.race_again(features, [], plan)
        results.append([arrays(last), [arrays(stumps) for stumps in again]])
    step, _ = step_of(both[1], weights(K, rows))
    by_hand, wanted = [], features
    for (q, _), sample in zip(plan, step.draw_nested([T for _, T in plan], "order"), strict=True):
        stumps = step.search(wanted[:q], sample)
        wanted = stumps.feature[np.argsort(-stumps.edge, kind="stable")]
        by_hand.append(arrays(stumps))
    for last_stage, stages_of in results:
        for got, want in zip([*stages_of, last_stage], [*by_hand, by_hand[-1]], strict=True):
            for a, b in zip(got, want, strict=True):
                np.testing.assert_array_equal(a, b)


def test_one_call_is_used_where_there_are_tiles(
    both: tuple[FeatureBank, FeatureBank], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for other schemes, members or mapped files; all examples are searched apart."""

    def refused(*_: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(Searcher, "nested_samples", refused)
    features, w = np.arange(20), weights(3, np.arange(N))
    step_of(both[0], w)[0].race(features, [(20, 30)])
    for bank, stages, scheme in (
        (both[1], [(20, 30)], "order"),
        (both[0], [(20, 30)], "iid"),
        (both[0], [(20, 30), (2, N)], "order"),
    ):
        with pytest.raises(ZeroDivisionError):
            step_of(bank, w)[0].race(features, stages, scheme)


@pytest.mark.parametrize("stages", [*RACES, [(64, 20), (16, N)], [(64, 20), (16, 60), (3, N)]])
def test_features_to_search_again(
    both: tuple[FeatureBank, FeatureBank], stages: list[tuple[int, int]]
) -> None:
    """They take the last places of a stage, up to half of them, in one call and else."""
    features = np.arange(100, 100 + stages[0][0])
    again = np.array([3, 101, 7, 9, 100, *range(20, 40)])
    results = []
    for bank in both:
        step, _ = step_of(bank, weights(3, np.arange(N)))
        results.append(step.race_again(features, again, stages))
    for one, other in zip(*results, strict=True):
        for a, b in zip(arrays(one), arrays(other), strict=True):
            np.testing.assert_array_equal(a, b)
    join = max(1, len(stages) - 2)
    for at, (stumps, (q, _)) in enumerate(zip(results[0], stages, strict=True)):
        before = results[0][at - 1] if at else stumps
        order = np.argsort(-before.edge, kind="stable") if at else np.arange(q)
        best = before.feature[order].tolist()[:q]
        if at == join:
            others = [f for f in again.tolist() if f not in best][: q // 2]
            best = best[: q - len(others)] + others
        assert stumps.feature.tolist() == best


def test_work_space_of_few_races_is_kept(both: tuple[FeatureBank, FeatureBank]) -> None:
    """A strategy may race on other numbers of examples in each round."""
    searcher, rng = Searcher(both[0].reader(), weights(3, np.arange(N))), np.random.default_rng(0)
    for size in range(1, 60):
        assert searcher.race(np.arange(5), [(5, size)], rng) is not None
    kept = [plan[0][1] for plan in searcher._races]
    assert kept == list(range(60 - len(kept), 60))
    assert len(kept) <= 16


def test_all_examples_in_the_last_stage(both: tuple[FeatureBank, FeatureBank]) -> None:
    step, _ = step_of(both[0], weights(3, np.arange(N)))
    last = step.race(np.arange(9), [(9, 30), (2, N + 5)])
    exact = step.search(last.feature, step.draw(N))
    for a, b in zip(arrays(last), arrays(exact), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_race_costs_what_its_draw_and_searches_cost(
    both: tuple[FeatureBank, FeatureBank],
) -> None:
    step, ledger = step_of(both[0], weights(3, np.arange(N)))
    stages = [(9, 30), (2, 100)]
    step.race(np.arange(9), stages)
    want = draw_cost("order", 100, N, 3) + sum(search_cost(q, T, N, 3) for q, T in stages)
    assert ledger.cost == pytest.approx(want)


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ([], "one .* or more, got none"),
        ([(8, 30)], "stages: Q must be .* 9.*, got 8"),
        ([(9, 30), (10, 40)], "stages: Q must be .* 9.*, got 10"),
        ([(9, 30), (3, 20)], "stages: T must be an integer at least 30, got 20"),
        ([(9, 0)], "stages: T must be an integer at least 1, got 0"),
    ],
)
def test_wrong_stages(
    both: tuple[FeatureBank, FeatureBank], stages: list[tuple[int, int]], message: str
) -> None:
    step, ledger = step_of(both[0], weights(3, np.arange(N)))
    with pytest.raises(SettingError, match=message):
        step.race(np.arange(9), stages)
    assert (ledger.spent, ledger.cost) == (0, 0.0)


def test_too_dear_a_race_draws_nothing(both: tuple[FeatureBank, FeatureBank]) -> None:
    step, ledger = step_of(both[0], weights(3, np.arange(N)), budget=300)
    before = step.rng.bit_generator.state
    with pytest.raises(BudgetExceeded, match="470 looks"):
        step.race(np.arange(9), [(9, 30), (2, 100)])
    assert (ledger.spent, step.rng.bit_generator.state) == (0, before)
    with pytest.raises(SettingError, match="unknown scheme 'ordered'"):
        step.race(np.arange(9), [(9, 30)], "ordered")

"""Tasting, search by search against its rules in plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from boostsample.errors import SettingError
from boostsample.loop.booster import Booster
from boostsample.strategies import Tasting1Q, TastingQ1
from boostsample.strategies.tasting._tasting import expected_best
from boostsample.strategy import Strategy
from tests.problems import bank_of, booster_of, noisy_labels, table
from tests.strategies.watch import Watched

N, F, M = 300, 40, 4


def booster(strategy: Strategy, **settings: Any) -> Booster:
    """Four families of ten features, which tell the classes apart more and more."""
    Y = noisy_labels(N, 3)
    X = table(N, F, seed=3)
    X += np.arange(F) // 10 * (Y[:, :1] > 0)
    settings = {"n_rounds": 25, "budget": 10 * N, "rng": 0, **settings}
    return Booster(bank_of(X, groups=M), None, Y, strategy, **settings)


def naive_expected_best(edges: list[float], n: int) -> float:
    """Each edge times the probability that it is the largest of n draws."""
    ranked, total = sorted(edges), 0.0
    for r, edge in enumerate(ranked, 1):
        total += edge * ((r / len(ranked)) ** n - ((r - 1) / len(ranked)) ** n)
    return total


def test_the_expected_best_is_that_of_draws() -> None:
    edges = np.array([0.2, 0.05, 0.4, 0.1])
    drawn = np.random.default_rng(0).choice(edges, (20_000, 3)).max(axis=1)
    assert expected_best(edges, 3) == pytest.approx(drawn.mean(), abs=4 * 0.15 / 20_000**0.5)
    assert expected_best(edges, 1) == pytest.approx(edges.mean())
    for n in (1, 2, 7, 500):
        assert expected_best(edges, n) == pytest.approx(naive_expected_best(edges.tolist(), n))


@pytest.mark.parametrize("kind", [Tasting1Q, TastingQ1])
def test_blocks_hold_the_same_features(kind: Any, watched: Watched) -> None:
    run = booster(kind(n_features=6, n_tasting=7, block=5))
    probes = []
    for _ in range(25):
        row = run.next_round().rows[0]
        assert row["looks_modelling"] in (0, 7 * M * (10 * N // 2 // (7 * M)))
        probes.append(row["looks_modelling"] > 0)
    held = {tuple(s.features) for s in watched.searches if s.purpose == "modelling"}
    assert len(held) == 1
    assert [r for r, probe in enumerate(probes, 1) if probe] == [1, 2, 7, 12, 17, 22]


def edges_by_family(watched: Watched) -> list[list[float]] | None:
    """The edges of a probe by family, taken off the searches; None if there was no probe."""
    if watched.searches[0].purpose != "modelling":
        return None
    probe = watched.searches.pop(0)
    pairs = list(zip(probe.features, probe.edges, strict=True))
    return [[edge for j, edge in pairs if j // 10 == k] for k in range(M)]


def test_1q_searches_the_family_of_the_best_promise(watched: Watched) -> None:
    run = booster(Tasting1Q(n_features=6, n_tasting=7, block=5))
    edges: list[list[float]] = []
    families = set()
    for _ in range(25):
        watched.clear()
        row = run.next_round().rows[0]
        edges = edges_by_family(watched) or edges
        promises = [naive_expected_best(of, 6) for of in edges]
        (search,) = watched.searches
        (family,) = {feature // 10 for feature in search.features}
        assert promises[family] == max(promises)
        assert len(set(search.features)) == 6
        assert row["expected_edge"] == pytest.approx(promises[family])
        assert search.size == min(N, (10 * N - row["looks_modelling"]) // 6)
        families.add(family)
    assert len(families) > 1


def test_q1_searches_what_promises_to_beat_the_best(watched: Watched) -> None:
    run = booster(TastingQ1(n_features=12, n_tasting=7, block=5))
    edges: list[list[float]] = []
    n_families = set()
    for _ in range(25):
        watched.clear()
        row = run.next_round().rows[0]
        edges = edges_by_family(watched) or edges
        best, left = 0.0, [10] * M
        assert len({s.features[0] for s in watched.searches}) == len(watched.searches) == 12
        for search in watched.searches:
            (feature,) = search.features
            promises = [
                sum(max(best, edge) for edge in of) / len(of) if left[k] else -1.0
                for k, of in enumerate(edges)
            ]
            assert promises[feature // 10] == pytest.approx(max(promises), abs=1e-12)
            left[feature // 10] -= 1
            best = max(best, search.edges[0])
        assert row["edge_estimated"] == pytest.approx(best)
        n_families.add(sum(n < 10 for n in left))
    assert len(n_families) > 1


def test_a_budget_too_small_to_taste() -> None:
    for kind in (Tasting1Q, TastingQ1):
        rows = [booster_of(kind(), budget=1).next_round().rows[0] for _ in range(3)]
        assert {row["looks_modelling"] for row in rows} == {0}


@pytest.mark.parametrize("setting", ["n_features", "n_tasting", "block"])
@pytest.mark.parametrize("kind", [Tasting1Q, TastingQ1])
def test_bad_settings(kind: Any, setting: str) -> None:
    with pytest.raises(SettingError, match=f"{setting} must be"):
        booster_of(kind(**{setting: 0}))

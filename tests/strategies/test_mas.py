"""MAS 1.Q and Q.1: models of families that are averaged over rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from boostsample.banks.bank import FeatureBank
from boostsample.errors import SettingError
from boostsample.families import column_groups
from boostsample.loop.booster import Booster
from boostsample.registry import make_strategy
from tests.problems import booster_of, noisy_labels, rows_of, table
from tests.strategies.watch import Searched, Watched

N_EXAMPLES, SIZES, N_ROUNDS = 400, (20, 6), 100
#: Looks of the modelling: 10 % of 10 N. 16 features of each of two families on T examples.
SHARE, FIRST_SIZE = 400, 12


def booster(strategy: str, **settings: Any) -> Booster:
    """Two families, of 20 and 6 features, and three labels that some of them tell of."""
    X = table(N_EXAMPLES, sum(SIZES), seed=3)
    Y = noisy_labels(N_EXAMPLES)
    X[:, 2] += 3 * Y[:, 0]
    X[:, 22] += 2 * Y[:, 1]
    groups = {"wide": range(20), "narrow": range(20, 26)}
    bank = FeatureBank.build(column_groups(groups, n_columns=26), X, None)
    settings = {
        "rng": 0,
        "n_rounds": N_ROUNDS,
        "weight_init": "uniform",
        "budget": "10N",
        **settings,
    }
    return Booster(bank, None, Y, strategy, **settings)


def searches_of(run: Booster, watched: Watched) -> list[tuple[Searched, Searched, Any]]:
    """From round 2 on: the search for the models, that for the stump, and the row of the round."""
    rows = rows_of(run, N_ROUNDS)
    modelling = [search for search in watched.searches if search.purpose == "modelling"]
    searches = [search for search in watched.searches if search.purpose == "search"]
    return list(zip(modelling, searches[1:], rows[1:], strict=True))


def newest(searched: Searched, older: list[list[float]]) -> list[list[float]]:
    """The edges of a search, and older ones while a family has fewer than 16 or its members."""
    after: list[list[float]] = []
    for family, least in enumerate((16, 6)):
        pairs = zip(searched.features, searched.edges, strict=True)
        edges = [edge for feature, edge in pairs if (feature >= 20) == family]
        if edges:
            edges += older[family][: max(0, least - len(edges))]
        after.append(edges or older[family])
    return after


def dealt(most: Sequence[int], n: int, first: int) -> tuple[list[int], int]:
    """Features dealt one by one, from the definition."""
    counts, turn = [0 for _ in most], first
    if n >= sum(most):
        return list(most), first
    for _ in range(n):
        while counts[turn] >= most[turn]:
            turn = 0 if turn + 1 == len(most) else turn + 1
        counts[turn] += 1
        turn = 0 if turn + 1 == len(most) else turn + 1
    return counts, turn


@pytest.mark.parametrize("name", ["mas-1q", "mas-q1"])
def test_averaged_models_equal_those_of_plain_loops(name: str, watched: Watched) -> None:
    run = booster(f"{name}:noise=averaged")
    edges_of: list[list[float]] = [[], []]
    turn, sizes = 0, set()
    for number, (modelled, searched, row) in enumerate(searches_of(run, watched), start=2):
        size = FIRST_SIZE if number <= 40 else int(FIRST_SIZE * number / 40)
        counts, turn = dealt([16, 6], SHARE // size, turn)
        assert modelled.size == size
        assert [feature >= 20 for feature in modelled.features] == sorted(
            [False] * counts[0] + [True] * counts[1]
        )
        assert len(modelled.edges) * size <= SHARE
        edges_of = newest(modelled, edges_of)
        for family, edges in enumerate(edges_of):
            mean = sum(edges) / len(edges)
            variance = sum((edge - mean) ** 2 for edge in edges) / len(edges)
            assert row[f"family_mean_{family}"] == pytest.approx(mean, rel=1e-9)
            deviation = max(variance, 1e-6) ** 0.5
            assert row[f"family_deviation_{family}"] == pytest.approx(deviation, rel=1e-6)
        edges_of = newest(searched, edges_of)
        sizes.add(size)
    assert len(sizes) > 10


def test_mas_naive_has_no_families_to_average() -> None:
    with pytest.raises(SettingError, match=r"unknown noise 'averaged'.*known: paper, deconvolved"):
        booster_of(make_strategy("mas-naive:noise=averaged"))


def test_a_budget_too_small_for_models_is_probed() -> None:
    run = booster("mas-1q:noise=averaged", budget=30)
    assert all(row["looks_modelling"] == 0 for row in rows_of(run, 5))

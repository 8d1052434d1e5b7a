"""Tiles of features: their order, and features drawn in whole tiles.

Statistical tests refuse a count beyond 4.5 of its standard deviations. Seeds are fixed.
"""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.stats
from numpy.typing import NDArray

from boostsample.records import feature_tiles as module
from boostsample.records.feature_tiles import (
    TILE,
    FeatureTiles,
    feature_tiles,
    sample_tile_members,
    sample_tiles,
)
from boostsample.strategy import FamilyInfo, sample_members

#: MNIST's default families, one family, small and large ones, and sizes whose tiles hold one member
#: less of a family than its share rounded down.
SIZES = (
    (784, 2241, 1177, 799, 676, 676, 1500, 2500, 3500, 2500),
    (4033,),
    (1, 7000, 3, 1, 64),
    (5195, 7302, 4029, 4853, 7765),
    (1,) * 4097,
)
#: As the last but one, with tiles that are short of the first and of the last family.
SHORT = (5195, 7302, 4029, 4853, 7765)


def tiles_of(sizes: tuple[int, ...]) -> FeatureTiles:
    tiles = feature_tiles(sizes)
    assert tiles is not None
    return tiles


def infos(sizes: tuple[int, ...]) -> list[FamilyInfo]:
    firsts = np.cumsum([0, *sizes[:-1]]).tolist()
    return [FamilyInfo(str(k), n, at) for k, (n, at) in enumerate(zip(sizes, firsts, strict=True))]


def family_of(sizes: tuple[int, ...], features: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(np.searchsorted(np.cumsum(sizes), features, side="right"))


@pytest.mark.parametrize("sizes", SIZES, ids=len)
def test_the_order_and_its_tiles(sizes: tuple[int, ...]) -> None:
    tiles, n_features = tiles_of(sizes), sum(sizes)
    assert sorted(tiles.order.tolist()) == list(range(n_features))
    n_tiles = -(-n_features // TILE)
    assert (tiles.ends[0], tiles.ends[-1], tiles.ends.size) == (0, n_features, n_tiles + 1)
    share = n_features / n_tiles
    assert set(np.diff(tiles.ends).tolist()) <= {int(share), int(np.ceil(share))}
    assert np.diff(tiles.ends).min() >= TILE - 1


@pytest.mark.parametrize(
    ("sizes", "most"),
    # Families of one feature all have their place in the middle, where they displace others.
    [(SIZES[0], 2), (SIZES[1], 1), (SIZES[2], 4), (SIZES[3], 2)],
)
def test_every_stretch_is_a_proportional_sample_of_the_families(
    sizes: tuple[int, ...], most: int
) -> None:
    family = family_of(sizes, tiles_of(sizes).order)
    for k, size in enumerate(sizes):
        so_far = np.concatenate([[0], np.cumsum(family == k)])
        held = so_far[TILE:] - so_far[:-TILE]
        assert np.abs(held - TILE * size / sum(sizes)).max() < most


@pytest.mark.parametrize("sizes", [*SIZES, SHORT], ids=len)
def test_uneven_is_the_largest_part_of_a_family_that_a_tile_has_too_few_or_many(
    sizes: tuple[int, ...],
) -> None:
    tiles = tiles_of(sizes)
    families = np.split(family_of(sizes, tiles.order), tiles.ends[1:-1].tolist())
    held = np.array([np.bincount(family, minlength=len(sizes)) for family in families])
    means = np.array(sizes) / len(families)
    np.testing.assert_array_equal(tiles.uneven, np.abs(held - means).max(axis=0) / means)


def test_memory_does_not_grow_with_families_times_tiles() -> None:
    sizes = (2,) * 20_000
    tracemalloc.start()
    try:
        assert feature_tiles(sizes) is not None
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        feature_tiles.cache_clear()
    assert peak < 4 * len(sizes) * (2 * len(sizes) // TILE)  # bytes: half of a float64 for each


def test_too_few_or_too_many_features_have_no_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    assert feature_tiles((4032,)) is None
    assert feature_tiles((2016, 2017)) is not None
    monkeypatch.setattr(module, "_MOST_FEATURES", 5000)
    feature_tiles.cache_clear()
    assert feature_tiles((5001,)) is None
    assert feature_tiles((5000,)) is not None
    feature_tiles.cache_clear()
    rng = np.random.default_rng(0)
    assert sample_tiles((4032,), 100, rng) is None
    assert sample_tile_members(infos((4032,)), [100], rng) is None


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 100, 128, 300, 4096, 5000, 5098])
def test_tiles_hold_about_n_different_features(n: int) -> None:
    sizes, rng = (100, 5000), np.random.default_rng(n)
    for _ in range(20):
        features = sample_tiles(sizes, n, rng)
        assert features is not None
        assert features.dtype == np.int64
        assert len(set(features.tolist())) == features.size
        assert n - n / (TILE - 1) < features.size <= n
        assert features.min() >= 0
        assert features.max() < 5100
        tile = np.searchsorted(tiles_of(sizes).ends, place_of(sizes, features), side="right")
        assert len(set(tile.tolist())) == -(-n // TILE)
    assert sample_tiles(sizes, 5100, rng) is None


def place_of(sizes: tuple[int, ...], features: NDArray[Any]) -> NDArray[Any]:
    order = tiles_of(sizes).order
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    return np.asarray(place[features])


@pytest.mark.parametrize("n", [20, 64, 100, 200, 3000])
def test_every_tile_is_as_likely(n: int) -> None:
    """Tiles by the numbers of their features drawn: a tile in part counts by its part."""
    sizes, draws = (100, 5000), 4000 if n < 1000 else 400
    tiles, rng = tiles_of(sizes), np.random.default_rng(n)
    n_tiles, parts = tiles.ends.size - 1, -(-n // TILE)
    counts, whole, squares = np.zeros(n_tiles), np.zeros(n_tiles), 0.0
    for _ in range(draws):
        features = sample_tiles(sizes, n, rng)
        assert features is not None
        tile = np.searchsorted(tiles.ends, place_of(sizes, features), side="right") - 1
        held = np.bincount(tile, minlength=n_tiles) / np.diff(tiles.ends)
        counts += held
        whole += held > 0
        squares += (held**2).sum() / n_tiles
    mean = counts.mean() / draws
    variance = squares / draws - mean**2  # of one tile in one draw
    chi = ((counts - draws * mean) ** 2).sum() / (draws * variance) * (1 - 1 / n_tiles)
    assert scipy.stats.chi2.sf(chi, n_tiles - 1) > 1e-4
    share = parts / n_tiles
    chi = ((whole - draws * share) ** 2).sum() / (draws * share * (1 - share)) * (1 - 1 / n_tiles)
    assert scipy.stats.chi2.sf(chi, n_tiles - 1) > 1e-4


@pytest.mark.parametrize(
    ("sizes", "counts"),
    [
        (SIZES[0], [16] * 10),
        (SIZES[0], [3, 0, 40, 16, 0, 16, 1, 64, 2, 5]),
        (SHORT, [16] * 5),
        (SHORT, [0, 0, 0, 0, 40]),
        (SHORT, [31, 1, 16, 2, 50]),
        ((5000,), [4900]),
    ],
)
def test_members_are_those_that_were_asked_for(sizes: tuple[int, ...], counts: list[int]) -> None:
    rng, families = np.random.default_rng(0), infos(sizes)
    for _ in range(300):
        features = sample_tile_members(families, counts, rng)
        assert features is not None
        assert features.dtype == np.int64
        assert len(set(features.tolist())) == features.size
        family = family_of(sizes, features)
        assert family.tolist() == np.repeat(np.arange(len(sizes)), counts).tolist()


@pytest.mark.parametrize("sizes", [SIZES[0], SHORT], ids=len)
def test_the_members_of_a_family_are_about_equally_likely(sizes: tuple[int, ...]) -> None:
    """By tiles, whose members come together: the counts of a tile, not of its members, are alike.

    Tiles hold between one less and two more members of a family than its share; the more, the less
    likely is each, by up to 5 %.
    """
    rng, families, draws = np.random.default_rng(3), infos(sizes), 3000
    counts, hits = [16] * len(sizes), np.zeros(sum(sizes))
    for _ in range(draws):
        members = sample_tile_members(families, counts, rng)
        assert members is not None
        hits[members] += 1
    tiles, family = tiles_of(sizes), family_of(sizes, tiles_of(sizes).order)
    for k, size in enumerate(sizes):
        p = 16 / size
        parts = [
            hits[tiles.order[a:b][family[a:b] == k]]
            for a, b in zip(tiles.ends[:-1], tiles.ends[1:], strict=True)
        ]
        means, n = (
            np.array([part.mean() for part in parts]),
            np.array([part.size for part in parts]),
        )
        # At most all members of a tile together: variance of a tile's mean at most draws * p.
        assert np.abs(means - draws * p).max() < 5 * np.sqrt(draws * p) + 0.05 * draws * p
        for held in np.unique(n):  # the mean of tiles of one number of members
            of_size = means[n == held]
            slack = 5 * np.sqrt(draws * p / of_size.size) + 0.05 * draws * p
            assert abs(of_size.mean() - draws * p) < slack, (k, held, of_size.mean(), draws * p)
        # In a tile all members are alike.
        within = sum(((part - part.mean()) ** 2).sum() for part in parts)
        freedom = int((n - 1).sum())
        assert within < (freedom + 5 * np.sqrt(2 * freedom)) * draws * p


@pytest.mark.parametrize("seed", range(3))
def test_members_of_small_families_are_equally_likely(seed: int) -> None:
    """Every number of members of every small family: members, and pairs of them."""
    families, draws = infos((1, 2, 5, 8)), 1000
    for n in range(9):
        counts = [min(n, family.size) for family in families]
        hits = np.zeros((16, 16))
        for at in range(draws):
            members = sample_members(families, counts, np.random.default_rng([seed, n, at]))
            hits[np.ix_(members, members)] += 1
        for family, count in zip(families, counts, strict=True):
            block = slice(family.first, family.first + family.size)
            p, itself = count / family.size, np.eye(family.size, dtype=bool)
            both = p * (count - 1) / max(family.size - 1, 1)
            for share, seen in (
                (p, hits[block, block][itself]),
                (both, hits[block, block][~itself]),
            ):
                off = np.abs(seen - draws * share)
                assert np.all(off <= 5 * np.sqrt(draws * share * (1 - share)) + 1e-9)

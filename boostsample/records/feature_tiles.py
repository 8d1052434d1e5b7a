"""Tiles: the features of a pool in a fixed order, cut into groups of up to 64 that lie together.

A bank can hold the bins of a tile of one example in one cache line, so that a search of whole tiles
on few examples waits for memory once for each example and tile, instead of once for each look.

In the order, every stretch of features is a proportional sample of the families: member number r of
the m members of a family comes at (r + 1/2) / m of the way, and those of families with fewer
members than there are tiles at places shifted for each family. Members take their turns in steps of
about the golden ratio times m, so that neighbours in a family, which are alike, lie far apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostsample.records import FamilyInfo

#: Most features of a tile: the bytes of a cache line.
TILE = 64
#: Fewer tiles than these offer too little variety: features are then drawn one by one.
_FEWEST_TILES = 64
#: More features than these have no tiles, whose order takes 8 bytes a feature.
_MOST_FEATURES = 10_000_000
#: Members of all families that each of their tiles holds at least; less saves no time.
_MEMBERS_A_TILE = 8
#: Largest part by which the chance of a member may differ from that of its family.
_MOST_UNEVEN = 0.05
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


class FeatureTiles(NamedTuple):
    """The order of the features; tile k is order[ends[k] : ends[k + 1]], F / tiles of them.

    `family` is the number of the family of each feature in the order; `uneven` is, of each family,
    the largest part by which its members in a tile differ from their mean.
    """

    order: NDArray[np.int64]
    family: NDArray[np.integer]
    ends: NDArray[np.int64]
    uneven: tuple[float, ...]


@lru_cache(maxsize=16)
def feature_tiles(sizes: tuple[int, ...]) -> FeatureTiles | None:
    """The tiles of families of these sizes; None if there are too few or too many features."""
    n_features = sum(sizes)
    n_tiles = -(-n_features // TILE)
    if n_tiles < _FEWEST_TILES or n_features > _MOST_FEATURES:
        return None
    members, places, first = [], [], 0
    for number, size in enumerate(sizes):
        turn = np.arange(size)
        members.append(first + turn * _golden_step(size) % size)
        start = _GOLDEN * number if size < n_tiles else 0.0  # small ones would all begin alike
        places.append(((turn + 0.5) / size + start) % 1.0)
        first += size
    order = np.concatenate(members)[np.argsort(np.concatenate(places), kind="stable")]
    ends = np.arange(n_tiles + 1) * n_features // n_tiles
    order.setflags(write=False)
    family = np.searchsorted(np.cumsum(sizes), order, side="right")
    tile = np.repeat(np.arange(n_tiles), np.diff(ends))
    # Only tiles that hold members of a family: families times tiles can be very many.
    cells, held = np.unique(family * n_tiles + tile, return_counts=True)
    owner, means = cells // n_tiles, np.array(sizes) / n_tiles
    starts = np.searchsorted(owner, np.arange(len(sizes)))
    away = np.maximum.reduceat(np.abs(held - means[owner]), starts)
    few = np.bincount(owner) < n_tiles
    away = np.where(few, np.maximum(away, means), away) / means
    small: NDArray[np.integer] = family.astype(
        np.int16 if len(sizes) < 2**15 else np.int32
    )  # sorted in less time
    small.setflags(write=False)
    return FeatureTiles(order, small, ends, tuple(away.tolist()))


def _golden_step(size: int) -> int:
    """The number without a common divisor with `size` that is nearest to the golden part of it."""
    golden = round(_GOLDEN * size)
    near = (golden + sign * away for away in range(size) for sign in (1, -1))
    return next((step for step in near if 0 < step < size and math.gcd(step, size) == 1), 1)


def sample_tiles(
    sizes: Sequence[int], n: int, rng: np.random.Generator
) -> NDArray[np.int64] | None:
    """Whole tiles, each as likely as any other, of about n features: global indices, int64.

    At most n features, fewer by at most one for each tile, of n / 64 tiles; if n is not a multiple
    of 64, neighbours of a tile from a place drawn uniformly. None if the pool has no tiles.
    """
    tiles = feature_tiles(tuple(sizes))
    if tiles is None or n >= tiles.order.size:
        return None
    n_tiles = -(-n // TILE)
    if n_tiles == 1:
        part, place = rng.random(2).tolist()  # takes a third of the time of `choice`
        k = int(part * (tiles.ends.size - 1))
        first, end = tiles.ends[k : k + 2].tolist()
        start = first + int(place * (end - first))
        if start + n <= end:
            return tiles.order[start : start + n]
        from_first = tiles.order[first : min(first + start + n - end, start)]
        return np.concatenate([tiles.order[start:end], from_first])
    chosen = rng.choice(tiles.ends.size - 1, size=n_tiles, replace=False, shuffle=False).tolist()
    parts = [tiles.order[tiles.ends[k] : tiles.ends[k + 1]] for k in chosen]
    left = n - TILE * (n_tiles - 1)
    if left < TILE:  # any of them: Floyd's algorithm draws the last tile of all last
        k = int(rng.integers(n_tiles))
        first = int(rng.integers(parts[k].size))
        parts[k] = np.roll(parts[k], -first)[:left]
    return np.concatenate(parts)


def sample_tile_members(
    families: Sequence[FamilyInfo], counts: Sequence[int], rng: np.random.Generator
) -> NDArray[np.int64] | None:
    """counts[k] members of families[k], for every k, from few tiles.

    The tiles are drawn uniformly, and the members of each family from those in them. The more of
    them a tile has, the less likely is each, by a part of at most `uneven` over the number of tiles
    drawn. None if that part is too large, if the pool has no tiles, or if a family is so small that
    most of the tiles are needed.
    """
    sizes = tuple([family.size for family in families])
    tiles = feature_tiles(sizes)
    needed = _tiles_needed(sizes, tuple(counts))
    if tiles is None or not needed:
        return None
    n_tiles = tiles.ends.size - 1
    chosen = rng.choice(n_tiles, size=needed, replace=False, shuffle=False)
    places = _places_in(tiles, chosen)
    places = places[np.argsort(rng.random(places.size))]
    number = tiles.family[places]
    held = np.bincount(number, minlength=len(sizes))
    while np.any(held < counts):
        # One more tile, whose members come last: those of a tile with one less are as likely.
        k = rng.choice(np.setdiff1d(np.arange(n_tiles), chosen))
        chosen = np.append(chosen, k)
        places = np.append(places, rng.permutation(_places_in(tiles, k[None])))
        number = tiles.family[places]
        held = np.bincount(number, minlength=len(sizes))
    order = np.argsort(number, kind="stable")
    starts = (np.cumsum(held) - held).tolist()
    first = np.concatenate([order[a : a + n] for a, n in zip(starts, counts, strict=True)])
    return np.asarray(tiles.order[places[first]], np.int64)


@lru_cache(maxsize=64)
def _tiles_needed(sizes: tuple[int, ...], counts: tuple[int, ...]) -> int:
    """How many tiles `sample_tile_members` draws at first; 0 if it draws none."""
    tiles = feature_tiles(sizes)
    if tiles is None:
        return 0
    n_tiles, needed, uneven = tiles.ends.size - 1, 1, 0.0
    for size, count, away in zip(sizes, counts, tiles.uneven, strict=True):
        uneven = max(uneven, away if count else 0.0)
        in_tile = size // n_tiles  # at least so many, or one less, in every tile
        if count > needed * in_tile:
            needed = -(-count // in_tile) if in_tile else n_tiles
    few = needed > n_tiles or needed * _MEMBERS_A_TILE > sum(counts)
    return 0 if few or uneven > _MOST_UNEVEN * needed else needed


def _places_in(tiles: FeatureTiles, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places in the order of the features of some tiles, tile after tile."""
    first, end = tiles.ends[chosen], tiles.ends[chosen + 1]
    places = first[:, None] + np.arange(TILE)
    return np.asarray(places[places < end[:, None]])

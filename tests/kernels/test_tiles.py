"""Tiles of a bank: each kernel against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.kernels import tiles

STALE = 77


def naive_tile(bins: NDArray[np.uint8], features: NDArray[np.int64]) -> list[list[int]]:
    """The bins of each example in the order of the features, then zeros."""
    return [
        [int(bins[feature, i]) for feature in features] + [0] * (64 - features.size)
        for i in range(bins.shape[1])
    ]


def naive_octets(places: NDArray[np.int64]) -> tuple[list[int], int, list[int]]:
    """The octets in use, how many tiles have them, and the row of each feature."""
    octets = sorted({int(place) // 8 for place in places})
    at = [8 * octets.index(int(place) // 8) + int(place) % 8 for place in places]
    return octets, len({octet // 8 for octet in octets}), at


def filled(bins: NDArray[np.uint8], features: NDArray[np.int64]) -> NDArray[np.uint8]:
    n = bins.shape[1]
    tile = np.full(64 * n, STALE, np.uint8)
    tiles.fill_tile(bins.reshape(-1), n, features, tile)
    return tile


def gathered(
    copy: NDArray[np.uint8], n: int, octets: NDArray[np.int64], examples: NDArray[np.int32]
) -> NDArray[np.uint8]:
    stride = -(-examples.size // 8) * 8
    out = np.full(8 * octets.size * stride, STALE, np.uint8)
    tiles.gather_octets(copy, n, octets, examples, out)
    return out.reshape(8 * octets.size, stride)[:, : examples.size]


@pytest.mark.parametrize("n", [1, 7, 8, 9, 63, 64, 65, 130])
@pytest.mark.parametrize("size", [1, 7, 8, 63, 64])
def test_a_tile_holds_the_bins_of_its_features(n: int, size: int, rng: np.random.Generator) -> None:
    bins = rng.integers(0, 256, (70, n)).astype(np.uint8)
    features = rng.permutation(70)[:size]
    assert filled(bins, features).reshape(n, 64).tolist() == naive_tile(bins, features)


@pytest.mark.parametrize("size", [1, 2, 30, 200, 1000])
@pytest.mark.parametrize("n_tiles", [1, 2, 9])
def test_octets_are_those_of_the_features(
    size: int, n_tiles: int, rng: np.random.Generator
) -> None:
    places = rng.integers(0, 64 * n_tiles, size)  # some more than once
    slots = np.full(8 * n_tiles, -5, np.int32)
    octets, at = np.empty((2, size), np.int64)
    used, used_tiles = tiles.find_octets(places, np.sort(places), slots, octets, at)
    assert (octets[:used].tolist(), used_tiles, at.tolist()) == naive_octets(places)


@pytest.mark.parametrize("n", [1, 9, 100])
@pytest.mark.parametrize("size", [1, 7, 8, 31, 33, 48, 85])
def test_gathered_octets_are_the_bins_of_the_examples(
    n: int, size: int, rng: np.random.Generator
) -> None:
    copy = rng.integers(0, 256, (5, n, 64)).astype(np.uint8)
    examples = rng.integers(0, n, size).astype(np.int32)
    for octets in ([0], [39], [3, 4, 8], [0, 1, 2, 3, 4, 5, 6, 7], [7, 8, 31, 38, 39]):
        got = gathered(copy.reshape(-1), n, np.array(octets), examples)
        for s, octet in enumerate(octets):
            for k in range(8):
                want = [copy[octet // 8, i, octet % 8 * 8 + k] for i in examples]
                assert got[8 * s + k].tolist() == want

"""Tiles of a bank: each kernel against plain loops."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.kernels.searches import tiles

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
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


def test_extreme_examples_are_gathered(rng: np.random.Generator) -> None:
    """The first and the last example of the first and the last tile: nothing else is read."""
    copy = rng.integers(0, 256, (3, 50, 64)).astype(np.uint8)
    for i in (0, 49):
        got = gathered(copy.reshape(-1), 50, np.array([0, 23]), np.array([i], np.int32))
        assert got.T.tolist() == [[*copy[0, i, :8], *copy[2, i, 56:]]]


def test_no_octets_are_gathered_to_nothing() -> None:
    got = gathered(np.zeros(64, np.uint8), 1, np.empty(0, np.int64), np.zeros(3, np.int32))
    assert got.shape == (0, 3)


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled under NUMBA_DISABLE_JIT")
def test_one_signature_each(rng: np.random.Generator) -> None:
    test_a_tile_holds_the_bins_of_its_features(9, 8, rng)
    test_octets_are_those_of_the_features(30, 2, rng)
    test_gathered_octets_are_the_bins_of_the_examples(9, 7, rng)
    kernels: list[Any] = [tiles.fill_tile, tiles.find_octets, tiles.gather_octets]
    for function in kernels:
        assert len(function.signatures) == 1, function.py_func.__name__

"""The binning kernels against twins written from the definitions."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from boostsample.kernels import cuts as kernels
from tests.compiled import COMPILED, called

bucket, fill_buckets = called(kernels.bin_bucket), called(kernels.fill_bin_buckets)
midpoint, place_cuts = called(kernels.bin_midpoint), called(kernels.place_cuts)
run_starts, sort_keys = called(kernels._run_starts), called(kernels._sort_keys)
LARGEST = np.finfo(np.float32).max
SMALLEST = np.float32(1e-45)  # the smallest denormal
FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


def spread(rng: np.random.Generator, n_distinct: int, n: int) -> NDArray[np.float64]:
    """n values, each of n_distinct different ones at least once."""
    pool = rng.normal(size=n_distinct).cumsum()
    return np.take(pool, [*range(n_distinct), *rng.integers(0, n_distinct, n - n_distinct)])


def columns_of(rng: np.random.Generator) -> dict[str, NDArray[np.float32]]:
    """Columns that binning has to get right; more than 512 values take the table of buckets."""
    n = 700
    some = rng.normal(size=n)
    cases = {
        "normal": some,
        "uneven": np.exp(5 * some),
        "pixels": rng.integers(0, 256, n) * (rng.random(n) < 0.3),
        "whole": rng.integers(-2000, 2000, n),
        "binary": rng.integers(0, 2, n),
        "constant": np.full(n, 3.5),
        "one example": some[:1],
        "one missing": np.array([np.nan]),
        "two": np.array([2.0, 1.0]),
        "all missing": np.full(9, np.nan),
        "some missing": np.where(rng.random(n) < 0.4, np.nan, some),
        "255 distinct": spread(rng, 255, n),
        "256 distinct": spread(rng, 256, n),
        "257 distinct": spread(rng, 257, 300),
        "half of the mass": np.where(rng.random(n) < 0.5, 0, some),
        "half of the mass, all else above": np.where(rng.random(n) < 0.5, 0, np.abs(some)),
        "half of the mass, all else below": np.where(rng.random(n) < 0.5, 0, -np.abs(some)),
        "steep": rng.geometric(0.01, n) ** 3,
        "a cut taken back": np.repeat(np.arange(256), [3, 1] * 128),
        "largest": np.concatenate([[LARGEST, -LARGEST, 0.0, 3e38, -3e38], some]),
        "two largest": np.array([LARGEST, -LARGEST, np.nextafter(LARGEST, np.float32(0))]),
        "denormal": SMALLEST * rng.integers(-400, 400, n),
        "neighbours": 1 + np.arange(600) * np.finfo(np.float32).eps,
        "zeros": np.array([0.0, -0.0, SMALLEST, -SMALLEST, 0.0, -0.0]),
        "only zeros": np.array([0.0, -0.0]),
    }
    return {name: np.asarray(values, np.float32) for name, values in cases.items()}


NAMES = list(columns_of(np.random.default_rng(0)))


def naive_bins_of_values(counts: list[int]) -> list[list[int]]:
    """Distinct values 0 .. D-1 that share a bin, from the text of `place_cuts`, in fractions."""
    n_distinct = len(counts)
    if n_distinct <= 255:
        return [[k] for k in range(n_distinct)]
    heavy: set[int] = set()
    while True:
        mass = sum(counts) - sum(counts[k] for k in heavy)
        left = 255 - len(heavy)
        more = {k for k in range(n_distinct) if counts[k] >= Fraction(mass, left)} - heavy
        if not more:
            break
        heavy |= more
    bins: list[list[int]] = []
    waiting: list[int] = []  # a stretch too small for a bin
    k = 0
    while k < n_distinct:
        if k in heavy:
            bins.append([*waiting, k])
            waiting = []
            k += 1
            continue
        stretch = []
        while k < n_distinct and k not in heavy:
            stretch.append(k)
            k += 1
        in_stretch = sum(counts[i] for i in stretch)
        share = min(int(Fraction(in_stretch * left, mass) + Fraction(1, 2)), len(stretch))
        mass -= in_stretch
        left -= share
        if share == 0 and k == n_distinct:
            bins[-1] += stretch
        elif share == 0:
            waiting = stretch
        while share > 0:
            goal = Fraction(sum(counts[i] for i in stretch), share)
            sizes = range(1, len(stretch) - share + 2)
            if share == 1:
                sizes = range(len(stretch), len(stretch) + 1)
            taken = min(sizes, key=lambda size: abs(sum(counts[i] for i in stretch[:size]) - goal))
            bins.append(stretch[:taken])
            stretch = stretch[taken:]
            share -= 1
    while len(bins) < 255:
        divisible = [b for b in bins if len(b) > 1]
        fullest = max(divisible, key=lambda b: sum(counts[i] for i in b))
        half = Fraction(sum(counts[i] for i in fullest), 2)
        size = min(
            range(1, len(fullest)),
            key=lambda size: abs(sum(counts[i] for i in fullest[:size]) - half),
        )
        at = bins.index(fullest)
        bins[at : at + 1] = [fullest[:size], fullest[size:]]
    return bins


def naive_midpoint(a: np.float32, b: np.float32) -> np.float32:
    middle = np.float32((float(a) + float(b)) / 2)
    if middle == a:
        middle = b
    return np.float32(0.0) if middle == 0 else middle


def naive_cuts(values: NDArray[np.float32]) -> list[np.float32]:
    counted = Counter(float(v) for v in values if not np.isnan(v))
    distinct = sorted(counted)
    bins = naive_bins_of_values([counted[v] for v in distinct])
    return [
        naive_midpoint(np.float32(distinct[b[0] - 1]), np.float32(distinct[b[0]])) for b in bins[1:]
    ]


def naive_bin(value: np.float32, cuts: list[np.float32]) -> int:
    if np.isnan(value):
        return 0
    result = 1
    for cut in cuts:
        if value >= cut:
            result += 1
    return result


def counters() -> NDArray[np.uint32]:
    """What sorting counts in; whatever it holds is overwritten."""
    return np.full((kernels.BIN_DIGITS, kernels.BIN_DIGIT_SIZE), 99, np.uint32)


def cut(
    columns: NDArray[np.float32], rows: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.float32], NDArray[np.int16]]:
    chosen = np.arange(columns.shape[1]) if rows is None else rows
    keys, scratch = np.empty((2, chosen.size), np.uint32)
    starts = np.empty(chosen.size + 1, np.int64)
    cuts = np.empty((columns.shape[0], 254), np.float32)
    n_bins = np.empty(columns.shape[0], np.int16)
    counts, gaps = counters(), np.full(255, -7)
    heavy, pair = np.ones(chosen.size, np.bool_), np.empty(2, np.uint32)
    room = keys, scratch, counts, starts, heavy, gaps, pair, pair.view(np.float32)
    kernels.cut_block(columns.view(np.uint32), chosen, *room, cuts, n_bins)
    return cuts, n_bins


def assign(
    columns: NDArray[np.float32], cuts: NDArray[np.float32], n_bins: NDArray[np.int16]
) -> NDArray[np.uint8]:
    out = np.full(columns.shape, 77, np.uint8)
    padded, table = np.full(255, np.nan, np.float32), np.full(kernels.BIN_BUCKETS, 77, np.uint8)
    kernels.assign_block(columns, cuts, n_bins, padded, table, out)
    return out


def gaps_of(counts: list[int]) -> list[int]:
    starts = np.cumsum([0, *counts])
    gaps, heavy = np.empty(255, np.int64), np.ones(len(counts), np.bool_)
    return [int(gap) for gap in gaps[: place_cuts(starts, len(counts), heavy, gaps)]]


@pytest.mark.parametrize("name", NAMES)
def test_cuts_equal_the_naive_ones(name: str, rng: np.random.Generator) -> None:
    values = columns_of(rng)[name]
    cuts, n_bins = cut(values[None])
    expected = naive_cuts(values)
    assert n_bins[0] == len(expected) + 2
    padded = np.full(254, np.inf, np.float32)
    padded[: len(expected)] = expected
    assert cuts[0].tobytes() == padded.tobytes()  # the bits: no -0.0


@pytest.mark.parametrize("name", NAMES)
def test_bins_equal_the_naive_ones(name: str, rng: np.random.Generator) -> None:
    values = columns_of(rng)[name]
    cuts, n_bins = cut(values[None])
    used = list(cuts[0, : n_bins[0] - 2])
    edges = [np.nextafter(t, np.float32(way)) for t in used for way in (-1e38, 1e38)]
    other = np.array([*used, *edges, -LARGEST, LARGEST, 0.0, -0.0, np.nan], np.float32)
    for tested in (values, other, np.concatenate([other, values])):
        expected = [naive_bin(value, used) for value in tested]
        assert assign(tested[None], cuts, n_bins)[0].tolist() == expected
    assert max(naive_bin(value, used) for value in values) < n_bins[0]


def test_cuts_come_from_the_rows_in_any_order(rng: np.random.Generator) -> None:
    values = columns_of(rng)["some missing"]
    rows = rng.permutation(700)[:400]
    cuts, n_bins = cut(values[None], rows)
    again, _ = cut(values[rows][None])
    ordered, _ = cut(values[None], np.sort(rows))
    assert cuts.tobytes() == again.tobytes() == ordered.tobytes()
    assert n_bins[0] - 2 == len(naive_cuts(values[rows]))


@pytest.mark.parametrize(
    "counts",
    [
        [1] * 256,
        [2] + [1] * 255,
        [50, 1] * 200,  # more heavy values and gaps between them than bins
        [1, 50] * 200,
        [1000] * 254 + [1] * 3,
        [1] * 3 + [1000] * 254,
        # Every bin is spent before the last stretch, whose cut has to be taken back.
        [1, 1000] * 127 + [1, 1, 1],
        [3, 1000] * 254 + [1],
        [1000] * 253 + [40] * 3 + [1000] + [1],
        [1] * 400 + [200] * 30,
        [2**k for k in range(20)] * 14,
        list(range(1, 300)),
        list(range(300, 0, -1)),
    ],
)
def test_hard_counts_are_cut_as_by_the_naive_twin(counts: list[int]) -> None:
    gaps = gaps_of(counts)
    assert len(gaps) == 254
    assert gaps == [b[0] for b in naive_bins_of_values(counts)[1:]]


@pytest.mark.parametrize("seed", [52, 216, 841, 2010, 4332, 5207, 7624])
def test_rare_counts_are_cut_as_by_the_naive_twin(seed: int) -> None:
    """Found by trying 20,000 seeds: cuts are left over, or a quantile must leave room for more."""
    rng = np.random.default_rng(seed)
    n_distinct = int(rng.integers(256, 330))
    counts = rng.choice(rng.integers(1, 60, size=3), n_distinct).tolist()
    gaps = gaps_of(counts)
    assert len(gaps) == 254
    assert gaps == [b[0] for b in naive_bins_of_values(counts)[1:]]


@settings(max_examples=40 if COMPILED else 5, deadline=None, derandomize=True)
@given(st.data())
def test_any_counts_are_cut_as_by_the_naive_twin(data: st.DataObject) -> None:
    n_distinct = data.draw(st.integers(1, 420))
    seed = data.draw(st.integers(0, 2**32 - 1))
    power = data.draw(st.sampled_from([0.3, 1.0, 2.0, 5.0]))
    rng = np.random.default_rng(seed)
    counts = [int(c) for c in 1 + rng.exponential(size=n_distinct) ** power * 2]
    gaps = gaps_of(counts)
    assert len(gaps) == min(n_distinct, 255) - 1
    assert gaps == [b[0] for b in naive_bins_of_values(counts)[1:]]


@settings(max_examples=200 if COMPILED else 20, deadline=None, derandomize=True)
@given(FLOATS, FLOATS)
def test_a_midpoint_keeps_both_values_on_their_sides(one: float, other: float) -> None:
    a, b = sorted([np.float32(one), np.float32(other)])
    if a == b:
        return
    t = np.float32(midpoint(a, b))
    assert a < t <= b
    assert t == naive_midpoint(a, b)
    assert not (t == 0 and np.signbit(t))

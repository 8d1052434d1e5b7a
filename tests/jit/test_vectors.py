"""Vectors: each operation, compiled, equals its one-line NumPy twin lane by lane."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample.jit import vectors as vec
from boostsample.jit.compile_kernels import kernel, kernel_for
from tests.compiled import called

transpose = called(vec.transpose_bytes)
LANES = (1, 2, 4, 8)
#: Rows of labels can also have two vectors.
WIDE = (*LANES, 9, 10, 12, 16)
#: Several rows can have more.
WIDEST = (*WIDE, 32, 40)
SPECIAL = [0.0, -0.0, 1.0, -1.0, 1e-30, -1e-30, 1e-45, 3e38, -3e38, 0.1, -0.3, 7.0]


def numbers(lanes: int, seed: int) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    return rng.choice(np.array(SPECIAL, np.float32), lanes)


def through(lanes: int, operation: Callable[..., Any]) -> Callable[..., NDArray[np.float32]]:
    """Apply an operation of two vectors to lanes of two arrays."""

    @kernel_for(lanes)
    def run(a: Any, b: Any, out: Any) -> None:
        vec.store(out, 0, operation(vec.load(a, 0, lanes), vec.load(b, 0, lanes)))

    def call(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
        out = np.full(lanes, 99, np.float32)
        run(a, b, out)
        return out

    return call


def same_bits(got: NDArray[Any], want: NDArray[Any]) -> None:
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


@pytest.mark.parametrize("lanes", WIDEST)
def test_arithmetic_lane_by_lane(lanes: int) -> None:
    @kernel_for(lanes)
    def run(a: Any, b: Any, out: Any) -> None:
        one, two = vec.load(a, 0, lanes), vec.load(b, 0, lanes)
        vec.store(out, 0, vec.add(one, two))
        vec.store(out, lanes, vec.multiply(one, vec.fill(two, np.float32(0.1))))
        vec.store(out, 2 * lanes, vec.magnitude(one))
        vec.store(out, 3 * lanes, vec.at_least(one, vec.magnitude(two)))
        vec.store(out, 4 * lanes, vec.choose(one, two, one))
        vec.store(out, 5 * lanes, vec.fill(one, np.float32(-2.5)))
        vec.store(out, 6 * lanes, vec.negated(one, two))

    for seed in range(20):
        a, b = numbers(lanes, seed), numbers(lanes, 100 + seed)
        a[0], b[0] = 0.25, -0.5  # no overflow in the first lane, whatever the others do
        b[np.abs(b) > 1e38] = 1.0
        out = np.full(7 * lanes, 99, np.float32)
        run(a, b, out)
        got = out.reshape(7, lanes)
        same_bits(got[0], a + b)
        same_bits(got[1], a * np.float32(0.1))
        same_bits(got[2], np.abs(a))
        same_bits(got[3], np.copysign(np.maximum(np.abs(a), np.abs(b)), a))
        same_bits(got[4], np.where(np.signbit(a), a, b))
        same_bits(got[5], np.full(lanes, -2.5, np.float32))
        same_bits(got[6], np.where(np.signbit(b), -a, a))


@pytest.mark.parametrize("lanes", LANES)
def test_sums_widening_and_minus_zero(lanes: int) -> None:
    @kernel_for(lanes)
    def run(a: Any, wide: Any, sums: Any) -> Any:
        value = vec.load(a, 0, lanes)
        vec.store(wide, 0, vec.widen(value))
        sums[0] = vec.total(value)
        sums[1] = vec.total(vec.widen(value))
        return vec.is_minus_zero(value)

    rng = np.random.default_rng(0)
    a = rng.normal(size=lanes).astype(np.float32)
    wide, sums = np.empty(lanes), np.empty(2)
    assert not run(a, wide, sums)
    same_bits(wide, a.astype(np.float64))
    assert sums[0] == naive_total(a)
    assert sums[1] == naive_total(a.astype(np.float64))
    for lane in range(lanes):
        for other in (0.0, -1e-45, np.nan, 1.0):
            empty = np.full(lanes, -0.0, np.float32)
            assert run(empty, wide, sums)
            empty[lane] = other
            assert not run(empty, wide, sums)


def naive_total(a: NDArray[Any]) -> Any:
    """Halves added to halves, in the precision of the vector."""
    if a.size == 1:
        return a[0]
    half = a.size // 2
    return naive_total(np.array([a[i] + a[half + i] for i in range(half)], a.dtype))


def row_total(a: NDArray[Any]) -> Any:
    """The total of the first eight lanes, and that of the others."""
    return naive_total(a[:8]) + naive_total(a[8:]) if a.size > 8 else naive_total(a)


@pytest.mark.parametrize("lanes", WIDE)
def test_the_total_of_a_row(lanes: int) -> None:
    @kernel_for(lanes)
    def run(a: Any) -> Any:
        return vec.row_total(vec.widen(vec.load(a, 0, lanes)))

    a = np.random.default_rng(lanes).normal(size=lanes).astype(np.float32)
    assert run(a) == row_total(a.astype(np.float64))


@pytest.mark.parametrize("lanes", LANES)
def test_eight_vectors_become_their_totals(lanes: int) -> None:
    @kernel_for(lanes)
    def run(a: Any, sums: Any) -> None:
        one, two = vec.load(a, 0, lanes), vec.load(a, lanes, lanes)
        three, four = vec.load(a, 2 * lanes, lanes), vec.load(a, 3 * lanes, lanes)
        five, six = vec.load(a, 4 * lanes, lanes), vec.load(a, 5 * lanes, lanes)
        seven, eight = vec.load(a, 6 * lanes, lanes), vec.load(a, 7 * lanes, lanes)
        left = vec.paired(vec.paired(one, two, 8), vec.paired(three, four, 8), 4)
        right = vec.paired(vec.paired(five, six, 8), vec.paired(seven, eight, 8), 4)
        vec.store(sums, 0, vec.paired(left, right, 2))

    a = np.random.default_rng(lanes).normal(size=(8, lanes)).astype(np.float32)
    sums = np.empty(8, np.float32)
    run(a.ravel(), sums)
    assert sums.tolist() == [naive_total(row) for row in a]


@pytest.mark.parametrize("lanes", WIDE)
@pytest.mark.parametrize("two_sided", [False, True])
def test_edges_at_eight_thresholds(lanes: int, two_sided: bool) -> None:
    stride, at = 16, 5

    @kernel_for(lanes, two_sided)
    def run(hist: Any, sums: Any, fresh: bool, ends: Any, edges: Any) -> None:
        whole, below = vec.load(ends, 0, lanes), vec.load(ends, lanes, lanes)
        edge, last = vec.eight_edges(hist, sums, fresh, at, stride, whole, below, two_sided)
        vec.store(edges, 0, edge)
        vec.store(ends, lanes, last)

    rng = np.random.default_rng(lanes)
    hist = rng.normal(size=at + 8 * stride).astype(np.float32)
    sums = rng.normal(size=hist.size)
    start = rng.normal(size=2 * lanes)
    for fresh in (True, False):
        ends, edges, below, want = start.copy(), np.empty(8), start[lanes:], []
        for b in range(8):
            mine = slice(at + b * stride, at + b * stride + lanes)
            below = below + hist[mine].astype(np.float64)
            if not fresh:
                below = below + sums[mine]
            sizes = np.abs(start[:lanes] - 2.0 * below)
            least = np.abs(start[:lanes]) if two_sided else 0.0
            want.append(row_total(np.maximum(sizes, least)))
        run(hist, np.empty(0) if fresh else sums, fresh, ends, edges)
        assert edges.tolist() == want
        np.testing.assert_array_equal(ends, [*start[:lanes], *below])


@pytest.mark.parametrize("lanes", [*LANES, 16])
def test_running_sums_and_counts(lanes: int) -> None:
    @kernel_for(lanes)
    def run(a: Any, limit: float, sums: Any) -> tuple[int, int]:
        value = vec.running(vec.load(a, 0, lanes))
        vec.store(sums, 0, value)
        return vec.count_up_to(value, limit), vec.count_below(value, limit)

    a = np.random.default_rng(lanes).integers(0, 9, lanes).astype(np.float32)  # sums are exact
    want, got = np.cumsum(a), np.empty(lanes, np.float32)
    for limit in (-1.0, 0.0, float(want[0]), float(want[lanes // 2]), float(want[-1]), np.inf):
        counts = int(np.sum(want <= limit)), int(np.sum(want < limit))
        assert run(a, limit, got) == counts
        np.testing.assert_array_equal(got, want)
    wide = np.arange(lanes, dtype=np.float64)  # numbers of 64 bits are counted as they are

    @kernel_for(lanes, 64)
    def count(a: Any, limit: float) -> int:
        return int(vec.count_up_to(vec.load(a, 0, lanes), limit))

    assert count(wide + 1e-12, 0.0) == 0
    assert count(wide - 1e-12, 0.0) == 1


@pytest.mark.parametrize("lanes", WIDEST)
def test_loads_and_stores_touch_their_lanes_only(lanes: int) -> None:
    @kernel_for(lanes)
    def move(a: Any, start: int, out: Any, at: int) -> None:
        vec.store(out, at, vec.load(a, start, lanes))

    a = np.arange(90, dtype=np.float32)
    for start, at in ((0, 0), (1, 3), (33, 17)):  # aligned or not
        out = np.full(90, -1, np.float32)
        move(a, start, out, at)
        want = np.full(90, -1, np.float32)
        want[at : at + lanes] = a[start : start + lanes]
        np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize("lanes", WIDE)
def test_adding_into_an_array_touches_its_lanes_only(lanes: int) -> None:
    @kernel_for(lanes)
    def run(a: Any, at: int, out: Any) -> None:
        vec.add_into(out, at, vec.load(a, 0, lanes))

    a = np.arange(1, 17, dtype=np.float32)
    for at in (0, 3, 14):
        out = np.full(30, 0.5, np.float32)
        run(a, at, out)
        want = np.full(30, 0.5, np.float32)
        want[at : at + lanes] += a[:lanes]
        same_bits(out, want)


@pytest.mark.parametrize("lanes", WIDE)
def test_fused_rounds_once(lanes: int) -> None:
    @kernel_for(lanes)
    def run(a: Any, b: Any, out: Any) -> None:
        one, two = vec.load(a, 0, lanes), vec.load(b, 0, lanes)
        vec.store(out, 0, vec.fused(one, one, two))

    a = np.full(lanes, 1 + 2.0**-12, np.float32)
    b = np.full(lanes, -1 - 2.0**-11, np.float32)
    out = np.zeros(lanes, np.float32)
    run(a, b, out)
    same_bits(out, np.full(lanes, 2.0**-24, np.float32))  # 0 if the product were rounded


def test_addition_is_not_contracted_or_reordered() -> None:
    """(a * b) + c rounds twice: the bits would depend on the processor otherwise."""

    def both(a: Any, b: Any) -> Any:
        return vec.add(vec.multiply(a, b), b)

    inner = kernel(both)
    a = np.array([1 + 2.0**-12, 1 + 2.0**-23], np.float32)
    b = np.array([1 + 2.0**-12, -1 - 2.0**-23], np.float32)
    same_bits(through(2, inner)(a, b), a * b + b)


@pytest.mark.parametrize("stride", [8, 9, 64])
@pytest.mark.parametrize("to", [0, 3])
@pytest.mark.parametrize("first", [0, 5])
def test_columns_become_rows(first: int, to: int, stride: int, rng: np.random.Generator) -> None:
    source = rng.integers(0, 256, 500).astype(np.uint8)
    starts = rng.integers(0, source.size - 8 - first + 1, 8)  # at any address
    starts[:3] = 0, source.size - 8 - first, 0  # the ends, and one twice
    target = np.full(to + 7 * stride + 8, 77, np.uint8)
    transpose(source, starts, first, target, to, stride)
    expected = [77] * target.size  # all other bytes are left as they are
    for t in range(8):
        for k in range(8):
            expected[to + k * stride + t] = int(source[starts[t] + first + k])
    assert target.tolist() == expected


@pytest.mark.parametrize(("n_rows", "size"), [(4, 10), (8, 9), (1, 8), (2, 16), (2, 12), (32, 1)])
@pytest.mark.parametrize("threshold", [0, 1, 128, 255])
def test_phi_in_each_lane_of_a_row(n_rows: int, size: int, threshold: int) -> None:
    @kernel_for(n_rows, size)
    def run(column: Any, threshold: Any, phi: Any, eight: Any) -> None:
        value = vec.phi(column, 3, threshold, n_rows, size)
        vec.store(phi, 0, value)
        vec.store(eight, 0, vec.eight_lanes(value))

    column = np.random.default_rng(size).choice(np.array([0, 1, 127, 128, 255], np.uint8), 40)
    phi, eight = np.empty(n_rows * size, np.float32), np.empty(8, np.float32)
    run(column, np.int16(threshold), phi, eight)
    want = [1.0 if b >= threshold else -1.0 for b in column[3 : 3 + n_rows] for _ in range(size)]
    assert phi.tolist() == want
    assert eight.tolist() == np.array(want).reshape(-1, 8).sum(axis=0).tolist()


def uniforms(first: int, seed: int) -> NDArray[np.float32]:
    """Eight numbers of a stream, which are also told one by one."""

    @kernel
    def run(first: Any, seed: Any, eight: Any, each: Any) -> None:
        vec.store(eight, 0, vec.uniforms(first, seed, 8))
        for k in range(8):
            vec.store(each, k, vec.uniforms(first + k, seed, 1))

    eight, each = np.empty(8, np.float32), np.empty(8, np.float32)
    run(first, seed, eight, each)
    same_bits(eight, each)
    return eight


def test_uniform_numbers() -> None:
    for first, seed in ((0, 0), (8, 1), (2**31 - 8, 2**63 - 1), (123_456, 2**40 + 12_345)):
        same_bits(uniforms(first, seed), vec._uniforms_twin(first, seed, 8))
    n = 50_000
    with np.errstate(over="ignore"):
        one, other = (vec._uniforms_twin(0, seed, n).astype(np.float64) for seed in (7, 2**33 + 8))
    for u in (one, other):
        assert 0.0 < u.min() < u.max() <= 1.0
        counts = np.histogram(u, 100, (0, 1))[0]
        assert ((counts - n / 100) ** 2).sum() / (n / 100) < 160  # chi squared, 99 degrees: 4e-4
        lags = [np.corrcoef(u[:-k], u[k:])[0, 1] for k in (1, 2, 3, 8, 16)]
        assert np.abs(lags).max() < 4.5 / np.sqrt(n)
    assert abs(np.corrcoef(one, other)[0, 1]) < 4.5 / np.sqrt(n)


def test_the_numbers_of_bits_that_are_set() -> None:
    @kernel
    def run(a: Any, b: Any, out: Any, counts: Any) -> None:
        bits = vec.bits_below(vec.load(a, 0, 8), vec.load(b, 0, 8))
        counts[0] = bits
        counts[1] = vec.store_set_bits(out, 2, 100, bits)

    rng = np.random.default_rng(0)
    for _ in range(100):
        a, b = rng.integers(0, 3, (2, 8)).astype(np.float32)
        out, counts = np.full(12, -7, np.int32), np.empty(2, np.int64)
        run(a, b, out, counts)
        below = np.flatnonzero(a < b)
        assert counts.tolist() == [sum(1 << k for k in below.tolist()), below.size]
        assert out[2 : 2 + below.size].tolist() == (100 + below).tolist()
        assert out[[0, 1, 10, 11]].tolist() == [-7] * 4

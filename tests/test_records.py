"""Members drawn from several families at once."""

from __future__ import annotations

import numpy as np
import pytest

from boostsample.strategy import FamilyInfo, sample_members


@pytest.mark.parametrize("seed", range(40))
def test_members_are_those_of_one_call_a_family_and_leave_the_same_stream(seed: int) -> None:
    rng = np.random.default_rng(seed)
    largest = (4, 30, 700, 10_000, 10_001, 30_000)[seed % 6]
    sizes = rng.integers(1, largest, rng.integers(1, 6), endpoint=True)
    sizes[-1] = largest
    counts = rng.integers(0, min(largest + 2, 80), sizes.size).tolist()
    first = np.cumsum([0, *sizes[:-1]]).tolist()
    families = [FamilyInfo(str(at), int(n), at) for at, n in zip(first, sizes, strict=True)]
    single, all_at_once = np.random.default_rng([seed, 1]), np.random.default_rng([seed, 1])
    if seed % 2:  # half of a word of the stream is left over
        single.integers(7, dtype=np.int32)
        all_at_once.integers(7, dtype=np.int32)
    want = [family.sample(n, single) for family, n in zip(families, counts, strict=True)]
    got = sample_members(families, counts, all_at_once)
    assert got.dtype == np.int64
    np.testing.assert_array_equal(got, np.concatenate(want))
    assert single.bit_generator.state == all_at_once.bit_generator.state

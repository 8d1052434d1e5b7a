"""Checksums of bytes, JSON values and arrays."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest
from numpy.typing import NDArray

from boostsample import hashing
from boostsample.hashing import hashed_seed, sha256_of_arrays, sha256_of_bytes, sha256_of_json


def test_of_bytes() -> None:
    assert sha256_of_bytes(b"abc") == hashlib.sha256(b"abc").hexdigest()
    parts = [(b"ab", b"c"), (b"a", b"bc"), (b"abc",), (b"abc", b""), (b"c", b"ab")]
    assert len({sha256_of_bytes(*given) for given in parts}) == len(parts)


def test_of_json() -> None:
    value = {"b": [1, 2.5, None], "a": "\u00e9"}
    text = json.dumps(value, sort_keys=True)
    assert sha256_of_json(value) == hashlib.sha256(text.encode("ascii")).hexdigest()
    assert sha256_of_json(dict(reversed(value.items()))) == sha256_of_json(value)


def test_a_seed_has_the_first_128_bits_of_the_checksum() -> None:
    digest = hashlib.sha256(b"abc").digest()
    assert hashed_seed(b"abc").entropy == int.from_bytes(digest[:16], "little")


def naive(*arrays: NDArray[np.generic]) -> str:
    parts = [f"{a.dtype.str}{a.shape}".encode() + a.tobytes() for a in arrays]
    return hashlib.sha256(b"".join(parts)).hexdigest()


@pytest.mark.parametrize("block", [1, 100, 2**24])
def test_of_arrays(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(hashing, "_BLOCK_BYTES", block)
    X = np.arange(60, dtype=np.float32).reshape(10, 2, 3)
    y = np.arange(10)
    for given in ([X], [X, y], [y, X], [X[:0]], [X[::2]], [X.astype(np.float64)], [y > 3]):
        assert sha256_of_arrays(*given) == naive(*given)
    assert sha256_of_arrays(np.asfortranarray(X)) == sha256_of_arrays(X)


def test_of_texts() -> None:
    texts = [np.array(t, object) for t in (["ab", "c"], ["a", "bc"], ["abc", ""], ["ab", "\ud800"])]
    assert len({sha256_of_arrays(text) for text in texts}) == 4
    assert sha256_of_arrays(["ab", "c"]) == sha256_of_arrays(np.array(["ab", "c"]))
    with pytest.raises(TypeError, match="expected text, got int"):
        sha256_of_arrays(np.array([1, "a"], object))

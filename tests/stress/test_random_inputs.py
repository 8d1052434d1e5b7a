"""Random inputs are fitted or refused, in one clear line."""

from __future__ import annotations

from pathlib import Path

import pytest

from boostsample.errors import DataError
from tests.stress.fit_invariants import refusal
from tests.stress.random_inputs import check_case, random_case

_AT_ONCE = 15


@pytest.mark.parametrize("first", range(0, 30, _AT_ONCE))
def test_random_inputs_are_fitted_or_refused(
    first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOOSTSAMPLE_CACHE_DIR", str(tmp_path))
    fits = [check_case(random_case(at, seed=1)) == "fit" for at in range(first, first + _AT_ONCE)]
    assert _AT_ONCE // 2 < sum(fits) < _AT_ONCE


@pytest.mark.parametrize(
    "error",
    [
        KeyError("x"),
        ValueError("from anywhere"),
        MemoryError(),
        DataError(""),
        DataError("x" * 601),
    ],
)
def test_other_errors_are_faults(error: Exception) -> None:
    with pytest.raises(type(error)) as caught:
        raise error
    with pytest.raises(AssertionError, match="not one clear line"):
        refusal(caught.value)


def test_a_message_is_one_printable_line() -> None:
    assert str(DataError("a\nb\x00 \u00e9")) == "a\\nb\\x00 \u00e9"
    assert len(str(DataError("x" * 10_000))) < 1010

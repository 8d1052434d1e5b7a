from __future__ import annotations

import numpy as np
import pytest

from tests.formats.damages import FORMATS, run_damaged


@pytest.mark.parametrize("kind", FORMATS)
def test_damaged_files_are_refused_or_read_as_they_are(kind: str) -> None:
    outcomes = run_damaged(kind, 300, np.random.default_rng(0))
    assert 0 < outcomes["read"] < 300

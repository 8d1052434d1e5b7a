"""Killed workers and changed files never give another model: the shortest version of kills.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from boostsample.errors import DataError
from tests.dask.kills import Fits
from tests.experiments.cluster import Cluster

pytest.importorskip("distributed", reason="the extra 'dask' is not installed")
pytest.importorskip("pandas", reason="the extra 'report' is not installed")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it has no SIGKILL and no fork")


def test_fits_end_well_and_one_that_does_not_is_found(tmp_path: Path) -> None:
    with Cluster(tmp_path, n_workers=2) as cluster:
        fits = Fits(tmp_path, cluster, n=100, n_rounds=20)
        assert [fits.run(), fits.run("a value")] == ["", ""]
        other = ["another model"]
        assert fits.ending("", False, other, None) == "wrong: 'another model'"
        assert fits.ending("a value", False, other, None) == "wrong: 'another model'"
        assert "ZeroDivisionError" in fits.ending("a value", False, [], ZeroDivisionError("fault"))
        assert "no file" in fits.ending("", False, [], DataError("no file changed"))
